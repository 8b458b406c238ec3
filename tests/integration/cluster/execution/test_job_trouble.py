"""Jobs while the API server refuses, fails and forgets: a transient error, never a second Job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gitops_bg.core.model.actions import ApplyApp
from gitops_bg.core.model.analysis import AnalysisPhase, with_measurement
from gitops_bg.core.model.record import Record
from gitops_bg.sandbox.faults import ConnectionLost, Faults
from gitops_bg.sandbox.http.calls import Call
from tests.integration.cluster.execution.test_jobs import FOR_EVER, Lab, metric, record
from tests.integration.cluster.scene import watching
from tests.support.cluster.clusters import SandboxCluster, TestCluster
from tests.support.waiting import eventually


@pytest.fixture
def cluster(own_sandbox: SandboxCluster) -> TestCluster:
    return own_sandbox


@pytest.fixture
def lab(served: SandboxCluster, namespace: str) -> Iterator[Lab]:
    with watching(served, namespace) as scene:
        scene.do(ApplyApp())
        yield Lab(scene)


@pytest.fixture
def faults(cluster: SandboxCluster) -> Faults:
    return cluster.sandbox.faults


def after_an_error(lab: Lab, wanted: Record) -> Record:
    """The record that has counted the error, long enough ago for the next measurement to be due."""
    found = lab.result(wanted)
    assert found.phase is AnalysisPhase.ERROR
    long_ago = replace(found, at=wanted.analyses.runs[0].started_at or found.at)
    return wanted.with_part(replace(wanted.analyses, runs=(with_measurement(wanted.analyses.runs[0], "e1", long_ago),)))


@pytest.mark.parametrize(("verb", "resource"), [("list", "jobs"), ("list", "pods"), ("create", "jobs")])
def test_missing_rights_are_an_error_that_names_them_and_passes(
    lab: Lab, faults: Faults, verb: str, resource: str
) -> None:
    faults.refuse(verb, resource)
    wanted = record(metric(consecutive_error_limit=-1))
    lab.measure(wanted)
    said = lab.result(wanted).message
    assert f"cannot {verb} " in said
    assert resource in said

    faults.clear()
    counted = [wanted]

    def is_taken() -> bool:
        counted.append(after_an_error(lab, counted[-1]))
        lab.measure(counted[-1])
        return lab.result(counted[-1]).phase is AnalysisPhase.SUCCESSFUL

    eventually(is_taken, what="a measurement is taken")


def test_a_server_that_is_busy_for_a_moment_is_asked_again(lab: Lab, faults: Faults) -> None:
    faults.fail(status=503, verb="create", resource="jobs", times=2)
    wanted = record(metric())
    lab.measure(wanted)
    assert lab.result(wanted).phase is AnalysisPhase.SUCCESSFUL


def test_a_server_that_stays_down_is_an_error(lab: Lab, faults: Faults) -> None:
    faults.fail(status=503, verb="create", resource="jobs")
    wanted = record(metric())
    lab.measure(wanted)
    assert lab.result(wanted).phase is AnalysisPhase.ERROR
    assert lab.live() == []


def test_a_job_whose_making_was_never_answered_is_made_once(lab: Lab, faults: Faults) -> None:
    lost: list[str] = []

    def lose(call: Call) -> None:
        if call.verb == "create" and call.plural == "jobs" and not lost:
            lost.append(call.name)
            raise ConnectionLost

    faults.after(lose)
    wanted = record(metric())
    lab.measure(wanted)
    assert lab.result(wanted).phase is AnalysisPhase.SUCCESSFUL
    assert len(lost) == len(lab.live()) == 1


def test_watches_that_are_cut_and_history_that_is_lost_hide_no_end_of_a_job(lab: Lab, faults: Faults) -> None:
    wanted = record(metric(("sleep", "1")))
    lab.measure(wanted)
    lab.wait_live(1)
    faults.expire_history()
    faults.drop_watches()
    assert lab.result(wanted).phase is AnalysisPhase.SUCCESSFUL


def test_a_job_that_could_not_be_ended_is_ended_later(lab: Lab, faults: Faults) -> None:
    lab.measure(record(metric(FOR_EVER)))
    lab.wait_live(1)
    faults.fail(status=503, verb="delete", resource="jobs", times=1)
    over = Record(epoch="e1")
    lab.measure(over)

    def is_gone() -> bool:
        lab.measure(over)  # the next look at the app
        return not lab.live()

    eventually(is_gone, what="the Job is gone")
