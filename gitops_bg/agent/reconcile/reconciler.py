"""Gather, decide, act: one app or release group, pass after pass, until nothing is left to do at once.

The three never share a function: `ReconciledKind.gather` only reads, `decide` is pure, `_act` only writes (DESIGN §6).
What differs between apps and groups is behind `ReconciledKind`.
"""

import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from time import perf_counter
from typing import Any

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.git_loop import GitLoop
from gitops_bg.agent.desired.git_writes import GitChange
from gitops_bg.agent.reconcile.background import Background
from gitops_bg.agent.reconcile.contests import Contests, ContradictionBackoff
from gitops_bg.agent.reconcile.event_recorder import EventRecorder, log_decision
from gitops_bg.agent.reconcile.kind import GIT_ACTIONS, REFUSALS, Acted, AnyKind, D, F, ReconciledKind, Results
from gitops_bg.agent.runtime.cpu import cpu_limited
from gitops_bg.agent.runtime.schedule import Timers
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import LASTING, GitopsBgError, InternalError, guarded
from gitops_bg.core.model.decision import Occurrence, goes_on_by_itself, result_event
from gitops_bg.core.model.drift import ActionResult
from gitops_bg.core.model.events import Notice
from gitops_bg.core.model.policy_facts import Others
from gitops_bg.core.model.version import AppKey, AppOrGroup, SubjectKind
from gitops_bg.core.status.alike import broken, internal_error

LOGGER = logging.getLogger(__name__)

MOST_PASSES = 12
"""After this many writing passes in a row it goes to the end of the queue, so that others get their turn."""

FIRST_SECONDS, MOST_SECONDS = 4.0, 512.0
"""How long to wait before reporting again what another process contradicts: at first, and at most."""


class ReconcileResult(Enum):
    """How a look at an app or a group ended."""

    AT_REST = "nothing is left to do before people, Git or time ask for something"
    ON_ITS_WAY = "it goes on by itself, as soon as what it waits for is there"
    INTERRUPTED = "more can be done at once; others get their turn first"
    WROTE = "more may follow from what it wrote; others that have changed come first"


@dataclass(frozen=True, slots=True)
class _Decided:
    """One decision, with what it was made from."""

    kind: AnyKind
    facts: Any
    results: Results
    decision: Any

    @property
    def subject(self) -> AppOrGroup:
        subject: AppOrGroup = self.facts.subject
        return subject


class Reconciler:
    """Brings one app or group at a time closer to what Git says. ``clock`` gives UTC."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        kinds: Mapping[SubjectKind, AnyKind],
        git: GitLoop,
        timers: Timers,
        recorder: EventRecorder,
        beside: Background,
        clock: Callable[[], datetime],
    ) -> None:
        self._catalog = catalog
        self._kinds = kinds
        self._git = git
        self._timers = timers
        self._recorder, self._metrics = recorder, recorder.metrics
        self._beside = beside
        self._clock = clock
        self._contradictions: ContradictionBackoff[Hashable] = ContradictionBackoff(FIRST_SECONDS, MOST_SECONDS)
        self._contests = Contests()
        self._refused: dict[AppOrGroup, str] = {}
        self._bugs: dict[AppOrGroup, InternalError] = {}
        self._on_its_way: set[AppOrGroup] = set()

    def reconcile(self, subject: AppOrGroup, others_wait: Callable[[], bool] = lambda: False) -> ReconcileResult:
        """Look at an app or a group and act until nothing is left to do at once, or for as many passes as are its turn.

        After a pass that wrote, the next one waits where ``others_wait``: in a crowd it mostly finds nothing, and what
        the cluster or Git answers meanwhile needs a pass anyway. Raises the errors of ``core.errors``; the next look
        begins with what was written before.
        """
        kind, has_failed = self._kinds[subject.kind], True
        passes, is_done, yields = 0, False, False
        try:
            with guarded(f"a look at {subject}"):
                while not (is_done or yields) and passes < MOST_PASSES:
                    is_done, passes = not self._pass(kind, subject), passes + 1
                    yields = not is_done and others_wait()
            has_failed = False
        except LASTING as error:
            self._catalog.board.failed(subject)
            if isinstance(error, InternalError):
                self._bugs[subject] = error
                self._contradictions.drop(subject)  # What `Failures` writes about it contradicts nobody.
            raise
        finally:
            kind.ended(subject, failed=has_failed)
        if yields:
            return ReconcileResult.WROTE
        # The passes above still showed the former bug: one more removes its condition.
        if not is_done or self._bugs.pop(subject, None) is not None:
            return ReconcileResult.INTERRUPTED
        return ReconcileResult.ON_ITS_WAY if subject in self._on_its_way else ReconcileResult.AT_REST

    def _pass(self, kind: AnyKind, subject: AppOrGroup) -> bool:
        """Run one pass; return whether it wrote to the cluster, so that another pass is due."""
        started = self._clock()
        facts = kind.gather(subject, started)
        if facts is None:
            self._forget(kind, subject)
            return False
        results = self._results(facts.record, subject, started)
        facts = kind.with_results(facts, results)
        facts, decision = self._decide(kind, facts, started)
        decision = kind.answered(facts, self._with_trouble(subject, decision))
        if goes_on_by_itself(decision.phase, decision.actions):
            self._on_its_way.add(subject)
        else:
            self._on_its_way.discard(subject)
        if decision.look_again:
            self._git.poll_soon()
            return False
        return self._act(_Decided(kind, facts, results, decision))

    def _results(self, record: Any, subject: AppOrGroup, now: datetime) -> Results:
        return Results(
            measurements=self._beside.measurements.results(subject, record, now),
            calls=self._beside.hooks.answers(subject),
            contests=self._contests.of(subject),
            refused=self._refused.get(subject, ""),
            unwritten=self._git.trouble(subject),
        )

    def _decide(self, kind: ReconciledKind[Any, F, D], facts: F, started: datetime) -> tuple[F, D]:
        asked, subject = perf_counter(), facts.subject

        def decide(others: Others) -> tuple[F, D]:
            known = facts.with_others(others)
            return known, cpu_limited(f"deciding on {subject}", lambda: known.decide(started))

        def register(decided: tuple[F, D]) -> None:
            self._register(kind, *decided, started)

        known, decision = self._catalog.board.agreed(facts.policies, subject, decide, register)
        self._metrics.decided(subject, decision.phase, perf_counter() - asked)
        return known, decision

    def _register(self, kind: ReconciledKind[Any, F, D], facts: F, decision: D, now: datetime) -> None:
        """Note its state for the policies of others; nothing where none asks."""
        if not self._catalog.reading.policies.asks_about_others or decision.look_again:
            return
        peer = kind.peer_after(facts, decision, now)
        if peer is None:
            self._catalog.board.forget(facts.subject)
        else:
            self._catalog.board.register(peer)

    def _with_trouble(self, subject: AppOrGroup, decision: Any) -> Any:
        """Add the condition of a bug that hit it, in the Git thread or in the pass before, until all is done."""
        unwritten = self._git.trouble(subject)
        unwritten = unwritten if isinstance(unwritten, InternalError) else None
        unread = self._catalog.reading.broken.get(subject) if isinstance(subject, AppKey) else None
        error = unread or unwritten or self._bugs.get(subject)
        return decision if error is None else broken(decision, internal_error(subject, error))

    # --- act --------------------------------------------------------------------------------------------------

    def _act(self, of: _Decided) -> bool:
        """Save the record, then carry out the actions in order, see `act`."""
        kind, facts, decision, subject = of.kind, of.facts, of.decision, of.subject
        saved = not decision.silent and self._save(of)
        if saved:
            self._beside.measurements.counted(subject, facts.record, of.results.measurements, decision.measurements)
        self._recorder.record(subject, decision.events)
        self._timers.schedule(subject, kind.again_at(facts, decision, self._clock()), "wake")
        self._beside.update(facts, decision, self._clock())
        acted = Acted()
        try:
            acted = kind.carry_out(facts, decision, partial(self._record_result, of))
        finally:
            # Git gets what the record says, whether Kubernetes accepts the actions or not.
            change = kind.change(facts, decision)
            is_new = change is not None and self._git.submit(subject, change)
            self._log(of, acted, change if is_new else None)
        wrote = self._is_due_again(subject, acted, saved=saved)
        if not decision.silent:
            self._metrics.ledger_waits(subject, len(decision.record.ledger))
            kind.describe(facts, decision)
        return saved or wrote

    def _save(self, of: _Decided) -> bool:
        """Write the status. A report that only this process can see, and that another one reverted, waits longer each
        time.
        """
        subject, view, now = of.subject, of.kind.view(of.decision), self._clock()
        seconds = now.timestamp()
        may_report = partial(self._contradictions.may_report, subject, view, seconds)
        saved = of.kind.save(of.facts, of.decision, now, may_report)
        if saved:
            self._contradictions.reported(subject, view, seconds)
        again = self._contradictions.again(subject, seconds)
        self._timers.schedule(subject, datetime.fromtimestamp(again, UTC) if again else None, "say")
        return saved

    def _record_result(self, of: _Decided, result: ActionResult) -> None:
        """Report an action that was carried out or refused; a continued refusal is reported once."""
        subject = of.subject
        for contest in self._contests.count(subject, result.entries, self._clock()):
            self._recorder.record(subject, [Occurrence.of(Notice.CONTESTED, str(contest))])
        if not result.refused or subject not in self._refused:
            repeats = self._contests.repeats(subject, result.entries)
            event = Occurrence(fact=result) if repeats else result_event(result, of.decision.events)
            self._recorder.record(subject, [event])

    def _is_due_again(self, subject: AppOrGroup, acted: Acted, *, saved: bool) -> bool:
        """Return whether another look is due, after the results of the actions on the cluster.

        A first refusal calls for one, to write it into the status; so does the end of a refusal. A repeated refusal is
        raised. The error of an auxiliary object is raised only where nothing else was done: it blocks nothing else.
        """
        if acted.stopped is not None and not isinstance(acted.stopped, REFUSALS):
            raise acted.stopped
        error = acted.stopped or acted.troubled
        if error is None:
            return self._refused.pop(subject, None) is not None or bool(acted.changes.results)
        if self._is_news(subject, error) or (acted.stopped is None and (saved or acted.moved_on)):
            return True
        raise error

    def _is_news(self, subject: AppOrGroup, error: GitopsBgError) -> bool:
        """Return whether the error is a refusal, and the first after a time without any."""
        if not isinstance(error, REFUSALS):
            return False
        is_known = subject in self._refused
        self._refused[subject] = str(error)
        return not is_known

    def _log(self, of: _Decided, acted: Acted, new_for_git: GitChange | None) -> None:
        """Log one line for a decision, without Git changes that were requested before and are not answered yet.

        In a fight, each repair is logged at DEBUG: the fight itself is a warning.
        """
        on_cluster = (action for action in of.decision.actions if not isinstance(action, GIT_ACTIONS))
        actions = (*on_cluster, *(new_for_git.actions if new_for_git is not None else ()))
        changes = acted.changes
        repeats = bool(changes.results) and all(self._contests.repeats(of.subject, each.entries) for each in changes)
        told = of.decision if actions == of.decision.actions else replace(of.decision, actions=actions)
        log_decision(of.subject, told, of.facts.commit, changes, quietly=repeats)

    def _forget(self, kind: AnyKind, subject: AppOrGroup) -> None:
        for purpose in ("wake", "say", "note"):
            self._timers.schedule(subject, None, purpose)
        self._contradictions.drop(subject)
        self._contests.drop(subject)
        self._beside.forget(subject)
        self._metrics.forget(subject)
        self._catalog.board.forget(subject)
        self._refused.pop(subject, None)
        self._bugs.pop(subject, None)
        self._on_its_way.discard(subject)
        kind.forget(subject)
