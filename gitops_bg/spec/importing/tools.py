"""What other tools leave in a repository or a cluster: kinds that an import takes, or knows and leaves, and marks in
the metadata by which a tool knows an object again. Knows no field of a kind.

A mark is of no use in an app's folder, and harmful: an object that the agent makes from a file with one would be taken
for the other tool's own, and pruned. Argo CD: https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking.
Flux: https://fluxcd.io/flux/faq (labels of Kustomizations and HelmReleases). Helm:
https://helm.sh/docs/chart_best_practices/labels.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.names import MANAGED_BY, MANAGER
from gitops_bg.spec.manifests.objects import ALLOWED, REMEDIES
from gitops_bg.spec.yaml.scalars import as_map, as_maps, nearest

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
    """Yield the marks of other tools: each ``labels`` or ``annotations``, and its key.

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
    """Yield the marks of other tools in metadata that a file says, which have no managed fields.

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
    """Return metadata without the marks of other tools.

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
    """Return the tool that applies an object, as far as its marks say; empty where none does.

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
    """Return whether Argo CD knows the object by `INSTANCE`: it wrote the label itself, and it has no mark beside it.

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
    """Return the labels that an entry of managedFields has."""
    return as_map(as_map(as_map(entry.get("fieldsV1")).get("f:metadata")).get("f:labels"))


@dataclass(frozen=True, slots=True)
class ImportedKind:
    """A kind that is imported: its API versions, by their beginnings."""

    apis: tuple[str, ...]
    namespaced: bool = True


OF_OAM = {
    "PodSpecWorkload": ImportedKind(("standard.oam.dev/",)),
    "ContainerizedWorkload": ImportedKind(("core.oam.dev/",)),
}
"""OAM's own workloads."""
IMPORTED = {
    "Rollout": ImportedKind(("argoproj.io/",)),
    "AnalysisTemplate": ImportedKind(("argoproj.io/",), namespaced=False),
    "ClusterAnalysisTemplate": ImportedKind(("argoproj.io/",), namespaced=False),
    "Canary": ImportedKind(("flagger.app/v1beta1",)),
    "MetricTemplate": ImportedKind(("flagger.app/",), namespaced=False),
    "AlertProvider": ImportedKind(("flagger.app/v1beta1",), namespaced=False),
    "BlueGreenDeployment": ImportedKind(("controller.google.com/", "demo.google.com/")),
    **OF_OAM,
    "Deployment": ImportedKind(("apps/v1",)),
    "DaemonSet": ImportedKind(("apps/v1",)),
    **{kind: ImportedKind(versions) for kind, versions in ALLOWED.items()},
}

AS_BEFORE = "apply it as before"
_OF_OTHERS = (
    "Namespace",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
    "NetworkPolicy",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "GatewayClass",
    "Gateway",
    "VirtualService",
    "DestinationRule",
    "ServiceMonitor",
    "PodMonitor",
    "Certificate",
    "Kustomization",
    "HelmRelease",
    "TrafficSplit",
    "Mesh",
    "VirtualNode",
    "VirtualRouter",
    "VerticalPodAutoscaler",
    "ServiceProfile",
    "HTTPProxy",
    "IngressRoute",
    "TraefikService",
    "ApisixRoute",
    "Mapping",
)
_MADE = {
    "ReplicaSet": "its pods are those of the workload, which is imported; leave it out",
    "Pod": "its pods are those of the workload, which is imported; leave it out",
    "AnalysisRun": "runs begin anew; leave it out",
    "Endpoints": "Kubernetes makes it; leave it out",
    "EndpointSlice": "Kubernetes makes it; leave it out",
    "ControllerRevision": "Kubernetes makes it; leave it out",
}
_WITHOUT_EQUAL = {
    "Experiment": "there are no experiments; measure a candidate with prePromotionAnalysis",
    "StatefulSet": "the names and the storage of its pods cannot be switched from one version to the next; apply it as "
    "before",
}
ELSEWHERE = {
    **dict.fromkeys(_OF_OTHERS, AS_BEFORE),
    **{kind: remedy for kind, remedy in REMEDIES.items() if kind not in IMPORTED},
    **dict.fromkeys(("Ingress", "HTTPRoute", "GRPCRoute"), f"{AS_BEFORE}: it leads to the active Service"),
    **dict.fromkeys(("Job", "CronJob"), AS_BEFORE),
    **_MADE,
    **_WITHOUT_EQUAL,
}
"""What to do with objects that have no place in an app's folder, by kind."""
_OF_OAM = {
    "ApplicationConfiguration": "import its Components, and write what its parameterValues and traits say into "
    "target.yaml, replicas among them",
    "Application": "render it with `vela dry-run`, and import the workloads",
    "ManualScalerTrait": "write its replicaCount as replicas into target.yaml",
    "HealthScope": "leave it out: conditions of the app say how it is",
    **dict.fromkeys(("WorkloadDefinition", "TraitDefinition", "ScopeDefinition", "ComponentDefinition"), AS_BEFORE),
}
"""The same, of kinds whose names other systems have, too: of the group core.oam.dev only."""


def left_out(kind: str, api: str) -> str:
    """Return what to do with an object that has no place in an app's folder; empty where it has one, or is unknown.

    >>> left_out("Application", "core.oam.dev/v1beta1"), left_out("Application", "argoproj.io/v1alpha1")
    ('render it with `vela dry-run`, and import the workloads', '')
    """
    return ELSEWHERE.get(kind) or (_OF_OAM.get(kind, "") if api.startswith("core.oam.dev/") else "")


def is_known(kind: str, api: str) -> bool:
    """Return whether a kind of an API version is imported.

    >>> is_known("Rollout", "argoproj.io/v1alpha1"), is_known("Rollout", "example.com/v1")
    (True, False)
    """
    return kind in IMPORTED and api.startswith(IMPORTED[kind].apis)


def instead_of(kind: str, api: str) -> str:
    """Return what was meant by a kind that is not imported, of a group whose kinds are: another version of it, or a
    slip of the finger; empty where it is a kind of its own.

    >>> instead_of("Deployment", "extensions/v1beta1"), instead_of("Deploymnet", "apps/v1")
    ('write apiVersion: apps/v1', 'did you mean Deployment?')
    >>> instead_of("Service", "serving.knative.dev/v1"), instead_of("Rollout", "example.com/v1")
    ('', '')
    """
    if kind in IMPORTED:
        known = IMPORTED[kind].apis
        is_version = _group(api) in {*map(_group, known), "extensions"}
        return (
            f"write apiVersion: {known[0] if not known[0].endswith('/') else known[0] + 'v1alpha1'}"
            if is_version
            else ""
        )
    guess = nearest(kind, IMPORTED, 0.85)
    return f"did you mean {guess}?" if guess and is_known(guess, api) else ""


def _group(api: str) -> str:
    return api.rpartition("/")[0]
