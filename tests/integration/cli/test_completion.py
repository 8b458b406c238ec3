"""Shells offer what there is: apps, versions, groups, gates; and nothing, without a word, where nobody answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gitops_bg.cli.main import app, kubectl_plugin
from tests.integration.cli.conftest import Cli, with_candidate
from tests.support.imports import HEAVY, imported_by
from tests.support.scenario import App
from tests.support.waiting import HANGS


def offered(cli: Cli, typed: str, shell: str = "bash") -> list[str]:
    """What a shell gets for a line that is being typed; the words alone."""
    words = typed.split(" ")
    asked = {
        "_GITOPS_BG_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": typed,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = CliRunner().invoke(app, [], env={**cli.env, **asked}, prog_name="gitops-bg")
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


def test_the_cluster_says_what_there_is(cli: Cli, web: App) -> None:
    with_candidate(web)
    web.strategy |= {"webhooks": [{"name": "release", "type": "confirm-promotion"}]}
    web.configure()
    web.scenario.wait_idle()
    namespace = web.key.namespace
    assert str(web.key) in offered(cli, f"gitops-bg explain {namespace[:4]}")
    assert offered(cli, f"gitops-bg explain -n {namespace} w") == ["web"]
    assert offered(cli, f"gitops-bg rollback {web.key} --to ") == ["v1", "v2"]
    assert offered(cli, f"gitops-bg promote {web.key} --to v2") == ["v2"]
    assert offered(cli, f"gitops-bg gate open {web.key} ") == ["release"]
    (said,) = offered(cli, f"gitops-bg promote {web.key} --to v2", "fish")
    assert said == "v2\tcandidate, registry.example/web:v2"
    assert '"v2"' in "".join(offered(cli, f"gitops-bg promote {web.key} --to v2", "zsh"))


def test_without_a_cluster_the_clone_says_which_apps_there_are(
    cli: Cli, web: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.env["GITOPS_BG_KUBECONFIG"] = str(tmp_path / "nowhere")
    monkeypatch.chdir(web.scenario.remote.clone)
    assert offered(cli, "gitops-bg explain w") == ["web"]
    assert offered(cli, f"gitops-bg explain {web.key.namespace}/") == [str(web.key)]


@pytest.mark.parametrize("typed", ["explain ", "rollback web --to ", "gate open web ", "group promote store "])
def test_where_nobody_answers_nothing_is_offered(
    cli: Cli, typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.env["GITOPS_BG_KUBECONFIG"] = str(tmp_path / "nowhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert offered(cli, f"gitops-bg {typed}") == []


def test_verbs_are_offered_without_their_libraries(cli: Cli) -> None:
    assert {"explain", "exp"} & set(offered(cli, "gitops-bg exp")) == {"explain"}
    asked = {"_GITOPS_BG_COMPLETE": "complete_bash", "COMP_WORDS": "gitops-bg exp", "COMP_CWORD": "1"}
    assert imported_by(**asked) & HEAVY == set()


def test_as_a_plugin_it_is_called_kubectl_bg(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl-bg", "get", "--help"])
    with pytest.raises(SystemExit) as end:
        kubectl_plugin()
    assert (end.value.code, "Usage: kubectl bg get" in capsys.readouterr().out) == (0, True)


def offered_by_kubectl(cli: Cli, *typed: str) -> list[str]:
    """What the real kubectl completes: it finds both of our programs on the PATH."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("needs kubectl on the PATH: https://kubernetes.io/docs/tasks/tools/")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, **cli.env, "PATH": path}
    command = [kubectl, "__complete", "bg", *typed]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=HANGS)
    return done.stdout.splitlines()


def test_kubectl_completes_its_plugin_with_verbs_apps_and_versions(cli: Cli, web: App) -> None:
    key = str(web.key)
    assert [line.partition("\t")[0] for line in offered_by_kubectl(cli, "expl")] == ["explain", ":4"]
    assert key in [line.partition("\t")[0] for line in offered_by_kubectl(cli, "explain", web.key.namespace[:4])]
    assert offered_by_kubectl(cli, "rollback", key, "--to", "") == ["v1\tactive, registry.example/web:v1", ":4"]
    assert offered_by_kubectl(cli, "check", "") == [":0"], "files"
