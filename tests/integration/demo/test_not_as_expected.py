"""A demo that cannot keep its promises says so, exits with 1, and still cleans up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.cli.demo.act import Act
from gitops_bg.cli.demo.demo import play, run_demo
from gitops_bg.cli.demo.scene import APP, IMAGE
from gitops_bg.cli.demo.stories.day import DAY
from gitops_bg.cli.demo.story import Step
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import SERVICES
from tests.integration.demo.conftest import nothing_left_behind
from tests.support.waiting import PATIENCE

DEPLOY, PUSH_TAG, PROMOTE = DAY.steps[:3]


def told(tmp_path: Path, *steps: Step, deadline: float = PATIENCE) -> tuple[int, dict[str, Any]]:
    """The exit status and the report of a story that notes its addresses first."""
    folder, report = tmp_path / "temp", tmp_path / "report.json"
    folder.mkdir()
    with nothing_left_behind(folder) as traces:
        status = play(report, keep=False, stories=[replace(DAY, steps=(traces.noting(), *steps))], deadline=deadline)
    return status, json.loads(report.read_text())


def test_traffic_that_does_not_move_in_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse_writes(act: Act) -> None:
        act.scene.sandbox.faults.refuse("patch", "services")

    def promote_soon(act: Act) -> None:
        impatient = Act(act.scene, act.screen, deadline=2)
        PROMOTE.play(impatient)

    steps = (
        DEPLOY,
        PUSH_TAG,
        Step("refuse", refuse_writes),
        Step("promote", promote_soon),
        Step("never", PROMOTE.play),
    )
    status, report = told(tmp_path, *steps)
    assert status == 1
    assert report["ok"] is False
    assert [step["ok"] for step in report["steps"]] == [True, True, True, True, False]
    assert "live traffic reaches 1.1.0: not within 2 s" in report["steps"][-1]["error"]
    assert report["failed_requests"] == 0
    assert [switch["event"] for switch in report["switches"]] == ["deployed"]
    assert "not as expected" in capsys.readouterr().out


def test_a_git_command_that_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, report = told(tmp_path, Step("merge what is not there", PROMOTE.play))
    assert status == 1
    assert "merge --no-ff" in report["steps"][-1]["error"]
    assert "✗" in capsys.readouterr().out


def test_a_request_that_fails_between_two_checks(tmp_path: Path) -> None:
    def lose_the_service(act: Act) -> None:
        for verb in ("create", "patch"):  # or the agent would have it back at once
            act.scene.sandbox.faults.refuse(verb, "services")
        client = Client(Access(kubeconfig=act.scene.kubeconfig))
        try:
            client.delete(SERVICES, APP.namespace, APP.name)
        finally:
            client.close()
        act.expect("a request fails", act.scene.traffic.failures)

    status, report = told(tmp_path, DEPLOY, Step("lose the Service", lose_the_service))
    assert status == 1
    assert report["ok"] is False
    assert report["failed_requests"] > 0


def test_live_traffic_that_moves_without_being_asked(tmp_path: Path) -> None:
    def expect_the_old(act: Act) -> None:
        act.git("fetch")
        act.git("merge", "--no-ff", "--no-edit", "origin/gitops-bg/promote/shop/web")
        act.push()
        act.expect("it moved", lambda: act.scene.sight.active == "1.1.0")
        act.expect_only("1.0.0", seconds=1)

    status, report = told(tmp_path, DEPLOY, PUSH_TAG, Step("promote in secret", expect_the_old))
    assert status == 1
    assert "one got an answer of 1.1.0" in report["steps"][-1]["error"]


def test_answers_with_an_error_count_as_failed(tmp_path: Path) -> None:
    def deploy_what_answers_500(act: Act) -> None:
        act.set_image("1.0.0-error")
        act.git("add", "--all")
        act.git("commit", "-m", f"{IMAGE}:1.0.0-error")
        act.push("origin", "main")
        act.expect("it serves", lambda: act.scene.sight.active == "1.0.0-error")
        act.scene.traffic.start()
        act.expect("somebody asked", lambda: len(act.scene.traffic) > 10)

    status, report = told(tmp_path, Step("deploy", deploy_what_answers_500))
    assert status == 1
    assert 10 < report["failed_requests"] <= report["requests"]


def test_a_report_that_cannot_be_written_is_said_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with nothing_left_behind(tmp_path):
        assert run_demo(tmp_path / "no" / "report.json", keep=False) == 1
    assert "the report cannot be written" in capsys.readouterr().out


def test_ctrl_c_cleans_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(act: Act) -> None:
        raise KeyboardInterrupt

    status, report = told(tmp_path, DEPLOY, Step("Ctrl-C", interrupt))
    assert status == 130
    assert report["ok"] is False
    assert "stopped before the end" in capsys.readouterr().out


def test_a_bug_in_a_step_is_not_hidden(tmp_path: Path) -> None:
    def stumble(act: Act) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        told(tmp_path, Step("a bug", stumble))
    assert json.loads((tmp_path / "report.json").read_text())["ok"] is False
