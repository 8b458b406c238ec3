"""Analysis after promotion: when it begins, where a bad verdict leads, and what ends it before its verdict."""

from datetime import timedelta

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, MeasurementPlan, MeasurementResult, begin, id_of
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import RolloutOutcome
from gitops_bg.core.model.statements import Hold
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.world import World
from tests.core.engine.analysis.notation import (
    BAD,
    BROKEN,
    GOOD,
    OPEN,
    PLAN,
    POST,
    analysed,
    analysing,
    judged,
    measure,
    pass_analysis,
    phase,
    replan,
    shut,
)
from tests.core.simulation import Simulation, automatic, manual, template
from tests.core.stories import lose_pods, name, push, retry, step, suspend, wait
from tests.core.worlds import EARLIER, NOW, active, decided, digest, legacy, warm_for, world

# --- when it begins ---


def test_the_first_deployment_is_not_analysed():
    assert analysed(pre=PLAN, post=PLAN).record.analyses.runs == ()


def test_it_begins_only_when_the_endpoints_have_followed():
    sim = analysed(post=PLAN)
    sim.late_endpoints.add("web")
    push(sim, "2")
    assert (sim.live, sim.decide().measurements) == ("2", ())
    assert any("begins when the endpoints have followed Service web" in reason for _, reason in shut(sim))
    sim.late_endpoints.clear()
    sim.settle()
    assert len(sim.decide().measurements) == 1


def test_endpoints_that_never_follow_do_not_keep_a_version_from_being_judged():
    sim = analysed(post=PLAN)
    sim.late_endpoints.add("web")
    push(sim, "2")
    switched = sim.record.numbered(2).activated_at
    suspend(sim)
    assert sim.decide().wake_at == switched + timedelta(seconds=600)
    wait(sim, seconds=601)
    measure(sim, BAD)
    assert sim.live == "1"


def test_a_template_that_a_broken_repository_does_not_say_is_waited_for():
    sim = analysing(post=MeasurementPlan(unknown="AnalysisTemplate errors is unknown"))
    assert (sim.live, sim.decide().measurements, sim.record.run(POST).started_at) == ("2", (), None)
    replan(sim, post_promotion_analysis=PLAN)
    pass_analysis(sim)
    assert sim.warm_until(1)


# --- verdicts ---


def test_a_good_one_lets_the_old_version_go():
    sim = analysing(post=PLAN)
    assert (sim.live, sim.decide().phase) == ("2", Phase.PROGRESSING)
    wait(sim, seconds=3000)
    old = sim.record.numbered(1)
    assert (sim.warm_until(1), sim.pods[old.digest].replicas) == (None, 3)
    pass_analysis(sim)
    assert sim.warm_until(1) == sim.now + timedelta(seconds=300)
    assert sim.decide().phase is Phase.HEALTHY
    wait(sim, seconds=10)
    replan(sim, post_promotion_analysis=None)
    wait(sim, seconds=290)
    assert sim.record.numbered(1).stage is Stage.ARCHIVED, "it is warm for its whole delay only once"


def test_the_old_version_stays_warm_also_where_none_may():
    sim = analysing(automatic(scale_down_delay_revision_limit=0), post=PLAN)
    assert sim.pods[template("1").digest].replicas == 3
    pass_analysis(sim)
    assert sim.pods[template("1").digest].replicas == 0


@pytest.mark.parametrize("verdict", [BAD, BROKEN])
def test_a_bad_one_rolls_back_commits_and_holds(verdict):
    sim = analysing(post=PLAN)
    measure(sim, verdict, "503")
    assert (sim.live, sim.primary, sim.held) == ("1", "1", {"2"})
    assert sim.events()[-3:].count("rolled-back") == 1
    assert "post-promotion analysis" in sim.record.holds[0].reason
    assert sim.recorded_moves() == sim.moves
    assert phase(sim, POST) is verdict


@pytest.mark.parametrize("suspended", [False, True], ids=["Git is away and pods fail", "it is suspended, too"])
def test_a_bad_one_waits_for_nothing(suspended):
    sim = analysing(post=PLAN)
    if suspended:
        suspend(sim)
    sim.reachable = False
    sim.pods_fail("2")
    (due,) = sim.decide().measurements
    sim.measured = (MeasurementResult(due.id, BAD, sim.now),)
    sim.step()
    sim.step()
    assert sim.live == "1"


def test_merging_the_next_version_does_not_save_one_that_fails():
    sim = judged(manual())
    push(sim, "3")
    name(sim, "3")
    assert sim.live == "2", "still being judged"
    measure(sim, BAD)
    assert (sim.live, sim.primary) == ("1", "1")
    assert sim.held == {"2", "3"}, "nothing goes forward again without somebody's word"


def test_W03_retry_after_a_failed_analysis_after_promotion_measures_anew():
    sim = analysing(pre=PLAN, post=PLAN)
    pass_analysis(sim)
    for _ in range(2):
        assert sim.live == "2"
        measure(sim, BAD)
        assert sim.live == "1"
        retry(sim)
        assert sim.live == "1", "it waits for its analysis before promotion"
        pass_analysis(sim)
        assert phase(sim, POST) is AnalysisPhase.RUNNING
    pass_analysis(sim)
    assert (sim.live, sim.primary, sim.held) == ("2", "2", set())
    assert sim.recorded_moves() == sim.moves


def test_an_inconclusive_one_keeps_both_versions_until_somebody_answers():
    sim = analysing(post=PLAN)
    measure(sim, OPEN)
    wait(sim, days=1)
    assert (sim.live, sim.pods[template("1").digest].replicas) == ("2", 3)
    assert sim.decide().phase is Phase.PAUSED
    rollout = sim.record.run(POST).rollout
    retry(sim)
    assert sim.record.run(POST).rollout == rollout + 1
    pass_analysis(sim)
    assert sim.warm_until(1)


def test_the_next_version_waits_for_the_verdict_about_what_serves():
    sim = analysing(post=PLAN)
    push(sim, "3")
    assert (sim.live, sim.primary) == ("2", "2")
    assert any("of what serves now" in reason for _, reason in shut(sim))
    pass_analysis(sim)
    assert sim.live == "3"
    assert sim.warm_until(1)


# --- where a bad one leads ---


def found_bad(*versions: Version, of: int, fallback: int, **record: object) -> World:
    """The analysis after the promotion of a version is told something bad."""
    run = begin(AnalysisRun(POST, digest(of), of, fallback=digest(fallback)), PLAN, "", "", NOW)
    seen = {"measurements": (MeasurementResult(id_of(run, "5eed", run.metrics[0]), BAD, NOW),)}
    spec = manual(post_promotion_analysis=PLAN)
    return world(*versions, spec=spec, observed=seen, record={"analysis": (run,), **record})


THREE = (legacy(1), legacy(2), active(3))
SPOKEN_AGAINST = {"holds": (Hold(digest(1), "5xx", NOW),)}
WAY_BACK = {
    "to the version that it took over from": (found_bad(*THREE, of=3, fallback=1), 1),
    "to the last good one where that one is on hold": (found_bad(*THREE, of=3, fallback=1, **SPOKEN_AGAINST), 2),
    "to the last good one where that one is forgotten": (found_bad(*THREE, of=3, fallback=7), 2),
    "nowhere, where there is none": (found_bad(active(3), of=3, fallback=1), None),
}


@pytest.mark.parametrize("name", WAY_BACK)
def test_a_bad_one_leads(name: str) -> None:
    state, number = WAY_BACK[name]
    record = decided(state).record
    assert (record.routing.switch.to_digest if record.routing.switch else None) == (digest(number) if number else None)
    if number is None:
        (entry,) = (one for one in record.ledger if one.event == "failed")
        assert entry.reason.endswith("; there is nothing to go back to")
        assert record.run(POST).phase is BAD, "it is not measured for ever"


# --- what ends it early ---


def test_a_revert_never_waits_for_an_analysis_and_is_not_analysed():
    sim = analysing(pre=PLAN, post=PLAN)
    pass_analysis(sim)
    assert sim.live == "2"
    name(sim, "1", "revert")
    assert (sim.live, sim.held, sim.decide().measurements) == ("1", {"2"}, ())


def leave_by_verdict(sim: Simulation) -> None:
    sim.measured = tuple(MeasurementResult(one.id, BAD, sim.now, "1") for one in sim.decide().measurements)


WAYS_BACK = {
    "abort": lambda sim: sim.ask(OperatorCommand.ABORT),
    "rollback": lambda sim: sim.ask(OperatorCommand.ROLLBACK),
    "revert": Simulation.revert_promotion,
    "revert of the push": lambda sim: sim.revert_target("1"),
}


@pytest.mark.parametrize("leave", WAYS_BACK.values(), ids=WAYS_BACK)
@pytest.mark.parametrize("verdict", [None, OPEN])
def test_every_way_back_ends_it_in_the_same_pass(leave, verdict):
    sim = analysing(pre=PLAN, post=PLAN)
    pass_analysis(sim)
    if verdict:
        measure(sim, verdict)
    measured = sim.record.run(POST)
    leave(sim)
    assert sim.step().measurements == ()
    assert sim.record.run(POST) != measured
    sim.settle()
    assert (sim.live, sim.held, sim.record.run(POST)) == ("1", {"2"}, None)
    assert sim.recorded_moves() == sim.moves


WANTED_AGAIN = [
    *((leave, verdict) for leave in WAYS_BACK.values() for verdict in (None, GOOD, OPEN)),
    (leave_by_verdict, None),
]


@pytest.mark.parametrize(("leave", "verdict"), WANTED_AGAIN)
def test_a_version_that_is_wanted_again_before_traffic_left_it_is_judged_anew(leave, verdict):
    """Found so: it served on, with a verdict that somebody had overruled, and nobody looked at it again."""
    sim = judged(manual())
    if verdict:
        measure(sim, verdict)
    lose_pods(sim, "1")
    leave(sim)
    for _ in range(3):
        assert sim.step().measurements == (), "traffic leaves it"
    assert (sim.live, sim.decide().phase) == ("2", Phase.ROLLING_BACK)
    assert leave is not leave_by_verdict or phase(sim, POST) is BAD, "the verdict is shown meanwhile"
    sim.measured = ()
    name(sim, "1", "revert")
    name(sim, "2", "revert the revert")
    run = sim.record.run(POST)
    assert (sim.live, run.running, run.attempt, run.fallback) == ("2", True, 2, template("1").digest)
    assert run.metrics[0].counted == 0, "what was measured before says nothing of what serves now"
    assert sim.warm_until(1) is None, "it may have to go back"
    sim.bad_tags.clear()
    measure(sim, BAD)
    sim.settle()
    assert (sim.live, sim.held) == ("1", {"2"})


@pytest.mark.parametrize("leave", [*WAYS_BACK.values(), leave_by_verdict], ids=[*WAYS_BACK, "bad verdict"])
def test_a_rollout_that_goes_back_before_its_verdict_was_never_complete(leave):
    sim = analysing(pre=PLAN, post=PLAN)
    pass_analysis(sim)
    leave(sim)
    while sim.live == "2" or sim.decide().actions:
        assert not {"RolloutNotCompleted", "RolloutCompleted"} & set(step(sim)), "RolledBack says it"
    assert sim.record.rollouts[-1].outcome is RolloutOutcome.ROLLED_BACK
    assert sim.record.rollouts[-1].settled_at is None


IN_FULL = {"requests": (Request("1", OperatorCommand.PROMOTE_FULL, "ada", NOW),)}
ENDS_EARLY = {
    "somebody accepts the version as it is": {"spec": manual(post_promotion_analysis=PLAN), "observed": IN_FULL},
    "nobody asks for an analysis any more": {},
}
LET_GO = {
    "its warm time begins": (legacy(1, retired_at=EARLIER), 300),
    "an abort let it go: it keeps a delay of its own": (legacy(1, retired_at=EARLIER, aborted=True), 30),
    "it was forgotten": (None, None),
}


@pytest.mark.parametrize("end", ENDS_EARLY)
@pytest.mark.parametrize("name", LET_GO)
def test_what_traffic_left_once_nobody_waits_for_the_verdict(name: str, end: str) -> None:
    fallback, seconds = LET_GO[name]
    run = AnalysisRun(POST, digest(2), 2, fallback=digest(1), started_at=NOW)
    versions = (fallback, active(2)) if fallback else (active(2),)
    state = world(*versions, **ENDS_EARLY[end], record={"analysis": (run,)})
    record = decided(state).record
    assert record.run(POST) is None
    if fallback:
        left = record.numbered(1)
        assert (left.aborted, warm_for(state, 1)) == (fallback.aborted, seconds)
