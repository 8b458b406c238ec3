"""Which kinds an import takes, and what becomes of those that it knows and leaves. Knows no field."""

from dataclasses import dataclass

from gitops_bg.spec.app.validation import nearest
from gitops_bg.spec.manifests.objects import ALLOWED
from gitops_bg.spec.manifests.other_kinds import REMEDIES


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
    """What to do with an object that has no place in an app's folder; empty where it has one, or is unknown.

    >>> left_out("Application", "core.oam.dev/v1beta1"), left_out("Application", "argoproj.io/v1alpha1")
    ('render it with `vela dry-run`, and import the workloads', '')
    """
    return ELSEWHERE.get(kind) or (_OF_OAM.get(kind, "") if api.startswith("core.oam.dev/") else "")


def is_known(kind: str, api: str) -> bool:
    """Whether a kind of an API version is imported.

    >>> is_known("Rollout", "argoproj.io/v1alpha1"), is_known("Rollout", "example.com/v1")
    (True, False)
    """
    return kind in IMPORTED and api.startswith(IMPORTED[kind].apis)


def instead_of(kind: str, api: str) -> str:
    """What was meant by a kind that is not imported, of a group whose kinds are: another version of it, or a slip of
    the finger; empty where it is a kind of its own.

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
