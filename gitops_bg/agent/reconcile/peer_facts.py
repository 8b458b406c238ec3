"""The facts of one look at an app for the policies of other apps, and those of other apps for its own.
Decides nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from gitops_bg.agent.desired.peers import PeerBoard
from gitops_bg.agent.desired.policy_shelf import asks_about_others
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.core.checks.policies.peer import peer_of
from gitops_bg.core.model.actions import CommitPrimary
from gitops_bg.core.model.decision import Decision, Phase
from gitops_bg.core.model.policies.facts import Peer
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppKey

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


def with_peers(board: PeerBoard, facts: Facts) -> Facts:
    """Return the facts with what is known so far of the apps that the app's policies ask about."""
    if facts.desired.policing is None:
        return facts
    policing = board.with_peers(facts.desired.policing, facts.app)
    return replace(facts, desired=replace(facts.desired, policing=policing))


def wants_peers(facts: Facts) -> bool:
    """Whether a policy of the app asks about other apps."""
    policing = facts.desired.policing
    return policing is not None and asks_about_others(policing.all_policies)


def knowing_one_another(board: PeerBoard, all_facts: Sequence[Facts], now: datetime, since: Since) -> list[Facts]:
    """The facts of several apps, each with what is known of the others: for a caller that looks only once."""
    if not any(map(wants_peers, all_facts)):
        return list(all_facts)
    note_peers(board, all_facts, now, since)
    return [with_peers(board, facts) for facts in all_facts]


def note_peers(board: PeerBoard, all_facts: Iterable[Facts], now: datetime, since: Since) -> None:
    """Note the state of each app for those whose policies ask about it."""
    for facts in all_facts:
        board.note(peer_after(facts, facts.decide(now), now, since))
