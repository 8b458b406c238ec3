"""The promise *what is said is so, and the advice leads on*: what a status says, against what is true of its state.

What is true is the explorer's: the main that the agent has read, where the Service leads, which pods are up. What leads
on is tried: at rest, what the status tells somebody to do is done, and must change what it said.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.checks.situations import standing_of
from gitops_bg.core.model.conditions import (
    HEALTH,
    OF_THE_PHASE,
    READY,
    RECONCILING,
    STALLED,
    Condition,
    Health,
    Phase,
    Standing,
    Who,
    meaning_of,
)
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.status.conditions import MEANINGS, conditions_of
from gitops_bg.core.world import World
from gitops_bg.views.conditions import troubles
from tests.exploration.world import Agent, Cluster, Commit

PROMISE = "what is said is so"


class Said(NamedTuple):
    """What the status says of one world."""

    standing: Standing
    conditions: tuple[Condition, ...]
    gates: tuple[GateResult, ...]

    def condition(self, kind: str) -> Condition | None:
        """The condition; None where nothing of the kind is to be said."""
        return next((one for one in self.conditions if one.type == kind), None)

    def is_so(self, kind: str) -> bool:
        """Whether a condition is there, and true."""
        return (one := self.condition(kind)) is not None and bool(one.status)

    @property
    def asks(self) -> list[Condition]:
        """The lines that ask somebody to act, and the phase where it does."""
        worth = tuple(troubles(self.conditions, MEANINGS))
        shown = [one for one in self.conditions if one.type == "Healthy" or one in worth]
        return [one for one in shown if (row := meaning_of(one.type, one.reason, MEANINGS)) and row.asks]


def said_of(world: World) -> Said:
    gates = gates_to_show(world)
    return Said(standing_of(world), conditions_of(world, gates), gates)


def untrue(said: Said, head: Commit | None, agent: Agent, cluster: Cluster, live: str) -> Iterator[str]:
    """What is said, and is not so.

    ``head``: main as the agent has read it, None where the record was decided from a newer one, which another agent
    has read: then the record is all that is said. ``live``: where the record has traffic.
    """
    phase, message = said.standing.phase, said.standing.message
    if not message:
        yield f"{phase} without a word"
    for one in said.conditions:
        if one.type in OF_THE_PHASE and one.reason != phase:
            yield f"{one.type} says {one.reason}, the phase is {phase}"
    for kind, health in ((READY, Health.HEALTHY), (RECONCILING, Health.PROGRESSING), (STALLED, Health.DEGRADED)):
        if said.is_so(kind) is not (HEALTH[phase] is health):
            yield f"{kind} is {said.is_so(kind)}, the phase is {phase}"
    if phase is Phase.HEALTHY:
        yield from _not_well(head, agent, cluster, live)
    if said.is_so("Available") and not cluster.available(live):
        yield f"Available, and no pod of {live} is"
    shut = [gate.kind for gate in said.gates if not gate.open]
    if phase is Phase.HELD and shut[:1] != [GateKind.HOLD]:
        yield f"the target is on hold, and what it waits for first is {shut[:1]}"
    for one in troubles(said.conditions, MEANINGS):
        row = meaning_of(one.type, one.reason, MEANINGS)
        if row is None:
            yield f"{one.type} {one.reason}, which nobody explains"
        elif row.who == Who.NOBODY and said.asks and row.traffic.startswith("stays with"):
            yield f"{one.type} says to wait, beside {said.asks[0].type}, which asks somebody"
    if HEALTH[phase] in (Health.DEGRADED, Health.SUSPENDED) and not said.asks:
        yield f"{phase}: {message}; and nobody is asked to do anything"


def _not_well(head: Commit | None, agent: Agent, cluster: Cluster, live: str) -> Iterator[str]:
    if head is None:
        return  # It has not looked at main yet: the record is all that it knows.
    if agent.rewritten:
        yield "Healthy, and main was rewritten"
    if head.target != live:
        yield f"Healthy, the target is live: main's target is {head.target or 'missing'}, and {live} is live"
    if head.primary not in ("", live):
        yield f"Healthy: main names {head.primary}, and {live} is live"
    if cluster.active != live or not cluster.available(live):
        yield f"Healthy: the Service leads to {cluster.active}, {cluster.available(live)} pods of {live} are up"


def still(said: Said) -> Iterator[str]:
    """What is said at rest, where nothing happens any more by itself, that tells somebody to wait."""
    phase = said.standing.phase
    if HEALTH[phase] is Health.PROGRESSING:
        yield f"{phase}: {said.standing.message}; and nothing goes on"
    for one in troubles(said.conditions, MEANINGS):
        row = meaning_of(one.type, one.reason, MEANINGS)
        if row is not None and row.who == Who.NOBODY:
            yield f"{one.type} says {row.what!r}, and nothing goes on: {one.message}"
    for gate in said.gates:
        if not gate.open and not (gate.remedy or gate.until or said.asks):
            yield f"the gate {gate.kind} is shut for good, and nobody says what opens it: {gate.reason}"
