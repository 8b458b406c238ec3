"""What other tools write into the metadata of an object to know it again: of no use in an app's folder, and harmful.

An object that the agent makes from a file with such a mark would be taken for the other tool's own, and pruned.
Argo CD: https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking. Flux: https://fluxcd.io/flux/faq (labels
of Kustomizations and HelmReleases). Helm: https://helm.sh/docs/chart_best_practices/labels.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_bg.core.names import MANAGED_BY, MANAGER
from gitops_bg.spec.yaml.scalars import as_map, as_maps

Metadata = Mapping[str, Any]

INSTANCE = "app.kubernetes.io/instance"
"""The label by which Argo CD knows its objects where nothing else is configured, up to 2.x; charts have it, too."""
_ARGO_CD, _FLUX, _HELM = (
    "argocd.argoproj.io/",
    ("kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"),
    "meta.helm.sh/",
)
_TRACKING_ID, _OWN_INSTANCE = f"{_ARGO_CD}tracking-id", f"{_ARGO_CD}instance"
_PREFIXES: Mapping[str, tuple[str, ...]] = {
    "labels": (_ARGO_CD, *_FLUX),
    "annotations": (_ARGO_CD, *_FLUX, _HELM, "notifications.argoproj.io/"),
}


def marks_of(metadata: Metadata) -> Iterator[tuple[str, str]]:
    """The marks of other tools: each ``labels`` or ``annotations``, and its key.

    >>> list(marks_of({"labels": {"app": "web", "argocd.argoproj.io/instance": "shop"}}))
    [('labels', 'argocd.argoproj.io/instance')]
    """
    for field, prefixes in _PREFIXES.items():
        for key in as_map(metadata.get(field)):
            if str(key).startswith(prefixes) or (field == "labels" and _marks(metadata, key)):
                yield field, key


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark of another tool in a file."""

    field: str
    """``labels`` or ``annotations``."""
    key: str
    tool: str
    tracks: bool
    """Whether the tool knows by it what it applies; else it tells the tool what to do with the object."""


def marks_in_file(metadata: Metadata) -> Iterator[Mark]:
    """The marks of other tools in metadata that a file says, which have no managed fields.

    `INSTANCE` is one only where Argo CD has left another mark, and none by which it tracks: charts have it, too, and so
    have the files that are rendered from them. `MANAGED_BY` is none: the agent writes its own.

    >>> [each.key for each in marks_in_file({"labels": {"app.kubernetes.io/instance": "web"}})]
    []
    """
    labels, annotations = as_map(metadata.get("labels")), as_map(metadata.get("annotations"))
    of_argo_cd = {key for key in (*labels, *annotations) if str(key).startswith(_ARGO_CD)}
    for field, prefixes in _PREFIXES.items():
        for key in as_map(metadata.get(field)):
            if str(key).startswith(prefixes):
                yield Mark(field, key, _tool_by(str(key)), tracks=_tracks(field, str(key)))
    if INSTANCE in labels and of_argo_cd and not of_argo_cd & {_TRACKING_ID, _OWN_INSTANCE}:
        yield Mark("labels", INSTANCE, "Argo CD", tracks=True)


def _tool_by(key: str) -> str:
    return "Flux" if key.startswith(_FLUX) else "Helm" if key.startswith(_HELM) else "Argo CD"


def _tracks(field: str, key: str) -> bool:
    return (
        key in (_OWN_INSTANCE, _TRACKING_ID) or key.startswith(_HELM) or (field == "labels" and key.startswith(_FLUX))
    )


def without_marks(metadata: Metadata) -> dict[str, Any]:
    """Metadata without the marks of other tools.

    >>> without_marks({"name": "web", "labels": {"app.kubernetes.io/managed-by": "Helm"}})
    {'name': 'web'}
    """
    marks = set(marks_of(metadata))
    fields = {
        field: {key: each for key, each in as_map(metadata[field]).items() if (field, key) not in marks}
        for field in {field for field, _ in marks}
    }
    return {key: fields.get(key, each) for key, each in metadata.items() if fields.get(key, True)}


def tool_of(metadata: Metadata) -> str:
    """The tool that applies an object, as far as its marks say; empty where none does.

    >>> tool_of({"labels": {"app.kubernetes.io/managed-by": "Helm"}})
    'Helm'
    """
    labels, annotations = as_map(metadata.get("labels")), as_map(metadata.get("annotations"))
    if any(key.startswith(_ARGO_CD) for key in {**labels, **annotations}) or _is_tracked_by_instance(metadata):
        return "Argo CD"
    if any(key.startswith(_FLUX) for key in {**labels, **annotations}):
        return "Flux"
    manager = str(labels.get(MANAGED_BY, ""))
    return "Helm" if not manager and any(key.startswith(_HELM) for key in annotations) else manager.replace(MANAGER, "")


def _marks(metadata: Metadata, label: str) -> bool:
    return label == MANAGED_BY or (label == INSTANCE and _is_tracked_by_instance(metadata))


def _is_tracked_by_instance(metadata: Metadata) -> bool:
    """Whether Argo CD knows the object by `INSTANCE`: it wrote the label itself, and it has no mark beside it.

    Of a label that others wrote, or of a file without managed fields, that is not certain: Services are found by it.
    """
    labels, annotations = as_map(metadata.get("labels")), as_map(metadata.get("annotations"))
    if _TRACKING_ID in annotations or _OWN_INSTANCE in labels:
        return False
    return INSTANCE in labels and any(
        str(each.get("manager", "")).startswith("argocd-") and f"f:{INSTANCE}" in _labels_written(each)
        for each in as_maps(metadata.get("managedFields"))
    )


def _labels_written(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The labels that an entry of managedFields has."""
    return as_map(as_map(as_map(entry.get("fieldsV1")).get("f:metadata")).get("f:labels"))
