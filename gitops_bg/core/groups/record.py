"""What the agent remembers of a release group: the only memory, in the status of its ReleaseGroup.

Routes follow from Git and from where each service serves (`core.groups.world`). The last ones are remembered for a
service whose folder leaves main while it serves.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.groups.model import GroupGateway, GroupState, TransitionStep, VersionStage, version_in
from gitops_bg.core.model.git.main import NO_MAIN, Main
from gitops_bg.core.model.record import Delivery


class TransitionKind(StrEnum):
    """Which way the versions of a group move."""

    PROMOTION = "Promotion"
    ROLLBACK = "Rollback"


@dataclass(frozen=True, slots=True)
class Transition:
    """A promotion or rollback under way. Until it is over, the group's state is that of before."""

    kind: TransitionKind
    source: str
    """The version that was active when it began."""
    target: str
    """The version that will be."""
    step: TransitionStep
    started_at: datetime
    step_since: datetime
    archive_size: int = 0
    """How many archived versions remain after a promotion, as group.yaml said when it began."""
    withdrawn: str = ""
    """Why it goes back to where it came from; empty while it goes on."""
    moved: bool = False
    """Whether requests had begun to move when it was withdrawn: as long as the way back finds no pods, they are with
    its target.
    """

    @property
    def goes_back(self) -> bool:
        """Whether requests go back by it: then it waits for nobody (I6)."""
        return bool(self.withdrawn) or self.kind is TransitionKind.ROLLBACK


@dataclass(frozen=True, slots=True)
class DeletedVersion:
    """A version that a promotion or rollback deleted while its folder is in main; it is not registered again."""

    name: str
    content: str
    """The content of its folder then; another content makes it a new candidate."""


@dataclass(frozen=True, slots=True)
class Reattachment:
    """Routes at another Gateway, or for other hosts, are beside those that carry traffic, until they are taken."""

    to: GroupGateway
    since: datetime
    answered: bool
    """Whether a Gateway ever said something of the former routes: then silence is no yes to the new ones."""


MOST_MOVES = 20


@dataclass(frozen=True, slots=True)
class GroupMove:
    """A promotion or rollback that was carried out."""

    kind: TransitionKind
    source: str
    target: str
    commit: str
    """The head of main when the group's folder was last read; empty where it is unknown."""
    at: datetime
    reason: str = ""
    """Why the agent went back by itself; empty where Git asked for it."""


@dataclass(frozen=True, slots=True)
class GroupRecord(Delivery):
    """The memory of one group. A digest is that of a version with what its folder says (`GroupWorld.digest_of`)."""

    state: GroupState = GroupState()  # noqa: RUF009 - frozen
    """Versions, endpoints, registrations, and the last routes of the active and the legacy version."""
    transition: Transition | None = None
    leaving: tuple[str, ...] = ()
    """Versions that the last transition archived or deleted, as long as routes may still lead to them."""
    left_at: datetime | None = None
    """When the last transition ended; None once nothing leads to ``leaving``, or to ``left``, any more."""
    left: tuple[str, ...] = ()
    """The versions that requests left until then: by a move, or because one was taken back once they had moved."""
    deleted: tuple[DeletedVersion, ...] = ()
    moves: tuple[GroupMove, ...] = ()
    """The last ones, oldest first."""
    gateway: GroupGateway | None = None
    """Where the routes that carry traffic are attached; None where nothing has routes yet."""
    reattachment: Reattachment | None = None
    """Where they are to be attached instead, while that is on its way."""
    succeeds: str = ""
    """The name of the group that it takes over from, whose folder left main, until that one is gone."""
    alerted: tuple[str, ...] = ()
    """What lasts, and alerts have told already (`core.transitions.notifications.group_messages`)."""
    late: tuple[tuple[str, str], ...] = ()
    """The services that came into the folder of a version when that had passed, each with the version: a rollback does
    not take them in, as nobody has ever judged them.
    """
    main: Main = NO_MAIN
    """The main that this was decided from (`core.model.git.main`)."""
    lost: str = ""
    """The commit that main lacks although it was seen."""
    history: str = ""
    """The rewritten history that the ledger already knows of."""

    def life(self, uid: str) -> str:
        """The epoch, also of a record that has none yet; ``uid`` is that of the live ReleaseGroup."""
        return self.epoch or uid[:8]

    def wanted(self, asked_for: str) -> str:
        """The version that shall be active: what Git asks for, or, where that was left, the one before."""
        return version_in(self.override.to_digest) if self.override is not None else asked_for

    def next_of(self, asked_for: str) -> str:
        """The version that requests move to next: the one that Git asks for, or, as long as one serves that failed, the
        one before.
        """
        override = self.override
        to = version_in(override.to_digest) if override is not None else ""
        return to if to and self.state.only(VersionStage.ACTIVE) != to else asked_for

    def back_from(self, asked_for: str) -> str:
        """The version that a rollback has group.yaml name instead of ``asked_for``: the legacy one; but the active one
        as long as a candidate is asked for, or requests move to one. Empty where there is none.
        """
        active, legacy = self.state.only(VersionStage.ACTIVE), self.state.only(VersionStage.LEGACY)
        is_promoted = self.transition is not None and self.transition.kind is TransitionKind.PROMOTION
        return active if asked_for != legacy and (asked_for != active or is_promoted) else legacy


class MemberState(StrEnum):
    """Whether a member runs."""

    PENDING = "Pending"
    """Its version is not registered: nothing of it begins, and what runs stays."""
    CANDIDATE = "Candidate"
    """Its version is a candidate: it runs, and only requests that name the version reach it."""
    RUNNING = "Running"
    SCALED_DOWN = "ScaledDown"
    """Its version is archived: it keeps no pods."""
    DELETED = "Deleted"
    """Its version was deleted: so is all that it has."""


def member_state(record: GroupRecord, service: str, version: str) -> MemberState:
    """Return whether the service of a version runs, by the version that it serves in now."""
    deleted = {each.name for each in record.deleted}
    if version in record.leaving:
        return MemberState.RUNNING
    for part in record.state.endpoints:
        if (part.service, part.initial_version) == (service, version):
            stage = record.state.stage(part.version)
            if stage is VersionStage.ARCHIVED and part.version not in record.leaving:
                return MemberState.SCALED_DOWN
            return MemberState.CANDIDATE if stage is VersionStage.CANDIDATE else MemberState.RUNNING
    return MemberState.DELETED if version in deleted else MemberState.PENDING
