"""Gather, decide, act: one app, pass after pass, until nothing is left to do at once.

The three never share a function: `gather` only reads, `decide` is pure, `_act` only writes (DESIGN §6).
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from time import perf_counter

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.git_loop import GitLoop
from gitops_bg.agent.desired.git_writes import GitChange
from gitops_bg.agent.observability.logs import fields, log_decision
from gitops_bg.agent.reconcile.act import GIT_ACTIONS, REFUSALS, Acted, act
from gitops_bg.agent.reconcile.background import Background
from gitops_bg.agent.reconcile.configuration_content import contents_for
from gitops_bg.agent.reconcile.contests import Contests
from gitops_bg.agent.reconcile.contradiction_backoff import ContradictionBackoff
from gitops_bg.agent.reconcile.event_recorder import EventRecorder
from gitops_bg.agent.reconcile.facts import Facts, gather
from gitops_bg.agent.reconcile.peer_facts import peer_after
from gitops_bg.agent.reconcile.unsaved import Unsaved
from gitops_bg.agent.runtime.cpu_limit import cpu_limited
from gitops_bg.agent.runtime.timers import Timers
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.delivery.ledger import news
from gitops_bg.core.errors import GitopsBgError, InternalError, InvalidInput, Refused, guarded
from gitops_bg.core.model.change_set import ActionResult, ChangeSet
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.events import Notice
from gitops_bg.core.model.policies.facts import Others
from gitops_bg.core.model.record import LedgerEntry, Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.notes import has_only_notes
from gitops_bg.core.status.internal_error import broken, internal_error
from gitops_bg.core.status.kstatus import goes_on_by_itself
from gitops_bg.core.status.process_view import ProcessView, process_view_of

LOGGER = logging.getLogger(__name__)

_MADE_ANEW = (
    "somebody edited the record in the status: it counts as lost, and was made anew from primary.yaml, the ledger and "
    "the cluster; take the right to write bluegreendeployments/status from whoever does"
)
MOST_PASSES = 12
"""After this many writing passes in a row an app goes to the end of the queue, so that others get their turn."""

FIRST_SECONDS, MOST_SECONDS = 4.0, 512.0
"""How long to wait before reporting again what another process contradicts: at first, and at most."""


class Look(Enum):
    """How a look at an app ended."""

    AT_REST = "nothing is left to do before people, Git or time ask for something"
    ON_ITS_WAY = "it goes on by itself, as soon as what it waits for is there"
    INTERRUPTED = "more can be done at once; others get their turn first"


class Reconciler:
    """Brings one app at a time closer to what Git says. ``clock`` gives UTC."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        cluster: Cluster,
        git: GitLoop,
        timers: Timers,
        recorder: EventRecorder,
        beside: Background,
        clock: Callable[[], datetime],
    ) -> None:
        self._catalog = catalog
        self._cluster = cluster
        self._git = git
        self._timers = timers
        self._recorder, self._metrics = recorder, recorder.metrics
        self._beside = beside
        self._clock = clock
        self._contradictions: ContradictionBackoff[ProcessView] = ContradictionBackoff(FIRST_SECONDS, MOST_SECONDS)
        self._contests = Contests()
        self._unsaved = Unsaved()
        self._refused: dict[AppKey, str] = {}
        self._bugs: dict[AppKey, InternalError] = {}
        self._on_its_way: set[AppKey] = set()
        self._skewed = 0

    def reconcile(self, app: AppKey) -> Look:
        """Look at an app and act until nothing is left to do at once, or for as many passes as are its turn.

        Raises the errors of ``core.errors``; the next look begins with what was written before.
        """
        try:
            with guarded(f"a look at {app}"):
                is_done = any(not self._pass(app) for _ in range(MOST_PASSES))
        except (InvalidInput, Refused):
            self._catalog.board.failed(app)
            raise
        except InternalError as error:
            self._catalog.board.failed(app)
            self._bugs[app] = error
            self._contradictions.drop(app)  # What `Failures` writes about the app contradicts nobody.
            raise
        # The passes above still showed the former bug: one more removes its condition.
        if not is_done or self._bugs.pop(app, None) is not None:
            return Look.INTERRUPTED
        return Look.ON_ITS_WAY if app in self._on_its_way else Look.AT_REST

    def save_notes(self) -> frozenset[AppKey]:
        """Let notes wait no longer; return the apps that have some: their next look saves them."""
        return self._unsaved.hurry()

    def _pass(self, app: AppKey) -> bool:
        """Run one pass; return whether it wrote to the cluster, so that another pass is due."""
        started = self._clock()
        facts = gather(self._catalog, self._cluster, app, started, self._unsaved.record)
        if facts is None:
            self._forget(app)
            return False
        refused, skew, contests = self._refused.get(app, ""), self._clock_skew(), self._contests.of(app)
        known = replace(facts.observed, refused=refused, clock_skew=skew, contests=contests)
        facts = replace(facts, observed=known)
        facts = self._beside.with_results(facts, started)
        decision = self._with_answer(facts, self._with_trouble(app, self._decide(facts, started)))
        self._note_progress(app, decision)
        if decision.look_again:
            self._git.poll_soon()
            return False
        if facts.observed.app_foreign and self._cluster.claim(app):
            self._recorder.event(app, Notice.CONFLICT, facts.observed.app_foreign, warning=True)
            LOGGER.warning("%s", facts.observed.app_foreign, extra=fields(app=app, reason=Notice.CONFLICT))
        return self._act(facts, decision)

    def _note_progress(self, app: AppKey, decision: Decision) -> None:
        if goes_on_by_itself(decision):
            self._on_its_way.add(app)
        else:
            self._on_its_way.discard(app)

    def _decide(self, facts: Facts, started: datetime) -> Decision:
        asked, app = perf_counter(), facts.app

        def decide(others: Others) -> tuple[Facts, Decision]:
            known = facts.with_others(others)
            return known, cpu_limited(f"deciding on {app}", lambda: known.decide(started))

        def note(decided: tuple[Facts, Decision]) -> None:
            self._note_peer(*decided, started)

        _, decision = self._catalog.board.agreed(facts.policies, app, decide, note)
        self._metrics.decided(app, decision.phase, perf_counter() - asked)
        return decision

    def _note_peer(self, facts: Facts, decision: Decision, now: datetime) -> None:
        """Note the state of the app for the policies of others; nothing where none asks."""
        if not self._catalog.reading.policies.asks_about_others or decision.look_again:
            return
        self._catalog.board.note(peer_after(facts, decision, now, self._cluster.since))

    def _with_trouble(self, app: AppKey, decision: Decision) -> Decision:
        """Add the condition of a bug that hit the app, in the Git thread or in the pass before, until all is done."""
        unwritten = self._git.trouble(app)
        unwritten = unwritten if isinstance(unwritten, InternalError) else None
        error = self._catalog.reading.broken.get(app) or unwritten or self._bugs.get(app)
        return decision if error is None else broken(decision, internal_error(app, error))

    def _with_answer(self, facts: Facts, decision: Decision) -> Decision:
        """Add the answer to who asked for a look at main, once one was made that began after the request."""
        asked, desired = self._catalog.asked_looks, facts.desired
        if asked.waits(facts.app, desired.looks):
            self._catalog.waits_for_look(facts.app)
        return replace(decision, handled=asked.handled(facts.app, desired.commit, desired.looks))

    def _clock_skew(self) -> int:
        """The difference between the API server's clock and ours: counted, and logged where it begins or ends to
        matter.
        """
        skew = self._cluster.skew
        if skew is None:
            return 0
        self._metrics.clock_skew(skew.seconds)
        found, before = skew.noteworthy, self._skewed
        self._skewed = found
        if bool(found) is not bool(before):
            said = f"{abs(found)} s {'ahead of' if found > 0 else 'behind'} ours" if found else "as ours again"
            LOGGER.warning("the API server's clock is %s; set both by NTP", said)
        return found

    # --- act --------------------------------------------------------------------------------------------------

    def _act(self, facts: Facts, decision: Decision) -> bool:
        """Save the record, then carry out the actions in order, see `act`."""
        was_edited = self._cluster.record_was_edited(facts.app)
        saved = not decision.silent and self._save(facts, decision)
        if saved and was_edited:
            self._recorder.event(facts.app, Notice.RECORD_MADE_ANEW, _MADE_ANEW, warning=True)
            LOGGER.warning("%s", _MADE_ANEW, extra=fields(app=facts.app, reason=Notice.RECORD_MADE_ANEW))
        if saved:
            self._catalog.record_saved(facts.app, facts.record.git.lost, decision.record.git.lost)
            results = facts.observed.measurements
            self._beside.measurements.counted(facts.app, facts.record, results, decision.measurements)
        if decision.record.awaits_look and self._catalog.waits_for_look(facts.app):
            self._git.poll_soon()
        self._recorder.saved(facts.app, facts.record, decision.record)
        self._timers.schedule(facts.app, decision.wake_at, "wake")
        self._beside.take(facts, decision, self._clock())
        acted = Acted()
        try:
            on_result = partial(self._record_result, facts.app, news(facts.record, decision.record))
            acted = act(self._cluster, facts.app, facts.config, decision, on_result)
        finally:
            # Git gets what the record says, whether Kubernetes accepts the actions or not.
            is_new = self._submit(facts, decision)
            self._log(facts, decision, acted.changes, is_new)
        wrote = self._look_again(facts.app, acted, saved=saved)
        if not decision.silent:
            self._recorder.stands(facts.app, decision)
        return saved or wrote

    def _save(self, facts: Facts, decision: Decision) -> bool:
        """Write the status.

        A report that only this process can see, and that another one reverted, waits longer each time. Notes wait for
        the next save, where nothing follows from them at once.
        """
        app, view, now = facts.app, process_view_of(decision), self._clock()
        seconds = now.timestamp()
        may_report = partial(self._contradictions.may_report, app, view, seconds)
        waits = False

        def may_wait(longest: timedelta) -> bool:
            nonlocal waits
            waits = self._may_wait(facts, decision, now, longest)
            return waits

        saved = self._cluster.save(app, decision, now, facts.decided_on, may_report, may_wait)
        if saved:
            self._contradictions.reported(app, view, seconds)
        if not waits:
            self._unsaved.drop(app)
        again = self._contradictions.again(app, seconds)
        self._timers.schedule(app, datetime.fromtimestamp(again, UTC) if again else None, "say")
        self._timers.schedule(app, self._unsaved.until(app), "note")
        return saved

    def _may_wait(self, facts: Facts, decision: Decision, now: datetime, longest: timedelta) -> bool:
        """Whether a save may wait: it would only note what any look finds, and no action on the cluster follows."""
        saved = self._unsaved.saved(facts.app, facts.record)
        if any(not isinstance(action, GIT_ACTIONS) for action in decision.actions):
            return False
        if not has_only_notes(saved, decision.record):
            return False
        return self._unsaved.may_wait(facts.app, saved, decision.record, now + longest, now)

    def _submit(self, facts: Facts, decision: Decision) -> bool:
        """Hand the Git actions to the Git thread; return whether they are new."""
        actions = tuple(action for action in decision.actions if isinstance(action, GIT_ACTIONS))
        contents = contents_for(facts, actions, self._cluster)
        change = GitChange(actions, decision.record, facts.decided_from, contents, facts.offered_head)
        return self._git.submit(facts.app, change)

    def _record_result(self, app: AppKey, news: Sequence[LedgerEntry], result: ActionResult) -> None:
        """Report an action that was carried out or refused; a continued refusal is reported once."""
        for contest in self._contests.note(app, result.entries, self._clock()):
            self._recorder.event(app, Notice.CONTESTED, str(contest), warning=True)
            LOGGER.warning("%s", contest, extra=fields(app=app, reason=Notice.CONTESTED))
        if not result.refused or app not in self._refused:
            self._recorder.acted(app, result, news, quietly=self._contests.repeats(app, result.entries))

    def _look_again(self, app: AppKey, acted: Acted, *, saved: bool) -> bool:
        """Whether another look is due, after the results of the actions on the cluster.

        A first refusal calls for one, to write it into the status; so does the end of a refusal. A repeated refusal is
        raised. The error of an auxiliary object is raised only where nothing else was done: it blocks nothing else.
        """
        if acted.stopped is not None and not isinstance(acted.stopped, REFUSALS):
            raise acted.stopped
        error = acted.stopped or acted.troubled
        if error is None:
            return self._refused.pop(app, None) is not None or bool(acted.changes.results)
        if self._is_news(app, error) or (acted.stopped is None and (saved or acted.moved_on)):
            return True
        raise error

    def _is_news(self, app: AppKey, error: GitopsBgError) -> bool:
        """Whether the error is a refusal, and the first after a time without any."""
        if not isinstance(error, REFUSALS):
            return False
        is_known = app in self._refused
        self._refused[app] = str(error)
        return not is_known

    def _log(self, facts: Facts, decision: Decision, changes: ChangeSet, is_new_for_git: bool) -> None:
        """Log one line for a decision, without Git changes that were requested before and are not answered yet.

        In a fight, each repair is logged at DEBUG: the fight itself is a warning.
        """
        said = tuple(action for action in decision.actions if is_new_for_git or not isinstance(action, GIT_ACTIONS))
        repeats = bool(changes.results) and all(self._contests.repeats(facts.app, each.entries) for each in changes)
        told = decision if said == decision.actions else replace(decision, actions=said)
        log_decision(facts.app, told, facts.desired.commit, changes, quietly=repeats)

    def _forget(self, app: AppKey) -> None:
        self._timers.schedule(app, None, "wake")
        self._timers.schedule(app, None, "say")
        self._timers.schedule(app, None, "note")
        self._unsaved.drop(app)
        self._contradictions.drop(app)
        self._contests.drop(app)
        self._beside.forget(app)
        self._git.submit(app, GitChange((), Record(), ""))
        self._metrics.forget(app)
        self._catalog.board.forget(app)
        self._refused.pop(app, None)
        self._bugs.pop(app, None)
        self._on_its_way.discard(app)
