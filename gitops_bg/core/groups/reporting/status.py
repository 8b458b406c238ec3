"""What people and tools are told of a group: one phase, and conditions that exist from the start."""

from collections.abc import Iterator

from gitops_bg.core.checks.ledger import never_told, set_back
from gitops_bg.core.groups.analysis.answers import judged, live_verdict, passed
from gitops_bg.core.groups.contests import fights
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.gates import brought_by
from gitops_bg.core.groups.hooks.answers import refusal
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.observed import ObservedGroup
from gitops_bg.core.groups.plan import carrying_routes, foreign_service, is_in_place, unresolved, wanted_services
from gitops_bg.core.groups.record import FailedTransition, TransitionKind
from gitops_bg.core.groups.routes.attaching import why_not_attached
from gitops_bg.core.groups.routes.rivals import first_of_others
from gitops_bg.core.groups.succession import left_behind
from gitops_bg.core.groups.suspension import is_suspended
from gitops_bg.core.groups.transition import lacks_pods, refused_by, waits_for
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.decision import Condition, GateResult, Phase
from gitops_bg.core.status.alike.contested import contested
from gitops_bg.core.status.alike.git_reachable import git_reachable
from gitops_bg.core.status.alike.source_verified import source_verified
from gitops_bg.core.status.kstatus import kstatus_of

VALID, PROMOTION_REJECTED, ROUTES_ACCEPTED = "SpecValid", "PromotionRejected", "RoutesAccepted"
CANDIDATES_ANSWER = "CandidatesAnswer"
DIVERGED = "Diverged"
LEDGER_TRUSTED = "LedgerTrusted"
RECORD_LOST, MAIN_REFUSES, FOLDER_MISSING = "RecordLost", "MainRefusesCommit", "FolderMissing"
"""Reasons of conditions that other rooms ask for."""


def phase_of(world: GroupWorld, gates: tuple[GateResult, ...]) -> Phase:
    """One word for the state of a group; the first that fits."""
    moving = world.record.transition
    is_new = not world.record.state.only(VersionStage.ACTIVE) or _waits_for_first_pods(world)
    backwards = moving is not None and (moving.withdrawn or moving.kind is TransitionKind.ROLLBACK)
    rows: tuple[tuple[object, Phase], ...] = (
        (backwards, Phase.ROLLING_BACK),
        (moving, Phase.PROMOTING),
        (world.desired.problems, Phase.INVALID),
        (is_new, Phase.DEPLOYING),
        (world.record.failed, Phase.HELD),
        (world.rejected[0], Phase.DEGRADED),
        (any(run.paused for run in judged(world)), Phase.PAUSED),
        (any(run.bad for run in judged(world)) or (gates and refusal(world, world.wanted)), Phase.HELD),
        (_is_measured(world), Phase.PROGRESSING),
        (gates, Phase.WAITING),
        (_ill(world), Phase.DEGRADED),
        (foreign_service(world), Phase.DEGRADED),
        (why_not_attached(world) or _of_others(world), Phase.DEGRADED),
        (not is_in_place(world) or any(unresolved(world)), Phase.PROGRESSING),
    )
    return next((phase for holds, phase in rows if holds), Phase.HEALTHY)


def conditions_of(world: GroupWorld, gates: tuple[GateResult, ...]) -> tuple[Condition, ...]:
    """All conditions of a group whose folder is valid."""
    phase = phase_of(world, gates)
    reason, message = world.rejected
    return (
        *kstatus_of(phase, _sentence(world, gates)),
        _valid(world),
        Condition(PROMOTION_REJECTED, bool(reason), reason or "NotRejected", message or "nothing is rejected"),
        _routes_accepted(world),
        _candidates_answer(world),
        passed(world),
        _diverged(world),
        _ledger_trusted(world),
        contested(fights(world), world.observed.contested, "the group"),
        _git_reachable(world.observed),
        *source_verified(world.observed.verification),
    )


def _routes_accepted(world: GroupWorld) -> Condition:
    """Whether every route leads where it shall; where it does not, who is to do something about it."""
    if against := why_not_attached(world) or refused_by(world) or _of_others(world):
        return Condition(ROUTES_ACCEPTED, False, "NotAccepted", against)
    if lacks := lacks_pods(world):
        return Condition(ROUTES_ACCEPTED, False, "NoPods", lacks)
    if against := waits_for(world):
        return Condition(ROUTES_ACCEPTED, False, "NotAccepted", against)
    if not is_in_place(world):
        return Condition(ROUTES_ACCEPTED, False, "Pending", "routes and Services are being written")
    return Condition(ROUTES_ACCEPTED, True, "Accepted", "every route is in place")


def conditions_of_invalid(desired: DesiredGroup, observed: ObservedGroup) -> tuple[Condition, ...]:
    """The conditions of a group whose folder has mistakes, or whose object is somebody else's."""
    said = observed.foreign or "; ".join(map(str, desired.problems[:3]))
    reason = "Conflict" if observed.foreign else "InvalidSpec"
    valid = Condition(VALID, False, reason, said)
    return (
        *kstatus_of(Phase.INVALID, said),
        valid,
        _git_reachable(observed),
        *source_verified(observed.verification),
    )


def _git_reachable(observed: ObservedGroup) -> Condition:
    return git_reachable(observed.unreachable, observed.unread_reason)


def conditions_of_lost(said: str) -> tuple[Condition, ...]:
    """The conditions of a group whose record is lost, and cannot be made again (`core.groups.lost_record`)."""
    return (
        *kstatus_of(Phase.DEGRADED, said),
        Condition(VALID, True, "Valid", "every file of the group is valid"),
        Condition(PROMOTION_REJECTED, True, RECORD_LOST, said),
    )


def unanswered(world: GroupWorld) -> Iterator[str]:
    """What keeps requests that name a candidate from an answer, for each candidate: nobody sees it before somebody
    tries, as live traffic is not affected.
    """
    for version in world.record.state.at(VersionStage.CANDIDATE):
        gone = (
            f"{member_name(each.service, each.initial_version)} {member.reason or 'has no pod that answers'}"
            for each in brought_by(world, version)
            if not (member := world.member(each.service, each.initial_version)).available
        )
        if said := "; ".join(gone):
            yield f"{version} serves nobody yet: {said}"


def _candidates_answer(world: GroupWorld) -> Condition:
    if said := "; ".join(unanswered(world)):
        return Condition(CANDIDATES_ANSWER, False, "NobodyAnswers", said)
    candidates = world.record.state.at(VersionStage.CANDIDATE)
    if not candidates:
        return Condition(CANDIDATES_ANSWER, True, "NoCandidate", "no version waits for its promotion")
    return Condition(CANDIDATES_ANSWER, True, "Answered", f"requests that name {', '.join(candidates)} are answered")


def _valid(world: GroupWorld) -> Condition:
    problems = world.desired.problems
    if problems:
        return Condition(VALID, False, "InvalidSpec", "; ".join(map(str, problems[:3])))
    return Condition(VALID, True, "Valid", "every file of the group is valid")


def _diverged(world: GroupWorld) -> Condition:
    """Whether traffic has left the version that group.yaml names, because that one failed."""
    failed = world.record.failed
    if failed is None or not failed.moved:
        return Condition(DIVERGED, False, "InGit", "group.yaml says which version serves")
    is_back = world.record.state.only(VersionStage.ACTIVE) == failed.active
    pending = MAIN_REFUSES if world.observed.commit_trouble else "CommitPending"
    reason = "GoingBack" if not is_back else pending if failed.active in world.desired.versions else FOLDER_MISSING
    return Condition(DIVERGED, True, reason, _way_back(world, failed))


def _ledger_trusted(world: GroupWorld) -> Condition:
    """Whether anything in the ledger speaks against the record, as of an app (`core.status.conditions`)."""
    if why := world.observed.ledger_doubt:
        return Condition(LEDGER_TRUSTED, False, "WrittenByOthers", why)
    if why := never_told(world.record.ledger_claimed, "group"):
        return Condition(LEDGER_TRUSTED, False, "Ahead", why)
    if why := _behind(world):
        return Condition(LEDGER_TRUSTED, False, "Behind", why)
    return Condition(LEDGER_TRUSTED, True, "Trusted", "the ledger says nothing against the record")


def _behind(world: GroupWorld) -> str:
    record, position = world.record, world.observed.ledger
    if position is None or position.epoch not in ("", record.epoch):
        return ""
    return set_back(position.sequence, record.sequence - len(record.ledger), "group")


def _way_back(world: GroupWorld, failed: FailedTransition) -> str:
    """How far the way back from a version that failed is, and what is left to do for a person."""
    if world.record.state.only(VersionStage.ACTIVE) != failed.active:
        return f"{failed.target} serves until {failed.active} can: {failed.reason}"
    said = f"{failed.active} serves again instead of {failed.target}: {failed.reason}"
    if failed.active not in world.desired.versions:
        return f"{said}; put the folder {failed.active}/ back, which left main: group.yaml cannot name it without"
    trouble, branch = world.observed.commit_trouble, world.observed.to_merge
    what = f"merge {branch}, which sets" if branch else "set"
    todo = f"; {what} active: {failed.active} in group.yaml, because the agent cannot: {trouble}" if trouble else ""
    return f"{said}{todo}"


def _is_measured(world: GroupWorld) -> bool:
    """Whether an analysis goes on by itself."""
    held = is_suspended(world)
    return any(run.running and not (held and run.stage is AnalysisStage.PRE) for run in judged(world))


def _sentence(world: GroupWorld, gates: tuple[GateResult, ...]) -> str:
    moving, active = world.record.transition, world.record.state.only(VersionStage.ACTIVE)
    if moving is not None:
        way = f"back to {moving.source}" if moving.withdrawn else f"from {moving.source} to {moving.target}"
        return f"{moving.kind.lower()} {way}: {moving.step.lower()}; {waits_for(world) or 'routes are being written'}"
    failed, verdict = world.record.failed, live_verdict(world)
    shut = [gate.reason for gate in gates if not gate.open]
    if failed is not None and failed.moved:
        return "; ".join((_way_back(world, failed), *(shut[:1] if active != failed.active else ())))
    said = (
        *(str(problem) for problem in world.desired.problems[:1]),
        world.rejected[1],
        *shut,
        *_ill(world),
        foreign_service(world),
        why_not_attached(world),
        _of_others(world),
        verdict.reason if verdict is not None and not verdict.open else "",
        "; ".join((*unanswered(world), f"{active or 'no version'} serves")),
    )
    return next(filter(None, said))


def _of_others(world: GroupWorld) -> str:
    return first_of_others(world, carrying_routes(world)) or left_behind(world)


def _waits_for_first_pods(world: GroupWorld) -> bool:
    """Whether a Service of the active version has never led anywhere yet."""
    return any(service not in world.observed.services for service in wanted_services(world))


def _ill(world: GroupWorld) -> list[str]:
    active = world.record.state.only(VersionStage.ACTIVE)
    serving = (each for each in world.record.state.endpoints if each.version == active)
    return [
        f"{each.service}: {member.reason or 'is not healthy'}"
        for each in serving
        if not (member := world.member(each.service, each.initial_version)).healthy
    ]
