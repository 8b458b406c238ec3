"""Work in the background: measurements, hooks, pull requests. A pass begins with its results and ends with
new orders.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from gitops_bg.agent.forge.thread import ForgeThread
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.reconcile.measurements import MeasurementRunner
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.version import AppKey
from gitops_bg.hooks.caller import HookCaller


@dataclass(frozen=True, slots=True)
class Background:
    """The background work of all apps."""

    measurements: MeasurementRunner
    hooks: HookCaller
    forge: ForgeThread

    def with_results(self, facts: Facts, now: datetime) -> Facts:
        """Return the facts with all results that no saved record contains."""
        measured, answered = self.measurements.results(facts.app, facts.record, now), self.hooks.answers(facts.app)
        if not measured and not answered:
            return facts
        return replace(facts, observed=replace(facts.observed, measurements=measured, calls=answered))

    def take(self, facts: Facts, decision: Decision, now: datetime) -> None:
        """Begin what is due by the record just saved; end what the record does not ask for."""
        self.measurements.take(facts.app, decision.record, decision.measurements, now)
        self.hooks.take(facts.app, decision.calls)
        self.forge.take(facts, decision, now)

    def forget(self, app: AppKey) -> None:
        """End the work for a deleted app."""
        self.measurements.forget(app)
        self.hooks.take(app, ())
        self.forge.set_desired(app, None)
