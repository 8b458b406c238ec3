"""Kinds that do not belong into an app's folder: what becomes of them, and where they belong. Knows no file."""

_APPLIER = "gitops-bg does not apply it; move it out of apps/, to where Flux, Argo CD or kubectl does"

_IS_A_TARGET = "the workload of an app is its target: name this file as spec.target in app.yaml, or move it away"

REMEDIES = {
    "Deployment": _IS_A_TARGET,
    "StatefulSet": f"two versions cannot both have the names and the storage of its pods: {_APPLIER}",
    "ReplicaSet": _IS_A_TARGET,
    "Rollout": _IS_A_TARGET,
    "Canary": "an app.yaml takes its place: `gitops-bg import` writes it",
    "DaemonSet": _IS_A_TARGET,
    "PodSpecWorkload": _IS_A_TARGET,
    "ContainerizedWorkload": "a Deployment as the target takes its place: `gitops-bg import` writes it",
    "Ingress": f"it leads to the active Service, whose name never changes: {_APPLIER}",
    "HTTPRoute": "write spec.strategy.blueGreen.routes in app.yaml, and the agent makes it",
    "GRPCRoute": "write spec.strategy.blueGreen.routes in app.yaml, and the agent makes it",
    "Job": f"as a check of a rollout it is a metric with provider.job in analysis/; else {_APPLIER}",
    "CronJob": _APPLIER,
    "AnalysisTemplate": "move it to analysis/",
    "ClusterAnalysisTemplate": "move it to analysis/",
    "MetricTemplate": "write it as an AnalysisTemplate in analysis/, or let `gitops-bg import` do it",
    "AlertProvider": "move it to alerts/",
    "PromotionPolicy": "move it to policies/",
    "People": "move it to policies/",
    "BlueGreenDeployment": "it is the app: call the file app.yaml",
    "ReleaseGroup": "move it to groups/<namespace>/<group>/group.yaml",
    "ServiceRoutes": "it belongs to a service of a release group: groups/<namespace>/<group>/<version>/<service>/",
}
"""By kind: who takes care of it instead, as the remedy of a problem."""

_IT_IS_THE_TARGET = "it is the target: call the file target.yaml, and write app.yaml beside it"
_INSTEAD_OF_APP = {
    "Rollout": "let `gitops-bg import` write it, or write a BlueGreenDeployment: strategy.blueGreen keeps its field "
    "names, and template belongs into a Deployment in target.yaml; docs/how-to/come-from-argo-rollouts.md",
    "Canary": "let `gitops-bg import` write it, or write a BlueGreenDeployment: analysis and its webhooks keep their "
    "field names, and targetRef is the Deployment in target.yaml; docs/how-to/come-from-flagger.md",
    "Deployment": _IT_IS_THE_TARGET,
    "PodSpecWorkload": _IT_IS_THE_TARGET,
}
"""By kind of what somebody called app.yaml: what to write instead."""


def instead_of_app(kind: object) -> str:
    """The remedy for an object that is no app, in place of app.yaml; empty where its fields tell more.

    >>> instead_of_app("Deployment"), instead_of_app("BlueGreenDeployment")
    ('it is the target: call the file target.yaml, and write app.yaml beside it', '')
    """
    return _INSTEAD_OF_APP.get(kind, "") if isinstance(kind, str) else ""


def remedy_for(kind: str, allowed: str) -> str:
    """Where an object of a kind belongs that no app's folder may have; ``allowed``: the kinds that it may.

    >>> remedy_for("Ingress", "Service")[:57]
    'it leads to the active Service, whose name never changes:'
    """
    return REMEDIES.get(kind) or f"allowed: {allowed}; {_APPLIER}"
