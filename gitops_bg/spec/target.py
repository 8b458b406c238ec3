"""Reads target.yaml: an ordinary Deployment, of which the pod template becomes a version. Never changes it.

Where the API server would refuse the ReplicaSet made of it, the author learns it here, with the line.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_bg.core.desired import Problem
from gitops_bg.core.digest import snapshot_of
from gitops_bg.core.model import AppKey, Snapshot
from gitops_bg.core.names import GROUP
from gitops_bg.spec.objects import Deployment, check_place
from gitops_bg.spec.validation import validate
from gitops_bg.spec.yamlio import Document

MAX_SNAPSHOT_BYTES = 200_000
"""A snapshot is kept in an annotation, and all annotations of an object may have 256 KiB (apimachinery)."""

_TEMPLATE = ("spec", "template")


@dataclass(frozen=True, slots=True)
class TargetFile:
    """What a target asks for. ``replicas`` and ``min_ready_seconds`` are no part of the snapshot."""

    snapshot: Snapshot
    replicas: int
    min_ready_seconds: int


def read_target(document: Document, app: AppKey) -> tuple[TargetFile | None, tuple[Problem, ...]]:
    """The target of ``app``, or None and all that is wrong with it."""
    wrong = tuple(_check_kind(document))
    if wrong:
        return None, wrong
    model, problems = validate(Deployment, document)
    if model is None:
        return None, problems
    snapshot = snapshot_of(document.value["spec"]["template"])
    problems = tuple(_check(document, app, model, snapshot))
    if problems:
        return None, problems
    return TargetFile(snapshot, model.spec.replicas, model.spec.min_ready_seconds), ()


def _check_kind(document: Document) -> Iterator[Problem]:
    kind, version = document.value.get("kind"), document.value.get("apiVersion")
    if (kind, version) == ("Deployment", "apps/v1"):
        return
    field = "kind" if kind != "Deployment" else "apiVersion"
    message = f"the target must be a Deployment of apps/v1, found {kind or 'no kind'} of {version or 'no apiVersion'}"
    yield document.problem((field,), message, "write apiVersion: apps/v1 and kind: Deployment")


def _check(document: Document, app: AppKey, model: Deployment, snapshot: Snapshot) -> Iterator[Problem]:
    yield from check_place(document, app, model.metadata, named=True)
    yield from _check_selector(document, model)
    yield from _check_reserved(document, model)
    yield from _check_pods(document)
    size = len(snapshot.text.encode())
    if size > MAX_SNAPSHOT_BYTES:
        message = f"the pod template has {size:,} bytes; a version may have {MAX_SNAPSHOT_BYTES:,}"
        yield document.problem(_TEMPLATE, message, "move data into a ConfigMap")


def _check_selector(document: Document, model: Deployment) -> Iterator[Problem]:
    selector, labels = model.spec.selector, model.spec.template.metadata.labels
    if not selector.match_labels and not selector.match_expressions:
        yield document.problem(("spec", "selector"), "selects nothing", "add matchLabels")
    for key, value in (selector.match_labels or {}).items():
        if labels.get(key) != value:
            yield document.problem(
                ("spec", "selector", "matchLabels", key),
                f"{value} is not what the template's labels say ({labels.get(key, 'nothing')})",
                f"add {key}: {value} to spec.template.metadata.labels, or change the selector",
            )
    for index, expression in enumerate(selector.match_expressions or []):
        if not expression.matches(labels):
            yield document.problem(
                ("spec", "selector", "matchExpressions", index),
                f"{expression.operator} on {expression.key} does not match the template's labels",
                "change spec.template.metadata.labels or the selector",
            )


def _check_reserved(document: Document, model: Deployment) -> Iterator[Problem]:
    meta = model.spec.template.metadata
    for field, entries in (("labels", meta.labels), ("annotations", meta.annotations or {})):
        for key in entries:
            if key.startswith(f"{GROUP}/"):
                path = (*_TEMPLATE, "metadata", field, key)
                yield document.problem(path, f"{GROUP}/ is reserved for gitops-bg", "remove it", at_key=True)


def _check_pods(document: Document) -> Iterator[Problem]:
    pod = document.value["spec"]["template"]["spec"]
    if pod.get("restartPolicy", "Always") != "Always":
        message = f"{pod['restartPolicy']} is not possible in a Deployment"
        yield document.problem((*_TEMPLATE, "spec", "restartPolicy"), message, "write Always, or remove the field")
    seen: set[str] = set()
    for group in ("initContainers", "containers"):
        for index, container in enumerate(pod.get(group) or []):
            if container["name"] in seen:
                path = (*_TEMPLATE, "spec", group, index, "name")
                yield document.problem(path, f"two containers are called {container['name']}", "rename one")
            seen.add(container["name"])
