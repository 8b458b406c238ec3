"""Work in the background: measurements, hooks, pull requests. A pass begins with its results and ends with
new orders.
"""

from dataclasses import dataclass
from datetime import datetime

from gitops_bg.agent.forge.thread import ForgeThread
from gitops_bg.agent.groups.facts import GroupFacts
from gitops_bg.agent.groups.leaving import LeftFacts
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.reconcile.measurements import MeasurementRunner
from gitops_bg.core.groups.record import GroupDecision
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.hooks import HookCaller


@dataclass(frozen=True, slots=True)
class Background:
    """The background work of all apps and groups."""

    measurements: MeasurementRunner
    hooks: HookCaller
    forge: ForgeThread

    def update(self, facts: Facts | GroupFacts | LeftFacts, decision: Decision | GroupDecision, now: datetime) -> None:
        """Begin what is due by the record just saved; end what the record does not ask for."""
        self.measurements.update(facts.subject, decision.record, decision.measurements, now)
        self.hooks.update(facts.subject, decision.calls)
        if isinstance(facts, LeftFacts):
            self.forge.set_desired(facts.group, None)
        else:
            self.forge.update(facts, decision, now)

    def forget(self, subject: AppOrGroup) -> None:
        """End the work for what is deleted."""
        self.measurements.forget(subject)
        self.hooks.update(subject, ())
        self.forge.set_desired(subject, None)
