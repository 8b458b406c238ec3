"""Random histories of a group that is analysed and asked about: no requests move though a verdict says no, none stay
where one says so, nothing spins, and an agent that dies comes to the same end.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from gitops_bg.core.groups.model import TransitionStep, VersionStage
from gitops_bg.core.groups.record import TransitionKind
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage, MeasurementPlan, Metric
from gitops_bg.core.model.hooks import Hook, HookAnswer, HookType
from gitops_bg.core.model.spec import Suspension
from tests.core.groups.simulation import Died, World, store, version

FEW = int(os.environ.get("HISTORIES", "50")) // 25
"""How many random histories are tried; `make histories` takes more, as CI does."""
PRE, POST = AnalysisStage.PRE, AnalysisStage.POST
ONCE = MeasurementPlan((Metric("smoke", "web", "{}", consecutive_error_limit=0),))
ASKED = (
    Hook("smoke", HookType.PRE_ROLLOUT),
    Hook("may-i", HookType.CONFIRM_PROMOTION),
    Hook("alarm", HookType.ROLLBACK),
)
YES, NO, WAIT = 200, 409, 503


def change(world: World, chance: Random) -> None:
    """One thing that people, the Gateway, the members, or those who judge do."""
    active = int(world.record.state.only(VersionStage.ACTIVE)[1:])
    match chance.randrange(9):
        case 0:
            content = str(chance.randrange(1000))
            world.versions[f"v{active + chance.randint(0, 2)}"] = version(content, cart="/cart")
        case 1 | 2 | 3:
            world.active = chance.choice([each for each in world.versions if abs(int(each[1:]) - active) <= 2])
        case 4:
            world.gone = set(chance.sample([f"cart-v{active - 1}", f"cart-v{active + 1}"], chance.randint(0, 1)))
        case 5:
            world.accepts = chance.choice([True, False, None])
        case 6:
            world.finds = {PRE: chance.choice(_VERDICTS), POST: chance.choice(_VERDICTS)}
        case 7:
            said = {"smoke": chance.choice([YES, YES, NO, WAIT]), "may-i": chance.choice([YES, NO])}
            world.answers_with = {**said, "alarm": chance.choice([NO, NO, YES])}
        case 8:
            world.suspend = chance.choice([None, None, Suspension("a holiday")])
            world.takes_commits = chance.choice([True, False])


_VERDICTS = (AnalysisPhase.SUCCESSFUL, AnalysisPhase.SUCCESSFUL, AnalysisPhase.FAILED, AnalysisPhase.INCONCLUSIVE)


def look(world: World, writes: int) -> bool:
    """One look that may die; whether there is more to do."""
    before, decision = world.record.transition, world.decide()
    assert decision.wake_at is None or decision.wake_at > world.now
    moving = decision.record.transition
    begins = before is not None and before.step is TransitionStep.PREPARE and moving is not None
    if begins and moving.step is TransitionStep.SWITCH and moving.kind is TransitionKind.PROMOTION:
        run = decision.record.analyses.run(PRE)
        assert run is not None
        assert run.digest == f"{moving.target}-{world.versions[moving.target].content}"
        assert run.phase is AnalysisPhase.SUCCESSFUL
        said = {each.type: each.answer for each in decision.record.hook_state.runs if each.digest == run.digest}
        assert said[HookType.PRE_ROLLOUT] is said[HookType.CONFIRM_PROMOTION] is HookAnswer.ACCEPTED
        assert said[HookType.ROLLBACK] is not HookAnswer.ACCEPTED
    try:
        return world.step(writes)
    except Died:
        return True


def rest(world: World, writes: int) -> None:
    for _ in range(200):
        if not look(world, writes):
            assert world.decide().record == world.record
            return
    raise AssertionError("the group never comes to rest")


def history(seed: int, writes: int) -> list[tuple[str, str, bool]]:
    """Where the group is after each change."""
    chance = Random(seed)
    world = store(hooks=ASKED, before=ONCE, after_it=ONCE, finds={PRE: _VERDICTS[0], POST: _VERDICTS[0]})
    world.answers_with = {"smoke": YES, "may-i": YES, "alarm": NO}
    rest(world, writes)
    found = []
    for _ in range(25):
        change(world, chance)
        rest(world.after(31), writes)
        found.append((world.stages, world.active, world.held))
    world.gone, world.accepts = set(), True
    for _ in range(3):
        rest(world.after(700), writes)
    run, active = world.record.analyses.run(POST), world.record.state.only(VersionStage.ACTIVE)
    assert run is None or not (run.bad and run.digest.startswith(f"{active}-")), "what was found bad serves on"
    return found


@pytest.mark.parametrize("seed", range(FEW))
def test_whatever_happens_verdicts_decide_and_a_crash_changes_nothing(seed: int) -> None:
    assert history(seed, 1) == history(seed, 10_000)
