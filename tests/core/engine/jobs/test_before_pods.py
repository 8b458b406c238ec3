"""Jobs before the pods of a version: when they run, what waits for them, and what follows from how they end."""

import contextlib
from dataclasses import replace

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.analysis import (
    NOT_STARTED,
    AnalysisPhase,
    AnalysisStage,
    MeasurementPlan,
    MeasurementResult,
    Metric,
)
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event, Record
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.statements import Cause
from gitops_bg.core.model.version import short
from tests.core.engine.analysis.notation import BAD, BROKEN, GOOD, OPEN, PLAN
from tests.core.engine.hooks.notation import answer, hook, hooked
from tests.core.simulation import APP, Crash, Simulation, automatic, deployed, manual, template
from tests.core.stories import ask, merge, name, push, resume, retry, revert, suspend, wait
from tests.core.worlds import active, candidate, decided, legacy, pods, rising, world

JOBS = AnalysisStage.BEFORE_PODS
EXPAND = MeasurementPlan((Metric("web-expand", "job", consecutive_error_limit=-1, retention=1),))
RUNNING = AnalysisPhase.RUNNING


def with_jobs(spec: AppSpec | None = None, plan: MeasurementPlan | None = EXPAND) -> AppSpec:
    return replace(spec or automatic(), before_pods=plan)


def due(sim: Simulation) -> list[str]:
    """The Jobs that are to run now, by name."""
    return [names.job_name(APP, one.id) for one in sim.decide().measurements if one.id.stage is JOBS]


def job(tag: str, attempt: int = 1) -> str:
    again = f"-{attempt}" if attempt > 1 else ""
    return f"web-expand-{short(template(tag).digest)}{again}"


def end(sim: Simulation, phase: AnalysisPhase, message: str = "") -> None:
    """The Job that is to run comes out so, and everything that follows from it happens."""
    asked = [one for one in sim.decide().measurements if one.id.stage is JOBS]
    assert asked, "no Job runs"
    sim.measured = tuple(MeasurementResult(one.id, phase, sim.now, message=message) for one in asked)
    sim.settle()
    if phase is not RUNNING:
        sim.measured = ()


def expanding(spec: AppSpec | None = None) -> Simulation:
    """Version 1 is live, version 2 was pushed, and its Job runs."""
    sim = deployed(spec or automatic())
    sim.spec = with_jobs(spec)
    push(sim, "2")
    assert due(sim) == [job("2")]
    return sim


def gate(sim: Simulation) -> GateResult:
    return next(each for each in sim.decide().gates if each.kind is GateKind.JOB)


def size(sim: Simulation, tag: str) -> int:
    """How many pods a version has."""
    digest = template(tag).digest
    return sum(view.replicas for view in sim.observed().replica_sets if view.snapshot.digest == digest)


# --- before any pod, at every place where a version gets its first one ---

BEGINS = {
    "a candidate": world(active(1), rising(2), spec=with_jobs(manual())),
    "the first version": world(rising(1), spec=with_jobs(manual())),
    "what main names, which nobody offered": world(active(1), rising(2), names_=2, spec=with_jobs(manual())),
    "what main names where nothing serves yet": world(rising(1), names_=1, spec=with_jobs(manual())),
}


@pytest.mark.parametrize("name", BEGINS)
def test_its_job_runs_before_it_has_pods(name: str) -> None:
    decision = decided(replace(BEGINS[name], observed=replace(BEGINS[name].observed, replica_sets=(pods(1),))))
    if "serves yet" in name or "first" in name:
        decision = decided(replace(BEGINS[name], observed=replace(BEGINS[name].observed, replica_sets=())))
    assert [str(one.id.stage) for one in decision.measurements] == ["before-pods"]
    assert not [each for each in decision.actions if "scale" in str(each)]
    assert next(each for each in decision.gates if each.kind is GateKind.JOB).open is False


NEVER = {
    "one that served before": world(legacy(1), active(2), names_=1, spec=with_jobs(manual())),
    "one whose Job succeeded": world(active(1), candidate(2, prepared=True), spec=with_jobs(manual())),
    "one of an app that has none": world(active(1), rising(2), spec=manual()),
}


@pytest.mark.parametrize("name", NEVER)
def test_no_job_runs_for(name: str) -> None:
    assert not decided(NEVER[name]).measurements


def test_no_pod_comes_before_the_job_has_succeeded_and_all_come_afterwards():
    sim = expanding()
    wait(sim, hours=2)
    assert (size(sim, "2"), sim.live) == (0, "1")
    end(sim, GOOD)
    assert (size(sim, "2"), sim.live) == (3, "2")
    assert [each.event for each in sim.ledger if each.reason.startswith("Job before the pods successful")] == [
        Event.ANALYSED
    ]


def test_the_first_deployment_waits_for_it_as_well():
    sim = Simulation(with_jobs())
    push(sim, "1")
    assert (sim.live, size(sim, "1"), due(sim)) == ("", 0, [job("1")])
    end(sim, GOOD)
    assert sim.live == "1"


def test_it_is_before_every_analysis():
    sim = deployed(automatic(pre_promotion_analysis=PLAN))
    sim.spec = with_jobs(sim.spec)
    push(sim, "2")
    assert [str(one.id.stage) for one in sim.decide().measurements] == ["before-pods"]
    end(sim, GOOD)
    assert [str(one.id.stage) for one in sim.decide().measurements] == ["pre"]


def test_whoever_confirms_the_pods_is_asked_first():
    sim = deployed(automatic())
    sim.spec = with_jobs(hooked(sim.spec, hook(HookType.CONFIRM_ROLLOUT)))
    push(sim, "2")
    assert due(sim) == []
    assert gate(sim).reason == "Job before the pods: begins when its version may have pods"
    answer(sim, {"confirm-rollout": 200})
    assert due(sim) == [job("2")]


def test_several_jobs_run_at_a_time_and_all_must_succeed():
    one, other = (Metric(each, "job", retention=1) for each in ("web-schema", "web-seeds"))
    sim = deployed(automatic())
    sim.spec = with_jobs(sim.spec, MeasurementPlan((one, other)))
    push(sim, "2")
    first, second = sim.decide().measurements
    sim.measured = (MeasurementResult(first.id, GOOD, sim.now),)
    sim.settle()
    assert (sim.live, [each.id for each in sim.decide().measurements]) == ("1", [second.id])
    sim.measured = (MeasurementResult(second.id, GOOD, sim.now),)
    sim.settle()
    assert sim.live == "2"


# --- once for each version ---


def test_it_runs_once_for_a_version_whatever_the_rollout():
    sim = expanding(manual())
    end(sim, GOOD)
    ask(sim, OperatorCommand.ABORT)
    retry(sim)
    assert (due(sim), size(sim, "2")) == ([], 3)


def test_a_version_that_served_comes_back_without_it():
    sim = expanding(manual())
    end(sim, GOOD)
    merge(sim)
    assert sim.live == "2"
    revert(sim)
    assert (sim.live, due(sim)) == ("1", [])


def test_an_agent_that_dies_after_every_write_asks_for_one_job():
    sim = deployed(automatic())
    sim.spec = with_jobs()
    sim.push("2")
    seen: set[str] = set()
    for _ in range(30):
        for writes in (0, 1):
            with contextlib.suppress(Crash):
                sim.step(writes)
            seen.update(due(sim))
    assert seen == {job("2")}
    assert size(sim, "2") == 0


def test_a_record_that_is_lost_asks_for_the_same_job():
    """Its name depends on nothing that a record knows."""
    sim = expanding()
    sim.record = Record()
    sim.settle()
    assert due(sim) == [job("2")]


def test_a_record_that_is_lost_knows_by_its_pods_that_a_version_had_its_job():
    sim = expanding(manual())
    end(sim, GOOD)
    assert size(sim, "2") == 3
    sim.record = Record()
    sim.settle()
    assert (due(sim), size(sim, "2")) == ([], 3)


# --- failing ---


def test_failing_holds_the_version_with_the_reason_and_a_retry_runs_it_anew():
    sim = expanding()
    end(sim, BAD, "Job web-expand failed: BackoffLimitExceeded; its log ends with: no such table")
    hold = sim.record.held(template("2").digest)
    assert hold is not None
    assert hold.cause is Cause.JOB_FAILED
    assert hold.reason.endswith("its log ends with: no such table")
    shown = next(each for each in sim.decide().gates if each.kind is GateKind.HOLD)
    assert shown.remedy == (
        f"kubectl -n shop logs job/{job('2')}; then run it anew: gitops-bg retry shop/web, or push a new version"
    )
    wait(sim, hours=1)
    assert (sim.live, size(sim, "2"), due(sim)) == ("1", 0, [])

    retry(sim)
    assert due(sim) == [job("2", 2)]
    end(sim, GOOD)
    assert sim.live == "2"


def test_a_retry_gives_a_job_its_own_name_however_few_runs_are_remembered():
    sim = expanding(replace(automatic(), unsuccessful_run_history_limit=0))
    end(sim, BAD)
    retry(sim)
    end(sim, BAD)
    retry(sim)
    assert due(sim) == [job("2", 3)]


def test_a_first_version_whose_job_fails_is_held_and_retried_alike():
    sim = Simulation(with_jobs())
    push(sim, "1")
    end(sim, BAD)
    assert (sim.live, size(sim, "1")) == ("", 0)
    retry(sim)
    assert due(sim) == [job("1", 2)]
    end(sim, GOOD)
    assert sim.live == "1"


def test_what_main_names_is_held_and_main_is_to_name_the_live_one_again():
    sim = expanding(manual())
    name(sim, "2")
    assert due(sim) == [job("2")]
    end(sim, BAD)
    assert (sim.live, sim.primary) == ("1", "1")


def test_a_job_that_somebody_deletes_waits_for_a_retry():
    sim = expanding()
    end(sim, OPEN, "Job web-expand was deleted")
    assert sim.record.held(template("2").digest) is None
    assert gate(sim).reason.endswith("was deleted; `gitops-bg retry shop/web` runs it anew")
    wait(sim, hours=1)
    assert (sim.live, due(sim)) == ("1", [])
    retry(sim)
    assert due(sim) == [job("2", 2)]


def test_what_the_cluster_refuses_is_tried_again_with_the_same_name_and_said():
    """As a quota does: an error is no verdict, however often it comes."""
    sim = expanding()
    for _ in range(9):
        end(sim, BROKEN, "exceeded quota: jobs")
        assert gate(sim).reason.startswith("Job before the pods: ")
        wait(sim, seconds=10)
    assert sim.record.held(template("2").digest) is None
    assert due(sim) == [job("2")]
    end(sim, GOOD)
    assert sim.live == "2"


def test_its_gate_says_how_far_it_is_and_what_to_type():
    sim = expanding()
    end(sim, RUNNING, "Job web-expand runs; ErrImagePull: no such image")
    assert gate(sim).reason == "Job before the pods: Job web-expand runs; ErrImagePull: no such image"
    assert gate(sim).remedy == f"kubectl -n shop logs job/{job('2')}"


def test_a_hold_keeps_no_job_from_what_main_names_where_nothing_serves():
    """As none keeps its pods away there: nothing would serve instead."""
    sim = Simulation(with_jobs())
    sim.settle()
    sim.push("1")
    sim.set_primary("1")
    ask(sim, OperatorCommand.ABORT)
    assert sim.record.held(template("1").digest) is not None
    assert due(sim) == [job("1")]
    end(sim, GOOD)
    assert sim.live == "1"


def test_a_job_that_fails_stays_failed_for_what_main_names_where_nothing_serves():
    """Nothing but a retry runs it anew, though no hold keeps it from that."""
    sim = Simulation(with_jobs())
    sim.push("1")
    name(sim, "1")
    end(sim, BAD)
    wait(sim, hours=1)
    assert (sim.live, size(sim, "1"), due(sim)) == ("", 0, [])
    retry(sim)
    assert due(sim) == [job("1", 2)]
    end(sim, GOOD)
    assert sim.live == "1"


# --- a newer version, a suspension, another file ---


def test_a_job_that_runs_is_not_broken_off_for_a_newer_version_which_waits():
    sim = expanding()
    push(sim, "3")
    assert due(sim) == [job("2")]
    v2 = sim.record.version(template("2").digest)
    assert v2 is not None
    assert gate(sim).reason == (
        f"Job before the pods: begins when that of {v2.name} has ended, which is not broken off"
    )
    end(sim, GOOD)
    assert (due(sim), size(sim, "2")) == ([job("3")], 0)
    end(sim, GOOD)
    assert sim.live == "3"


def test_one_that_was_broken_off_by_nobody_may_fail_and_only_its_own_version_is_held():
    sim = expanding()
    push(sim, "3")
    end(sim, BAD)
    assert sim.record.held(template("2").digest) is not None
    assert due(sim) == [job("3")]


def test_one_whose_image_cannot_be_pulled_has_run_nothing_and_makes_room_for_a_newer_version():
    sim = expanding()
    (asked,) = sim.decide().measurements
    sim.measured = (MeasurementResult(asked.id, RUNNING, sim.now, NOT_STARTED, "ErrImagePull"),)
    sim.settle()
    assert due(sim) == [job("2")]
    push(sim, "3")
    assert due(sim) == [job("3")]


def test_one_that_the_cluster_refuses_makes_room_as_well():
    sim = expanding()
    end(sim, BROKEN, "exceeded quota: jobs")
    push(sim, "3")
    assert due(sim) == [job("3")]


def test_a_suspension_begins_none_and_lets_one_that_runs_go_on():
    sim = deployed(automatic())
    sim.spec = with_jobs()
    suspend(sim)
    push(sim, "2")
    assert due(sim) == []
    resume(sim)
    (asked,) = sim.decide().measurements
    suspend(sim)
    sim.measured = (MeasurementResult(asked.id, GOOD, sim.now),)
    sim.settle()
    sim.measured = ()
    assert (size(sim, "2"), sim.live) == (0, "1")
    resume(sim)
    assert sim.live == "2"


def test_a_job_that_left_app_yaml_is_not_waited_for():
    sim = expanding()
    sim.spec = automatic()
    sim.settle()
    assert sim.live == "2"


def test_a_candidate_with_pods_loses_them_until_a_job_that_was_added_has_succeeded():
    sim = deployed(manual())
    push(sim, "2")
    assert size(sim, "2") == 3
    sim.spec = with_jobs(manual())
    sim.settle()
    assert (size(sim, "2"), due(sim)) == (0, [job("2")])
    end(sim, GOOD)
    assert size(sim, "2") == 3


def test_a_plan_that_nobody_knows_lets_no_pod_come_up():
    sim = deployed(automatic())
    sim.spec = with_jobs(sim.spec, MeasurementPlan(unknown="jobs.yaml cannot be used"))
    push(sim, "2")
    assert gate(sim).reason == "Job before the pods: jobs.yaml cannot be used"
    assert (due(sim), size(sim, "2"), sim.live) == ([], 0, "1")


def test_time_that_a_job_takes_is_none_of_the_progress_deadline():
    sim = expanding(replace(automatic(), progress_deadline_abort=True))
    wait(sim, hours=2)
    end(sim, GOOD)
    assert sim.live == "2"
