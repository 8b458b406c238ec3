"""The facts of one look at an app for the policies of other apps, and those of other apps for its own.
Decides nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from gitops_bg.agent.desired.peers import RolloutRegistry
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.core.model.actions import CommitPrimary
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.policy_facts import Peer
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.peers import peer_of

FORWARD = (Event.DEPLOYED, Event.PROMOTED)
"""The events of commits of ``primary.yaml`` that promote a version."""
HEALTHY = "Healthy"

Since = Callable[[AppKey, str], datetime | None]
"""Since when a condition of an app has its status; None where that is unknown."""


def peer_after(facts: Facts, decision: Decision, now: datetime, since: Since) -> Peer:
    """The state of an app after a decision."""
    commits = any(isinstance(action, CommitPrimary) and action.event in FORWARD for action in decision.actions)
    healthy = since(facts.app, HEALTHY) if decision.phase is Phase.HEALTHY else None
    world = replace(facts, record=decision.record).world(now)
    return peer_of(world, commits=commits, labels=facts.config.labels, since=healthy)


def knowing_one_another(board: RolloutRegistry, all_facts: Sequence[Facts], now: datetime, since: Since) -> list[Facts]:
    """The facts of several apps, each with what is known of the others: for a caller that looks only once."""
    register_rollouts(board, all_facts, now, since)
    return [facts.with_others(board.others(facts.policies, facts.app)) for facts in all_facts]


def register_rollouts(board: RolloutRegistry, all_facts: Iterable[Facts], now: datetime, since: Since) -> None:
    """Note the state of each app for those whose policies ask about it."""
    for facts in all_facts:
        board.register(peer_after(facts, facts.decide(now), now, since))
