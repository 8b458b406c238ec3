"""What is the matter with a release group, and the conditions that say so to people and tools.

The situations are one table, as of an app (`core.checks.situations`), and the first row that holds counts: it gives the
phase, the sentence, and the condition that says who must act.
"""

from collections.abc import Callable, Iterator, Mapping

from gitops_bg.core.checks.git import why_rewritten
from gitops_bg.core.delivery.analyses import found
from gitops_bg.core.delivery.gates import live_verdict, pre_promotion
from gitops_bg.core.delivery.world import answered_once, problems_of, why_suspended
from gitops_bg.core.groups.attaching import requests_claimed_by_others, why_not_attached
from gitops_bg.core.groups.gates import gates_to_show
from gitops_bg.core.groups.inputs import DesiredGroup, ObservedGroup
from gitops_bg.core.groups.model import TransitionStep, VersionStage, version_in
from gitops_bg.core.groups.plan import carrying_routes, is_in_place, unresolved, wanted_services
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.subject import POST, round_of, run_after, run_before
from gitops_bg.core.groups.succession import left_behind, taking_over
from gitops_bg.core.groups.transition import lacks_pods, obstacle_of, refused_by
from gitops_bg.core.groups.world import GroupWorld, brought_by, member_name
from gitops_bg.core.model.analysis import AnalysisRun, AnalysisStage
from gitops_bg.core.model.conditions import (
    ANALYSIS_PASSED,
    ANY,
    BROKEN,
    CALM,
    DIVERGED,
    FOLDER_MISSING,
    HISTORY_REWRITTEN,
    INVALID_SPEC,
    OF_THE_PHASE,
    ON_HOLD,
    PROMOTION_REJECTED,
    READY,
    RESUME_IT,
    STAYS,
    SUSPENDED,
    Condition,
    Meaning,
    Meanings,
    Phase,
    Situation,
    Standing,
    Who,
    conditions_that_hold,
    first_that_holds,
    kstatus_of,
    meanings_of,
)
from gitops_bg.core.model.statements import Override
from gitops_bg.core.model.version import SubjectKind
from gitops_bg.core.status.alike import (
    analysis_passed,
    git_reachable,
    ledger_trusted,
    of_both,
    source_verified,
)

ROUTES_ACCEPTED = "RoutesAccepted"
CANDIDATES_ANSWER = "CandidatesAnswer"
RECORD_LOST, MAIN_REFUSES = "RecordLost", "MainRefusesCommit"
"""Types and reasons of conditions that other rooms ask for."""
BEING_WRITTEN = "routes and Services are being written"


# --- what may be the matter ---------------------------------------------------------------------------------


def _succeeds(world: GroupWorld) -> str:
    former = world.record.succeeds
    return f"it takes over what the release group {former} has, whose folder left main" if taking_over(world) else ""


def _under_way(world: GroupWorld) -> str:
    moving = world.record.transition
    if moving is None:
        return ""
    way = f"back to {moving.source}" if moving.withdrawn else f"from {moving.source} to {moving.target}"
    # A gate that has shut since it began: before requests move, every gate is asked again.
    is_ready = moving.step is TransitionStep.PREPARE and not moving.goes_back and is_in_place(world)
    shut = next(iter(_shut_reasons(world)), "") if is_ready else ""
    waits = obstacle_of(world) or shut or "routes are being written"
    return f"{moving.kind.lower()} {way}: {moving.step.lower()}; {waits}"


def _move_back(world: GroupWorld) -> str:
    moving = world.record.transition
    return _under_way(world) if moving is not None and moving.goes_back else ""


def _served_before(world: GroupWorld) -> str:
    """Say that traffic has left a version that failed, or was aborted, which main still names."""
    override = world.record.override
    if override is None:
        return ""
    is_back = world.record.state.only(VersionStage.ACTIVE) == version_in(override.to_digest)
    return "; ".join((way_back(world, override), *(() if is_back else _shut_reasons(world)[:1])))


def way_back(world: GroupWorld, override: Override) -> str:
    """Return how far the way back from a version that failed is, and what is left to do for a person."""
    left, to = version_in(override.from_digest), version_in(override.to_digest)
    if world.record.state.only(VersionStage.ACTIVE) != to:
        return f"{left} serves until {to} can: {override.reason}"
    said = f"{to} serves again instead of {left}: {override.reason}"
    if to not in world.desired.versions:
        return f"{said}; put the folder {to}/ back, which left main: group.yaml cannot name it without"
    observed, refused = world.observed, "main refused its commit" if override.diverged else ""
    # What main refused is said until it is over: the agent tries again from time to time.
    trouble, branch = observed.in_the_way(to) or observed.unwritten or refused, observed.to_merge(to)
    what = f"merge {branch}, which sets" if branch else "set"
    todo = f"; {what} active: {to} in group.yaml, because the agent cannot: {trouble}" if trouble else ""
    return f"{said}{todo}"


def hold_reason(world: GroupWorld) -> str:
    """Say that the version which group.yaml names is on hold, and what lifts that; or empty."""
    hold = world.record.held(world.digest_of(world.spec.active))
    return f"{hold.why}; `gitops-bg retry {world.key}` lifts the hold" if hold is not None else ""


def _rejected(world: GroupWorld) -> str:
    return world.rejected[1]


def not_accepted(world: GroupWorld) -> str:
    """Return what stands against routes and Services, and somebody else has to mend; empty where nothing does."""
    others = requests_claimed_by_others(world, carrying_routes(world)) or left_behind(world)
    refused = f"the cluster refuses a write: {world.observed.refused}" if world.observed.refused else ""
    against = why_not_attached(world) or refused_by(world) or refused or others
    return against or ("" if lacks_pods(world) else obstacle_of(world))


def _first_version(world: GroupWorld) -> str:
    """Return what a first version waits for, or a Service of the active version that has never led anywhere yet."""
    services = world.observed.services
    never_led = any(service not in services for service in wanted_services(world))
    is_new = not (world.observed.uid and world.record.state.only(VersionStage.ACTIVE)) or never_led
    return (_ill(world) or _serving_now(world)) if is_new else ""


def _analysis_says(holds: Callable[[GroupWorld, AnalysisRun], bool]) -> Callable[[GroupWorld], str]:
    """Return what an analysis run says, of the version that serves or of the one to serve next; the first that
    ``holds``.
    """

    def says(world: GroupWorld) -> str:
        run = next((run for run in _runs(world) if holds(world, run)), None)
        if run is None or run.bad:
            return found(run) if run is not None else ""
        gate, asked = live_verdict if run.stage is POST else pre_promotion, round_of(world)
        said = gate(asked, run.digest)
        return said.reason if said is not None else f"{run.stage.called}: {run}"

    return says


def _runs(world: GroupWorld) -> Iterator[AnalysisRun]:
    """Return the runs of the version that serves, and of the one that shall serve next."""
    is_candidate = world.record.state.stage(world.wanted) is VersionStage.CANDIDATE
    found = (run_after(world), run_before(world, world.wanted) if is_candidate else None)
    return (run for run in found if run is not None)


def _is_measured(world: GroupWorld, run: AnalysisRun) -> bool:
    """Return whether an analysis goes on by itself."""
    return run.running and not (world.suspended and run.stage is AnalysisStage.PRE)


def _shut_gate(world: GroupWorld) -> str:
    if not gates_to_show(world):
        return ""
    return next(iter(_shut_reasons(world)), f"every gate is open; {_serving_now(world)}")


def _ill(world: GroupWorld) -> str:
    active = world.record.state.only(VersionStage.ACTIVE)
    serving = (each for each in world.record.state.endpoints if each.version == active)
    ill = (
        f"{each.service}: {member.reason or 'is not healthy'}"
        for each in serving
        if not (member := world.member(each.service, each.initial_version)).healthy
    )
    return next(ill, "")


def _unfound(world: GroupWorld) -> str:
    """Say that a Gateway finds no Service of what has no pods."""
    return "; ".join((*unanswered(world), _serving_now(world))) if any(unresolved(world)) else ""


def _is_written(world: GroupWorld) -> str:
    return "" if is_in_place(world) else f"{BEING_WRITTEN}; {_serving_now(world)}"


def _at_ease(world: GroupWorld) -> str:
    return "; ".join((*unanswered(world), _serving_now(world)))


def unanswered(world: GroupWorld) -> Iterator[str]:
    """Yield what keeps requests that name a candidate from an answer, for each candidate: nobody sees it before
    somebody tries, as live traffic is not affected.
    """
    for version in world.record.state.at(VersionStage.CANDIDATE):
        gone = (
            f"{member_name(each.service, each.initial_version)} {member.reason or 'has no pod that answers'}"
            for each in brought_by(world, version)
            if not (member := world.member(each.service, each.initial_version)).available
        )
        if said := "; ".join(gone):
            yield f"{version} serves nobody yet: {said}"


def _serving_now(world: GroupWorld) -> str:
    return f"{world.record.state.only(VersionStage.ACTIVE) or 'no version'} serves"


def _shut_reasons(world: GroupWorld) -> list[str]:
    return [gate.reason for gate in gates_to_show(world) if not gate.open]


# --- the table ----------------------------------------------------------------------------------------------


def _diverged(reason: str) -> Callable[[GroupWorld], str]:
    """Say that traffic has left the version that group.yaml names, because that one failed, or was aborted, and what
    is to come: ``reason``.
    """

    def says(world: GroupWorld) -> str:
        override = world.record.override
        if override is None:
            return ""
        to = version_in(override.to_digest)
        is_back = world.record.state.only(VersionStage.ACTIVE) == to
        pending = MAIN_REFUSES if override.diverged else "CommitPending"
        is_so = "GoingBack" if not is_back else pending if to in world.desired.versions else FOLDER_MISSING
        return way_back(world, override) if is_so == reason else ""

    return says


def _answered(world: GroupWorld) -> str:
    candidates = world.record.state.at(VersionStage.CANDIDATE)
    return f"requests that name {', '.join(candidates)} are answered" if candidates else ""


_UNCLEAR = Meaning(STAYS, Who.OPERATOR, "find out why the analysis has no answer; go back, or promote another")
_HELD = Meaning(
    "stays with, or is back at, the last good version",
    Who.AUTHOR,
    "change a file of the version on hold, or name another one; or, if it is good, try it again",
    "gitops-bg retry {app}",
)

_PHASES: Mapping[Phase, Meaning] = {
    Phase.HEALTHY: CALM,
    Phase.INVALID: BROKEN,
    Phase.SUSPENDED: RESUME_IT,
    Phase.DEPLOYING: Meaning(
        "reaches services as they come up", Who.NOBODY, "wait: the first version serves once they are healthy"
    ),
    Phase.ROLLING_BACK: Meaning("goes back now, as far as the Gateway takes it", Who.NOBODY, "wait"),
    Phase.PROMOTING: Meaning("moves to the promoted version step by step", Who.NOBODY, "wait"),
    Phase.WAITING: Meaning(STAYS, Who.PROMOTER, "see which gate is shut"),
    Phase.PAUSED: _UNCLEAR,
    Phase.PROGRESSING: Meaning(STAYS, Who.NOBODY, "wait: something is measured, or written"),
    Phase.DEGRADED: Meaning(STAYS, Who.OPERATOR, "mend what the message names"),
    Phase.HELD: _HELD,
}

SITUATIONS: tuple[Situation[GroupWorld], ...] = (
    Situation(READY, _succeeds, Phase.PROGRESSING),
    Situation(ROUTES_ACCEPTED, _move_back, Phase.ROLLING_BACK),
    Situation(ROUTES_ACCEPTED, _under_way, Phase.PROMOTING),
    Situation(INVALID_SPEC, problems_of, Phase.INVALID, "InvalidSpec"),
    Situation(DIVERGED, _served_before, Phase.HELD),
    Situation(PROMOTION_REJECTED, _rejected, Phase.DEGRADED),
    Situation(ROUTES_ACCEPTED, not_accepted, Phase.DEGRADED, "NotAccepted", status=False).means(
        STAYS, Who.PLATFORM, "mend what the Gateway says"
    ),
    Situation(HISTORY_REWRITTEN, lambda world: why_rewritten(world.lost), Phase.DEGRADED, "MainMovedBackwards"),
    Situation(SUSPENDED, why_suspended, Phase.SUSPENDED, "Suspended"),
    Situation(READY, _first_version, Phase.DEPLOYING),
    Situation(ON_HOLD, hold_reason, Phase.HELD, "Hold", meaning=_HELD),
    Situation(ANALYSIS_PASSED, _analysis_says(lambda _, run: run.paused), Phase.PAUSED),
    Situation(ANALYSIS_PASSED, _analysis_says(lambda _, run: run.bad), Phase.HELD),
    Situation(ANALYSIS_PASSED, _analysis_says(_is_measured), Phase.PROGRESSING),
    Situation(READY, _shut_gate, Phase.WAITING),
    Situation(READY, _ill, Phase.DEGRADED),
    Situation(ROUTES_ACCEPTED, _unfound, Phase.PROGRESSING),
    Situation(ROUTES_ACCEPTED, lacks_pods, None, "NoPods", status=False).means(
        "reaches the services that answer", Who.AUTHOR, "see why the service that the message names has no pods"
    ),
    Situation(ROUTES_ACCEPTED, _is_written, Phase.PROGRESSING, "Pending", status=False).means(
        STAYS, Who.NOBODY, "wait: its routes are being written"
    ),
    Situation(ROUTES_ACCEPTED, lambda _: "every route is in place", None, "Accepted", meaning=CALM),
    Situation(DIVERGED, _diverged("GoingBack"), None, "GoingBack").means(
        "goes back to the version before as soon as its pods answer", Who.OPERATOR, "mend the pods that it waits for"
    ),
    Situation(DIVERGED, _diverged(FOLDER_MISSING), None, FOLDER_MISSING).means(
        "is back at the version before; group.yaml cannot say so", Who.AUTHOR, "put the folder of that version back"
    ),
    Situation(DIVERGED, _diverged(MAIN_REFUSES), None, MAIN_REFUSES).means(
        "is back at the version before; group.yaml does not say so",
        Who.REMOTE,
        "set active to the version that serves, or let the agent push to main",
    ),
    Situation(DIVERGED, _diverged("CommitPending"), None, "CommitPending").means(
        "is back at the version before; group.yaml does not say so yet",
        Who.NOBODY,
        "wait: the commit follows",
        "gitops-bg history {app}",
    ),
    Situation(CANDIDATES_ANSWER, lambda world: "; ".join(unanswered(world)), None, "NobodyAnswers", False).means(
        "without the header is not affected; with it nobody answers",
        Who.AUTHOR,
        "mend the service that the message names, and push; until then the candidate cannot be promoted",
    ),
    Situation(CANDIDATES_ANSWER, _answered, None, "Answered", meaning=CALM),
    Situation("", _at_ease, Phase.HEALTHY),
)
"""Where a Gateway, or somebody else, stands against what serves, nobody is told to wait, nor that a suspension is all;
what waits for its own pods does.
"""


GROUP_MEANINGS: Meanings = {
    **of_both(read_again="gitops-bg explain {app}"),
    **meanings_of(SITUATIONS),
    **{(kind, phase): meaning for kind in OF_THE_PHASE for phase, meaning in _PHASES.items()},
    (INVALID_SPEC, "Conflict"): Meaning(STAYS, Who.OPERATOR, "hand the object over, or call the group otherwise"),
    (PROMOTION_REJECTED, RECORD_LOST): Meaning(
        "stays where it is: nothing of the group is changed",
        Who.AUTHOR,
        "put the folder back that the message names, or do what else it says",
    ),
    (PROMOTION_REJECTED, ANY): Meaning(STAYS, Who.AUTHOR, "name a candidate, or the version before, as active"),
    (ANALYSIS_PASSED, "Inconclusive"): _UNCLEAR,
    (ANALYSIS_PASSED, "Error"): _HELD,
    (ANALYSIS_PASSED, "Failed"): _HELD,
}
"""What each condition of a group means for traffic now, who must do what, and the command."""


@answered_once
def standing_of(world: GroupWorld) -> Standing:
    """Return what is the matter with the group: the first situation that holds."""
    return first_that_holds(SITUATIONS, world)


def conditions_of(world: GroupWorld) -> tuple[Condition, ...]:
    """Return the conditions of a group whose folder is valid."""
    standing, git = standing_of(world), world.observed.git
    coming = world.wanted if world.record.state.stage(world.wanted) is VersionStage.CANDIDATE else ""
    return (
        *kstatus_of(standing.phase, standing.message),
        *conditions_that_hold(SITUATIONS, world),
        *_promotion_rejected(world),
        *analysis_passed(round_of(world), world.digest_of(coming) if coming else ""),
        *ledger_trusted(world.record, git.ledger_doubt, git.ledger_at, SubjectKind.GROUP),
        *git_reachable(git.unreachable, git.unread_reason),
        *source_verified(git.verification),
    )


def _promotion_rejected(world: GroupWorld) -> Iterator[Condition]:
    reason, message = world.rejected
    if reason:
        yield Condition(PROMOTION_REJECTED, True, reason, message)


def conditions_of_invalid(desired: DesiredGroup, observed: ObservedGroup) -> tuple[Condition, ...]:
    """Return the conditions of a group whose folder has mistakes, or whose object is somebody else's."""
    said = observed.foreign or "; ".join(map(str, desired.problems))
    return (
        *kstatus_of(Phase.INVALID, said),
        Condition(INVALID_SPEC, True, "Conflict" if observed.foreign else "InvalidSpec", said),
        *git_reachable(observed.git.unreachable, observed.git.unread_reason),
        *source_verified(observed.git.verification),
    )


def conditions_of_rewritten(observed: ObservedGroup, record: GroupRecord) -> tuple[Condition, ...]:
    """Return the conditions of a group of which nobody knows what its folder says, because main was rewritten."""
    why = why_rewritten(record.lost)
    return (
        *kstatus_of(Phase.DEGRADED, f"{why}; {record.state.only(VersionStage.ACTIVE) or 'no version'} serves"),
        Condition(HISTORY_REWRITTEN, True, "MainMovedBackwards", why),
        *git_reachable(observed.git.unreachable, observed.git.unread_reason),
        *source_verified(observed.git.verification),
    )


def conditions_of_lost(said: str) -> tuple[Condition, ...]:
    """Return the conditions of a group whose record is lost, and cannot be made again (`core.groups.succession`)."""
    return (
        *kstatus_of(Phase.DEGRADED, said),
        Condition(PROMOTION_REJECTED, True, RECORD_LOST, said),
    )
