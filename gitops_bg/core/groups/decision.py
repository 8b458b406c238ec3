"""The answer of `decide_group`: the record to save first, the actions to carry out then, and what to show."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.actions import WithdrawPromotion
from gitops_bg.core.model.analysis.runs import MeasurementRequest
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.events import Notice
from gitops_bg.core.model.hooks import HookCall
from gitops_bg.core.model.http_routes import HttpRoute


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
    notices: tuple[tuple[Notice, str], ...] = ()
    """What Kubernetes is told beside the entries that the ledger gets, each with a sentence."""
    calls: tuple[HookCall, ...] = ()
    """The hooks to ask, and the messages to send, once the record is saved; calls under way are listed again."""
    silent: bool = False
    """Another agent knows more: save neither the record nor the status."""
    look_again: bool = False
    """Nothing was decided, because main is older than the record's: look at the remote first, and save nothing."""
