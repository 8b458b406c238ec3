"""The answer of `decide_group`: the record to save first, the actions to carry out then, and what to show. The record
is the only memory of a release group, in the status of its ReleaseGroup.

Routes follow from Git and from where each service serves (`core.groups.world`). The last ones are remembered for a
service whose folder leaves main while it serves.
"""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.model import GroupGateway, GroupState, TransitionStep, VersionStage, version_in
from gitops_bg.core.model.actions import WithdrawPromotion
from gitops_bg.core.model.analysis import MeasurementRequest
from gitops_bg.core.model.auxiliary import HttpRoute
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.decision import GateResult, Occurrence
from gitops_bg.core.model.hooks import HookCall
from gitops_bg.core.model.main import NO_MAIN, Main
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

    state: GroupState = GroupState()
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
    """What lasts, and alerts have told already (`core.transitions.notifications`)."""
    late: tuple[tuple[str, str], ...] = ()
    """The services that came into the folder of a version when that had passed, each with the version: a rollback does
    not take them in, as nobody has ever judged them.
    """
    main: Main = NO_MAIN
    """The main that this was decided from (`core.model.main`)."""
    lost: str = ""
    """The commit that main lacks although it was seen."""
    history: str = ""
    """The rewritten history that the ledger already knows of."""

    def life(self, uid: str) -> str:
        """Return the epoch, also of a record that has none yet; ``uid`` is that of the live ReleaseGroup."""
        return self.epoch or uid[:8]

    def wanted(self, asked_for: str) -> str:
        """Return the version that shall be active: what Git asks for, or, where that was left, the one before."""
        return version_in(self.override.to_digest) if self.override is not None else asked_for

    def next_of(self, asked_for: str) -> str:
        """Return the version that requests move to next: the one that Git asks for, or, as long as one serves that
        failed, the one before.
        """
        override = self.override
        to = version_in(override.to_digest) if override is not None else ""
        return to if to and self.state.only(VersionStage.ACTIVE) != to else asked_for

    def back_from(self, asked_for: str) -> str:
        """Return the version that a rollback has group.yaml name instead of ``asked_for``: the legacy one; but the
        active one as long as a candidate is asked for, or requests move to one. Empty where there is none.
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


@dataclass(frozen=True, slots=True)
class ApplyGroup:
    """Create the ReleaseGroup, or repair its spec."""

    def __str__(self) -> str:
        return "apply the ReleaseGroup as Git describes it"


class Move(NamedTuple):
    """Requests without the version's header move from some members to others; all of them are members of the group."""

    leaves: frozenset[str]
    to: frozenset[str]


@dataclass(frozen=True, slots=True)
class ApplyRoute:
    """Create an HTTPRoute, or make it say exactly this, as long as none of ``moves`` leaves pods that answer for none
    (I1).
    """

    route: HttpRoute
    moves: frozenset[Move] = frozenset()

    def __str__(self) -> str:
        return f"write HTTPRoute {self.route.name}"


@dataclass(frozen=True, slots=True)
class DeleteRoute:
    """Delete an HTTPRoute of the group; with an ``owner``, of that one, which left main: its requests are the group's.

    ``owner`` is as `RivalRoute.owner` says it.
    """

    name: str
    owner: str = ""

    def __str__(self) -> str:
        why = f"{self.owner} left main, and the group answers its requests" if self.owner else "no version needs it"
        return f"delete HTTPRoute {self.name}: {why}"


@dataclass(frozen=True, slots=True)
class FollowMember:
    """Have a stable Service select what the Service of a member selects, with its ports; create it where it is missing.

    Not where callers would leave pods that answer for none (I1).

    ``expected`` is the member that it follows now; empty: it does not exist, or follows none.
    """

    service: str
    member: str
    expected: str = ""

    def __str__(self) -> str:
        instead = f" instead of {self.expected}" if self.expected else ""
        return f"point Service {self.service} at the pods of {self.member}{instead}"


@dataclass(frozen=True, slots=True)
class DeleteService:
    """Delete a stable Service that no version has any more."""

    service: str

    def __str__(self) -> str:
        return f"delete Service {self.service}: no version has it any more"


@dataclass(frozen=True, slots=True)
class AdoptObject:
    """Have an object of a group whose folder left main belong to this one, as it is."""

    kind: str
    name: str
    former: str

    def __str__(self) -> str:
        return f"take over {self.kind} {self.name} from the release group {self.former}"


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    """Delete the ReleaseGroup of a group that has nothing left."""

    name: str
    reason: str = "all that it had was taken over"

    def __str__(self) -> str:
        return f"delete ReleaseGroup {self.name}: {self.reason}"


@dataclass(frozen=True, slots=True)
class CommitActive:
    """Have main name the version that serves instead of the one that was left: Git did not ask for that."""

    named: str
    """The version that group.yaml names."""
    version: str
    reason: str
    by: str = ""
    offered: bool = False
    """Main refuses the agent's commits: put it on the branch of the group, for somebody to merge."""

    def __str__(self) -> str:
        said = f"active: {self.version} in group.yaml"
        where = f"offer {said} on the branch of the group" if self.offered else f"commit {said} to main"
        return f"{where}: {self.named} was left: {self.reason}"


GroupGitAction = CommitActive | WithdrawPromotion
GroupAction = ApplyGroup | ApplyRoute | DeleteRoute | FollowMember | DeleteService | AdoptObject | DeleteGroup


@dataclass(frozen=True, slots=True)
class GroupDecision:
    """The record is saved before any action, so a failed action is decided again."""

    actions: tuple[GroupAction, ...]
    record: GroupRecord
    phase: Phase
    conditions: tuple[Condition, ...] = ()
    gates: tuple[GateResult, ...] = ()
    """Those of the version that group.yaml asks for, while it is not active."""
    wake_at: datetime | None = None
    """When time alone changes the decision."""
    git: tuple[GroupGitAction, ...] = ()
    """What main, or the branch of the group, is to say; apart, because the cluster never waits for Git."""
    measurements: tuple[MeasurementRequest, ...] = ()
    """Measurements to take now, in the background; measurements under way are listed again."""
    events: tuple[Occurrence, ...] = ()
    """As of an app: what happened, in order, as the record says once it is saved."""
    calls: tuple[HookCall, ...] = ()
    """The hooks to ask, and the messages to send, once the record is saved; calls under way are listed again."""
    silent: bool = False
    """Another agent knows more: save neither the record nor the status."""
    look_again: bool = False
    """Nothing was decided, because main is older than the record's: look at the remote first, and save nothing."""
