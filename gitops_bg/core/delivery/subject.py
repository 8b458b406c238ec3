"""What the steps of this package know of an app or a release group, what they ask of it, and how it answers what
operators ask for in the cluster: each request once, in the order in which they came.

What is asked while hooks begin stands apart: of an app that needs its gates, which need what hooks have said so far. A
gate is opened and closed alike for apps and release groups; the other verbs are the subject's own.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import wraps
from typing import Generic, Protocol, TypeVar

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.analysis import (
    Analyses,
    AnalysisPhase,
    AnalysisRun,
    AnalysisStage,
    MeasurementPlan,
    MeasurementResult,
)
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.hooks import Hook, HookResponse, HookRun, OpenGate
from gitops_bg.core.model.main import MainRead
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.policy_facts import RuleVerdict
from gitops_bg.core.model.record import Event, HookState, OperatorState
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.statements import Cause, Hold
from gitops_bg.core.model.version import AppOrGroup, Snapshot


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of a promotion about one app that moves with it."""

    service: str
    """Its name, where the promotion is that of a group; else empty."""
    commit: tuple[GateResult, ...]
    """What the promotion's own commit says against it."""
    verdicts: tuple[RuleVerdict, ...]
    """What policies say."""


class Subject(Protocol):
    """An app or a release group: it answers in its own way, about a version by the digest that runs are about."""

    def name(self, digest: str, /) -> str:
        """Return what metrics call a version."""
        ...

    def title(self, digest: str, /) -> str:
        """Return what people are told of a version that is known; empty where it is forgotten."""
        ...

    def rollout(self, digest: str, /) -> int:
        """Return the number of the present try to promote a version."""
        ...

    def is_current(self, run: AnalysisRun, /) -> bool:
        """Return whether an analysis is about what is still known and asked for: else it is forgotten, with its
        verdict.
        """
        ...

    def goes_forward(self, digest: str, /) -> bool:
        """Return whether a version is on its way, and is neither the first one nor a way back."""
        ...

    def goes_back(self) -> bool:
        """Return whether traffic is to go back from the version that serves."""
        ...

    def is_overruled(self, run: AnalysisRun, /) -> bool:
        """Return whether somebody took back what a bad analysis of the version that serves led to."""
        ...

    def is_judged_live(self, digest: str, /) -> bool:
        """Return whether a version serves, its analysis after promotion is not over, and it is not left anyway.

        What Git asks for meanwhile waits, so it still may be left. Who promotes another version while the analysis is
        paused has seen it.
        """
        ...

    def has_arrived(self) -> bool:
        """Return whether live requests are answered by the version that serves alone, or that is awaited no longer."""
        ...

    def snapshot(self, digest: str, /) -> Snapshot | None:
        """Return what Jobs before the pods of a version have of it; None where it has no pods of its own."""
        ...

    def may_prepare(self, digest: str, /) -> bool:
        """Return whether a version is to get its first pods, but for its Jobs, and may do so now."""
        ...

    def is_new(self, digest: str, /) -> bool:
        """Return whether a version never served: what comes before pods is asked of it, and never in the way back."""
        ...

    def is_prepared(self, digest: str, /) -> bool:
        """Return whether the Jobs before the pods of a version have succeeded."""
        ...

    def serving(self) -> str:
        """Return the version that serves; empty where none does."""
        ...

    def awaits_contract(self) -> str:
        """Return what the contract of the version that serves waits for, in words; empty where it may begin."""
        ...

    def is_contracted(self, digest: str, /) -> bool:
        """Return whether the contract of a version has succeeded."""
        ...

    def owner(self) -> AppOrGroup:
        """Return whose Jobs they are."""
        ...

    def is_ready(self, digest: str, /) -> bool:
        """Return whether the pods of a version can be asked."""
        ...

    def is_shown(self, digest: str, /) -> bool:
        """Return whether who asks the preview gets no answer of another version."""
        ...

    def is_in_preview(self, digest: str, /) -> bool:
        """Return whether who asks the preview gets answers of all available pods of a version."""
        ...

    def retry_hint(self, digest: str, /) -> str:
        """Return what has hooks asked anew about a version, in words."""
        ...

    def answer(self, run: AnalysisRun, /) -> str:
        """Return what a person does about an analysis that could not tell, or that found a version bad, in words."""
        ...

    def awaits_before(self, digest: str, /) -> str:
        """Return when the analysis before the promotion of a version begins, in words."""
        ...

    def awaits_after(self) -> str:
        """Return when the analysis after a promotion begins, in words."""
        ...

    def arrival(self) -> datetime | None:
        """Return when it begins at the latest, as far as that is known."""
        ...

    def hold(self, digest: str, /) -> Hold | None:
        """Return the hold on a version; None where nothing holds it."""
        ...

    def lift(self, hold: Hold, /) -> str:
        """Return what lifts a hold, in words."""
        ...

    def resume(self) -> str:
        """Return what ends a suspension, in words."""
        ...

    def rival(self, digest: str, /) -> str:
        """Return who else has its requests first, or those that a version brings, in a sentence; empty where nobody
        has.
        """
        ...

    def judged(self, digest: str, /) -> tuple[Judged, ...]:
        """Return what policies say about a version, for each app that they are for."""
        ...

    def place(self, digest: str, /) -> tuple[int, str]:
        """Return the place of a version in the queue of those that wait for their turn."""
        ...

    def metadata(self, run: HookRun, /) -> tuple[tuple[str, str], ...]:
        """Return what hooks are told beside the fields of Flagger."""
        ...


class AskingSubject(Subject, Protocol):
    """The same while its hooks begin to be asked."""

    def waits_only_for_hooks(self) -> bool:
        """Return whether nothing else keeps traffic from moving to the version that Git promoted."""
        ...

    def counts(self, run: HookRun, /) -> bool:
        """Return whether a run is about what is still asked for: else it is forgotten."""
        ...


W_co = TypeVar("W_co", covariant=True)


class ActingSubject(AskingSubject, Protocol[W_co]):
    """The same while steps act on it: it has a world, and what is done makes another one."""

    def versions(self) -> Iterable[str]:
        """Return its versions: hooks may be asked about those that go forward, and about the one that serves."""
        ...

    def coming(self) -> str:
        """Return the version on its way; empty where there is none."""
        ...

    def is_named(self, digest: str, /) -> bool:
        """Return whether Git names a version as the one that is to serve."""
        ...

    def way_back(self, run: AnalysisRun, /) -> str:
        """Return the version to go back to from the one that serves and that a run is about; empty where there is
        none.
        """
        ...

    def with_part(self, part: HookState | Analyses | OperatorState, /) -> W_co:
        """Return the world with what its hooks or operators have answered, or with its analyses, in its record."""
        ...

    def with_ledger_entry(self, event: Event, digest: str, reason: str, by: str = "", /) -> W_co:
        """Return the world with one more entry of the ledger, about a version, or about none."""
        ...

    def carry_out(self, request: Request, /) -> W_co:
        """Carry out what somebody asks for, once; a verb that it does not know changes nothing."""
        ...

    def stop(self, digest: str, cause: Cause, reason: str, by: str = "", /) -> W_co:
        """Put a version on its way on hold."""
        ...

    def go_back(self, to: str, cause: Cause, reason: str, by: str = "", /) -> W_co:
        """Leave the version that serves."""
        ...

    def closing(self, digest: str, /) -> W_co:
        """Close the way back to every version that is older than this one."""
        ...

    def contracted(self, digest: str, /) -> W_co:
        """Note that the contract of a version has succeeded."""
        ...

    def prepared(self, digest: str, /) -> W_co:
        """Note that the Jobs before the pods of a version have succeeded."""
        ...

    def release(self, run: AnalysisRun, /) -> W_co:
        """Let the version go that was kept for a way back, as that run is over."""
        ...


S_co = TypeVar("S_co", bound=Subject, covariant=True)


@dataclass(frozen=True, slots=True)
class Round(Generic[S_co]):
    """The hooks and analyses of an app or a release group at one moment, with what decides about them."""

    of: S_co
    key: str
    """Its name on the command line."""
    now: datetime
    epoch: str
    """What tells its calls and measurements from those of a record that was lost."""
    serving: str
    """The version that serves, as metrics call it; empty where none does."""
    suspension: Suspension | None
    """The one that is in force now."""
    frozen: bool
    """Nothing that leads forward begins, as during a suspension."""
    operator: OperatorState
    """What people asked for outside of Git, as far as it was carried out."""
    requests: tuple[Request, ...]
    """What they ask for, oldest first, answered or not."""
    resumed_at: datetime | None
    """When the last suspension ended: deadlines begin anew then."""
    hooks: tuple[Hook, ...]
    """In the order of the file."""
    hook_state: HookState
    """What they have answered, as the record has it, and the manual gates that somebody opened."""
    before: MeasurementPlan | None
    """What is measured before a promotion; None: nothing."""
    after: MeasurementPlan | None
    """What is measured after it."""
    analyses: Analyses
    calls: tuple[HookResponse, ...]
    """What hooks and chats answered, until a saved record has taken it in."""
    measurements: tuple[MeasurementResult, ...]
    """What was measured, likewise."""
    jobs: MeasurementPlan | None = None
    """The Jobs before the first pod of a version; None: none."""
    contract: MeasurementPlan | None = None
    """The Jobs once no older version can come back; None: none."""
    problems: tuple[Problem, ...] = ()
    """The mistakes in its files."""
    main: MainRead = MainRead()
    lost: str = ""
    """The commit that main lacks although it was seen."""
    incoming: str = ""
    """The version that Git names and live traffic has not reached: `confirm-promotion` hooks are asked once more, at
    the switch. Empty where nobody is asked twice.
    """

    @property
    def suspended(self) -> bool:
        """Whether it is suspended now."""
        return self.suspension is not None

    def is_in_full(self, digest: str) -> bool:
        """Return whether somebody promotes a version by `promote --full`, without its checks."""
        return self.operator.promotes_in_full(self.of.rollout(digest))

    def plan(self, stage: AnalysisStage) -> MeasurementPlan | None:
        """Return what is measured in a stage."""
        if stage.is_job:
            return self.jobs if stage is AnalysisStage.BEFORE_PODS else self.contract
        return self.before if stage is AnalysisStage.PRE else self.after

    def analysis_of(self, digest: str) -> AnalysisRun | None:
        """Return the analysis before promotion of the present try of a version; None: there is none yet."""
        run = self.analyses.run(AnalysisStage.PRE)
        return run if run and (run.digest, run.rollout) == (digest, self.of.rollout(digest)) else None

    def has_passed_analysis(self, digest: str) -> bool:
        """Return whether the analysis before promotion found nothing against a version; True where nobody asks for
        one.
        """
        if self.before is None or self.is_in_full(digest):
            return True
        run = self.analysis_of(digest)
        return run is not None and run.phase is AnalysisPhase.SUCCESSFUL


W = TypeVar("W")
Rounds = Callable[[W], Round[ActingSubject[W]]]
"""Tells the round of a world."""


def steps_for(rounds: Rounds[W]) -> Callable[[Callable[[W, Rounds[W]], W]], Callable[[W], W]]:
    """Make steps of this package the steps of one engine."""

    def of_engine(step: Callable[[W, Rounds[W]], W]) -> Callable[[W], W]:
        @wraps(step)
        def taken(world: W) -> W:
            return step(world, rounds)

        return taken

    return of_engine


TOO_OLD = timedelta(days=1)
"""After this time nobody carries out a request any more. Long, as the clock of its writer may be wrong."""

_GATES = {OperatorCommand.OPEN_GATE: Event.GATE_OPENED, OperatorCommand.CLOSE_GATE: Event.GATE_CLOSED}


def is_too_late(request: Request, now: datetime) -> bool:
    """Return whether a request waited for so long that its writer may want something else by now."""
    return now - request.at > TOO_OLD


def answer_requests(world: W, rounds: Rounds[W]) -> W:
    """Answer what operators ask for; the record keeps the ids of the requests."""
    for request in rounds(world).requests:
        if not rounds(world).operator.has_answered(request.id):
            world = answer_request(world, request, rounds)
    return world


def answer_request(world: W, request: Request, rounds: Rounds[W]) -> W:
    """Carry out one request, unless it waited for too long."""
    asked = rounds(world)
    world = asked.of.with_part(asked.operator.answering(request.id))
    if is_too_late(request, asked.now):
        return world
    return _set_gate(world, request, rounds) if request.verb in _GATES else rounds(world).of.carry_out(request)


def _set_gate(world: W, request: Request, rounds: Rounds[W]) -> W:
    asked = rounds(world)
    gates = gates_after(asked.hook_state, asked.hooks, request)
    if gates == asked.hook_state:
        return world
    of = rounds(asked.of.with_part(gates)).of
    reason = f"{request.gate}: {request.reason}" if request.reason else request.gate
    return of.with_ledger_entry(_GATES[request.verb], of.coming(), reason, request.by)


def gates_after(state: HookState, known: Iterable[Hook], request: Request) -> HookState:
    """Return the manual gates once somebody has opened or closed one: nothing changes where it is so already, or
    unknown.
    """
    others = tuple(gate for gate in state.open_gates if gate.name != request.gate)
    is_open = others != state.open_gates
    if request.verb is OperatorCommand.CLOSE_GATE:
        return replace(state, open_gates=others) if is_open else state
    if is_open or not any(hook.manual and hook.name == request.gate for hook in known):
        return state
    opened = OpenGate(request.gate, request.by, request.at, request.reason)
    return replace(state, open_gates=(*others, opened))
