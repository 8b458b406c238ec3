"""What may be the matter with an app, each in a sentence, or empty; the table of them is in `situations`. Last, what
each phase means, and several conditions.

That is also what becomes of an app whose folder left main: it ends, as it was asked to, or serves on until somebody
decides. Who can mend a refused write is known by the words of apiserver `pkg/api/errors`, of its admission plugins and
of RBAC.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from gitops_bg.core.checks.adoption import is_handed_back, is_released, is_releasing, services_to_take_over
from gitops_bg.core.checks.auxiliary import auxiliary_trouble, why_not_moved
from gitops_bg.core.checks.onboarding import (
    cannot_be_isolated,
    ends_at,
    is_stranded,
    leads_still,
    selected_by_others,
    successor,
)
from gitops_bg.core.checks.pods import why_stuck
from gitops_bg.core.checks.ports import unservable
from gitops_bg.core.checks.sizes import is_scaled_to_zero
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.model.auxiliary import ROUTES
from gitops_bg.core.model.conditions import BROKEN, CALM, NOTHING_YET, RESUME_IT, STAYS, Meaning, Phase, Who
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.main import held_since
from gitops_bg.core.model.observed import AuxiliaryView, ServiceView
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import short
from gitops_bg.core.world import World


@answered_once
def refusal(world: World) -> str:
    """Return which write was refused, or empty."""
    return world.observed.refused or auxiliary_trouble(world) or why_not_moved(world)


class RefusalCause(StrEnum):
    """What the API server found wrong."""

    OBJECT = "object"
    """The object itself: a field that it does not have, or a value that it does not take."""
    POLICY = "policy"
    """A webhook or a policy of the cluster refuses what the file says."""
    QUOTA = "quota"
    OTHER = "other"
    """A right is missing, a namespace or a kind, or the object belongs to somebody else."""


_WORDS: tuple[tuple[RefusalCause, tuple[str, ...]], ...] = (
    (RefusalCause.QUOTA, ("exceeded quota", "must specify limits", "must specify requests")),
    (RefusalCause.POLICY, ("admission webhook", "violates PodSecurity", "ValidatingAdmissionPolicy")),
    (RefusalCause.OBJECT, (" 422 Invalid", " 400 BadRequest", "failed to create typed patch object")),
)


def cause_of(said: str) -> RefusalCause:
    """Return the cause of a refusal, in the words that `cluster.api.errors` gives it.

    >>> cause_of('apply services web: 422 Invalid: spec.ports[0].port: Invalid value: 0').value
    'object'
    >>> cause_of("the agent cannot create replicasets in namespace shop").value
    'other'
    """
    return next((cause for cause, words in _WORDS if any(each in said for each in words)), RefusalCause.OTHER)


def failure(world: World) -> str:
    """Return which version on its way missed its deadline, and what kept its pods; or empty."""
    coming = world.incoming or world.candidate
    if coming is None or not coming.failure:
        return ""
    said, pods = f"{coming.failure}: {coming.name} did not become available", why_stuck(world, coming)
    return f"{said}: {pods}" if pods else said


def unavailable(world: World) -> str:
    """Return why the serving version has no pod that answers, or empty."""
    active = world.active
    if active is None or is_released(world) or world.full_size == 0 or world.available(active.digest) > 0:
        return ""
    return f"no pod of the active {active.name} is available"


def unreached(world: World) -> str:
    """Return the Service with a port that leads to no pod although there are pods, in a sentence; or empty.

    Endpoints always follow a change a moment later, so missing endpoints alone say nothing. A port name that the
    version lacks is no matter of time.
    """
    active = world.active
    if active is None or not world.available(active.digest):
        return ""
    views = (view for _, view in world.active_services if view and view.ours and view.digest == short(active.digest))
    for view in views:
        if view.ready_endpoints == 0:
            names = [name for name, _ in unservable(world.snapshot(active).text, view.ports) if isinstance(name, str)]
            if names:
                return f"no container of the active {active.name} has the port {names[0]} of Service {view.name}"
    return ""


def led_elsewhere(world: World) -> str:
    """Return the live Services of ours that do not lead to the version that serves, though no switch moves them, in a
    sentence; or empty. Nor is traffic there where none of them leads there.
    """
    active, switch = world.active, world.record.routing.switch
    if active is None or world.moved or world.release is not None or (switch is not None and not switch.withdrawn):
        return ""
    live = short(active.digest)
    astray = [name for name, view in world.active_services if view and view.ours and view.digest != live]
    if not astray and not world.is_selected(active.digest):
        astray = [name for name, _ in world.active_services]
    return f"no live traffic comes to {active.name} through Service {', '.join(astray)}" if astray else ""


def foreign_object(world: World) -> str:
    """Return the foreign objects that block the agent, all of them, and how to hand each over; empty where there is
    none.

    Not the Services that the app's file agrees to take over, nor what an app with another name by now has lost: whose
    that is then is not its to say.
    """
    observed = world.observed
    if observed.app_foreign:
        return observed.app_foreign
    agreed = services_to_take_over(world)
    if world.moved:
        agreed = tuple(view for _, view in world.active_services if view is not None and not view.digest)
    if world.release is not None:
        agreed = tuple(view for _, view in world.active_services if view is not None and is_handed_back(view))
    services = (observed.active_service, *observed.more_active_services, _preview(world))
    views = (*services, *observed.replica_sets, *observed.configurations)
    whose = [
        view.owner or f"{view.name} is not ours" for view in views if view and not view.ours and view not in agreed
    ]
    beside = (view.owner for view in observed.auxiliary_objects if view.owner and not world.moved)
    return "; ".join(
        filter(None, (*whose, selected_by_others(world) if whose else "", *beside, *cannot_be_isolated(world)))
    )


def _preview(world: World) -> ServiceView | None:
    """Return the preview Service, unless it is that of the app that this one was before, or is now: it goes along with
    live traffic.
    """
    view, adopt = world.observed.preview_service, world.spec.adopt
    if world.moved:
        return None
    return None if view and adopt and adopt.was(view.app) else view


def ledger_error(world: World) -> str:
    """Return why the app's history does not reach Git, or empty."""
    return world.observed.git.ledger_refused if world.record.ledger else ""


def is_to_go(world: World) -> bool:
    """Return whether the app ends now: its folder left main on purpose, and its own policy says so
    (docs/decisions/0065).

    With ``revertToTarget`` only once live traffic is where it was before, and no pod of the app is left; with
    ``orphan`` not in the middle of a switch, because what nobody owns stays as it is. A release that has begun is
    finished first. An app that got another name ends some time after another one has taken all Services over, whatever
    its policy.
    """
    policy = world.spec.deletion_policy
    if world.moved:
        ends = ends_at(world)
        return world.left_main and ends is not None and ends <= world.now
    if not world.left_main or policy is DeletionPolicy.KEEP:
        return False
    if policy is DeletionPolicy.ORPHAN and leads_apart(world):
        return False
    if world.record.release and is_releasing(world):
        return False
    return policy is not DeletionPolicy.REVERT_TO_TARGET or (is_released(world) and not _has_pods(world))


def leads_apart(world: World) -> bool:
    """Return whether the active Services may lead to different pods: a switch is decided, or one of several ended
    half-way.
    """
    switch, live = world.record.routing.switch, short(world.record.routing.traffic)
    views = [view for _, view in world.active_services if view is not None]
    ours = [view for view in views if view.ours]
    if live:
        return switch is not None or any(view.digest not in ("", live) for view in ours)
    return switch is not None or (len(ours) < len(views) and any(view.before for view in ours))


def _has_pods(world: World) -> bool:
    return any(view.replicas or view.pods for view in world.observed.replica_sets if view.ours)


def stays(world: World) -> bool:
    """Return whether the app serves on without a folder, until a person brings that back or says what is to become of
    it.
    """
    if world.moved:
        return is_stranded(world)
    return world.release is None and (not world.left_main or world.spec.deletion_policy is DeletionPolicy.KEEP)


def routes_first(world: World) -> tuple[AuxiliaryView, ...]:
    """Return the live routes that go before the app does, as its policy deletes all: a Gateway that has one still would
    answer 500 for a Service that is gone. One that could never be read holds nothing up.
    """
    if world.moved or world.spec.deletion_policy is not DeletionPolicy.DELETE:
        return ()
    known = (view for view in world.observed.auxiliary_objects if view.auxiliary_object.kind in ROUTES)
    ours = (view for view in known if not (view.owner or view.former))
    return tuple(view for view in ours if view.born or not view.trouble)


def _after_moving(world: World) -> str:
    name = successor(world)
    if is_stranded(world):
        back = f"put its folder back, or write adopt: {{app: {world.spec.app.name}}} into the app that it is now"
        return f"it keeps serving: it was to be the app {name}, and nothing in main says so any more; {back}"
    if world.record.moved_at is not None and leads_still(world):
        return f"the app {name}, which it is now, has its Services; its route leads to them until that one has its own"
    if world.record.moved_at is not None:
        return f"it ends: the app {name}, which it is now, has its Services; its pods stay warm for a while"
    return f"it serves until the app {name}, which it is now, has taken its Services over"


def after_leaving(world: World) -> str:
    """Return what becomes of an app whose folder left main, in a sentence; it never stops serving without being told
    to.
    """
    release, policy = world.release, world.spec.deletion_policy
    if world.moved:
        return _after_moving(world)
    if release is not None:
        return f"live traffic goes back to Deployment {release.deployment}"
    if not world.left_main or policy is DeletionPolicy.KEEP:
        return f"it keeps serving: {world.desired.kept}" if world.desired.kept else "it keeps serving"
    waits = " once its Services lead to the same pods" if policy is DeletionPolicy.ORPHAN and leads_apart(world) else ""
    return f"it ends{waits}, as deletionPolicy: {policy} says"


def left(world: World) -> str:
    """Say that the folder of the app has left main, and what becomes of it; empty where main has it."""
    return "" if world.desired.in_git else f"the app's folder has left main; {after_leaving(world)}"


def orphaned(world: World) -> str:
    """Say that the folder of an app that serves on has left main; or empty."""
    return left(world) if stays(world) else ""


def no_target(world: World) -> str:
    """Say that main has no target of the app, so that nobody can tell what is to be live; or empty."""
    known = world.desired.seen and world.desired.in_git and world.main_counts and world.release is None
    if not known or world.desired.target is not Missing.ABSENT:
        return ""
    if world.desired.environment is not None and world.desired.environment.formers:
        return ""  # No release came in yet: the wait says for which, and what that waits for.
    active = world.active
    said = f"{active.name} stays live" if active else "nothing is deployed"
    return f"the app's folder in main has no target: {said} until it has one"


def at_zero(world: World) -> str:
    """Say that the target asks for no pods; or empty."""
    return (
        "target.yaml asks for 0 replicas: nothing serves, and nothing is promoted" if is_scaled_to_zero(world) else ""
    )


def no_offer(world: World) -> str:
    """Say that the promotion branch cannot be written, and why; or empty."""
    offer = world.observed.git.offer_refused
    return f"the promotion branch cannot be written: {offer}" if offer else ""


def no_ledger(world: World) -> str:
    """Say that the ledger cannot be written, and why; or empty."""
    ledger = ledger_error(world)
    return f"the ledger cannot be written: {ledger}" if ledger else ""


def diverged(world: World) -> str:
    """Say that live traffic went back, and main does not say so yet; or empty."""
    override = world.record.override
    return f"live traffic was rolled back before Git: {override.reason}" if override else ""


def main_is_away(world: World) -> bool:
    """Return whether nothing can be written to main now: the remote does not answer, or what main says does not
    count.
    """
    git = world.observed.git
    return bool(git.unreachable or held_since(git)) or bool(world.desired.history_rewritten)


def refused_by_main(world: World) -> str:
    """Say that main refuses the commit of the way back; or empty."""
    override = world.record.override
    return diverged(world) if override and override.diverged else ""


def main_away(world: World) -> str:
    """Say that main cannot be told of the way back now; or empty."""
    return diverged(world) if main_is_away(world) else ""


# --- what several conditions, and each phase, mean ---

TREE, GO_BACK = "gitops-bg tree {app}", "gitops-bg rollback {app}"
MERGE = "git merge --no-ff origin/{branch}"
"""Commands that help."""
UNTIL_WRITTEN = "stays as it is until the write goes through"
COMES_UP = Meaning(STAYS, Who.NOBODY, "wait: its pods come up", TREE)
NOTHING_SERVES = Meaning(NOTHING_YET, Who.NOBODY, "wait: the first version goes live once its pods are available", TREE)
HELD = Meaning(
    STAYS, Who.OPERATOR, "push a better version; or, if this one is good, lift the hold", "gitops-bg resume {app}"
)
CONFIRM = Meaning(STAYS, Who.PROMOTER, "see what its hooks and manual gates say; open the gate")
PROMOTE = Meaning(STAYS, Who.PROMOTER, "merge the promotion branch, or promote it", "gitops-bg promote {app}")
UNCLEAR = Meaning(
    STAYS, Who.OPERATOR, "find out why the analysis has no answer; measure anew, or abort", "gitops-bg promote {app}"
)
"""What several conditions, or phases, mean."""


class PhaseWords(NamedTuple):
    """``flagger`` is the phase in Flagger's words (flagger.md §3.1)."""

    flagger: str
    meaning: Meaning


PHASES: Mapping[Phase, PhaseWords] = {
    Phase.HEALTHY: PhaseWords("Succeeded", CALM),
    Phase.INVALID: PhaseWords("Failed", BROKEN),
    Phase.SUSPENDED: PhaseWords("Waiting", RESUME_IT),
    Phase.ADOPTING: PhaseWords(
        "Initializing",
        Meaning(
            "stays with what the app is adopted from, until all is there",
            Who.NOBODY,
            "wait: see the condition Adopting",
        ),
    ),
    Phase.DEPLOYING: PhaseWords("Initializing", NOTHING_SERVES),
    Phase.ROLLING_BACK: PhaseWords(
        "Failed", Meaning("goes back once the pods there are available", Who.NOBODY, "wait", TREE)
    ),
    Phase.DEGRADED: PhaseWords("Progressing", Meaning(STAYS, Who.OPERATOR, "mend what the message names")),
    Phase.SCALED_TO_ZERO: PhaseWords(
        "Waiting",
        Meaning(
            "reaches no pod of the app; the condition Available says why",
            Who.AUTHOR,
            "set spec.replicas of target.yaml; after a release, nothing",
        ),
    ),
    Phase.WAITING: PhaseWords("Waiting", CONFIRM),
    Phase.PAUSED: PhaseWords("Progressing", UNCLEAR),
    Phase.PROMOTING: PhaseWords(
        "Promoting", Meaning("moves to the promoted version once every gate is open", Who.NOBODY, "wait: see its gates")
    ),
    Phase.RESTARTING: PhaseWords(
        "Succeeded", Meaning(STAYS, Who.NOBODY, "wait: its pods are replaced, a few at a time")
    ),
    Phase.PROGRESSING: PhaseWords("Progressing", COMES_UP),
    Phase.AWAITING_PROMOTION: PhaseWords("WaitingPromotion", PROMOTE),
    Phase.HELD: PhaseWords("Failed", HELD),
}
