"""``overlay.yaml``: what an environment changes in the workload of an app, as a strategic merge patch. It may change
what runs, and never what the workload is: its kind, its name, the labels that it selects by, or that the app runs.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.manifests.merge import PATCH, check_directives, strategic_merged
from gitops_bg.spec.manifests.target import pod_paths, value_at
from gitops_bg.spec.yaml.layered import LayeredDocument, layered
from gitops_bg.spec.yaml.reader import Document, kind_of
from gitops_bg.spec.yaml.scalars import Path

_SAME: tuple[Path, ...] = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
"""What an overlay may repeat, as it is."""
_SELECTORS: tuple[Path, ...] = (("spec", "selector"),)


def with_overlay(base: Document, overlay: Document) -> tuple[LayeredDocument | None, tuple[Problem, ...]]:
    """Return the workload with the overlay of an environment; None and its problems where the overlay may not do what
    it does.
    """
    problems = tuple(_check(base.value, overlay))
    if problems:
        return None, problems
    merged = strategic_merged(base.value, overlay.value)
    problems = tuple(_check_result(base.value, merged.value, overlay))
    return (None, problems) if problems else (layered(base, overlay, merged), ())


def _check(base: Mapping[str, Any], overlay: Document) -> Iterator[Problem]:
    for path in _SAME:
        found, own = value_at(overlay.value, path), value_at(base, path)
        if found is not None and own is not None and found != own:
            message = f"{found} is not what the app's workload says, {own}: an overlay cannot change it"
            yield overlay.problem(path, message, f"write {own}, or leave it out")
    for path in _SELECTORS:
        found = value_at(overlay.value, path)
        if found is not None and found != value_at(base, path):
            message = "an overlay cannot change by which labels the workload selects its pods"
            yield overlay.problem(path, message, "remove it; the release says it", at_key=True)
    yield from _check_removed(overlay, pod_paths(base).spec)
    yield from check_directives(base, overlay)


def _check_removed(overlay: Document, pod: Path) -> Iterator[Problem]:
    """Yield what would remove the containers: what leads to them must be a map wherever the overlay says it."""
    for length in range(1, len(pod) + 1):
        holder = value_at(overlay.value, pod[: length - 1])
        if isinstance(holder, Mapping) and pod[length - 1] in holder:
            found = holder[pod[length - 1]]
            if not isinstance(found, Mapping):
                message = f"expected a mapping, found {kind_of(found)}: it would remove what the app runs"
                yield overlay.problem(pod[:length], message, "write the fields that differ in this environment")
                return
            if PATCH in found:
                message = "a directive here would remove what the app runs"
                remedy = "remove it, and write the fields that differ in this environment"
                yield overlay.problem((*pod[:length], PATCH), message, remedy, at_key=True)


def _check_result(base: Mapping[str, Any], merged: Any, overlay: Document) -> Iterator[Problem]:
    """Demand that every container of the release is there still; an overlay may add others."""
    pod = pod_paths(base).spec
    before, after = (_containers(value_at(value, pod)) for value in (base, merged))
    for name in (each for each in before if each not in after):
        message = f"it removes the container {name} of the app"
        yield overlay.problem((*pod, "containers"), message, "keep it: an overlay changes it, or adds others")


def _containers(pod: Any) -> list[str]:
    found = pod.get("containers") if isinstance(pod, Mapping) else None
    items = found if isinstance(found, list) else []
    return [str(each.get("name")) for each in items if isinstance(each, Mapping)]
