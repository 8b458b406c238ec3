"""The conditions that say how far an app has got: those that tools for Argo Rollouts read (Progressing, Completed,
Paused, ReplicaFailure; argo-rollouts.md §4), and those of an app that is adopted from a live Deployment, or gives live
traffic back to it.
"""

from collections.abc import Iterator, Mapping

from gitops_bg.core.checks.adoption import (
    at_rest,
    deployment_size,
    has_stand_ins,
    may_go_at,
    placeholder_labels,
    services_to_take_over,
    watched_deployment,
    why_left_alone,
    why_unproven,
)
from gitops_bg.core.checks.auxiliary import addresses_of, why_no_address
from gitops_bg.core.checks.phase import (
    COMES_UP,
    CONFIRM,
    HELD,
    NOTHING_SERVES,
    PROMOTE,
    TREE,
    UNCLEAR,
    failure,
    foreign_object,
)
from gitops_bg.core.checks.pods import StuckCause, stuck
from gitops_bg.core.checks.sizes import needed_to_switch
from gitops_bg.core.checks.subject import awaits_confirmation, round_of
from gitops_bg.core.delivery.hooks import describe
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.conditions import (
    ANY,
    AS_BEFORE,
    CALM,
    RESUME_IT,
    STAYS,
    TAKEN_OVER,
    Condition,
    Meaning,
    Meanings,
    Who,
)
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.hooks import Hook, HookAnswer, HookRun, HookType, has_accepted
from gitops_bg.core.model.record import Adopted
from gitops_bg.core.model.spec import Adoption, ScaleDown
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

ADOPTING = "Adopting"


def adopting(world: World) -> Iterator[Condition]:
    """Yield the condition; nothing where the app's file says nothing of an adoption, or asks to go back."""
    adopt, active = world.spec.adopt, world.active
    if adopt is None or at_rest(world):
        return
    if active is None:
        yield _before(world, adopt)
    elif world.release is None:
        yield _after(world, adopt, active)


def _before(world: World, adopt: Adoption) -> Condition:
    """Return what is missing until the Services are handed over: everything at once."""
    if missing := foreign_object(world):
        return Condition(ADOPTING, True, "Conflict", missing)
    found = services_to_take_over(world)
    services = ", ".join(view.name for view in found)
    coming = world.record.version(world.desired_digest or world.target_digest)
    if coming is None or not found:
        what = "for a first version" if found else "for its first version: no Service has to be taken over"
        return Condition(ADOPTING, True, "WaitingForPods", f"waiting {what}")
    if world.record.routing.switch is not None:
        return Condition(ADOPTING, True, "HandingOver", f"{services}: live traffic moves to {coming.name}")
    return Condition(ADOPTING, True, "WaitingForPods", _waiting(world, adopt, coming, services))


def _waiting(world: World, adopt: Adoption, coming: Version, services: str) -> str:
    up, needed = world.available(coming.digest), needed_to_switch(world, coming)
    held = ", ".join(f"{key}={value}" for key, value in placeholder_labels(world, coming))
    apart = f"; until then they carry {held}, which no Service of {adopt.source} selects" if held else ""
    return f"{up} of {needed} pods of {coming.name} are available to take over {services}{apart}"


def _gone(adopted: Adopted) -> str:
    if adopted.replicas is not None:
        return f"the pods of Deployment {adopted.deployment} have gone"
    why = f"from Deployment {adopted.deployment} before the record of this app was made anew"
    return f"live traffic was taken over {why}: its pods are left as they are"


def _after(world: World, adopt: Adoption, active: Version) -> Condition:
    adopted = world.record.adopted
    if adopt.app:
        return Condition(ADOPTING, False, "Adopted", f"the Services are taken over from app {adopt.app}")
    if adopted is None:
        return Condition(ADOPTING, False, "Adopted", "nothing was left to take over")
    if adopt.scale_down is ScaleDown.NEVER:
        stay = f"the pods of Deployment {adopted.deployment} get no traffic, and stay (scaleDown: never)"
        return Condition(ADOPTING, False, "Adopted", stay)
    if adopted.left:
        return Condition(ADOPTING, False, "Adopted", _gone(adopted))
    if watched_deployment(world) is None:
        other = f"live traffic was taken over from Deployment {adopted.deployment}, not from {adopt.deployment}"
        return Condition(ADOPTING, True, "OtherDeployment", other)
    return _leaving(world, active)


def _leaving(world: World, active: Version) -> Condition:
    view = world.observed.deployment
    if view is None:
        return Condition(ADOPTING, True, "ScalingDown", "the Deployment is looked at next")
    if why := why_left_alone(world, view):
        reason = "DeploymentUnreadable" if view.trouble else "OtherDeployment"
        return Condition(ADOPTING, True, reason, why)
    waits = "; ".join(_what_keeps_them(world, active))
    size = deployment_size(world)
    if size is None or size >= view.replicas:
        return Condition(ADOPTING, True, "OldPodsStay", f"Deployment {view.name} keeps {view.replicas} pods: {waits}")
    return Condition(ADOPTING, True, "ScalingDown", f"Deployment {view.name}: from {view.replicas} pods to {size}")


def _what_keeps_them(world: World, active: Version) -> Iterator[str]:
    adopt, moment = world.spec.adopt, may_go_at(world)
    if world.suspended:
        yield "the app is suspended"
    if active.routed_at is None:
        yield "the endpoints of the Services are not exactly the new pods yet"
    elif has_stand_ins(world, active):
        yield f"pods of {active.name} do not carry their own labels yet"
    elif moment is None:
        yield "scaleDownDelaySeconds is never"
    elif world.now < moment:
        yield f"until {moment:%Y-%m-%dT%H:%M:%SZ}"
    if adopt is not None and adopt.scale_down is ScaleDown.ON_SUCCESS and (why := why_unproven(world, active)):
        yield why


_PAUSES = {
    GateKind.PAUSE: "AutoPromotionCountdown",
    GateKind.MANUAL: "AwaitingConfirmation",
    GateKind.APPROVAL: "AwaitingPromotion",
    GateKind.POLICY: "AwaitingPolicy",
}
"""The gates that only a clock or a person opens; while any other gate is shut, something happens by itself."""


def progress_conditions(world: World, gates: tuple[GateResult, ...]) -> Iterator[Condition]:
    """Progressing, Completed, and Paused and ReplicaFailure while they are so; ``gates`` are the gates shown."""
    paused = _paused(world, gates)
    yield _progressing(world, paused)
    yield _completed(world)
    if paused is not None:
        yield paused
    yield from _replica_failure(world)


def _progressing(world: World, paused: Condition | None) -> Condition:
    """Say whether it progresses: True while the rollout goes on by itself and when it has arrived, False where it
    cannot go on, else Unknown.
    """
    coming = world.incoming or world.candidate
    if coming is None or at_rest(world):
        return _arrived(world)
    pods = None if coming.available_since else stuck(world, coming)
    if coming.failure:
        said = f"{coming.name} did not become available"
        return Condition("Progressing", False, coming.failure, f"{said}: {pods.message}" if pods else said)
    if paused is not None:
        return Condition("Progressing", None, "RolloutPaused", paused.message)
    if pods:
        return Condition("Progressing", None, pods.cause.value, f"{coming.name} waits: {pods.message}")
    if coming.available_since is None:
        return Condition("Progressing", True, "ReplicaSetUpdated", f"{coming.name} comes up")
    return Condition("Progressing", True, "RolloutProgressing", f"{coming.name} is on its way")


def _arrived(world: World) -> Condition:
    if elsewhere := at_rest(world):
        return Condition("Progressing", None, "Released", elsewhere)
    hold = world.record.held(world.target_digest)
    if hold and world.target_digest != world.record.routing.traffic:
        return Condition("Progressing", False, "RolloutAborted", hold.why)
    if world.active is None:
        return Condition("Progressing", None, "NoVersion", "there is no version yet")
    return Condition("Progressing", True, "NewReplicaSetAvailable", f"{world.active.name} is live")


def _completed(world: World) -> Condition:
    active, run = world.active, world.record.run(AnalysisStage.POST)
    if elsewhere := at_rest(world):
        return Condition("Completed", False, "Released", elsewhere)
    if active is None:
        return Condition("Completed", False, "NothingServes", "no version was deployed yet")
    if world.incoming or world.target_digest != active.digest:
        return Condition("Completed", False, "RolloutNotCompleted", f"{active.name} is live, and not the target")
    if run and run.digest == active.digest and (run.running or run.paused):
        return Condition("Completed", False, "AwaitingVerdict", f"{active.name} is live, and not yet judged")
    return Condition("Completed", True, "RolloutCompleted", f"the target is live: {active.name}")


def _paused(world: World, gates: tuple[GateResult, ...]) -> Condition | None:
    """Say that nothing happens until a person decides or a countdown ends; None where something does."""
    shut = {gate.kind: gate.reason for gate in gates if not gate.open}
    inconclusive = next((run for run in world.record.analyses.runs if run.paused), None)
    if inconclusive:
        asks = GateKind.JOB if inconclusive.stage is AnalysisStage.BEFORE_PODS else GateKind.ANALYSIS
        reason = shut.get(asks, f"{inconclusive.stage.called} was inconclusive")
        return Condition("Paused", True, "InconclusiveAnalysis", reason)
    if world.suspended and world.spec.suspend:
        return Condition("Paused", True, "Suspended", f"suspended: {world.spec.suspend.reason}")
    coming = world.incoming or world.candidate
    if coming and awaits_confirmation(world, coming):
        return Condition("Paused", True, "AwaitingConfirmation", _unconfirmed(shut))
    kind = next((kind for kind in _PAUSES if kind in shut), None)
    if kind is None or not shut.keys() <= _PAUSES.keys():
        return None
    return Condition("Paused", True, _PAUSES[kind], shut[kind])


def _unconfirmed(shut: dict[str, str]) -> str:
    return shut.get(GateKind.MANUAL) or shut.get(GateKind.HOOK, "a hook has not said yes yet")


def _replica_failure(world: World) -> Iterator[Condition]:
    """Yield the condition ReplicaFailure, copied from the first ReplicaSet that has it."""
    failed = next((view for view in world.observed.replica_sets if view.ours and view.failure), None)
    if failed is not None:
        reason, _, message = failed.failure.partition(": ")
        yield Condition("ReplicaFailure", True, reason, f"{failed.name}: {message}")


# --- the next version ---


def candidate_ready(world: World) -> Iterator[Condition]:
    """Yield the condition; nothing where there is no candidate."""
    candidate = world.candidate
    if candidate is None or at_rest(world):
        return
    if candidate.available_since:
        at = "".join(f", at {address}" for address in addresses_of(world, candidate.digest)[:1])
        nowhere = f"; its previewHosts lead nowhere: {why}" if (why := why_no_address(world)) else ""
        yield Condition("CandidateReady", True, "Available", f"{candidate.name} is available{at}{nowhere}")
    elif candidate.failure:
        yield Condition("CandidateReady", False, candidate.failure, failure(world))
    elif pods := stuck(world, candidate):
        said = f"{candidate.name} waits: {pods.message}"
        yield Condition("CandidateReady", False, pods.cause.value, said)
    else:
        yield Condition("CandidateReady", False, "Progressing", f"{candidate.name} comes up")


def hooks_passed(world: World, digest: str) -> Iterator[Condition]:
    """Yield what the hooks say of a version that does not serve: the first that blocks it, with its whole body.

    It is the version on its way, or else the target, which the hooks may have put on hold.
    """
    runs = _last_answers(world, digest) if digest != world.record.routing.traffic else []
    shut = next(((hook, run) for hook, run in runs if not _lets_through(hook, run)), None)
    if shut is not None:
        yield Condition("HooksPassed", False, _standing_of(shut[1]), _in_full(world, *shut))
    elif runs:
        asked = round_of(world)
        yield Condition("HooksPassed", True, "Passed", "; ".join(describe(asked, *each) for each in runs))


def _last_answers(world: World, digest: str) -> list[tuple[Hook, HookRun]]:
    """Return the last answer of each hook about a version; where it was asked again when traffic would move, that
    answer.
    """
    hooks = {(hook.name, hook.type): hook for hook in world.spec.strategy.hooks}
    asked = (run for run in world.record.hook_state.runs if run.digest == digest)
    runs = [(hooks[key], run) for run in asked if (key := (run.hook, run.type)) in hooks]
    again = {run.hook for _, run in runs if run.final}
    return [(hook, run) for hook, run in runs if run.final or run.hook not in again]


def _lets_through(hook: Hook, run: HookRun) -> bool:
    return hook.type is HookType.ROLLBACK or has_accepted(run, hook)


def _standing_of(run: HookRun) -> str:
    if run.expired:
        return "Expired"
    return {None: "Asked", HookAnswer.UNANSWERED: "Unanswered"}.get(run.answer, "Refused")


def _in_full(world: World, hook: Hook, run: HookRun) -> str:
    sentence = describe(round_of(world), hook, run)
    return sentence if run.text in sentence else f"{sentence}\n{run.text}"


# --- what these conditions mean ---

_TAKEN_OVER = Meaning(TAKEN_OVER, Who.NOBODY, "wait: the Deployment's pods go when spec.adopt says so")
_FOUND_BAD = Meaning(
    "stays with, or is back at, the last good version",
    Who.AUTHOR,
    "push a better one; or try again",
    "gitops-bg retry {app}",
)
_WAITS = Meaning(STAYS, Who.NOBODY, "wait: it goes on by itself")
_LATE = Meaning(STAYS, Who.OPERATOR, "find out why its pods do not come up; push a better one, or abort it")
_STUCK: Mapping[StuckCause, Meaning] = {
    StuckCause.REFUSED: Meaning(
        STAYS, Who.OPERATOR, "make room for its pods: a quota, a policy or a webhook refuses them", TREE
    ),
    StuckCause.UNSCHEDULABLE: Meaning(
        STAYS,
        Who.PLATFORM,
        "give its pods a node: the message says what the scheduler misses; two versions with one hostPort need a node "
        "for each pod of both",
        TREE,
    ),
    StuckCause.WAITING: Meaning(
        STAYS, Who.AUTHOR, "correct what its pods name: an image, a command, a ConfigMap; and push"
    ),
    StuckCause.AT_GATE: Meaning(
        STAYS,
        Who.AUTHOR,
        "let what sets their readiness gate see them: previewSwitch: immediate in app.yaml, with a previewService",
    ),
}

PROGRESS_MEANINGS: Meanings = {
    **{(kind, cause): meaning for kind in ("Progressing", "CandidateReady") for cause, meaning in _STUCK.items()},
    ("Progressing", "ReplicaSetUpdated"): COMES_UP,
    ("Progressing", "RolloutProgressing"): _WAITS,
    ("Progressing", "NewReplicaSetAvailable"): CALM,
    ("Progressing", "RolloutPaused"): PROMOTE,
    ("Progressing", "RolloutAborted"): HELD,
    ("Progressing", "NoVersion"): NOTHING_SERVES,
    ("Progressing", "Released"): CALM,
    ("Progressing", ANY): _LATE,
    ("Completed", "RolloutCompleted"): CALM,
    ("Completed", "NothingServes"): NOTHING_SERVES,
    ("Completed", "RolloutNotCompleted"): _WAITS,
    ("Completed", "AwaitingVerdict"): Meaning(STAYS, Who.NOBODY, "wait: an analysis measures"),
    ("Completed", "Released"): CALM,
    ("Paused", "InconclusiveAnalysis"): UNCLEAR,
    ("Paused", "Suspended"): RESUME_IT,
    ("Paused", "AwaitingConfirmation"): CONFIRM,
    ("Paused", "AwaitingPromotion"): PROMOTE,
    ("Paused", "AwaitingPolicy"): Meaning(
        STAYS, Who.NOBODY, "wait until the policy that is named opens, or change it in main"
    ),
    ("Paused", "AutoPromotionCountdown"): Meaning(
        STAYS, Who.NOBODY, "wait for the countdown, or promote it at once", "gitops-bg promote {app}"
    ),
    ("ReplicaFailure", ANY): _STUCK[StuckCause.REFUSED],
    ("CandidateReady", "Available"): CALM,
    ("CandidateReady", "Progressing"): COMES_UP,
    ("CandidateReady", ANY): _LATE,
    ("AnalysisPassed", "Inconclusive"): UNCLEAR,
    ("AnalysisPassed", "Error"): _FOUND_BAD,
    ("AnalysisPassed", "Failed"): _FOUND_BAD,
    ("HooksPassed", "Passed"): CALM,
    ("HooksPassed", ANY): CONFIRM,
    ("Adopting", "Adopted"): CALM,
    ("Adopting", "WaitingForPods"): Meaning(
        AS_BEFORE, Who.NOBODY, "wait: the Services are handed over once its own pods are available", TREE
    ),
    ("Adopting", "HandingOver"): Meaning(
        "moves from the Deployment's pods to those of the app", Who.NOBODY, "wait: the Services follow", TREE
    ),
    ("Adopting", "Conflict"): Meaning(
        AS_BEFORE, Who.PLATFORM, "hand over each object that is named, or rename it, as the message says"
    ),
    ("Adopting", "OldPodsStay"): _TAKEN_OVER,
    ("Adopting", "ScalingDown"): _TAKEN_OVER,
    ("Adopting", "DeploymentUnreadable"): Meaning(
        TAKEN_OVER,
        Who.PLATFORM,
        "bind the ClusterRole gitops-bg-adopt in the namespace, or set spec.adopt.scaleDown: never",
    ),
    ("Adopting", "OtherDeployment"): Meaning(
        TAKEN_OVER,
        Who.AUTHOR,
        "correct spec.adopt.deployment, or set scaleDown: never, and scale the Deployment by hand",
    ),
}
