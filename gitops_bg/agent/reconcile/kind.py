"""What a reconciliation does with an app or a release group: the questions in which the two differ (`ReconciledKind`),
the loop that carries out the actions of a decision on the cluster (`act`), also for commands without Git, and how soon
each has its turn.

One loop (`reconciler`) reads, decides, saves and acts for both. Contains no rule: the caller decides what an error
means. Of many, those whose live traffic is to move come first, then what is on its way, what changed, all else: a
rollback does not wait for the thousand apps that roll out, nor a rollout for ten thousand at rest that are looked at
once more, as after a start, a change of leader or `--resync`.
"""

from collections.abc import Callable, Hashable, Iterable
from datetime import datetime
from enum import IntEnum
from typing import Any, Protocol, Self, TypeVar

from gitops_bg.agent.desired.git_writes import GitChange
from gitops_bg.agent.desired.reading import AppEntry
from gitops_bg.cluster.observation.states import AppState
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InternalError, InvalidInput, Refused, Transient
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupDecision, GroupRecord
from gitops_bg.core.model.actions import (
    ApplyAuxiliaryObject,
    CommitPrimary,
    DeleteAuxiliaryObject,
    EnterRelease,
    OfferPromotion,
    PublishLedger,
    WithdrawPromotion,
    WithdrawRelease,
)
from gitops_bg.core.model.analysis import MeasurementResult
from gitops_bg.core.model.conditions import Phase, progresses
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.drift import NOTHING, ActionResult, ChangeSet, DriftLoop
from gitops_bg.core.model.hooks import HookResponse
from gitops_bg.core.model.policy_facts import Others, Peer
from gitops_bg.core.model.policy_rules import Policy
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.plan.chains import stands_alone, waits_for
from gitops_bg.spec.groups.load import GroupConfig

REFUSALS = (Refused, InvalidInput)
"""Errors of a refusal: the same write would be refused again."""

GIT_ACTIONS = (CommitPrimary, OfferPromotion, WithdrawPromotion, EnterRelease, WithdrawRelease, PublishLedger)
FOR_AUXILIARY_OBJECTS = (ApplyAuxiliaryObject, DeleteAuxiliaryObject)


@dataclass(frozen=True, slots=True)
class Acted:
    """The results of the cluster's part of a decision."""

    changes: ChangeSet = NOTHING
    stopped: GitopsBgError | None = None
    """The error that ended the pass, else the first refusal: what depends on a refused action was not tried."""
    troubled: GitopsBgError | None = None
    """The first error of writing an auxiliary object: it blocks nothing else (decision 14)."""

    @property
    def moved_on(self) -> bool:
        """Whether an action on versions or traffic was carried out."""
        return any(not isinstance(result.action, FOR_AUXILIARY_OBJECTS) for result in self.changes.carried_out)


def act(
    actions: Iterable[object],
    carry_out: Callable[[Any], ActionResult],
    on_result: Callable[[ActionResult], None],
    waits_for: Callable[[Any, Any], bool] = waits_for,
) -> Acted:
    """Carry out those of these actions that are the cluster's; ``on_result`` is called with each result at once, and
    ``waits_for`` tells whether an action waits for one that failed.

    The actions on versions and traffic go first, in their order. A refusal holds up the actions that depend on it; any
    other error ends the pass for all but the way back of other Services, and the next one looks again. Auxiliary
    objects follow one by one.
    """
    loop = _Loop(carry_out, on_result, waits_for)
    wanted = [action for action in actions if not isinstance(action, GIT_ACTIONS)]
    stopped = loop.in_order(action for action in wanted if not isinstance(action, FOR_AUXILIARY_OBJECTS))
    troubled = None
    if stopped is None or isinstance(stopped, REFUSALS):
        troubled = loop.each(action for action in wanted if isinstance(action, FOR_AUXILIARY_OBJECTS))
    return Acted(ChangeSet(tuple(loop.results)), stopped, troubled)


class _Loop:
    """One run of the loop, with its results so far."""

    def __init__(
        self,
        carry_out: Callable[[Any], ActionResult],
        on_result: Callable[[ActionResult], None],
        waits: Callable[[Any, Any], bool],
    ) -> None:
        self._carry_out = carry_out
        self._on_result = on_result
        self._waits = waits
        self.results: list[ActionResult] = []

    def in_order(self, actions: Iterable[object]) -> GitopsBgError | None:
        """Carry out what depends on no refused action; return the error that ended it, else the first refusal.

        After it only what stands alone is tried.
        """
        refused: GitopsBgError | None = None
        ended: GitopsBgError | None = None
        failed: list[object] = []
        for action in actions:
            if ended is not None and not stands_alone(action):
                continue
            if any(self._waits(action, each) for each in failed):
                failed.append(action)
            elif error := self._try(action):
                failed.append(action)
                if isinstance(error, REFUSALS):
                    refused = refused or error
                elif isinstance(error, Transient):
                    ended = ended or error
                else:
                    return error
        return ended or refused

    def each(self, actions: Iterable[object]) -> GitopsBgError | None:
        """Carry out every action, even if others fail; return the first error."""
        errors = [error for action in actions if (error := self._try(action))]
        return errors[0] if errors else None

    def _try(self, action: object) -> GitopsBgError | None:
        try:
            result = self._carry_out(action)
        except REFUSALS as error:
            self._keep(ActionResult(action, refused=str(error)))
            return error
        except GitopsBgError as error:
            return error
        self._keep(result)
        return None

    def _keep(self, result: ActionResult) -> None:
        self.results.append(result)
        self._on_result(result)


@dataclass(frozen=True, slots=True)
class Results:
    """What this process knows of an app or a group since earlier looks; no saved record contains it."""

    measurements: tuple[MeasurementResult, ...] = ()
    calls: tuple[HookResponse, ...] = ()
    """What hooks and chats answered."""
    contests: tuple[DriftLoop, ...] = ()
    refused: str = ""
    """Why a write was refused last; empty where none was."""
    unwritten: InternalError | InvalidInput | None = None
    """What kept its last change from being written to Git."""


class SubjectFacts(Protocol):
    """All that is known of an app or a group at one moment."""

    @property
    def subject(self) -> AppOrGroup:
        """Whose facts these are."""
        ...

    @property
    def record(self) -> Record | GroupRecord:
        """The record that is decided on."""
        ...

    @property
    def commit(self) -> str:
        """The commit of main that is decided on."""
        ...

    @property
    def policies(self) -> tuple[Policy, ...]:
        """All policies that are asked."""
        ...

    def with_others(self, others: Others) -> Self:
        """Return the facts with what is known of those that the policies ask about."""
        ...

    def decide(self, now: datetime) -> Any:
        """Return what the engine decides on these facts."""
        ...


S_contra = TypeVar("S_contra", bound=AppOrGroup, contravariant=True)
F = TypeVar("F", bound=SubjectFacts)
D = TypeVar("D", bound=Decision | GroupDecision)


class ReconciledKind(Protocol[S_contra, F, D]):
    """Apps, or release groups. Asked by one thread at a time for each of them."""

    def gather(self, subject: S_contra, now: datetime) -> F | None:
        """Read everything about it; None where there is nothing to decide on. Only reads."""
        ...

    def with_results(self, facts: F, results: Results) -> F:
        """Return the facts with the results of earlier looks."""
        ...

    def peer_after(self, facts: F, decision: D, now: datetime) -> Peer | None:
        """Return its state after a decision, for the policies of others; None where they do not wait for it."""
        ...

    def answered(self, facts: F, decision: D) -> D:
        """Return the decision with what this process adds to it."""
        ...

    def view(self, decision: D) -> Hashable:
        """Return the part of its status that may differ between two processes that are both right."""
        ...

    def save(self, facts: F, decision: D, now: datetime, may_report: Callable[[], bool]) -> bool:
        """Write the record and the status, unless they are so already; return whether they were written. ``may_report``
        is asked whether to write what only this process sees.
        """
        ...

    def describe(self, facts: F, decision: D) -> None:
        """Show its present state by metrics."""
        ...

    def change(self, facts: F, decision: D) -> GitChange | None:
        """Return what Git is to get; None: what waits for Git stays as it is."""
        ...

    def carry_out(self, facts: F, decision: D, on_result: Callable[[ActionResult], None]) -> Acted:
        """Carry out the actions on the cluster, in their order; ``on_result`` gets each result at once."""
        ...

    def again_at(self, facts: F, decision: D, now: datetime) -> datetime | None:
        """Return when to look again, where nothing wakes it before."""
        ...

    def ended(self, subject: S_contra, *, failed: bool) -> None:
        """Note that a look at it has ended."""
        ...

    def forget(self, subject: S_contra) -> None:
        """Forget it: there is nothing to decide on any more."""
        ...


AnyKind = ReconciledKind[Any, Any, Any]
"""Of whichever subject."""


_MOVING = frozenset({Phase.PROMOTING, Phase.ROLLING_BACK})


class Urgency(IntEnum):
    """How soon an app is looked at; the first come first."""

    TRAFFIC = 0
    """Live traffic is to move, by a promotion or a rollback, or an operator asks for something."""
    ON_ITS_WAY = 1
    """It goes on by itself: a rollout, a restart."""
    CHANGED = 2
    """Git says something else than what its record was decided from, or no more, or it has no record yet."""
    WROTE = 3
    """The agent has just written it, and more may follow; in a crowd, what happens to it meanwhile says so first."""
    AT_REST = 4
    """A pass probably finds nothing."""


def urgency_of(state: AppState | None, entry: AppEntry | None) -> Urgency:
    """Return the urgency of an app, by its live object and by main as it was read last (None: main does not have
    it).
    """
    decided_from, says = state.main.tree if state is not None else "", entry.tree if entry is not None else ""
    changed = says != decided_from
    if state is not None:
        if state.asks or state.phase in _MOVING or (changed and _moves_traffic(state, entry)):
            return Urgency.TRAFFIC
        if progresses(state.phase):
            return Urgency.ON_ITS_WAY
    return Urgency.CHANGED if changed else Urgency.AT_REST


def urgency_of_group(record: GroupRecord | None, config: GroupConfig | None) -> Urgency:
    """Return the urgency of a release group, by its record, where it was read (None: it was not, or is empty), and by
    main.
    """
    if record is None:
        return Urgency.CHANGED
    if moves_requests(record, config):
        return Urgency.TRAFFIC
    says = config.tree if config is not None else ""
    return Urgency.AT_REST if says == record.main.tree else Urgency.CHANGED


def moves_requests(record: GroupRecord | None, config: GroupConfig | None) -> bool:
    """Return whether the requests of a group move, or main has another version than the one that serves."""
    if record is None:
        return False
    spec = config.desired.spec if config is not None else None
    serving = record.state.only(VersionStage.ACTIVE)
    return record.transition is not None or (spec is not None and record.wanted(spec.active) != serving)


def is_to_move_traffic(state: AppState | None, entry: AppEntry | None) -> bool:
    """Return whether the live traffic of an app is to move, also where it was decided and could not be carried out."""
    return state is not None and (state.asks or state.phase in _MOVING or _moves_traffic(state, entry))


def _moves_traffic(state: AppState, entry: AppEntry | None) -> bool:
    """Return whether main promotes a version that does not serve, or its target goes back to one that served before."""
    if entry is None:
        return False
    promoted, asked_for = entry.config.primary, entry.config.target
    if promoted is not None and promoted.snapshot.digest != state.traffic:
        return True
    wanted = asked_for.snapshot.digest if asked_for is not None else state.traffic
    return wanted != state.traffic and state.has_served(wanted)
