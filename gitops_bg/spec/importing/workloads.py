"""The workloads that become an app by themselves: a Deployment, a Rollout of Argo Rollouts (argo-rollouts.md §1), and a
BlueGreenDeployment of Google's bgd-controller (bgd-controller.md §1). Reads nothing; Services come later (`beside`).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.importing.draft import AppDraft, deployment_of, of_other_tools, target_of
from gitops_bg.spec.importing.manifest import Manifest, Table, cleaned, imported, left, left_fields
from gitops_bg.spec.importing.tools import without_marks
from gitops_bg.spec.yaml.scalars import as_map, as_maps

_DEFAULT_STRATEGY = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
"""What the ARGO_API server writes: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#strategy."""

DEPLOYMENT_FIELDS: Table = {
    **imported(
        "replicas", "selector", "template", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"
    ),
    **imported("paused"),
    **left(
        "is of pods that are replaced a few at a time, and here a version comes up whole beside the live one",
        "leave it out",
        "strategy",
        unless=(_DEFAULT_STRATEGY, {"type": "RollingUpdate"}, {}),
    ),
}
"""Every field of `spec` of a Deployment."""


def draft_of_deployment(deployment: Manifest) -> AppDraft:
    """Return the app that a Deployment becomes: the target is the Deployment as it is."""
    app = AppKey(deployment.namespace, deployment.name)
    draft = AppDraft(app, deployment, deployment, target_of(deployment))
    for key in ("progressDeadlineSeconds", "revisionHistoryLimit"):
        draft.put(key, deployment.spec.get(key))
    if deployment.spec.get("paused"):
        draft.suspend(f"spec.paused of the Deployment {deployment.name}")
    draft.listed.extend(of_other_tools(deployment))
    draft.listed.extend(left_fields(deployment, DEPLOYMENT_FIELDS))
    return draft


ARGO_API = "argoproj.io/"
_ARGO_SCALE_DOWN = 30
"""Argo Rollouts' default of scaleDownDelaySeconds, in seconds."""
_WEIGHTS = "shares live traffic between versions, and here all of it is on one"

ROLLOUT_FIELDS: Table = {
    **imported(
        "replicas", "selector", "template", "minReadySeconds", "progressDeadlineSeconds", "progressDeadlineAbort"
    ),
    **imported("revisionHistoryLimit", "rollbackWindow", "restartAt", "analysis", "paused", "strategy.blueGreen"),
    **imported("workloadRef.apiVersion", "workloadRef.kind", "workloadRef.name"),
    **left(
        "scales the old Deployment down, and no live object of the target's name is touched here",
        "delete the Deployment once live traffic is on the app: docs/how-to/adopt.md",
        "workloadRef.scaleDown",
        unless=("never",),
    ),
    **imported("strategy.canary.stableService", "strategy.canary.canaryService", "strategy.canary.antiAffinity"),
    **imported("strategy.canary.stableMetadata", "strategy.canary.canaryMetadata"),
    **imported("strategy.canary.abortScaleDownDelaySeconds", "strategy.canary.scaleDownDelaySeconds"),
    **imported("strategy.canary.scaleDownDelayRevisionLimit", "strategy.canary.maxUnavailable"),
    **left(
        "measures while the weight grows, and here before and after the switch",
        "write prePromotionAnalysis or postPromotionAnalysis with the same templates and args",
        "strategy.canary.analysis",
    ),
    **left(
        _WEIGHTS,
        "leave it out; what a pause or an analysis step waited for is promotion.via, webhooks, autoPromotionSeconds, "
        "prePromotionAnalysis, or a policy",
        "strategy.canary.steps",
    ),
    **left(
        _WEIGHTS,
        "leave it out; requests with a header reach the candidate by strategy.blueGreen.routes",
        "strategy.canary.trafficRouting",
        "strategy.canary.pingPong",
    ),
    **left(
        "is of pods that are replaced a few at a time, and here a version comes up whole beside the live one",
        "leave it out; previewReplicaCount keeps a candidate small until it is promoted",
        "strategy.canary.maxSurge",
        "strategy.canary.dynamicStableScale",
        "strategy.canary.minPodsPerReplicaSet",
        "strategy.canary.replicaProgressThreshold",
    ),
}
"""Every field of `spec` of a Rollout."""

_SAME = (
    "minReadySeconds",
    "progressDeadlineSeconds",
    "progressDeadlineAbort",
    "revisionHistoryLimit",
    "rollbackWindow",
    "restartAt",
    "analysis",
)
_OF_CANARY = {
    "stableService": "activeService",
    "canaryService": "previewService",
    "stableMetadata": "activeMetadata",
    "canaryMetadata": "previewMetadata",
    "antiAffinity": "antiAffinity",
    "maxUnavailable": "maxUnavailable",
    "scaleDownDelaySeconds": "scaleDownDelaySeconds",
    "scaleDownDelayRevisionLimit": "scaleDownDelayRevisionLimit",
    "abortScaleDownDelaySeconds": "abortScaleDownDelaySeconds",
}
"""What stands in strategy.blueGreen for a field of strategy.canary."""


def draft_of_rollout(rollout: Manifest, workload: Manifest | None) -> AppDraft:
    """Return the app that a Rollout becomes; ``workload`` is the object that its workloadRef names."""
    draft = _with_workload(rollout, workload) if workload else _with_template(rollout)
    spec = rollout.spec
    for key in _SAME:
        draft.put(key, spec.get(key))
    if spec.get("paused"):
        draft.suspend(f"spec.paused of the Rollout {rollout.name}")
    strategy = as_map(spec.get("strategy"))
    canary = as_map(strategy.get("canary"))
    is_canary = strategy.get("blueGreen") is None
    if is_canary:
        draft.blue_green.update({ours: canary[name] for name, ours in _OF_CANARY.items() if name in canary})
    else:
        draft.blue_green.update(as_map(strategy["blueGreen"]))
        draft.listed.extend(_ignored_canary(rollout, canary))
    _as_argo_means_it(rollout, draft, is_canary=is_canary)
    for each in (rollout, workload) if workload else (rollout,):
        draft.listed.extend(of_other_tools(each))
    draft.listed.extend(left_fields(rollout, ROLLOUT_FIELDS))
    return draft


def _ignored_canary(rollout: Manifest, canary: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the fields of a canary that would be taken over, if blueGreen did not count in its place."""
    for name, ours in _OF_CANARY.items():
        if canary.get(name) is not None:
            remedy = f"leave it out, or write {ours} into strategy.blueGreen"
            place = ("spec", "strategy", "canary", name)
            yield rollout.problem(place, "stands beside strategy.blueGreen, which counts", remedy, at_key=True)


def _with_template(rollout: Manifest) -> AppDraft:
    spec = as_map(cleaned(rollout.value).get("spec"))
    taken_over = {key: spec[key] for key in ("replicas", "selector", "template") if spec.get(key) is not None}
    labels = as_map(without_marks(as_map(rollout.value.get("metadata"))).get("labels"))
    target = deployment_of(rollout.name, rollout.namespace, taken_over, labels)
    draft = AppDraft(AppKey(rollout.namespace, rollout.name), rollout, rollout, target)
    if "template" not in spec:
        message = "has neither a pod template nor a workloadRef, so there is nothing to run"
        draft.problems.append(rollout.problem(("spec",), message, "add one of them"))
    return draft


def _with_workload(rollout: Manifest, workload: Manifest) -> AppDraft:
    """Return the app, called as the object with the pod template; its size, and all but its template, the Rollout
    says.
    """
    app = AppKey(rollout.namespace, workload.name)
    draft = AppDraft(app, rollout, workload, target_of(workload))
    replicas = rollout.spec.get("replicas")
    draft.replicas = replicas if isinstance(replicas, int) else 1
    inherited = as_map(draft.target.get("spec")).get("minReadySeconds")
    if inherited and not rollout.spec.get("minReadySeconds"):
        draft.spec["minReadySeconds"] = 0
        draft.comments["minReadySeconds"] = "the Deployment's own does not count for Argo Rollouts"
    if workload.name != rollout.name:
        message = f"is called {rollout.name}, and its app is called as the Deployment: {workload.name}"
        draft.listed.append(rollout.problem(("metadata", "name"), message, "commands take the app's name"))
    if rollout.spec.get("template") is not None:
        message = "stands beside workloadRef, and one of the two would not count"
        draft.problems.append(rollout.problem(("spec", "template"), message, "remove one of them", at_key=True))
    return draft


def _as_argo_means_it(rollout: Manifest, draft: AppDraft, *, is_canary: bool) -> None:
    """Write Argo Rollouts' defaults where they are not those here, and its names where they differ."""
    blue_green = draft.blue_green
    field = "canary" if is_canary else "blueGreen"
    if is_canary:
        _promote_as_steps_do(rollout, draft)
    elif blue_green.get("autoPromotionEnabled") is None:
        blue_green["autoPromotionEnabled"] = True
        draft.comments["autoPromotionEnabled"] = "the default of Argo Rollouts; remove it, and a person decides"
    if blue_green.get("scaleDownDelaySeconds") is None and not is_canary:
        blue_green["scaleDownDelaySeconds"] = _ARGO_SCALE_DOWN
        draft.comments["scaleDownDelaySeconds"] = "the default of Argo Rollouts; 600 here"
    elif blue_green.get("scaleDownDelaySeconds") == 0:
        message = "is never with Argo Rollouts (issue 1992), and at once here"
        place = ("spec", "strategy", field, "scaleDownDelaySeconds")
        draft.listed.append(rollout.problem(place, message, 'write "never" if it is meant'))
    if blue_green.get("abortScaleDownDelaySeconds") == 0:
        blue_green["abortScaleDownDelaySeconds"] = "never"
        draft.comments["abortScaleDownDelaySeconds"] = "0 with Argo Rollouts"
    if "antiAffinity" in blue_green:
        blue_green["antiAffinity"] = _anti_affinity(as_map(blue_green["antiAffinity"]))
    draft.spec["strategy"]["blueGreen"] = {key: each for key, each in blue_green.items() if each is not None}


def _promote_as_steps_do(rollout: Manifest, draft: AppDraft) -> None:
    """Let a canary go on by itself, unless a step waits for a person, or for a measurement, which is left out."""
    canary = as_map(as_map(rollout.spec.get("strategy")).get("canary"))
    steps = as_maps(canary.get("steps"))
    if canary.get("analysis") or any("analysis" in each or "experiment" in each for each in steps):
        draft.let_a_person_decide("what the canary measured is left out; true, once prePromotionAnalysis does")
    elif not any(_waits_for_a_person(each) for each in steps):
        draft.blue_green["autoPromotionEnabled"] = True
        draft.comments["autoPromotionEnabled"] = "no step of the canary waits for a person; remove it, and one decides"


def _waits_for_a_person(step: Mapping[str, Any]) -> bool:
    pause = step.get("pause", False)
    return pause is not False and not as_map(pause).get("duration")


def _anti_affinity(theirs: Mapping[str, Any]) -> dict[str, Any]:
    preferred = theirs.get("preferredDuringSchedulingIgnoredDuringExecution")
    return {"preferred": preferred} if preferred is not None else {"required": {}}


def template_names(draft: AppDraft) -> list[tuple[tuple[str | int, ...], str]]:
    """Return the AnalysisTemplates that an app names, each with its place in the Rollout."""
    found: list[tuple[tuple[str | int, ...], str]] = []
    for field in ("prePromotionAnalysis", "postPromotionAnalysis"):
        templates = as_map(draft.blue_green.get(field)).get("templates")
        for number, each in enumerate(templates if isinstance(templates, list) else ()):
            place = ("spec", "strategy", "blueGreen", field, "templates", number, "templateName")
            found.append((place, str(as_map(each).get("templateName", ""))))
    return found


BGD_APIS = ("controller.google.com/v1alpha1", "demo.google.com/v1")
BGD_SERVICE = "bgd-svc"
"""The one Service of a namespace; bgd-controller makes it."""

BGD_FIELDS: Table = imported("replicas", "podSpec", "template")
"""Every field of `spec`, of both versions of the kind."""


def draft_of_bgd(bgd: Manifest) -> AppDraft:
    """Return the app that a BlueGreenDeployment becomes: it promotes by itself, and has the one Service, 80 to 443."""
    spec = as_map(cleaned(bgd.value).get("spec"))
    pods = as_map(spec.get("template")) or {"spec": spec.get("podSpec") or {}}
    labels = as_map(as_map(pods.get("metadata")).get("labels")) or {"app": bgd.name}
    template = {**pods, "metadata": {**as_map(pods.get("metadata")), "labels": dict(labels)}}
    size = {"replicas": spec["replicas"]} if isinstance(spec.get("replicas"), int) else {}
    workload = {**size, "selector": {"matchLabels": dict(labels)}, "template": template}
    target = deployment_of(bgd.name, bgd.namespace, workload, {})
    draft = AppDraft(AppKey(bgd.namespace, bgd.name), bgd, bgd, target)
    draft.blue_green.update(activeService=BGD_SERVICE, autoPromotionEnabled=True)
    draft.comments["autoPromotionEnabled"] = "as bgd-controller does; remove it, and a person decides"
    if not size:
        message = "is not there: bgd-controller makes it 0, and Kubernetes 1"
        draft.listed.append(bgd.problem(("spec", "replicas"), message, "write replicas into target.yaml"))
    if not as_map(template.get("spec")).get("containers"):
        message = "has no containers, so there is nothing to run"
        draft.problems.append(bgd.problem(("spec",), message, "add spec.podSpec.containers"))
    draft.listed.extend(of_other_tools(bgd))
    draft.listed.extend(left_fields(bgd, BGD_FIELDS))
    return draft


def service_of_bgd(draft: AppDraft) -> dict[str, Any]:
    """Return the Service as bgd-controller makes it (bgd-controller.md §1)."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": BGD_SERVICE, "namespace": draft.app.namespace},
        "spec": {"ports": [{"port": 80, "targetPort": 443, "protocol": "TCP"}]},
    }
