"""Analysis in the life of an app: when runs begin, the effect of each verdict, and that a retry measures again."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.model.analysis.metrics import AnalysisPhase, AnalysisStage, Metric, Plan
from gitops_bg.core.model.analysis.runs import AnalysisRun, MeasurementResult, begin, id_of
from gitops_bg.core.model.decision import GateKind, Phase
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Hold, RolloutOutcome
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.status.rollout_events import rollout_events
from gitops_bg.core.transitions.verdicts.analysis import advance_analyses, begin_runs, skip_verdict
from gitops_bg.core.world import World
from tests.core import worlds
from tests.core.simulation import Simulation, automatic, deployed, manual, template

PRE, POST = AnalysisStage.PRE, AnalysisStage.POST
GOOD, BAD, OPEN, BROKEN = (
    AnalysisPhase.SUCCESSFUL,
    AnalysisPhase.FAILED,
    AnalysisPhase.INCONCLUSIVE,
    AnalysisPhase.ERROR,
)
PLAN = Plan((Metric("errors", "web", interval=60, count=2, consecutive_error_limit=0),))


def analysed(spec=None, pre: Plan | None = None, post: Plan | None = None) -> Simulation:
    """Version 1 is live, and the strategy asks for analyses."""
    spec = spec or automatic()
    strategy = replace(spec.strategy, pre_promotion_analysis=pre, post_promotion_analysis=post)
    return deployed(replace(spec, strategy=strategy))


def measure(world: Simulation, phase: AnalysisPhase, message: str = "") -> None:
    """Take every measurement that is due, and settle."""
    due = world.decide().measurements
    assert due, "nothing is due"
    world.measured = tuple(MeasurementResult(one.id, phase, world.now, "1", message) for one in due)
    world.settle()
    world.measured = ()


def pass_analysis(world: Simulation) -> None:
    measure(world, GOOD)
    world.later(seconds=60)
    measure(world, GOOD)


def phase(world: Simulation, stage: AnalysisStage) -> AnalysisPhase | None:
    run = world.record.run(stage)
    return run.phase if run else None


def shut(world: Simulation) -> list[tuple[GateKind, str]]:
    return [(gate.kind, gate.reason) for gate in world.decide().gates if not gate.open]


def test_first_deployment_is_not_analysed():
    world = analysed(pre=PLAN, post=PLAN)
    assert world.record.analyses.runs == ()


def test_good_analysis_before_promotion_promotes():
    world = analysed(pre=PLAN)
    world.push("2")
    world.settle()
    assert (world.live, world.primary) == ("1", "1")
    (gate,) = [gate for gate in world.decide().gates if gate.kind is GateKind.ANALYSIS]
    assert (gate.open, gate.reason) == (False, "pre-promotion analysis: errors ✔0 ✖0 ?0 ⚠0 of 2")
    assert gate.until == world.now + timedelta(seconds=60)
    assert world.decide().phase is Phase.PROGRESSING
    measure(world, GOOD)
    assert world.live == "1"
    assert world.decide().wake_at == world.now + timedelta(seconds=60)
    assert world.decide().measurements == ()
    world.later(seconds=60)
    measure(world, GOOD)
    assert (world.live, world.primary) == ("2", "2")
    assert "analysed" in world.events()
    assert world.recorded_moves() == world.moves


def test_analysis_begins_only_when_the_pods_are_available():
    world = analysed(pre=PLAN)
    world.push("2")
    world.step()
    assert world.decide().measurements == ()
    assert (GateKind.ANALYSIS, "pre-promotion analysis: begins when its pods are available") in shut(world)
    world.settle()
    assert len(world.decide().measurements) == 1


def test_analysis_before_promotion_begins_only_when_the_preview_reaches_the_new_pods_alone():
    """W12: what is asked through the preview Service must not be answered by the old pods."""
    world = analysed(pre=PLAN)
    world.late_endpoints.add("web-preview")
    world.push("2")
    while world.shown != "2":
        assert world.decide().measurements == ()
        world.step()
        world.pods_come_up()
    world.settle()
    assert world.decide().measurements == ()
    waiting = "pre-promotion analysis: begins when Service web-preview reaches exactly its pods"
    assert (GateKind.ANALYSIS, waiting) in shut(world)
    assert world.decide().phase is Phase.PROGRESSING
    world.late_endpoints.clear()
    world.settle()
    assert len(world.decide().measurements) == 1


def test_analysis_without_a_preview_service_waits_for_none():
    world = analysed(automatic(preview_service=None), pre=PLAN)
    world.push("2")
    world.settle()
    assert len(world.decide().measurements) == 1


def test_analysis_without_a_preview_service_waits_for_available_pods_too():
    world = analysed(automatic(preview_service=None), pre=PLAN)
    world.bad_tags.add("2")
    world.push("2")
    world.settle()
    assert world.decide().measurements == ()


def test_version_that_is_being_promoted_keeps_the_preview_until_its_analysis_is_over():
    world = analysed(manual(), pre=PLAN)
    world.push("2")
    world.set_primary("2")
    world.settle()
    world.push("3")
    world.settle()
    assert world.shown == "2", "it is measured through the preview"
    measure(world, GOOD)
    world.later(seconds=60)
    measure(world, GOOD)
    assert (world.live, world.shown) == ("2", "3")


def test_analysis_after_promotion_begins_only_when_the_endpoints_have_followed():
    world = analysed(post=PLAN)
    world.late_endpoints.add("web")
    world.push("2")
    world.settle()
    assert (world.live, world.decide().measurements) == ("2", ())
    assert any("begins when the endpoints have followed Service web" in reason for _, reason in shut(world))
    world.late_endpoints.clear()
    world.settle()
    assert len(world.decide().measurements) == 1


def test_endpoints_that_never_follow_do_not_keep_a_version_from_being_judged():
    world = analysed(post=PLAN)
    world.late_endpoints.add("web")
    world.push("2")
    world.settle()
    switched = world.record.numbered(2).activated_at
    world.suspend()
    world.settle()
    assert world.decide().wake_at == switched + timedelta(seconds=600)
    world.later(seconds=601)
    world.settle()
    measure(world, BAD)
    assert world.live == "1"


@pytest.mark.parametrize("verdict", [BAD, BROKEN])
def test_bad_verdict_before_promotion_aborts_and_holds(verdict):
    world = analysed(pre=PLAN)
    world.push("2")
    world.settle()
    measure(world, verdict, "0.5 is not < 0.1")
    assert (world.live, world.primary, world.held, world.moves) == ("1", "1", {"2"}, world.moves[:1])
    (hold,) = world.record.holds
    assert "0.5 is not < 0.1" in hold.reason
    assert "aborted" in world.events()
    assert world.decide().measurements == ()
    world.later(seconds=31)
    world.settle()
    assert world.pods[template("2").digest].replicas == 0


def test_bad_verdict_takes_back_a_promotion_that_was_merged_early():
    world = analysed(manual(), pre=PLAN)
    world.push("2")
    world.settle()
    world.set_primary("2")
    world.settle()
    assert world.live == "1"
    measure(world, BAD)
    assert (world.live, world.primary, world.held) == ("1", "1", {"2"})


def test_promotion_is_offered_only_after_a_good_analysis():
    world = analysed(manual(), pre=PLAN)
    world.push("2")
    world.settle()
    assert world.branch is None
    pass_analysis(world)
    assert world.branch == "2"
    world.merge()
    world.settle()
    assert world.live == "2"


@pytest.mark.parametrize("prefix", ["pre", "both"])
def test_W04_retry_after_a_failed_analysis_before_promotion_measures_anew_when_pods_are_up(prefix):
    world = analysed(pre=PLAN, post=PLAN if prefix == "both" else None)
    world.push("2")
    world.settle()
    first = world.record.run(PRE)
    measure(world, BAD)
    world.later(seconds=31)
    world.settle()
    assert world.pods[template("2").digest].replicas == 0
    world.retry()
    world.step()
    assert world.decide().measurements == (), "its pods are at 0"
    world.settle()
    again = world.record.run(PRE)
    assert again.rollout > first.rollout
    assert again.metrics[0].counted == 0
    pass_analysis(world)
    assert world.live == "2"


def test_good_analysis_after_promotion_lets_the_old_version_go():
    world = analysed(post=PLAN)
    world.push("2")
    world.settle()
    assert world.live == "2"
    assert world.decide().phase is Phase.PROGRESSING
    world.later(seconds=3000)
    world.settle()
    old = world.record.numbered(1)
    assert (old.scale_down_at, world.pods[old.digest].replicas) == (None, 3)
    measure(world, GOOD)
    world.later(seconds=60)
    measure(world, GOOD)
    assert world.record.numbered(1).scale_down_at == world.now + timedelta(seconds=300)
    assert world.decide().phase is Phase.HEALTHY
    world.later(seconds=300)
    world.settle()
    assert world.record.numbered(1).stage is Stage.ARCHIVED


def test_old_version_stays_warm_also_where_none_may():
    world = analysed(automatic(scale_down_delay_revision_limit=0), post=PLAN)
    world.push("2")
    world.settle()
    assert world.pods[template("1").digest].replicas == 3
    pass_analysis(world)
    assert world.pods[template("1").digest].replicas == 0


@pytest.mark.parametrize("verdict", [BAD, BROKEN])
def test_bad_verdict_after_promotion_rolls_back_commits_and_holds(verdict):
    world = analysed(post=PLAN)
    world.push("2")
    world.settle()
    measure(world, verdict, "503")
    assert (world.live, world.primary, world.held) == ("1", "1", {"2"})
    assert world.events()[-3:].count("rolled-back") == 1
    assert "post-promotion analysis" in world.record.holds[0].reason
    assert world.recorded_moves() == world.moves
    assert phase(world, POST) is verdict


def test_bad_verdict_after_promotion_does_not_wait_for_pods_or_git():
    world = analysed(post=PLAN)
    world.push("2")
    world.settle()
    world.reachable = False
    world.pods_fail("2")
    (due,) = world.decide().measurements
    world.measured = (MeasurementResult(due.id, BAD, world.now),)
    world.step()
    world.step()
    assert world.live == "1"


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_W03_retry_after_a_failed_analysis_after_promotion_measures_anew(passes):
    world = analysed(pre=PLAN, post=PLAN)
    world.push("2")
    world.settle()
    pass_analysis(world)
    for number in range(passes):
        assert world.live == "2"
        measure(world, BAD)
        assert world.live == "1"
        world.retry()
        world.settle()
        assert world.live == "1", "it waits for its analysis before promotion"
        pass_analysis(world)
        assert phase(world, POST) is AnalysisPhase.RUNNING, number
    pass_analysis(world)
    assert (world.live, world.primary, world.held) == ("2", "2", set())
    assert world.recorded_moves() == world.moves


def test_inconclusive_before_promotion_pauses_until_somebody_promotes_and_then_measures_anew():
    world = analysed(manual(), pre=PLAN)
    world.push("2")
    world.settle()
    measure(world, OPEN, "no data")
    assert (world.live, world.branch, world.held) == ("1", None, set())
    assert world.decide().phase is Phase.PAUSED
    assert any("`gitops-bg promote shop/web` measures anew" in reason for _, reason in shut(world))
    assert world.decide().measurements == ()
    world.set_primary("2")
    world.settle()
    assert world.live == "1", "a promotion is no verdict"
    pass_analysis(world)
    assert world.live == "2"


def test_inconclusive_twice_pauses_again():
    world = analysed(manual(), pre=PLAN)
    world.push("2")
    world.set_primary("2")
    world.settle()
    measure(world, OPEN)
    assert world.decide().measurements == ()
    world.ask(OperatorCommand.PROMOTE)
    world.settle()
    assert world.record.run(PRE).attempt == 2
    measure(world, OPEN)
    assert world.decide().measurements == ()
    world.retry()
    world.settle()
    pass_analysis(world)
    assert world.live == "2"


def test_inconclusive_after_promotion_keeps_both_versions_until_somebody_answers():
    world = analysed(post=PLAN)
    world.push("2")
    world.settle()
    measure(world, OPEN)
    world.later(days=1)
    world.settle()
    assert (world.live, world.pods[template("1").digest].replicas) == ("2", 3)
    assert world.decide().phase is Phase.PAUSED
    rollout = world.record.run(POST).rollout
    world.retry()
    world.settle()
    assert world.record.run(POST).rollout == rollout + 1
    pass_analysis(world)
    assert world.record.numbered(1).scale_down_at


def test_next_version_waits_for_the_verdict_about_what_serves():
    world = analysed(post=PLAN)
    world.push("2")
    world.settle()
    world.push("3")
    world.settle()
    assert (world.live, world.primary) == ("2", "2")
    assert any("of what serves now" in reason for _, reason in shut(world))
    pass_analysis(world)
    assert world.live == "3"
    assert world.record.numbered(1).scale_down_at


def test_revert_never_waits_for_an_analysis_and_is_not_analysed():
    world = analysed(pre=PLAN, post=PLAN)
    world.push("2")
    world.settle()
    pass_analysis(world)
    assert world.live == "2"
    world.set_primary("1", "revert")
    world.settle()
    assert (world.live, world.held) == ("1", {"2"})
    assert world.decide().measurements == ()


def test_superseded_candidate_is_measured_no_more():
    world = analysed(pre=PLAN)
    world.push("2")
    world.settle()
    world.push("3")
    world.settle()
    assert [one.id.rollout for one in world.decide().measurements] == [
        world.record.version(template("3").digest).rollout
    ]


def test_what_a_broken_repository_does_not_say_is_waited_for():
    world = analysed(post=Plan(unknown="AnalysisTemplate errors is unknown"), pre=None)
    world.push("2")
    world.settle()
    assert world.live == "2"
    assert (world.decide().measurements, world.record.run(POST).started_at) == ((), None)
    strategy = replace(world.spec.strategy, post_promotion_analysis=PLAN)
    world.spec = replace(world.spec, strategy=strategy)
    world.settle()
    pass_analysis(world)
    assert world.record.numbered(1).scale_down_at


def test_analysis_that_nobody_asks_for_any_more_ends():
    world = analysed(pre=PLAN, post=PLAN)
    world.push("2")
    world.settle()
    pass_analysis(world)
    world.spec = automatic()
    world.settle()
    assert world.record.numbered(1).scale_down_at
    assert world.decide().measurements == ()


def test_suspension_stops_what_leads_forward_and_not_what_leads_back():
    world = analysed(pre=PLAN, post=PLAN)
    world.push("2")
    world.settle()
    world.suspend()
    world.settle()
    assert world.decide().measurements == ()
    world.resume()
    world.settle()
    pass_analysis(world)
    world.suspend()
    world.settle()
    measure(world, BAD)
    assert world.live == "1"


def test_countdown_begins_with_the_end_of_the_analysis():
    world = analysed(automatic(auto_promotion_seconds=30), pre=PLAN)
    world.push("2")
    world.settle()
    pass_analysis(world)
    assert world.live == "1"
    assert world.decide().wake_at == world.now + timedelta(seconds=30)
    world.later(seconds=30)
    world.settle()
    assert world.live == "2"


def test_pause_that_waits_for_the_analysis_says_so():
    world = analysed(automatic(auto_promotion_seconds=30), pre=PLAN)
    world.push("2")
    world.settle()
    assert (GateKind.PAUSE, "the pause of 30 s begins when its analysis has ended") in shut(world)


def test_expiry_begins_with_the_end_of_the_analysis():
    world = analysed(manual(expire_after_seconds=30), pre=PLAN)
    world.push("2")
    world.settle()
    world.later(seconds=100)
    world.settle()
    assert world.held == set(), "nobody could promote it yet"
    pass_analysis(world)
    assert world.decide().wake_at == world.now + timedelta(seconds=30)
    world.later(seconds=30)
    world.settle()
    assert world.held == {"2"}


def leave_by_abort(world: Simulation) -> None:
    world.ask(OperatorCommand.ABORT)


def leave_by_rollback(world: Simulation) -> None:
    world.ask(OperatorCommand.ROLLBACK)


def leave_by_revert(world: Simulation) -> None:
    world.revert_promotion()


def leave_by_target_revert(world: Simulation) -> None:
    world.revert_target("1")


WAYS_BACK = [leave_by_abort, leave_by_rollback, leave_by_revert, leave_by_target_revert]


@pytest.mark.parametrize("leave", WAYS_BACK)
@pytest.mark.parametrize("verdict", [None, OPEN])
def test_every_way_back_ends_the_analysis_after_promotion_in_the_same_pass(leave, verdict):
    world = analysed(pre=PLAN, post=PLAN)
    world.push("2")
    world.settle()
    pass_analysis(world)
    if verdict:
        measure(world, verdict)
    measured = world.record.run(POST)
    leave(world)
    assert world.step().measurements == ()
    assert world.record.run(POST) != measured
    world.settle()
    assert (world.live, world.held, world.record.run(POST)) == ("1", {"2"}, None)
    assert world.recorded_moves() == world.moves


@pytest.mark.parametrize("leave", WAYS_BACK)
@pytest.mark.parametrize("verdict", [None, GOOD, OPEN])
def test_version_that_is_wanted_again_before_traffic_left_it_is_judged_anew(leave, verdict):
    world = analysed(manual(), post=PLAN)
    world.push("2")
    world.settle()
    world.merge()
    world.settle()
    if verdict:
        measure(world, verdict)
    world.bad_tags.add("1")
    world.pods_fail("1")
    leave(world)
    for _ in range(3):
        assert world.step().measurements == (), "traffic leaves it"
    assert (world.live, world.decide().phase) == ("2", Phase.ROLLING_BACK)
    world.set_primary("1", "revert")
    world.settle()
    world.set_primary("2", "revert the revert")
    world.settle()
    run = world.record.run(POST)
    assert run is not None
    assert (world.live, run.running, run.attempt, run.fallback) == ("2", True, 2, template("1").digest)
    assert run.metrics[0].counted == 0, "what was measured before says nothing of what serves now"
    assert world.record.numbered(1).scale_down_at is None, "it may have to go back"
    world.bad_tags.clear()
    measure(world, BAD)
    world.settle()
    assert (world.live, world.held) == ("1", {"2"})


def test_version_whose_verdict_was_bad_is_judged_anew_where_it_stays_after_all():
    """Found so: it served on, with a verdict that somebody had overruled, and nobody looked at it again."""
    world = analysed(manual(), post=PLAN)
    world.push("2")
    world.settle()
    world.merge()
    world.settle()
    world.bad_tags.add("1")
    world.pods_fail("1")
    measure(world, BAD)
    for _ in range(3):
        assert world.step().measurements == (), "traffic leaves it"
    assert (world.live, world.decide().phase) == ("2", Phase.ROLLING_BACK)
    assert phase(world, POST) is BAD, "the verdict is shown meanwhile"
    world.set_primary("1", "follow the rollback")
    world.settle()
    world.set_primary("2", "keep it after all")
    world.settle()
    run = world.record.run(POST)
    assert run is not None
    assert (world.live, run.running, run.attempt, run.fallback) == ("2", True, 2, template("1").digest)
    assert world.record.numbered(1).scale_down_at is None, "it may have to go back"
    world.bad_tags.clear()
    world.pods_come_up()
    measure(world, BAD)
    world.settle()
    assert (world.live, world.held) == ("1", {"2"})


def test_version_that_has_nothing_to_go_back_to_is_not_measured_for_ever():
    world = analysed(manual(), post=PLAN)
    world.push("2")
    world.settle()
    world.merge()
    world.settle()
    world.delete_replica_set("1")
    run = world.record.run(POST)
    assert run is not None
    bad = replace(world.record, versions=tuple(each for each in world.record.versions if each.number == 2))
    world.record = bad
    measure(world, BAD)
    world.settle()
    assert (world.live, phase(world, POST)) == ("2", BAD)


def leave_by_verdict(world: Simulation) -> None:
    world.measured = tuple(MeasurementResult(one.id, BAD, world.now, "1") for one in world.decide().measurements)


@pytest.mark.parametrize("leave", [*WAYS_BACK, leave_by_verdict])
def test_rollout_that_goes_back_before_its_verdict_was_never_complete(leave):
    world = analysed(pre=PLAN, post=PLAN)
    world.push("2")
    world.settle()
    pass_analysis(world)
    leave(world)
    told = []
    while world.live == "2" or world.decide().actions:
        before = world.record
        world.step()
        told += [one.reason for one in rollout_events(before, world.record)]
    assert not {"RolloutNotCompleted", "RolloutCompleted"} & set(told), "RolledBack says it"
    assert world.record.rollouts[-1].outcome is RolloutOutcome.ROLLED_BACK
    assert world.record.rollouts[-1].settled_at is None


@pytest.mark.parametrize("verdict", [None, OPEN])
def test_abort_ends_the_analysis_before_promotion_in_the_same_pass(verdict):
    world = analysed(pre=PLAN)
    world.push("2")
    world.settle()
    if verdict:
        measure(world, verdict)
    world.ask(OperatorCommand.ABORT)
    assert world.step().measurements == ()
    assert world.record.run(PRE) is None
    world.settle()
    assert (world.live, world.held) == ("1", {"2"})


def test_result_of_a_superseded_version_has_no_say():
    world = analysed(pre=PLAN)
    world.push("2")
    world.settle()
    (due,) = world.decide().measurements
    world.push("3")
    world.step()
    world.measured = (MeasurementResult(due.id, BAD, world.now),)
    world.settle()
    assert (world.live, world.held) == ("1", set())


def test_W09_retry_of_an_older_version_measures_anew():
    world = analysed(pre=PLAN)
    world.push("2")
    world.settle()
    pass_analysis(world)
    world.push("1")
    world.settle()
    measure(world, BAD)
    assert (world.live, world.held) == ("2", {"1"})
    world.retry()
    world.settle()
    assert world.live == "2"
    assert phase(world, PRE) is AnalysisPhase.RUNNING


def test_old_version_is_warm_again_for_its_whole_delay_only_once():
    world = analysed(post=PLAN)
    world.push("2")
    world.settle()
    pass_analysis(world)
    end = world.record.numbered(1).scale_down_at
    world.later(seconds=10)
    world.spec = automatic()
    world.settle()
    assert world.record.numbered(1).scale_down_at == end


def test_merging_the_next_version_does_not_save_one_that_fails():
    world = analysed(manual(), post=PLAN)
    world.push("2")
    world.settle()
    world.set_primary("2")
    world.settle()
    world.push("3")
    world.settle()
    world.set_primary("3")
    world.settle()
    assert world.live == "2", "still being judged"
    measure(world, BAD)
    assert (world.live, world.primary) == ("1", "1")
    assert world.held == {"2", "3"}, "nothing goes forward again without somebody's word"


def test_template_that_breaks_in_mid_run_changes_nothing_for_the_run():
    world = analysed(pre=PLAN)
    world.push("2")
    world.settle()
    measure(world, GOOD)
    strategy = replace(world.spec.strategy, pre_promotion_analysis=Plan(unknown="there is no AnalysisTemplate errors"))
    world.spec = replace(world.spec, strategy=strategy)
    world.settle()
    assert world.record.run(PRE).metrics[0].counted == 1
    world.later(seconds=60)
    measure(world, GOOD)
    assert world.live == "2"
    world.push("3")
    world.settle()
    assert (world.live, world.decide().measurements) == ("2", ())
    assert any("there is no AnalysisTemplate errors" in reason for _, reason in shut(world))


def test_pods_that_fail_in_mid_run_are_waited_for_when_it_has_ended_well():
    world = analysed(manual(), pre=PLAN)
    world.push("2")
    world.settle()
    world.set_primary("2")
    measure(world, GOOD)
    world.later(seconds=60)
    world.bad_tags.add("2")
    world.settle()
    measure(world, GOOD)
    assert world.live == "1", "its pods are gone"
    world.bad_tags.clear()
    world.settle()
    assert world.live == "2"
    assert world.recorded_moves() == world.moves


def test_failure_after_an_early_merge_is_said_where_main_takes_no_commit():
    world = analysed(manual(), pre=PLAN)
    world.protected = True
    world.push("2")
    world.settle()
    world.set_primary("2")
    world.settle()
    measure(world, BAD)
    assert (world.live, world.primary, world.branch, world.held) == ("1", "2", "1", {"2"})
    assert "diverged" in world.events()
    world.merge()
    world.settle()
    assert (world.live, world.primary, world.held) == ("1", "1", {"2"})
    assert world.events().count("converged") == 1


def test_suspension_in_mid_measurement_is_followed_by_the_same_measurement():
    """What was under way may be asked again; it counts once, under the name it had."""
    world = analysed(pre=PLAN)
    world.push("2")
    world.settle()
    (before,) = world.decide().measurements
    world.suspend()
    world.settle()
    world.resume()
    world.settle()
    (after,) = world.decide().measurements
    assert after.id == before.id


def test_clock_that_jumps_back_delays_a_measurement_by_its_interval_at_most():
    world = analysed(pre=PLAN)
    world.push("2")
    world.settle()
    measure(world, GOOD)
    world.later(hours=-1)
    world.settle()
    (run,) = world.record.analyses.runs
    assert (world.decide().measurements, run.running) == ((), True)
    world.later(seconds=60)
    measure(world, GOOD)
    assert world.live == "2"


WANTED_AGAIN = {
    "it was let go: its warm time begins": (worlds.legacy(1), True),
    "somebody wants it again: it stays": (worlds.legacy(1, retiring=False), False),
}


@pytest.mark.parametrize("name", WANTED_AGAIN)
def test_what_traffic_left_once_nobody_waits_for_the_verdict(name: str) -> None:
    fallback, leaves = WANTED_AGAIN[name]
    run = AnalysisRun(POST, worlds.digest(2), 2, fallback=worlds.digest(1), started_at=worlds.NOW)
    state = worlds.world(fallback, worlds.active(2), record={"analysis": (run,)})
    assert skip_verdict(state, "ada").record.numbered(1).retiring is leaves


@pytest.mark.parametrize(("aborted", "seconds"), [(False, 300), (True, 30)])
def test_what_an_abort_let_go_keeps_the_delay_of_one_after_the_verdict(aborted: bool, seconds: int) -> None:
    run = AnalysisRun(POST, worlds.digest(2), 2, fallback=worlds.digest(1), started_at=worlds.NOW)
    fallback = worlds.legacy(1, scale_down_at=None, aborted=aborted)
    state = worlds.world(fallback, worlds.active(2), record={"analysis": (run,)})
    left = skip_verdict(state, "ada").record.numbered(1)
    assert (left.aborted, left.scale_down_at) == (aborted, worlds.NOW + timedelta(seconds=seconds))


def test_what_traffic_left_may_be_forgotten_before_the_verdict() -> None:
    run = AnalysisRun(POST, worlds.digest(2), 2, fallback=worlds.digest(1), started_at=worlds.NOW)
    state = worlds.world(worlds.active(2), record={"analysis": (run,)})
    assert skip_verdict(state, "ada").record.run(POST) is None


BARE = {"preview_service": None}
BEGINS = {
    "the candidate": (
        worlds.world(worlds.active(1), worlds.candidate(2), spec=manual(**BARE, pre_promotion_analysis=PLAN)),
        [2],
    ),
    "what main names, not the candidate behind it": (
        worlds.world(
            worlds.active(1),
            worlds.candidate(2),
            worlds.candidate(3),
            names_=2,
            spec=manual(**BARE, pre_promotion_analysis=PLAN),
        ),
        [2],
    ),
    "nothing while traffic goes back": (
        worlds.world(
            worlds.legacy(1),
            worlds.active(2),
            worlds.candidate(3),
            names_=1,
            spec=manual(**BARE, pre_promotion_analysis=PLAN),
        ),
        [],
    ),
    "nothing of what is to serve first": (
        worlds.world(worlds.candidate(1), spec=manual(**BARE, pre_promotion_analysis=PLAN)),
        [],
    ),
}


@pytest.mark.parametrize("name", BEGINS)
def test_before_promotion_is_judged(name: str) -> None:
    state, numbers = BEGINS[name]
    judged = [run.digest for run in begin_runs(state).record.analyses.runs]
    assert judged == [worlds.digest(number) for number in numbers]


def found_bad(*versions: Version, of: int, fallback: int, **record: object) -> World:
    """The analysis after the promotion of a version is told something bad."""
    run = begin(AnalysisRun(POST, worlds.digest(of), of, fallback=worlds.digest(fallback)), PLAN, "", "", worlds.NOW)
    told = MeasurementResult(id_of(run, "5eed", run.metrics[0]), BAD, worlds.NOW)
    seen = {"measurements": (told,)}
    return worlds.world(
        *versions, spec=manual(post_promotion_analysis=PLAN), observed=seen, record={"analysis": (run,), **record}
    )


THREE = (worlds.legacy(1), worlds.legacy(2), worlds.active(3))
SPOKEN_AGAINST = {"holds": (Hold(worlds.digest(1), "5xx", worlds.NOW),)}
WAY_BACK = {
    "to the version that it took over from": (found_bad(*THREE, of=3, fallback=1), 1),
    "to the last good one where that one is on hold": (found_bad(*THREE, of=3, fallback=1, **SPOKEN_AGAINST), 2),
    "to the last good one where that one is forgotten": (found_bad(*THREE, of=3, fallback=7), 2),
    "nowhere, where there is none": (found_bad(worlds.active(3), of=3, fallback=1), None),
}


@pytest.mark.parametrize("name", WAY_BACK)
def test_bad_analysis_after_promotion_leads(name: str) -> None:
    state, number = WAY_BACK[name]
    record = advance_analyses(state).record
    assert (record.routing.override.to_digest if record.routing.override else None) == (
        worlds.digest(number) if number else None
    )
    if number is None:
        assert record.ledger[-1].event == "failed"
        assert record.ledger[-1].reason.endswith("; there is nothing to go back to")


def test_what_traffic_left_is_let_go_where_nobody_asks_for_the_analysis_any_more() -> None:
    run = AnalysisRun(POST, worlds.digest(2), 2, fallback=worlds.digest(1), started_at=worlds.NOW)
    fallback = worlds.legacy(1, scale_down_at=None)
    state = worlds.world(fallback, worlds.active(2), record={"analysis": (run,)})
    after = advance_analyses(state).record
    assert (after.run(POST), after.numbered(1).scale_down_at) == (None, worlds.NOW + timedelta(seconds=300))
