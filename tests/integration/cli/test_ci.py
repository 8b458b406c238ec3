"""What docs/how-to/ci.md offers: the hook of pre-commit, the action for GitHub, the template for GitLab, as run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_bg.forge.port import PullRequestDraft
from tests.fixtures.repos.build import build
from tests.support.forges import worlds
from tests.support.git.remote import locked_down_env
from tests.support.sarif import check_sarif

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
ACTION = yaml.safe_load((ROOT / "deploy/ci/github/action.yml").read_text())
GITLAB = yaml.safe_load((ROOT / "deploy/ci/gitlab.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "name" in step}


@pytest.mark.parametrize(
    ("schema", "file", "transform"),
    [
        ("vendor.github-actions", "github/action.yml", []),
        ("vendor.github-workflows", "github/release.yml", []),
        ("vendor.gitlab-ci", "gitlab.yml", ["gitlab-ci"]),
        ("vendor.gitlab-ci", "gitlab-release.yml", ["gitlab-ci"]),
    ],
)
def test_forges_take_the_file(schema: str, file: str, transform: list[str]) -> None:
    """By the schemas that GitHub and GitLab publish."""
    asked = ["--builtin-schema", schema, *(("--data-transform", *transform) if transform else ())]
    done = subprocess.run([BIN / "check-jsonschema", *asked, ROOT / "deploy/ci" / file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_no_shell_reads_what_somebody_else_may_write() -> None:
    """Expressions stand in the environment only: a branch may have any name."""
    for step in STEPS.values():
        assert "${{" not in step["run"]


def test_each_input_is_used_and_described() -> None:
    text = json.dumps(ACTION["runs"])
    for name, each in ACTION["inputs"].items():
        assert each["description"]
        assert f"inputs.{name}" in text


def shell(script: str, env: Mapping[str, str], here: Path, code: int = 0) -> str:
    """Run a script as runners do, with this environment and no more; what it printed."""
    home = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(here), "XDG_CACHE_HOME": str(here / "cache")}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = subprocess.run(words, cwd=here, env={**home, **env}, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def step_env(step: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, str]:
    """The environment of a step, its expressions filled in."""
    return {
        name: re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda found: known[found[1]], value)
        for name, value in step["env"].items()
    }


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A work tree of a repository with one app."""
    remote = build("broken-yaml", tmp_path)
    words = ["git", "clone", "--quiet", str(remote), str(tmp_path / "work")]
    subprocess.run(words, check=True, env=locked_down_env(tmp_path))
    return tmp_path / "work"


def test_the_action_annotates_what_is_wrong_and_fails(checkout: Path, tmp_path: Path) -> None:
    step = STEPS["Check"]
    runner = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output")}
    known = {"inputs.folder": ".", "inputs.strict": "false"}
    shown = shell(step["run"], {**step_env(step, known), **runner}, checkout, code=1)
    assert "::error title=gitops-bg problem,file=apps/shop/broken/target.yaml,line=" in shown
    name, _, sarif = (tmp_path / "output").read_text().strip().partition("=")
    assert name == "sarif"
    assert len(check_sarif(json.loads(Path(sarif).read_text()))) > 0


def observed(folder: Path) -> str:
    file = folder / "observed.json"
    file.write_text(json.dumps({"form": "gitops-bg.dev/observed-v1", "apps": {}}))
    return str(file)


def opened(world: worlds.World) -> int:
    world.offer()
    return world.forge().open(PullRequestDraft(worlds.BRANCH, "main", "web: promote", "")).number


def not_needed() -> Any:
    raise AssertionError("a stand-in needs no Gitea")


def test_the_action_comments_the_plan_and_summarizes_it(tmp_path: Path) -> None:
    remote = build("healthy", tmp_path)
    step = STEPS["Comment the plan"]
    with worlds.world("github", tmp_path / "world", not_needed) as world:
        number = opened(world)
        known = {
            "github.server_url": f"file://{tmp_path}",
            "github.repository": remote.name,
            "github.head_ref": "main",
            "github.event.pull_request.html_url": f"{world.url}/shop/config/pull/{number}",
            "inputs.kubeconfig": "",
            "inputs.observed": observed(tmp_path),
            "inputs.token": world.token("agent"),
        }
        runner = {"RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
        shown = shell(step["run"], {**step_env(step, known), **runner}, tmp_path)
        [comment] = world.comments(number)
    assert comment.startswith("<!-- gitops-bg plan -->\n### gitops-bg plan at")
    assert (tmp_path / "summary").read_text().startswith("### gitops-bg plan at")
    assert not (tmp_path / "gitops-bg.token").exists()
    assert world.token("agent") not in shown


def test_the_template_for_gitlab_reports_what_is_wrong_and_fails(checkout: Path) -> None:
    job = GITLAB["gitops-bg check"]
    variables = {name: str(each) for name, each in GITLAB["variables"].items()}
    shown = shell("\n".join(job["script"]), variables, checkout, code=1)
    assert "apps/shop/broken/target.yaml:" in shown
    report = json.loads((checkout / job["artifacts"]["reports"]["codequality"]).read_text())
    assert {each["location"]["path"] for each in report} >= {"apps/shop/broken/target.yaml"}


def test_the_template_for_gitlab_comments_the_plan(tmp_path: Path) -> None:
    remote = build("healthy", tmp_path)
    with worlds.world("gitlab", tmp_path / "world", not_needed) as world:
        number = opened(world)
        env = {
            "GITOPS_BG_REPO": str(remote),
            "GITOPS_BG_BRANCH": "main",
            "GITOPS_BG_TOKEN": world.token("agent"),
            "GITOPS_BG_OBSERVED": observed(tmp_path),
            "CI_PROJECT_URL": f"{world.url}/shop/config",
            "CI_MERGE_REQUEST_IID": str(number),
        }
        shell("\n".join(GITLAB["gitops-bg plan"]["script"]), env, tmp_path)
        [comment] = world.comments(number)
    assert "<!-- gitops-bg plan -->" in comment


def env_of_pre_commit(home: Path) -> dict[str, str]:
    """The environment of that tool; all that it keeps is in the test's folder."""
    return {**locked_down_env(home), "PATH": f"{BIN}:{os.environ['PATH']}", "PRE_COMMIT_HOME": str(home / ".cache")}


def pre_commit(here: Path, config: str, code: int) -> str:
    """Run the hook on all files, by the tool that people run."""
    env = env_of_pre_commit(here)
    (here / ".pre-commit-config.yaml").write_text(config)
    subprocess.run(["git", "add", "--all"], cwd=here, env=env, check=True)
    words = ["pre-commit", "run", "--all-files", "--verbose"]
    done = subprocess.run(words, cwd=here, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_the_hook_of_pre_commit_stops_a_commit_with_a_mistake(checkout: Path) -> None:
    """The hook as it is in the manifest, but for the language: this environment has the tool already."""
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    local = {"repos": [{"repo": "local", "hooks": [{**hook, "language": "system"}]}]}
    shown = pre_commit(checkout, yaml.safe_dump(local), code=1)
    assert "hook id: gitops-bg-check" in re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "apps/shop/broken/target.yaml:" in shown


def test_the_manifest_of_hooks_is_one(tmp_path: Path) -> None:
    words = ["pre-commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml"]
    done = subprocess.run(words, env=env_of_pre_commit(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_hook_runs_where_a_file_of_the_repository_changed_and_nowhere_else() -> None:
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    files = re.compile(hook["files"])
    for path in ("gitops-bg.yaml", "apps/shop/web/target.yaml", "groups/a/b/group.yaml", "policies/allowed_signers"):
        assert files.search(path)
    for path in ("README.md", "docs/apps/x.yaml", "src/gitops-bg.yaml"):
        assert not files.search(path)
