"""What differs between an app and a release group in a look: how it is read, saved and acted on, and what follows.

One loop (`reconciler`) reads, decides, saves and acts for both. Contains no rule.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, Self, TypeVar

from gitops_bg.agent.desired.git_writes import GitChange
from gitops_bg.agent.reconcile.act import Acted
from gitops_bg.core.errors import InternalError, InvalidInput
from gitops_bg.core.groups.record import GroupDecision, GroupRecord
from gitops_bg.core.model.analysis import MeasurementResult
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.drift import ActionResult, DriftLoop
from gitops_bg.core.model.hooks import HookResponse
from gitops_bg.core.model.policy_facts import Others, Peer
from gitops_bg.core.model.policy_rules import Policy
from gitops_bg.core.model.record import LedgerEntry, Record
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.status.rollout import RolloutEvent


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
        """The facts with what is known of those that the policies ask about."""
        ...

    def decide(self, now: datetime) -> Any:
        """What the engine decides on these facts."""
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
        """The facts with the results of earlier looks."""
        ...

    def peer_after(self, facts: F, decision: D, now: datetime) -> Peer | None:
        """Its state after a decision, for the policies of others; None where they do not wait for it."""
        ...

    def answered(self, facts: F, decision: D) -> D:
        """The decision with what this process adds to it."""
        ...

    def view(self, decision: D) -> Hashable:
        """The part of its status that may differ between two processes that are both right."""
        ...

    def save(self, facts: F, decision: D, now: datetime, may_report: Callable[[], bool]) -> bool:
        """Write the record and the status, unless they are so already; return whether they were written. ``may_report``
        is asked whether to write what only this process sees.
        """
        ...

    def events(self, facts: F, decision: D) -> Sequence[RolloutEvent]:
        """What Kubernetes is told of a saved record, beside the entries that the ledger gets."""
        ...

    def describe(self, facts: F, decision: D) -> None:
        """Show its present state by metrics."""
        ...

    def change(self, facts: F, decision: D) -> GitChange | None:
        """What Git is to get; None: what waits for Git stays as it is."""
        ...

    def carry_out(self, facts: F, decision: D, on_result: Callable[[ActionResult], None]) -> Acted:
        """Carry out the actions on the cluster, in their order; ``on_result`` gets each result at once."""
        ...

    def event_of(self, result: ActionResult, news: Sequence[LedgerEntry]) -> RolloutEvent | None:
        """The Event of an action; None where it is not worth one. ``news`` are what its decision told the ledger."""
        ...

    def again_at(self, facts: F, decision: D, now: datetime) -> datetime | None:
        """When to look again, where nothing wakes it before."""
        ...

    def ended(self, subject: S_contra, *, failed: bool) -> None:
        """A look at it has ended."""
        ...

    def forget(self, subject: S_contra) -> None:
        """There is nothing to decide on any more."""
        ...


AnyKind = ReconciledKind[Any, Any, Any]
"""Of whichever subject."""
