"""`plan --comment`: one comment of a pull request, kept up to date, on each forge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gitops_bg.cli.main import app
from gitops_bg.forge.port import PullRequestDraft
from tests.fixtures.repos.build import build
from tests.support.forges.worlds import BRANCH, World

WORDS = {"github": "pull", "gitlab": "-/merge_requests", "gitea": "pulls"}


def plan(folder: Path, *arguments: str, code: int = 0, repository: str = "healthy") -> Result:
    remote = folder / f"{repository}.git"
    observed = folder / "observed.json"
    observed.write_text(json.dumps({"form": "gitops-bg.dev/observed-v1", "apps": {}}))
    env = {"GITOPS_BG_REPO": str(remote), "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "240"}
    asked = ["plan", "--observed", str(observed), *arguments]
    result = CliRunner().invoke(app, asked, env=env)
    assert result.exit_code == code, result.output
    return result


def address(world: World, number: int) -> str:
    return f"{world.remote.removesuffix('.git')}/{WORDS[world.kind]}/{number}"


def test_a_plan_is_one_comment_that_the_next_plan_replaces(world: World, tmp_path: Path) -> None:
    build("healthy", tmp_path)
    build("broken-yaml", tmp_path)
    world.offer()
    number = world.forge().open(PullRequestDraft(BRANCH, "main", "web: promote", "")).number
    world.say(number, "ana", "is it ready?")
    token = tmp_path / "token"
    token.write_text(f"{world.token('agent')}\n")
    asked = ("--comment", address(world, number), "--forge-token-file", str(token))
    assert "with something to do" in plan(tmp_path, *asked).stdout, "and it prints as it is asked to"
    question, first = world.comments(number)
    assert question == "is it ready?"
    assert first.startswith("<!-- gitops-bg plan -->\n### gitops-bg plan at <code>")
    assert "<code>shop/web</code>" in first
    told = plan(tmp_path, *asked, "-o", "markdown", repository="broken-yaml").stdout
    assert told.startswith("### gitops-bg plan at")
    question, second = world.comments(number)
    assert second.strip() == f"<!-- gitops-bg plan -->\n{told}".strip()
    assert "with problems" in second


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--comment", "12"), "--comment: this is no address of a pull request"),
        (("--comment", "https://me:secret@example.com/a/b/pull/1"), "this is no address of a pull request"),
        (("--comment", "https://github.com/shop/config/pull/1"), "--forge-token-file"),
        (("--comment", "https://github.com/shop/config/pull/1", "--forge-token-file", "/no"), "/no cannot be read"),
    ],
)
def test_a_comment_that_cannot_be_is_wrong_use(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    build("healthy", tmp_path)
    shown = plan(tmp_path, *arguments, code=2).stderr
    assert said in shown
    assert "secret" not in shown
