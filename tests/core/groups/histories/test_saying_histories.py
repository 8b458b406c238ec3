"""What a group's status says, against what is true of it, after each change of random histories: the promise of
`tests/exploration/apps/sayings.py` for groups. What is true is the simulation's: folders, pods, answers of the Gateway.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from gitops_bg.core.groups.record import GroupDecision
from gitops_bg.core.model.analysis import AnalysisPhase
from gitops_bg.core.model.conditions import HEALTH, OF_THE_PHASE, STAYS, Condition, Health, Phase, Who, meaning_of
from gitops_bg.core.status.groups import GROUP_MEANINGS
from gitops_bg.views.conditions import troubles
from tests.core.groups.histories.test_verdict_histories import ASKED, FEW, NO, ONCE, POST, PRE, YES, change, rest
from tests.core.groups.simulation import World, store


def untrue(world: World, decision: GroupDecision) -> Iterator[str]:
    """What is said of a group at rest, and is not so."""
    phase, conditions = decision.phase, {each.type: each for each in decision.conditions}
    if not conditions["Ready"].message:
        yield f"{phase} without a word"
    for kind in OF_THE_PHASE:
        if kind in conditions and conditions[kind].reason != phase:
            yield f"{kind} says {conditions[kind].reason}, the phase is {phase}"
    shown = list(troubles(decision.conditions, GROUP_MEANINGS))
    asked = [each for each in (*shown, conditions["Ready"]) if _asks(each)]
    for each in shown:
        row = meaning_of(each.type, each.reason, GROUP_MEANINGS)
        if row is None:
            yield f"{each.type} {each.reason}, which nobody explains"
        elif row.who == Who.NOBODY and row.traffic == STAYS and asked:
            yield f"{each.type} says to wait, beside {asked[0].type}, which asks somebody"
    if HEALTH[phase] in (Health.DEGRADED, Health.SUSPENDED) and not asked:
        yield f"{phase}: {conditions['Ready'].message}; and nobody is asked to do anything"
    refused = conditions["RoutesAccepted"].reason == "NotAccepted"
    if refused and decision.record.transition is None and HEALTH[phase] is not Health.DEGRADED:
        yield f"{phase} beside {conditions['RoutesAccepted'].message}"
    if phase is Phase.HEALTHY:
        yield from _not_well(world)
    if HEALTH[phase] is Health.PROGRESSING and decision.wake_at is None and not asked:
        yield f"{phase}: {conditions['Ready'].message}; and nothing goes on"


def _asks(condition: Condition) -> bool:
    row = meaning_of(condition.type, condition.reason, GROUP_MEANINGS)
    return row is not None and row.asks


def _not_well(world: World) -> Iterator[str]:
    live = [each.name for each in world.record.state.versions if each.stage.value == "Active"]
    if live != [world.active]:
        yield f"Healthy: main names {world.active}, and {live} is live"
    for service, desired in world.versions[world.active].services.items() if world.active in world.versions else ():
        member = f"{service}-{world.active}"
        for route in desired.routes:
            if world.accepts and member not in world.gone and not world.ask(route.match.path).startswith(service):
                yield f"Healthy: {route.match.path} is answered by {world.ask(route.match.path)}"
        if member in world.ill | world.gone:
            yield f"Healthy: {member} is not"


@pytest.mark.parametrize("seed", range(FEW * 5))
def test_what_is_said_of_a_group_is_so(seed: int) -> None:
    chance = Random(seed)
    good = AnalysisPhase.SUCCESSFUL
    world = store(hooks=ASKED, before=ONCE, after_it=ONCE, finds={PRE: good, POST: good})
    world.answers_with = {"smoke": YES, "may-i": YES, "alarm": NO}
    rest(world, 10_000)
    found = []
    for step in range(25):
        change(world, chance)
        world.says = "" if world.accepts else "NoMatchingParent: public"
        rest(world.after(31), 10_000)
        found += [f"{step}: {each}" for each in untrue(world, world.decide())]
    assert not found, "\n".join(found)


def test_what_is_not_so_is_found() -> None:
    """The promise has teeth: what was true before a change is not said after it without being found."""
    world = store()
    decision = world.settle()
    assert list(untrue(world, decision)) == []
    world.gone = {"cart-v1"}
    assert list(untrue(world, decision)) == ["Healthy: cart-v1 is not"]
    world.gone, world.active = set(), "v2"
    assert next(iter(untrue(world, decision))) == "Healthy: main names v2, and ['v1'] is live"
    told = list(untrue(world, replace(decision, phase=Phase.DEGRADED)))
    assert "Degraded: v1 serves; and nobody is asked to do anything" in told
    assert "Ready says Healthy, the phase is Degraded" in told
