"""What people and tools are told of a group: Ready and RoutesAccepted, and other conditions where there is something to
say.
"""

from collections.abc import Iterator

from gitops_bg.core.checks.git.main import why_rewritten
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.model import VersionStage, version_in
from gitops_bg.core.groups.observed import ObservedGroup
from gitops_bg.core.groups.plan import is_in_place
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.subject import round_of
from gitops_bg.core.groups.transition import lacks_pods
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.conditions import DIVERGED, FOLDER_MISSING, INVALID_SPEC, PROMOTION_REJECTED, Condition, Phase
from gitops_bg.core.model.version import SubjectKind
from gitops_bg.core.status.alike import (
    analysis_passed,
    git_reachable,
    history_rewritten,
    invalid_spec,
    ledger_trusted,
    on_hold,
    source_verified,
    suspended,
)
from gitops_bg.core.status.group_situations import (
    BEING_WRITTEN,
    ROUTES_ACCEPTED,
    hold_reason,
    not_accepted,
    standing_of,
    unanswered,
    way_back,
)
from gitops_bg.core.status.kstatus import kstatus_of

CANDIDATES_ANSWER = "CandidatesAnswer"
RECORD_LOST, MAIN_REFUSES = "RecordLost", "MainRefusesCommit"
"""Reasons of conditions that other rooms ask for."""


def conditions_of(world: GroupWorld) -> tuple[Condition, ...]:
    """The conditions of a group whose folder is valid."""
    standing, git = standing_of(world), world.observed.git
    coming = world.wanted if world.record.state.stage(world.wanted) is VersionStage.CANDIDATE else ""
    return (
        *kstatus_of(standing.phase, standing.message),
        *invalid_spec(world.desired.problems),
        *suspended(world.spec.suspend if world.suspended else None),
        *_promotion_rejected(world),
        _routes_accepted(world),
        *_candidates_answer(world),
        *analysis_passed(round_of(world), world.digest_of(coming) if coming else ""),
        *on_hold(hold_reason(world)),
        *_diverged(world),
        *ledger_trusted(world.record, git.ledger_doubt, git.ledger_at, SubjectKind.GROUP),
        *history_rewritten(world.lost),
        *git_reachable(git.unreachable, git.unread_reason),
        *source_verified(git.verification),
    )


def _promotion_rejected(world: GroupWorld) -> Iterator[Condition]:
    reason, message = world.rejected
    if reason:
        yield Condition(PROMOTION_REJECTED, True, reason, message)


def _routes_accepted(world: GroupWorld) -> Condition:
    """Whether every route leads where it shall; where it does not, who is to do something about it."""
    if against := not_accepted(world):
        return Condition(ROUTES_ACCEPTED, False, "NotAccepted", against)
    if lacks := lacks_pods(world):
        return Condition(ROUTES_ACCEPTED, False, "NoPods", lacks)
    if not is_in_place(world):
        return Condition(ROUTES_ACCEPTED, False, "Pending", BEING_WRITTEN)
    return Condition(ROUTES_ACCEPTED, True, "Accepted", "every route is in place")


def conditions_of_invalid(desired: DesiredGroup, observed: ObservedGroup) -> tuple[Condition, ...]:
    """The conditions of a group whose folder has mistakes, or whose object is somebody else's."""
    said = observed.foreign or "; ".join(map(str, desired.problems))
    return (
        *kstatus_of(Phase.INVALID, said),
        Condition(INVALID_SPEC, True, "Conflict" if observed.foreign else "InvalidSpec", said),
        *git_reachable(observed.git.unreachable, observed.git.unread_reason),
        *source_verified(observed.git.verification),
    )


def conditions_of_rewritten(observed: ObservedGroup, record: GroupRecord) -> tuple[Condition, ...]:
    """The conditions of a group of which nobody knows what its folder says, because main was rewritten."""
    why = why_rewritten(record.lost)
    return (
        *kstatus_of(Phase.DEGRADED, f"{why}; {record.state.only(VersionStage.ACTIVE) or 'no version'} serves"),
        *history_rewritten(record.lost),
        *git_reachable(observed.git.unreachable, observed.git.unread_reason),
        *source_verified(observed.git.verification),
    )


def conditions_of_lost(said: str) -> tuple[Condition, ...]:
    """The conditions of a group whose record is lost, and cannot be made again (`core.groups.lost_record`)."""
    return (
        *kstatus_of(Phase.DEGRADED, said),
        Condition(PROMOTION_REJECTED, True, RECORD_LOST, said),
    )


def _candidates_answer(world: GroupWorld) -> Iterator[Condition]:
    if said := "; ".join(unanswered(world)):
        yield Condition(CANDIDATES_ANSWER, False, "NobodyAnswers", said)
    elif candidates := world.record.state.at(VersionStage.CANDIDATE):
        yield Condition(CANDIDATES_ANSWER, True, "Answered", f"requests that name {', '.join(candidates)} are answered")


def _diverged(world: GroupWorld) -> Iterator[Condition]:
    """That traffic has left the version that group.yaml names, because that one failed, or was aborted."""
    override = world.record.override
    if override is None:
        return
    to = version_in(override.to_digest)
    is_back = world.record.state.only(VersionStage.ACTIVE) == to
    pending = MAIN_REFUSES if override.diverged else "CommitPending"
    reason = "GoingBack" if not is_back else pending if to in world.desired.versions else FOLDER_MISSING
    yield Condition(DIVERGED, True, reason, way_back(world, override))
