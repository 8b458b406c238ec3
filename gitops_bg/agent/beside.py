"""What goes on beside the reconciling: measurements and hooks. Passes begin with results and end with orders."""

from dataclasses import dataclass, replace
from datetime import datetime

from gitops_bg.agent.gathering import Facts
from gitops_bg.agent.measuring import Measurements
from gitops_bg.analysis.hooks import HookCaller
from gitops_bg.core.decision import Decision
from gitops_bg.core.model import AppKey


@dataclass(frozen=True, slots=True)
class Beside:
    """The two, for all apps."""

    measurements: Measurements
    hooks: HookCaller

    def with_results(self, facts: Facts, now: datetime) -> Facts:
        """The facts with all that came out and is in no saved record."""
        measured = self.measurements.results(facts.app, facts.record, now)
        observed = replace(facts.observed, measurements=measured, calls=self.hooks.answers(facts.app))
        return replace(facts, observed=observed)

    def take(self, facts: Facts, decision: Decision, now: datetime) -> None:
        """Begin what is due by the record that was just saved; what it does not ask for is over."""
        self.measurements.take(facts.app, decision.record, decision.measurements, now)
        self.hooks.take(facts.app, decision.calls)

    def forget(self, app: AppKey) -> None:
        """The app is gone."""
        self.measurements.forget(app)
        self.hooks.take(app, ())
