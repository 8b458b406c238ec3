"""Apps, as the one loop looks at them (`reconciler`): what of a look is about an app alone.

What is noted of an app (``core.model.decision``) is saved with what is next, or after a while: later looks decide on
the record with its notes. The facts of each look serve the policies of other apps, and those of others its own.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.git_writes import GitChange
from gitops_bg.agent.desired.peers import RolloutRegistry
from gitops_bg.agent.reconcile.facts import Facts, contents_for, gather
from gitops_bg.agent.reconcile.kind import GIT_ACTIONS, Acted, Results, act
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.actions import CommitPrimary
from gitops_bg.core.model.conditions import SUSPENDED, Phase
from gitops_bg.core.model.decision import Decision, Occurrence, is_deferrable
from gitops_bg.core.model.drift import ActionResult
from gitops_bg.core.model.events import Notice
from gitops_bg.core.model.policy_facts import Peer
from gitops_bg.core.model.record import Event, Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.alike import ProcessView, process_view_of
from gitops_bg.core.status.peers import peer_of

if TYPE_CHECKING:  # the command line gathers facts, and runs no loop
    from gitops_bg.agent.desired.git_loop import GitLoop
    from gitops_bg.agent.reconcile.event_recorder import EventRecorder
    from gitops_bg.agent.runtime.schedule import Timers


@dataclass(frozen=True, slots=True)
class _DeferredStatus:
    """A record with notes, the saved one that it follows, and when it is to be saved at the latest."""

    saved: Record
    record: Record
    until: datetime


class Unsaved:
    """The notes of all apps. Thread-safe as long as each app has one thread at a time."""

    def __init__(self) -> None:
        self._noted: dict[AppKey, _DeferredStatus] = {}
        self._hurries = False

    def record(self, app: AppKey, saved: Record) -> Record:
        """Return the record to decide on; ``saved`` is the live one. Notes on another record are dropped."""
        noted = self._noted.get(app)
        if noted is None:
            return saved
        if noted.saved == saved:
            return noted.record
        self.drop(app)
        return saved

    def saved(self, app: AppKey, record: Record) -> Record:
        """Return the live record that ``record`` follows."""
        noted = self._noted.get(app)
        return noted.saved if noted else record

    def may_wait(self, app: AppKey, saved: Record, record: Record, until: datetime, now: datetime) -> bool:
        """Return whether the notes in ``record`` may wait, until then and no longer than those before; if so, keep
        them.

        ``saved`` is the live record.
        """
        noted = self._noted.get(app)
        until = min(until, noted.until) if noted else until
        if self._hurries or until <= now:
            return False
        self._noted[app] = _DeferredStatus(saved, record, until)
        return True

    def until(self, app: AppKey) -> datetime | None:
        """Return when the notes of an app are to be saved; None where it has none."""
        noted = self._noted.get(app)
        return noted.until if noted else None

    def hurry(self) -> frozenset[AppKey]:
        """Let no note wait from now on; return the apps that have some."""
        self._hurries = True
        return frozenset(self._noted)

    def drop(self, app: AppKey) -> None:
        """Forget the notes of an app: they are saved, or the app is gone."""
        self._noted.pop(app, None)


FORWARD = (Event.DEPLOYED, Event.PROMOTED)
"""The events of commits of ``primary.yaml`` that promote a version."""
HEALTHY = "Healthy"

Since = Callable[[AppKey, str], datetime | None]
"""Since when a condition of an app has its status; None where that is unknown."""


def peer_after(facts: Facts, decision: Decision, now: datetime, since: Since) -> Peer:
    """Return the state of an app after a decision."""
    commits = any(isinstance(action, CommitPrimary) and action.event in FORWARD for action in decision.actions)
    healthy = since(facts.app, HEALTHY) if decision.phase is Phase.HEALTHY else None
    world = replace(facts, record=decision.record).world(now)
    return peer_of(world, commits=commits, labels=facts.config.labels, since=healthy)


def knowing_one_another(board: RolloutRegistry, all_facts: Sequence[Facts], now: datetime, since: Since) -> list[Facts]:
    """Return the facts of several apps, each with what is known of the others: for a caller that looks only once."""
    register_rollouts(board, all_facts, now, since)
    return [facts.with_others(board.others(facts.policies, facts.app)) for facts in all_facts]


def register_rollouts(board: RolloutRegistry, all_facts: Iterable[Facts], now: datetime, since: Since) -> None:
    """Note the state of each app for those whose policies ask about it."""
    for facts in all_facts:
        board.register(peer_after(facts, facts.decide(now), now, since))


LOGGER = logging.getLogger(__name__)

_MADE_ANEW = (
    "somebody edited the record in the status: it counts as lost, and was made anew from primary.yaml, the ledger and "
    "the cluster; take the right to write bluegreendeployments/status from whoever does"
)


class AppKind:
    """All apps. See `ReconciledKind`."""

    def __init__(
        self, *, catalog: Catalog, cluster: Cluster, git: "GitLoop", timers: "Timers", recorder: "EventRecorder"
    ) -> None:
        self._catalog = catalog
        self._cluster = cluster
        self._git = git
        self._timers = timers
        self._recorder, self._metrics = recorder, recorder.metrics
        self._unsaved = Unsaved()
        self._skewed = 0

    def save_notes(self) -> frozenset[AppKey]:
        """Let notes wait no longer; return the apps that have some: their next look saves them."""
        return self._unsaved.hurry()

    def gather(self, app: AppKey, now: datetime) -> Facts | None:
        """See `ReconciledKind.gather`."""
        return gather(self._catalog, self._cluster, app, now, self._unsaved.record)

    def with_results(self, facts: Facts, results: Results) -> Facts:
        """See `ReconciledKind.with_results`."""
        observed = replace(
            facts.observed,
            refused=results.refused,
            clock_skew=self._clock_skew(),
            contests=results.contests,
            measurements=results.measurements,
            calls=results.calls,
        )
        return replace(facts, observed=observed)

    def _clock_skew(self) -> int:
        """Return the difference between the API server's clock and ours: counted, and logged where it begins or ends to
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

    def peer_after(self, facts: Facts, decision: Decision, now: datetime) -> Peer:
        """See `ReconciledKind.peer_after`."""
        return peer_after(facts, decision, now, self._cluster.since)

    def answered(self, facts: Facts, decision: Decision) -> Decision:
        """Return the decision with the answer to who asked for a look at main, once one was made that began after
        that.
        """
        asked, desired = self._catalog.asked_looks, facts.desired
        if asked.waits(facts.app, desired.looks):
            self._catalog.waits_for_poll(facts.app)
        return replace(decision, handled=asked.handled(facts.app, desired.commit, desired.looks))

    def view(self, decision: Decision) -> ProcessView:
        """See `ReconciledKind.view`."""
        return process_view_of(decision)

    def save(self, facts: Facts, decision: Decision, now: datetime, may_report: Callable[[], bool]) -> bool:
        """See `ReconciledKind.save`. Notes wait for the next save, where nothing follows from them at once."""
        app, was_edited, waits = facts.app, self._cluster.record_was_edited(facts.app), False

        def may_wait(longest: timedelta) -> bool:
            nonlocal waits
            waits = self._may_wait(facts, decision, now, longest)
            return waits

        saved = self._cluster.save(app, decision, now, facts.decided_on, may_report, may_wait)
        if not waits:
            self._unsaved.drop(app)
        self._timers.schedule(app, self._unsaved.until(app), "note")
        if saved:
            self._catalog.record_saved(app, facts.record.git.lost, decision.record.git.lost)
        if saved and was_edited:
            self._recorder.record(app, [Occurrence.of(Notice.RECORD_MADE_ANEW, _MADE_ANEW)])
        return saved

    def _may_wait(self, facts: Facts, decision: Decision, now: datetime, longest: timedelta) -> bool:
        """Return whether a save may wait: it would only note what any look finds, and no action on the cluster
        follows.
        """
        saved = self._unsaved.saved(facts.app, facts.record)
        if any(not isinstance(action, GIT_ACTIONS) for action in decision.actions):
            return False
        if not is_deferrable(saved, decision.record):
            return False
        return self._unsaved.may_wait(facts.app, saved, decision.record, now + longest, now)

    def describe(self, facts: Facts, decision: Decision) -> None:
        """See `ReconciledKind.describe`."""
        app, record = facts.app, decision.record
        is_suspended = any(one.type == SUSPENDED and one.status for one in decision.conditions)
        self._metrics.replicas(app, decision.counts)
        self._metrics.suspended_since(app, self._cluster.since(app, SUSPENDED) if is_suspended else None)
        active, candidate = record.version(record.routing.traffic), record.version(record.routing.preview)
        self._metrics.info(
            app,
            decision.phase,
            active.color if active else None,
            str(active.number) if active else "",
            str(candidate.number) if candidate and candidate != active else "",
        )

    def change(self, facts: Facts, decision: Decision) -> GitChange:
        """See `ReconciledKind.change`."""
        actions = tuple(action for action in decision.actions if isinstance(action, GIT_ACTIONS))
        contents = contents_for(facts, actions, self._cluster)
        return GitChange(actions, decision.record, facts.decided_from, contents, facts.offered_head)

    def carry_out(self, facts: Facts, decision: Decision, on_result: Callable[[ActionResult], None]) -> Acted:
        """See `ReconciledKind.carry_out`."""
        app = facts.app
        if decision.record.awaits_poll and self._catalog.waits_for_poll(app):
            self._git.poll_soon()
        if facts.observed.app_foreign and self._cluster.claim(app):
            self._recorder.record(app, [Occurrence.of(Notice.CONFLICT, facts.observed.app_foreign)])
        return act(decision.actions, partial(self._cluster.carry_out, app, facts.config), on_result)

    def again_at(self, facts: Facts, decision: Decision, now: datetime) -> datetime | None:  # noqa: ARG002 - a `ReconciledKind`
        """Return when time alone changes the decision: all else wakes an app."""
        return decision.wake_at

    def ended(self, app: AppKey, *, failed: bool) -> None:
        """Do nothing: nothing follows for others."""

    def forget(self, app: AppKey) -> None:
        """See `ReconciledKind.forget`."""
        self._unsaved.drop(app)
        self._git.submit(app, GitChange((), Record(), ""))
