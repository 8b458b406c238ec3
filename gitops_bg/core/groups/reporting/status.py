"""What people and tools are told of a group: one phase, and conditions that exist from the start."""

from gitops_bg.core.checks.git.history import why_rewritten
from gitops_bg.core.checks.ledger import never_told, set_back
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.gating.analyses import passed
from gitops_bg.core.groups.model import VersionStage, version_in
from gitops_bg.core.groups.observed import ObservedGroup
from gitops_bg.core.groups.plan import is_in_place
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.reporting.situations import (
    BEING_WRITTEN,
    DIVERGED,
    PROMOTION_REJECTED,
    ROUTES_ACCEPTED,
    VALID,
    held,
    not_accepted,
    rewritten,
    standing_of,
    unanswered,
    way_back,
)
from gitops_bg.core.groups.transition import lacks_pods
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.decision import Condition, Phase
from gitops_bg.core.status.alike.git_reachable import git_reachable
from gitops_bg.core.status.alike.history_rewritten import history_rewritten
from gitops_bg.core.status.alike.on_hold import on_hold
from gitops_bg.core.status.alike.source_verified import source_verified
from gitops_bg.core.status.kstatus import kstatus_of

CANDIDATES_ANSWER, LEDGER_TRUSTED = "CandidatesAnswer", "LedgerTrusted"
RECORD_LOST, MAIN_REFUSES, FOLDER_MISSING = "RecordLost", "MainRefusesCommit", "FolderMissing"
"""Reasons of conditions that other rooms ask for."""


def conditions_of(world: GroupWorld) -> tuple[Condition, ...]:
    """All conditions of a group whose folder is valid."""
    standing = standing_of(world)
    reason, message = world.rejected
    return (
        *kstatus_of(standing.phase, standing.message),
        _valid(world),
        Condition(PROMOTION_REJECTED, bool(reason), reason or "NotRejected", message or "nothing is rejected"),
        _routes_accepted(world),
        _candidates_answer(world),
        passed(world),
        on_hold(held(world)),
        _diverged(world),
        _ledger_trusted(world),
        history_rewritten(rewritten(world)),
        _git_reachable(world.observed),
        *source_verified(world.observed.verification),
    )


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


def conditions_of_rewritten(observed: ObservedGroup, record: GroupRecord) -> tuple[Condition, ...]:
    """The conditions of a group of which nobody knows what its folder says, because main was rewritten."""
    lost = why_rewritten(record.lost)
    return (
        *kstatus_of(Phase.DEGRADED, f"{lost}; {record.state.only(VersionStage.ACTIVE) or 'no version'} serves"),
        history_rewritten(lost),
        _git_reachable(observed),
        *source_verified(observed.verification),
    )


def conditions_of_lost(said: str) -> tuple[Condition, ...]:
    """The conditions of a group whose record is lost, and cannot be made again (`core.groups.lost_record`)."""
    return (
        *kstatus_of(Phase.DEGRADED, said),
        Condition(VALID, True, "Valid", "every file of the group is valid"),
        Condition(PROMOTION_REJECTED, True, RECORD_LOST, said),
    )


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
    """Whether traffic has left the version that group.yaml names, because that one failed, or was aborted."""
    override = world.record.override
    if override is None:
        return Condition(DIVERGED, False, "InGit", "group.yaml says which version serves")
    to = version_in(override.to_digest)
    is_back = world.record.state.only(VersionStage.ACTIVE) == to
    pending = MAIN_REFUSES if world.observed.main_refused else "CommitPending"
    reason = "GoingBack" if not is_back else pending if to in world.desired.versions else FOLDER_MISSING
    return Condition(DIVERGED, True, reason, way_back(world, override))


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
