"""The whole demo, each story played once: everything is as expected, and nothing is left behind."""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.cli.demo.act import Act
from gitops_bg.cli.demo.demo import play
from gitops_bg.cli.demo.gitea import Repository, gitea_at_hand
from gitops_bg.cli.demo.keep import suggested
from gitops_bg.cli.demo.stories.day import DAY
from gitops_bg.cli.demo.stories.environments import ENVIRONMENTS_STORY
from gitops_bg.cli.demo.stories.group import GROUP_STORY
from gitops_bg.cli.demo.stories.pull_requests import pull_requests
from gitops_bg.cli.demo.story import Step, Story
from tests.integration.demo.conftest import asked, nothing_left_behind
from tests.support.waiting import PATIENCE


@dataclass(frozen=True)
class Told:
    status: int
    seconds: float
    screen: str
    report: dict[str, Any]


def told_with(folder: Path, story: Story) -> Told:
    """A whole story, on a machine that keeps nothing of it."""
    report, temp = folder / "report.json", folder / "temp"
    temp.mkdir()
    screen = io.StringIO()
    begin = time.monotonic()
    with nothing_left_behind(temp), contextlib.redirect_stdout(screen):
        status = play(report, keep=False, stories=[story], deadline=PATIENCE)
    seconds = time.monotonic() - begin
    return Told(status, seconds, screen.getvalue(), json.loads(report.read_text()))


def test_the_day_ends_well_within_a_minute_and_tells_all_of_it(tmp_path: Path) -> None:
    told = told_with(tmp_path, DAY)
    assert told.status == 0, told.screen
    assert told.seconds < 60
    no_request_fails_while_traffic_moves(told.report)
    the_report_has_every_step_with_its_seconds(told.report["steps"])
    the_report_has_every_switch_of_the_ledger_with_its_commits(told.report["switches"])
    the_timeline_shows_what_the_user_typed_and_ends_with_the_ledger_and_a_summary(told.screen)


def no_request_fails_while_traffic_moves(report: dict[str, Any]) -> None:
    assert report["ok"] is True
    assert report["failed_requests"] == 0
    assert report["requests"] > 500


def the_report_has_every_step_with_its_seconds(steps: list[dict[str, Any]]) -> None:
    assert len(steps) == 8
    assert all(set(step) == {"name", "seconds", "ok"} for step in steps)
    assert all(step["ok"] is True and 0 < step["seconds"] < 60 for step in steps)


def the_report_has_every_switch_of_the_ledger_with_its_commits(switches: list[dict[str, Any]]) -> None:
    moves = [(switch["event"], switch["from"], switch["to"]) for switch in switches]
    assert moves == [
        ("deployed", None, "1.0.0"),
        ("promoted", "1.0.0", "1.1.0"),
        ("rolled-back", "1.1.0", "1.0.0"),
        ("promoted", "1.0.0", "1.1.1"),
    ]
    assert all(len(switch[which]) == 40 for switch in switches for which in ("commit", "ledger"))
    assert len({switch["commit"] for switch in switches}) == len(switches)
    assert all(0 <= switch["seconds"] < 60 for switch in switches)


def the_timeline_shows_what_the_user_typed_and_ends_with_the_ledger_and_a_summary(screen: str) -> None:
    for shown in (
        "$ git push",
        "$ git commit -am 'web 1.1.0'",
        "$ git merge --no-ff --no-edit origin/gitops-bg/promote/shop/web",
        "$ git revert --no-edit -m 1 ",
        "$ git log --reverse --oneline origin/gitops-bg/state/demo",
        "web: promoted 1.0.0 (v1) → 1.1.0 (v2)",
        "Bg-Event: rolled-back",
        "8 steps in ",
        "everything was as expected",
    ):
        assert shown in screen
    assert "INFO" not in screen, "no log line gets into it"
    assert "WARNING" not in screen


def test_a_release_group_is_promoted_and_rolled_back_by_one_commit_each(tmp_path: Path) -> None:
    """One test for the whole story: what it promises, it checks itself; and what `--keep` suggests at its end works."""
    explained: list[str] = []

    def explain(act: Act) -> None:
        typed = next(command for _, command in suggested(act.scene) if command.startswith("cd shop"))
        arguments = typed.partition("gitops-bg ")[2].split()
        explained.append(asked(act.scene.remote.clone, str(act.scene.kubeconfig), *arguments, "--exit-code"))

    told = told_with(tmp_path, replace(GROUP_STORY, steps=(*GROUP_STORY.steps, Step("explain it", explain))))
    assert told.status == 0, told.screen
    assert told.report["failed_requests"] == 0
    assert len(told.report["steps"]) == 7
    assert "v2 serves" in explained[0]
    for said in (
        "v1 Legacy, v2 Active",
        "X-Version: v1: 1.0.0 answers",
        "denied, v2 has left it out",
        "waits for cart-v3",
    ):
        assert said in told.screen


@pytest.mark.slow
def test_one_push_travels_to_production_and_every_reading_verb_tells_of_it(tmp_path: Path) -> None:
    """One test for the whole story: what it promises, it checks itself; and what reads at its end says where all is."""
    read = dict[str, str]()

    def ask(act: Act) -> None:
        kubeconfig = dict(suggested(act.scene))["use the cluster"].partition("=")[2]
        for verb in _READING:
            read[verb] = asked(act.scene.remote.clone, kubeconfig, *verb.split())

    told = told_with(tmp_path, replace(ENVIRONMENTS_STORY, steps=(*ENVIRONMENTS_STORY.steps, Step("read", ask))))
    assert told.status == 0, told.screen
    assert told.report["failed_requests"] == 0
    moves = [(switch["cluster"], switch["event"], switch["to"]) for switch in told.report["switches"]]
    assert moves == [
        *[("dev-1", event, tag) for event, tag in _TRAVELS],
        *[("staging-1", event, tag) for event, tag in _TRAVELS],
        *[("prod-1", event, tag) for event, tag in (*_TRAVELS[:3], ("rolled-back", "1.1.0"), _TRAVELS[3])],
    ]
    for said in (
        "prod: r3 waits for staging: it serves in staging-1 since ",
        "prod-1: live traffic stays with 1.1.0, every single request",
        "Bg-Skipped: staging",
        "prod-1: 0 of ",
    ):
        assert said in told.screen
    assert {verb: said for verb, said in _READING.items() if said not in read[verb]} == {}, read


_TRAVELS = (("deployed", "1.0.0"), ("promoted", "1.1.0"), ("promoted", "1.2.0"), ("promoted", "1.2.1"))
_READING = {
    "environments": "shop/web  r4, proven  r4       r4\n",
    "where 1.2.1": "shop/web  prod         r4       serves in prod-1 since ",
    "history shop/web": "[dev-1]\n",
    "history shop/web --context prod-1": 'Revert "web: promote 1.1.0 (v2) → 1.2.0 (v3) [prod-1]"\n',
    "get": "shop       web   dev          Healthy  1.2.1 (v4)  r4 ",
    "get --context prod-1": "shop       web   prod         Healthy  1.2.1 (v4)  r4 ",
    "explain shop/web": "in dev, release r4 serves, as 1.2.1 (v4)",
    "explain shop/web --context staging-1": "in staging, release r4 serves, as 1.2.1 (v4)",
    "fleet": "shop/web  staging-1  1.2.1 (v4)  -          -      ",
    "plan": "shop/web in dev (r4): Healthy, nothing to do",
    "plan --context prod-1": "shop/web in prod (r4): Healthy, nothing to do",
    "diff shop/web --from dev --to prod": "dev serves 1.2.1 (v4) of release r4; prod serves 1.2.1 (v4) of release r4",
    "check .": "no problem",
}
"""Every verb that reads, and a part of what it says when the story is over."""


@pytest.mark.real_forge
def test_with_pull_requests_nothing_else_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test for the whole story: what it promises, it checks itself."""
    gitea = gitea_at_hand()
    assert gitea is not None
    create = Repository.create

    def create_with_two_hooks(repository: Repository, settings: Mapping[str, Any]) -> None:
        create(repository, settings)
        # Starts the whole server for each ref that is pushed, and does nothing: a third of what a push costs.
        (repository.bare / "hooks" / "update").unlink()

    monkeypatch.setattr(Repository, "create", create_with_two_hooks)
    told = told_with(tmp_path, pull_requests(gitea))
    assert told.status == 0, told.screen
    assert told.report["failed_requests"] == 0
    assert [(switch["event"], switch["from"], switch["to"]) for switch in told.report["switches"]] == [
        ("deployed", None, "1.0.0"),
        ("promoted", "1.0.0", "1.1.0"),
        ("rolled-back", "1.1.0", "1.0.0"),
        ("promoted", "1.0.0", "1.2.0"),
    ]
    for said in (
        "shop/web: 1.0.0 → 1.1.0 [demo]",
        "INC-4711, ask Grace",
        "ada is an author",
        "HTTP 405: ",
        "grace closed pull request #",
        "edit policies/freeze.yaml:",
    ):
        assert said in told.screen
    assert "pass-1" not in told.screen
