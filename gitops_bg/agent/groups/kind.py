"""Release groups, as the one loop looks at them (`agent.reconcile`): what of a look is about a group alone."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.git_writes import GitChange
from gitops_bg.agent.groups.facts import GroupFacts, GroupGatherer
from gitops_bg.agent.groups.leaving import LeftFacts
from gitops_bg.agent.groups.members import Members
from gitops_bg.agent.metrics import Metrics
from gitops_bg.agent.reconcile.kind import Acted, Results, act
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.group_cluster import NoPodAnswers
from gitops_bg.core.delivery.ledger import publication
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupDecision
from gitops_bg.core.model.conditions import READY
from gitops_bg.core.model.drift import ActionResult
from gitops_bg.core.model.policy_facts import Peer
from gitops_bg.core.model.version import AppKey, GroupKey

AnyFacts = GroupFacts | LeftFacts
"""Of a group in main, or of one whose folder left it."""

LOOK_AGAIN = timedelta(seconds=1)
"""How soon a group is looked at again while its Gateway, or a member, has yet to follow: nothing is watched for it."""


class GroupKind:
    """All release groups. See `ReconciledKind`. ``wake`` has apps looked at."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        cluster: Cluster,
        members: Members,
        metrics: Metrics,
        wake: Callable[[Iterable[AppKey]], None],
    ) -> None:
        self._catalog = catalog
        self._cluster, self._groups = cluster, cluster.release_groups
        self._members = members
        self._metrics = metrics
        self._wake = wake
        self._gatherer = GroupGatherer(catalog, cluster)
        self._without_pods: dict[GroupKey, str] = {}
        """Why the last step of a group was not written: no pod answered where it leads."""

    def gather(self, group: GroupKey, now: datetime) -> AnyFacts | None:
        """See `ReconciledKind.gather`."""
        self._cluster.demand_known(group.namespace)
        return self._gatherer.gather(self._catalog.reading, group, now)

    def with_results(self, facts: AnyFacts, results: Results) -> AnyFacts:
        """See `ReconciledKind.with_results`."""
        if isinstance(facts, LeftFacts):
            return facts
        observed = replace(
            facts.observed,
            calls=results.calls,
            measurements=results.measurements,
            unwritten=str(results.unwritten or ""),
            contests=results.contests,
            refused=results.refused,
            without_pods=self._without_pods.get(facts.group, ""),
        )
        return replace(facts, observed=observed)

    def peer_after(self, facts: AnyFacts, decision: GroupDecision, now: datetime) -> Peer | None:
        """See `ReconciledKind.peer_after`."""
        return None if isinstance(facts, LeftFacts) else facts.peer_after(decision, now)

    def answered(self, facts: AnyFacts, decision: GroupDecision) -> GroupDecision:
        """Return the same decision; of one that is not saved the members are known from now on."""
        if decision.look_again:
            self._members.know(facts.group, facts.record)
        return decision

    def view(self, decision: GroupDecision) -> Hashable:
        """See `ReconciledKind.view`."""
        return decision.phase, decision.conditions, decision.gates

    def save(self, facts: AnyFacts, decision: GroupDecision, now: datetime, may_report: Callable[[], bool]) -> bool:
        """See `ReconciledKind.save`."""
        pull = None if isinstance(facts, LeftFacts) else facts.observed.git.pull
        commit = decision.record.main.commit if isinstance(facts, LeftFacts) else facts.commit
        saved = self._groups.save(facts.seen, decision, commit, now, pull, may_report)
        if saved:
            self._catalog.record_saved(facts.group, facts.record.lost, decision.record.lost)
        return saved

    def describe(self, facts: AnyFacts, decision: GroupDecision) -> None:
        """See `ReconciledKind.describe`."""
        state, spec = decision.record.state, None if isinstance(facts, LeftFacts) else facts.desired.spec
        asked_for = spec.active if spec is not None else ""
        candidate = asked_for if state.stage(asked_for) is VersionStage.CANDIDATE else ""
        self._metrics.info(facts.group, decision.phase, None, state.only(VersionStage.ACTIVE), candidate)

    def change(self, facts: AnyFacts, decision: GroupDecision) -> GitChange | None:
        """See `ReconciledKind.change`. Who remembers nothing has nothing to tell: what waits for Git stays."""
        record = decision.record
        if isinstance(facts, LeftFacts):
            decided_from, seen = record.main.commit, facts.left.branch
        elif facts.observed.uid and not decision.silent and record.state.versions:
            decided_from, seen = facts.decided_from, facts.offered_head
        else:
            return None
        return GitChange((*publication(record), *decision.git), record, decided_from, seen=seen)

    def carry_out(self, facts: AnyFacts, decision: GroupDecision, on_result: Callable[[ActionResult], None]) -> Acted:
        """See `ReconciledKind.carry_out`. Each prefix of the actions is safe, and nothing but that: what
        follows one that failed waits.
        """
        group = facts.group
        self._know(facts, decision)
        self._without_pods.pop(group, None)
        carry_out = partial(self._groups.carry_out, group, facts.body)
        acted = act(decision.actions, carry_out, on_result, waits_for=lambda *_: True)
        if isinstance(acted.stopped, NoPodAnswers):
            self._without_pods[group] = str(acted.stopped)
        return acted

    def _know(self, facts: AnyFacts, decision: GroupDecision) -> None:
        """Know the members by the record that was just saved."""
        ends = isinstance(facts, LeftFacts) and facts.left.ends and facts.left.leads_nowhere
        self._members.know(facts.group, decision.record, ends=ends)

    def again_at(self, facts: AnyFacts, decision: GroupDecision, now: datetime) -> datetime | None:
        """See `ReconciledKind.again_at`."""
        soon = now + LOOK_AGAIN if _waits(facts, decision) else None
        return min(filter(None, (soon, decision.wake_at)), default=None)

    def ended(self, group: GroupKey, *, failed: bool) -> None:
        """Have those members looked at whose state may have changed."""
        if failed:
            self._members.failed(group)
        self._wake(self._members.changed())

    def forget(self, group: GroupKey) -> None:
        """See `ReconciledKind.forget`. What main may still have is remembered: what serves runs on."""
        self._without_pods.pop(group, None)
        if self._catalog.reading.group_has_left(group):
            self._members.forget(group)


def _waits(facts: AnyFacts, decision: GroupDecision) -> bool:
    """Return whether a Gateway, a member or the ledger has yet to follow."""
    if isinstance(facts, LeftFacts):
        return facts.goes_on
    record = decision.record
    waits = record.transition is not None or record.left_at is not None or bool(decision.gates)
    waits = waits or bool(record.succeeds)  # The former name goes once its ledger is in Git.
    return waits or not any(each.type == READY and each.status for each in decision.conditions)
