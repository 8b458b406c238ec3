"""Reads target.yaml: a Deployment, or any workload, whose pod template becomes a version. Never changes it.

Where the API server would refuse the resulting ReplicaSet, the author gets the error here, with the line.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.version import AppKey, Snapshot, WorkloadKind
from gitops_bg.core.names import GROUP
from gitops_bg.spec.app.layout import member_of
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.manifests.objects import (
    AppsWorkload,
    PodMeta,
    PodSpecWorkload,
    PodTemplate,
    PodTemplateObject,
    Workload,
    WorkloadSpec,
    check_place,
)
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Path, as_map, nearest

MAX_SNAPSHOT_BYTES = 200_000
"""The limit of a snapshot, which is kept in an annotation; all annotations of an object may have 256 KiB
(apimachinery).
"""

APPS_KINDS = ("Deployment", "ReplicaSet", "DaemonSet")
POD_TEMPLATE, POD_SPEC_WORKLOAD = "PodTemplate", "PodSpecWorkload"
_APIS = {
    **dict.fromkeys(APPS_KINDS, "apps/v1"),
    POD_TEMPLATE: "v1",
    POD_SPEC_WORKLOAD: "standard.oam.dev/v1alpha1",
}
"""The API version of each known kind."""
COMPONENT = "component.oam.dev/name"
"""The label by which OAM's controller selects the pods of a PodSpecWorkload: its name."""
_ENDS = ("ends, and live traffic needs pods that do not", "write a Deployment")
IMPOSSIBLE = {
    "StatefulSet": (
        "gives each pod a name and storage of its own that stay, and two versions cannot both have them",
        "write a Deployment where its pods need neither; else apply it as before",
    ),
    "Job": _ENDS,
    "CronJob": _ENDS,
    "ContainerizedWorkload": (
        "has containers in OAM's own form, and no pod template",
        "let `gitops-bg import` write a Deployment of it",
    ),
}
"""Why a kind is no target, and what would be right."""

_READ = ("replicas", "minReadySeconds", "selector", "template")
"""The fields of a workload's spec that are read."""
_ALL_OF_OAM = ("replicas", "podSpec")
"""The fields of a PodSpecWorkload's spec."""


@dataclass(frozen=True, slots=True)
class PodPaths:
    """Where a workload has its pod template: as a whole, or what there is of it at one place, and its parts."""

    template: Path
    spec: Path
    metadata: Path

    @property
    def are_together(self) -> bool:
        """Whether the template is at one place."""
        return self.template != self.spec


_IN_SPEC = PodPaths(("spec", "template"), ("spec", "template", "spec"), ("spec", "template", "metadata"))
_PATHS = {
    POD_TEMPLATE: PodPaths(("template",), ("template", "spec"), ("template", "metadata")),
    POD_SPEC_WORKLOAD: PodPaths(("spec", "podSpec"), ("spec", "podSpec"), ("metadata",)),
}
"""The kinds that have their pod template elsewhere than a Deployment."""


@dataclass(frozen=True, slots=True)
class TargetFile:
    """The requests of a target. ``replicas`` and ``min_ready_seconds`` are no part of the snapshot."""

    snapshot: Snapshot
    replicas: int | None
    """None for a DaemonSet."""
    min_ready_seconds: int


def read_target(document: Document, app: AppKey) -> tuple[TargetFile | None, tuple[Problem, ...]]:
    """Return the target of ``app``; None and all its problems where it is invalid.

    That of a release group's member may have the service's name: the same in every version.
    """
    wrong = tuple(_check_kind(document))
    if wrong:
        return None, wrong
    model, problems = validate(_model(document), document)
    if model is None:
        return None, problems
    spec = _spec_of(model)
    on_every_node = document.value["kind"] == WorkloadKind.DAEMON_SET
    workload = WorkloadKind.DAEMON_SET if on_every_node else WorkloadKind.REPLICA_SET
    snapshot = snapshot_of(template_of(document.value), workload=workload)
    member = member_of(document.folder)
    place = check_place(document, app, model.metadata, named=True, also=member.service if member else "")
    problems = (*place, *_check(document, spec, snapshot))
    if problems:
        return None, problems
    return TargetFile(snapshot, None if on_every_node else spec.replicas, spec.min_ready_seconds), ()


def pod_paths(manifest: Mapping[str, Any]) -> PodPaths:
    """Return where a workload has its pod template.

    >>> pod_paths({"kind": "Deployment"}).spec, pod_paths({"kind": "PodTemplate"}).spec
    (('spec', 'template', 'spec'), ('template', 'spec'))
    """
    kind = manifest.get("kind")
    return _PATHS.get(kind, _IN_SPEC) if isinstance(kind, str) else _IN_SPEC


def template_of(manifest: Mapping[str, Any]) -> Any:
    """Return the pod template of a workload, whatever it is; None where there is none.

    That of a PodSpecWorkload is the one that OAM's controller makes: its pods have the labels and annotations of the
    workload, and `COMPONENT` (kubevela v1.0, pkg/controller/standard.oam.dev/v1alpha1/podspecworkload).

    >>> template_of({"kind": "PodSpecWorkload", "metadata": {"name": "web"}, "spec": {"podSpec": {"containers": []}}})
    {'metadata': {'labels': {'component.oam.dev/name': 'web'}}, 'spec': {'containers': []}}
    """
    paths = pod_paths(manifest)
    found = value_at(manifest, paths.template)
    if paths.are_together or found is None:
        return found
    own = as_map(manifest.get("metadata"))
    labels, annotations = {COMPONENT: own.get("name"), **as_map(own.get("labels"))}, as_map(own.get("annotations"))
    metadata = {"labels": labels, **({"annotations": dict(annotations)} if annotations else {})}
    return {"metadata": metadata, "spec": found}


def value_at(value: Any, path: Path) -> Any:
    """Return the value at a path of a manifest; None where the path leads nowhere."""
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def metadata_of(document: Document | None, field: str) -> tuple[tuple[str, str], ...]:
    """Return the labels or annotations of a document, even if the document is not usable as a whole."""
    found = value_at(document.value, ("metadata", field)) if document else None
    return tuple(sorted((str(key), str(value)) for key, value in found.items())) if isinstance(found, Mapping) else ()


def match_labels(document: Document | None) -> Mapping[str, str]:
    """Return the labels with which a valid target selects its pods, each with its value; none without such a
    selector.
    """
    if document and _is_of_oam(document):
        return {COMPONENT: template_of(document.value)["metadata"]["labels"][COMPONENT]}
    labels = value_at(document.value, ("spec", "selector", "matchLabels")) if document else None
    return dict(labels) if isinstance(labels, Mapping) else {}


def selected_labels(document: Document | None) -> Mapping[str, str]:
    """Return the labels by which a target selects its pods, each with its field; even if the target is invalid."""
    if document and _is_of_oam(document):
        return {COMPONENT: "metadata.name"}
    selector = value_at(document.value, ("spec", "selector")) if document else None
    if not isinstance(selector, Mapping):
        return {}
    labels, expressions = selector.get("matchLabels"), selector.get("matchExpressions")
    found = dict.fromkeys(labels, "spec.selector.matchLabels") if isinstance(labels, Mapping) else {}
    for each in expressions if isinstance(expressions, list) else []:
        if isinstance(each, Mapping) and isinstance(each.get("key"), str):
            found.setdefault(each["key"], "spec.selector.matchExpressions")
    return found


def _is_of_oam(document: Document) -> bool:
    return bool(document.value.get("kind") == POD_SPEC_WORKLOAD)


_Model = Workload | PodTemplateObject | PodSpecWorkload


def _model(document: Document) -> type[_Model]:
    models: Mapping[str, type[_Model]] = {
        **dict.fromkeys(APPS_KINDS, AppsWorkload),
        POD_TEMPLATE: PodTemplateObject,
        POD_SPEC_WORKLOAD: PodSpecWorkload,
    }
    return models.get(document.value["kind"], Workload)


def _spec_of(model: _Model) -> WorkloadSpec:
    if isinstance(model, PodSpecWorkload):
        own = model.metadata
        pods = PodMeta(labels={COMPONENT: own.name, **(own.labels or {})}, annotations=own.annotations)
        return WorkloadSpec(replicas=model.spec.replicas, template=PodTemplate(metadata=pods, spec=model.spec.pod_spec))
    return model.spec if isinstance(model, Workload) else WorkloadSpec(template=model.template)


def _check_kind(document: Document) -> Iterator[Problem]:
    """Check that it is a workload: a known kind in a known API version, or any kind with a pod template."""
    words = (document.value.get(key) for key in ("kind", "apiVersion"))
    kind, version = (word if isinstance(word, str) else None for word in words)
    if kind in IMPOSSIBLE:
        why, remedy = IMPOSSIBLE[kind]
        yield document.problem(("kind",), f"a {kind} {why}", remedy)
        return
    expected = _APIS.get(kind, version) if kind else version
    found = f"found {kind or 'no kind'} of {version or 'no apiVersion'}"
    if not kind or not version:
        field = "apiVersion" if kind else "kind"
        message = f"the target must be a workload with a pod template, {found}"
        yield document.problem((field,), message, "write apiVersion: apps/v1 and kind: Deployment")
    elif version != expected:
        message = f"a {kind} is of {expected}, {found}"
        yield document.problem(("apiVersion",), message, f"write apiVersion: {expected}")
    elif kind not in _APIS and version == _APIS["Deployment"]:
        guess = nearest(kind.capitalize(), APPS_KINDS) or "Deployment"
        yield document.problem(("kind",), f"{version} has no workload called {kind}", f"write kind: {guess}")
    elif kind not in _APIS and not isinstance(template_of(document.value), Mapping):
        message = f"the target must be a workload with a pod template, and this {kind} has no spec.template"
        yield document.problem(("kind",), message, "name a Deployment, or another workload")


def _check(document: Document, spec: WorkloadSpec, snapshot: Snapshot) -> Iterator[Problem]:
    yield from _check_misspelt(document)
    yield from _check_replicas(document)
    yield from _check_selector(document, spec)
    yield from _check_reserved(document, spec)
    yield from _check_pods(document)
    size = len(snapshot.text.encode())
    if size > MAX_SNAPSHOT_BYTES:
        message = f"the pod template has {size:,} bytes; a version may have {MAX_SNAPSHOT_BYTES:,}"
        yield document.problem(pod_paths(document.value).template, message, "move data into a ConfigMap")


def _check_replicas(document: Document) -> Iterator[Problem]:
    """Refuse a number that nobody would keep: a DaemonSet has one pod on each of its nodes."""
    if document.value["kind"] == WorkloadKind.DAEMON_SET and "replicas" in document.value["spec"]:
        message = "a DaemonSet has one pod on each of its nodes"
        remedy = "remove it, or write a Deployment"
        yield document.problem(("spec", "replicas"), message, remedy, at_key=True)


def _check_misspelt(document: Document) -> Iterator[Problem]:
    """Report misspelt fields: ignored, `replica: 5` would leave one pod.

    Other unknown fields are left to the API server; `check` knows them (`cluster.lint`). No API server is asked about a
    PodSpecWorkload, so each of its unknown fields is reported.
    """
    is_of_oam = _is_of_oam(document)
    if document.value["kind"] not in APPS_KINDS and not is_of_oam:
        return
    known = _ALL_OF_OAM if is_of_oam else _READ
    for key in [key for key in document.value["spec"] if key not in known]:
        meant = nearest(key, known, cutoff=0.8)
        if meant or is_of_oam:
            remedy = f"did you mean {meant}?" if meant else f"write {' or '.join(known)}, or remove it"
            yield document.problem(("spec", key), "there is no such field", remedy, at_key=True)


def _check_selector(document: Document, spec: WorkloadSpec) -> Iterator[Problem]:
    selector, labels = spec.selector, spec.template.metadata.labels
    if selector is None:
        return
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


def _check_reserved(document: Document, spec: WorkloadSpec) -> Iterator[Problem]:
    meta = spec.template.metadata
    for field, entries in (("labels", meta.labels), ("annotations", meta.annotations or {})):
        for key in entries:
            if key.startswith(f"{GROUP}/"):
                path = (*pod_paths(document.value).metadata, field, key)
                yield document.problem(path, f"{GROUP}/ is reserved for gitops-bg", "remove it", at_key=True)


def _check_pods(document: Document) -> Iterator[Problem]:
    place = pod_paths(document.value).spec
    pod = value_at(document.value, place)
    if pod.get("restartPolicy", "Always") != "Always":
        message = f"{pod['restartPolicy']} is not possible in a {document.value['kind']}"
        yield document.problem((*place, "restartPolicy"), message, "write Always, or remove the field")
    seen: set[str] = set()
    for group in ("initContainers", "containers"):
        for index, container in enumerate(pod.get(group) or []):
            if container["name"] in seen:
                path = (*place, group, index, "name")
                yield document.problem(path, f"two containers are called {container['name']}", "rename one")
            seen.add(container["name"])
