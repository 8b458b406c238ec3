"""Measuring by a Job: started once, whatever happens; reported when it ends; deleted when it is no longer needed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.actions import ApplyApp
from gitops_bg.core.model.analysis import (
    Analyses,
    AnalysisPhase,
    AnalysisRun,
    AnalysisStage,
    MeasurementResult,
    Metric,
    MetricRun,
    due,
    with_measurement,
)
from gitops_bg.core.model.record import Record
from tests.integration.cluster.scene import Scene, watching
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import jobs, pods
from tests.support.cluster.rawapi import Json
from tests.support.waiting import eventually

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FOR_EVER = ("sleep", "infinity")


def metric(command: tuple[str, ...] = ("true",), name: str = "smoke", image: str = "check:v1", **more: Any) -> Metric:
    """A metric of the provider `job`, of one container; `more` are fields of `Metric`."""
    container = {"name": "check", "image": f"registry.example/{image}", "command": list(command)}
    spec = {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    return Metric(name, "job", json.dumps({"spec": spec}), **more)


def record(*metrics: Metric, **more: Any) -> Record:
    """The record of an app whose run before promotion has begun."""
    run = AnalysisRun(AnalysisStage.PRE, "v1:x", 1, started_at=NOW, metrics=tuple(map(MetricRun, metrics)), **more)
    return Record(epoch="e1", analyses=Analyses(runs=(run,)))


@dataclass
class Lab:
    """An app, and what is measured of it."""

    scene: Scene

    def measure(self, record: Record) -> None:
        """What the agent does after it saved a record."""
        now = datetime.now(UTC)
        measures = [each for run in record.analyses.runs for each in due(run, record.epoch, now)]
        self.scene.subject.measure(self.scene.app, record, measures, now)

    def results(self, record: Record) -> tuple[MeasurementResult, ...]:
        return self.scene.subject.measured(self.scene.app, record, NOW)

    def result(self, record: Record) -> MeasurementResult:
        """Wait to be woken with the answer of the one measurement."""
        with self.scene.changed:
            assert self.scene.changed.wait_for(lambda: self.results(record), 40), self.live()
        (found,) = self.results(record)
        return found

    def live(self) -> list[Json]:
        return self.scene.cluster.list(jobs(self.scene.app.namespace))

    def wait_live(self, number: int) -> list[Json]:
        eventually(lambda: len(self.live()) == number, what=f"{number} Jobs")
        return self.live()

    def made(self) -> int:
        """How many Jobs were ever asked for."""
        path = jobs(self.scene.app.namespace)
        return sum((write.method, write.path) == ("POST", path) for write in self.scene.cluster.writes())


@pytest.fixture
def lab(scene: Scene) -> Lab:
    scene.do(ApplyApp())
    return Lab(scene)


@pytest.fixture
def others(served: TestCluster, namespace: str, lab: Lab) -> Iterator[Lab]:
    """The same app as another agent sees it, which began later."""
    with watching(served, namespace) as scene:
        yield Lab(scene)


# What comes out.


def test_a_job_that_completes_is_a_good_measurement(lab: Lab) -> None:
    wanted = record(metric())
    lab.measure(wanted)
    found = lab.result(wanted)
    assert (found.phase, found.value) == (AnalysisPhase.SUCCESSFUL, "Complete")
    assert str(found.id) == "1.pre.1.smoke.0"


@pytest.mark.parametrize("command", [("false",), ("sh", "-c", "sleep 1; exit 3")])
def test_a_job_that_fails_is_a_bad_measurement_and_says_why(lab: Lab, command: tuple[str, ...]) -> None:
    wanted = record(metric(command))
    lab.measure(wanted)
    found = lab.result(wanted)
    assert (found.phase, found.value) == (AnalysisPhase.FAILED, "Failed")
    assert "BackoffLimitExceeded: Job has reached the specified backoff limit" in found.message


@pytest.mark.parametrize(("image", "reason"), [("check:missing", "ImagePullBackOff"), ("Check:v1", "InvalidImageName")])
def test_an_image_that_cannot_be_had_is_inconclusive(lab: Lab, image: str, reason: str) -> None:
    wanted = record(metric(image=image))
    lab.measure(wanted)
    found = lab.result(wanted)
    assert found.phase is AnalysisPhase.INCONCLUSIVE
    assert reason in found.message


def test_a_job_that_runs_has_no_answer_yet(lab: Lab) -> None:
    wanted = record(metric(FOR_EVER))
    lab.measure(wanted)
    lab.wait_live(1)
    eventually(lambda: lab.scene.cluster.list(pods(lab.scene.app.namespace)), what="its pod")
    assert lab.results(wanted) == ()


def test_a_job_that_somebody_deletes_is_inconclusive(lab: Lab) -> None:
    wanted = record(metric(FOR_EVER))
    lab.measure(wanted)
    (job,) = lab.wait_live(1)
    lab.scene.cluster.delete(f"{jobs(lab.scene.app.namespace)}/{job['metadata']['name']}")
    found = lab.result(wanted)
    assert (found.phase, found.message) == (AnalysisPhase.INCONCLUSIVE, f"Job {job['metadata']['name']} was deleted")


def test_a_job_that_the_server_refuses_is_an_error_that_names_the_field(lab: Lab) -> None:
    query = json.loads(metric().query)
    query["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    wanted = record(replace(metric(), query=json.dumps(query)))
    lab.measure(wanted)
    found = lab.result(wanted)
    assert found.phase is AnalysisPhase.ERROR
    assert "spec.template.spec.restartPolicy" in found.message


def test_a_job_of_that_name_that_is_somebody_elses_is_an_error_and_left_alone(lab: Lab) -> None:
    wanted = record(metric())
    (measure,) = due(wanted.analyses.runs[0], "e1", NOW)
    namespace, name = lab.scene.app.namespace, names.job_name(lab.scene.app, measure.id)
    theirs = {"metadata": {"name": name}, "spec": json.loads(metric(FOR_EVER).query)["spec"]}
    before = lab.scene.cluster.create(jobs(namespace), theirs)
    lab.measure(wanted)
    found = lab.result(wanted)
    assert found.phase is AnalysisPhase.ERROR
    assert f"Job {namespace}/{name} is somebody else's" in found.message
    assert lab.scene.cluster.get(f"{jobs(namespace)}/{name}")["metadata"]["uid"] == before["metadata"]["uid"]


# What is made.


def test_a_job_belongs_to_its_app(lab: Lab) -> None:
    lab.measure(record(metric(FOR_EVER)))
    (job,) = lab.wait_live(1)
    metadata = job["metadata"]
    assert metadata["labels"][names.MANAGED_BY] == names.MANAGER
    assert metadata["labels"][names.APP] == "web"
    assert metadata["annotations"][names.MEASUREMENT] == "1.pre.1.smoke.0"
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == (names.KIND, "web", True)


def test_pods_of_a_job_get_no_traffic_whatever_their_labels_say(lab: Lab) -> None:
    query = json.loads(metric(FOR_EVER).query)
    query["spec"]["template"]["metadata"] = {
        "labels": {"team": "shop", **names.selector(lab.scene.app, "v1:0123456789")}
    }
    lab.measure(record(replace(metric(), query=json.dumps(query))))
    (job,) = lab.wait_live(1)
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert labels["team"] == "shop"
    assert names.DIGEST not in labels


def test_a_job_is_asked_for_once_however_often_it_is_named(lab: Lab) -> None:
    wanted = record(metric())
    for _ in range(3):
        lab.measure(wanted)
    lab.result(wanted)
    lab.measure(wanted)
    lab.measure(record(metric(), metric(FOR_EVER, name="other")))
    lab.wait_live(2)
    assert lab.made() == 2


def test_a_restarted_agent_finds_the_job_it_started(lab: Lab, others: Lab) -> None:
    wanted = record(metric(("sleep", "2")))
    lab.measure(wanted)
    lab.wait_live(1)
    lab.scene.subject.stop()
    others.measure(wanted)
    assert others.result(wanted).phase is AnalysisPhase.SUCCESSFUL
    assert lab.made() == 1


def test_a_restarted_agent_counts_a_job_that_ended_meanwhile(lab: Lab, others: Lab) -> None:
    wanted = record(metric())
    lab.measure(wanted)
    before = lab.result(wanted)
    lab.scene.subject.stop()
    others.measure(wanted)
    assert others.result(wanted) == before
    assert lab.made() == 1


def test_two_agents_at_once_make_one_job(lab: Lab, others: Lab) -> None:
    wanted = record(metric(FOR_EVER))
    for each in (lab, others):
        each.measure(wanted)
    lab.wait_live(1)
    for each in (lab, others):
        each.measure(record(metric(FOR_EVER), metric(name="second")))
        eventually(lambda each=each: each.results(record(metric(name="second"))), what="the second is heard of")
    assert len(lab.live()) == 2


# What goes.


@pytest.mark.parametrize(
    "after",
    [Record(epoch="e1"), record(metric(FOR_EVER), phase=AnalysisPhase.FAILED), record(metric(FOR_EVER), attempt=2)],
    ids=["the run is dropped", "the run is over", "the run is begun afresh"],
)
def test_a_job_that_nobody_waits_for_is_ended(lab: Lab, after: Record) -> None:
    lab.measure(record(metric(FOR_EVER)))
    (before,) = lab.wait_live(1)
    lab.measure(after)
    gone = lambda: before["metadata"]["uid"] not in {job["metadata"]["uid"] for job in lab.live()}  # noqa: E731
    eventually(gone, what="the Job is gone")
    waiting = lambda: [pod for pod in _pods(lab) if before["metadata"]["name"] in pod["metadata"]["name"]]  # noqa: E731
    eventually(lambda: not waiting(), what="its pod is gone")


def _pods(lab: Lab) -> list[Json]:
    return lab.scene.cluster.list(pods(lab.scene.app.namespace))


def test_so_many_ended_jobs_are_kept_as_measurements_are(lab: Lab) -> None:
    wanted = record(metric(count=4, retention=2))
    for _ in range(4):
        lab.measure(wanted)
        measured = lab.result(wanted)
        wanted = wanted.with_part(
            replace(wanted.analyses, runs=(with_measurement(wanted.analyses.runs[0], "e1", measured),))
        )
    lab.measure(wanted)
    assert wanted.analyses.runs[0].phase is AnalysisPhase.SUCCESSFUL
    two = ["1.pre.1.smoke.2", "1.pre.1.smoke.3"]
    eventually(lambda: kept_jobs(lab) == two, what="two Jobs are kept")


def test_the_jobs_of_a_run_stay_as_long_as_it_is_remembered(lab: Lab) -> None:
    """argo-rollouts.md §1.3: `successfulRunHistoryLimit` and the other one, Jobs with their runs."""
    first = record(metric())
    lab.measure(first)
    done = first.with_part(
        replace(first.analyses, runs=(with_measurement(first.analyses.runs[0], "e1", lab.result(first)),))
    )
    second = AnalysisRun(AnalysisStage.PRE, "v1:y", 2, started_at=NOW, metrics=(MetricRun(metric()),))
    later = done.with_part(replace(done.analyses, past=done.analyses.runs, runs=(second,)))
    lab.measure(later)
    lab.result(later)
    assert kept_jobs(lab) == ["1.pre.1.smoke.0", "2.pre.1.smoke.0"]
    lab.measure(later.with_part(replace(later.analyses, past=())))
    eventually(lambda: kept_jobs(lab) == ["2.pre.1.smoke.0"], what="the Job went with its run")


def test_the_jobs_of_the_last_remembered_run_go_with_it_also_after_a_restart(lab: Lab, others: Lab) -> None:
    first = record(metric())
    lab.measure(first)
    run = with_measurement(first.analyses.runs[0], "e1", lab.result(first))
    others.measure(Record(epoch="e1", analyses=Analyses(past=(run,))))
    others.measure(Record(epoch="e1"))
    eventually(lambda: kept_jobs(lab) == [], what="the Job went with its run")


def kept_jobs(lab: Lab) -> list[str]:
    return sorted(job["metadata"]["annotations"][names.MEASUREMENT] for job in lab.live())


def test_how_long_a_job_took_is_told_by_the_clock_of_the_cluster(lab: Lab) -> None:
    """A clock of the cluster that differs from ours moves neither the next measurement nor the length of this one."""
    wanted = record(metric(("sleep", "1")))
    lab.measure(wanted)
    found = lab.result(wanted)
    assert found.at == NOW, "what the agent asked with, far from the cluster's time"
    assert found.begun_at is not None
    assert 0 <= (found.at - found.begun_at).total_seconds() < 30


def test_all_is_started_once_the_jobs_are_there(lab: Lab) -> None:
    """`agent --once` waits for that, and for no Job to end."""
    lab.measure(record(metric(FOR_EVER)))
    eventually(lambda: lab.scene.subject.jobs_started, what="it is started")
    assert len(lab.live()) == 1


def test_nothing_is_watched_before_a_job_is_asked_for(lab: Lab) -> None:
    before = threading.active_count()
    lab.measure(record(Metric("errors", "prometheus")))
    lab.measure(Record(epoch="e1"))
    assert threading.active_count() == before
