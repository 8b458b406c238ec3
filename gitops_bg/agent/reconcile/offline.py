"""Passes of the engine over one app without Git: `abort` and `rollback --offline` where no agent answers.

The same engine, the same safeguards, the same record: its lock and the compare-and-swap on the selector make it safe
beside an agent that runs after all. Changes for Git stay in the record until an agent writes them.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.reconcile.kind import FOR_AUXILIARY_OBJECTS, REFUSALS, act
from gitops_bg.agent.runtime.signals import wait_interruptibly
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.decision import Decision, result_event
from gitops_bg.core.model.desired import Desired, Missing
from gitops_bg.core.model.drift import ActionResult
from gitops_bg.core.model.main import Knowledge
from gitops_bg.core.model.observed import GitView, Request
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import app_config_from_live

NOT_ASKED = "an operator acts on the cluster alone; Git was not asked"
SYNC_SECONDS = 30.0
_AGAIN_SECONDS = 0.1


def facts_without_git(cluster: Cluster, app: AppKey) -> Facts | None:
    """Return the facts of an app from the cluster alone; None where it does not describe the app."""
    seen = cluster.seen(app)
    config = app_config_from_live(app, seen.manifest) if seen.manifest else None
    if config is None or config.spec is None:
        return None
    observed = cluster.observe(app, config, seen.record)
    return Facts(
        app=app,
        spec=config.spec,
        desired=Desired("", Missing.UNSEEN, Missing.UNSEEN, problems=config.problems, knowledge=Knowledge.UNKNOWN),
        observed=replace(observed, git=GitView(unreachable=NOT_ASKED)),
        record=seen.record,
        config=config,
        decided_on=seen.version,
    )


class Offline:
    """One app of one cluster, watched. A context manager; ``clock`` gives UTC."""

    def __init__(self, access: Access, app: AppKey, clock: Callable[[], datetime]) -> None:
        self.subject = app
        self._clock = clock
        self._woken = threading.Event()
        self._refused: set[str] = set()
        self._cluster = Cluster.watching(access, self._on_change, [app.namespace])

    def __enter__(self) -> "Offline":
        self._cluster.start()
        try:
            self._cluster.demand_synced(SYNC_SECONDS)
        except BaseException:
            self._cluster.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cluster.stop()

    def _on_change(self, app: AppKey) -> None:
        if app == self.subject:
            self._woken.set()

    # --- what is known ----------------------------------------------------------------------------------------

    @property
    def record(self) -> Record:
        """The present record in the cluster."""
        return self._cluster.record(self.subject)

    def facts(self) -> Facts | None:
        """Return the facts of the app from the cluster alone; None where it does not describe the app."""
        return facts_without_git(self._cluster, self.subject)

    # --- what is done -----------------------------------------------------------------------------------------

    def ask(self, request: Request) -> None:
        """Write the request for the agent to carry out. Raises ``NotFound``, ``Refused``, ``Transient``."""
        self._cluster.operator_requests.add(self.subject, request)

    def withdraw(self, request: Request) -> None:
        """Take the request back, unless it is answered. Raises ``NotFound``, ``Refused``, ``Transient``."""
        self._cluster.operator_requests.withdraw(self.subject, request)

    def is_lost(self, request: Request) -> bool:
        """Return whether somebody who knows of no others overwrote the request before anybody answered it."""
        waits = any(each.id == request.id for each in self._cluster.requests(self.subject))
        return not waits and not self.record.operator.has_answered(request.id)

    def wait(self, fulfilled: Callable[[Record], bool], seconds: float) -> bool:
        """Watch until the record fulfils the condition; False where ``seconds`` passed first."""
        until = self._clock() + timedelta(seconds=seconds)
        while True:
            self._woken.clear()
            if fulfilled(self.record):
                return True
            if not self._sleep(until):
                return fulfilled(self.record)

    def act(self, fulfilled: Callable[[Record], bool], seconds: float, tell: Callable[[str], None]) -> bool:
        """Run passes until the record fulfils the condition; ``tell`` gets every action.

        False where ``seconds`` passed first.
        """
        until = self._clock() + timedelta(seconds=seconds)
        while True:
            self._woken.clear()
            wrote, next_look = self._pass(tell)
            if not wrote and fulfilled(self.record):
                return True
            if not wrote and not self._sleep(min(until, next_look or until)) and self._clock() >= until:
                return False

    def _sleep(self, until: datetime) -> bool:
        """Wait for a change of the app; False where ``until`` came first."""
        return wait_interruptibly(self._woken, max(0.0, (until - self._clock()).total_seconds()))

    def _pass(self, tell: Callable[[str], None]) -> tuple[bool, datetime | None]:
        """Run one pass; return whether another is due at once, and when time alone makes one due."""
        facts = self.facts()
        if facts is None:
            raise WorldChanged(f"the BlueGreenDeployment {self.subject} is gone")
        decision = facts.decide(self._clock())
        try:
            return self._act(facts, decision, tell), decision.wake_at
        except WorldChanged:  # an agent was faster, or the caches lag a moment behind
            return False, self._clock() + timedelta(seconds=_AGAIN_SECONDS)

    def _act(self, facts: Facts, decision: Decision, tell: Callable[[str], None]) -> bool:
        """Save the record, then act as the agent does; return whether anything was written."""
        saved = self._cluster.save(self.subject, decision, self._clock(), facts.decided_on)
        acted = act(
            decision.actions,
            partial(self._cluster.carry_out, self.subject, facts.config),
            partial(self._report, tell),
        )
        if acted.stopped is not None:
            raise acted.stopped
        wrote = saved or acted.moved_on
        if acted.troubled is not None and not wrote and not isinstance(acted.troubled, REFUSALS):
            raise acted.troubled
        return saved or bool(acted.changes.carried_out)

    def _report(self, tell: Callable[[str], None], result: ActionResult) -> None:
        """Report each refusal once.

        A refusal about versions or traffic is raised, one about an auxiliary object is not.
        """
        if result.refused and str(result) in self._refused:
            return
        if result.refused:
            self._refused.add(str(result))
        if not result.refused or isinstance(result.action, FOR_AUXILIARY_OBJECTS):
            tell(str(result))
        event = result_event(result)
        if event.reason:
            self._cluster.record_event(self.subject, event.reason, event.message, self._clock(), warning=event.warning)
