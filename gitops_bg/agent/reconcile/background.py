"""What goes on beside it: measurements, hooks, pull requests. Passes begin with results and end with orders."""

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
    """All of it, for all apps."""

    measurements: MeasurementRunner
    hooks: HookCaller
    forge: ForgeThread

    def with_results(self, facts: Facts, now: datetime) -> Facts:
        """The facts with all that came out and is in no saved record."""
        measured = self.measurements.results(facts.app, facts.record, now)
        observed = replace(facts.observed, measurements=measured, calls=self.hooks.answers(facts.app))
        return replace(facts, observed=observed)

    def take(self, facts: Facts, decision: Decision, now: datetime) -> None:
        """Begin what is due by the record that was just saved; what it does not ask for is over."""
        self.measurements.take(facts.app, decision.record, decision.measurements, now)
        self.hooks.take(facts.app, decision.calls)
        self.forge.take(facts, decision, now)

    def forget(self, app: AppKey) -> None:
        """The app is gone."""
        self.measurements.forget(app)
        self.hooks.take(app, ())
        self.forge.set_desired(app, None)
