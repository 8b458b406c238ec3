"""Where the cluster cannot be asked, verbs say what they assume, and commit nothing where that may be wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli
from tests.support.cluster.control_plane import free_ports
from tests.support.command_line import all_verbs
from tests.support.scenario import App, Scenario


@pytest.fixture
def app_in_git(world: Scenario) -> App:
    app = world.app()
    app.add("v1")
    return app


def test_without_a_cluster_to_ask_the_options_count_and_what_is_assumed_is_said(
    world: Scenario, cli: Cli, app_in_git: App
) -> None:
    """As in CI: it has no kubeconfig."""
    cli.env["GITOPS_BG_KUBECONFIG"] = "/nowhere"
    done = cli.run("set-image", str(app_in_git.key), "web=registry.example/web:v2")
    assert "web:v2" in world.remote.show("main", f"{app_in_git.folder}/target.yaml")
    (said,) = done.stderr.splitlines()
    assert said.startswith(f"what {app_in_git.key} follows could not be asked: ")
    assert "/nowhere" in said
    assert "branch main and cluster default assumed" in said
    named = ("--branch", "main", "--cluster", "test")
    assert not cli.run("set-image", str(app_in_git.key), "web=registry.example/web:v3", *named).stderr


@pytest.fixture
def silent(cli: Cli, tmp_path: Path) -> None:
    """The kubeconfig names a cluster that does not answer."""
    kubeconfig = tmp_path / "silent"
    server = f"http://127.0.0.1:{free_ports(1)[0]}"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: silent\nusers: [{name: me, user: {token: x}}]\n"
        f"clusters: [{{name: it, cluster: {{server: '{server}'}}}}]\n"
        "contexts: [{name: silent, context: {cluster: it, user: me}}]\n"
    )
    cli.env["GITOPS_BG_KUBECONFIG"] = str(kubeconfig)


ABOUT_ALL = {
    "freeze": ("-r", "incident"),
    "unfreeze": (),
    "accept-history": (),
    "dashboard": ("--no-open", "--address", "127.0.0.1:0"),
}
COMMITS = {
    "set-image": ("IT", "web=registry.example/web:v2"),
    "promote": ("IT",),
    "rollback": ("IT",),
    "undo": ("IT", "--to", "1"),
    "hold": ("IT", "--release", "r1", "--everywhere", "--reason", "bad"),
    "enter": ("IT", "--release", "r1", "--into", "prod"),
    "suspend": ("IT",),
    "pause": ("IT",),
    "resume": ("IT",),
    "retry": ("IT",),
    "restart": ("IT",),
    "release": ("IT",),
    "group promote": ("IT", "v2"),
    "group rollback": ("IT", "v1"),
    "group retry": ("IT",),
    "group suspend": ("IT",),
    "group resume": ("IT",),
    "group delete": ("IT", "v2"),
    **ABOUT_ALL,
}
"""Verbs that commit, with what they need."""


def test_every_verb_that_commits_is_tried() -> None:
    assert {verb for verb, options in all_verbs() if {"--author", "--branch"} <= options} == COMMITS.keys()


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("verb", COMMITS)
def test_no_verb_commits_to_a_branch_that_a_silent_cluster_may_contradict(
    verb: str, world: Scenario, cli: Cli, app_in_git: App, tmp_path: Path
) -> None:
    meant = {"IT": str(app_in_git.key), "KEY": str(tmp_path / "key")}
    before = world.remote.run("for-each-ref", cwd=world.remote.bare)
    said = cli(*verb.split(), *(meant.get(each, each) for each in COMMITS[verb]), code=2)
    about = "the agent" if verb in ABOUT_ALL else app_in_git.key
    assert f"--branch: which branch {about} follows could not be asked: " in said
    assert "name it by --branch or in .gitops-bg.yaml" in said
    assert world.remote.run("for-each-ref", cwd=world.remote.bare) == before


@pytest.mark.usefixtures("silent")
def test_a_branch_that_is_named_is_committed_to_though_the_cluster_is_silent(
    world: Scenario, cli: Cli, app_in_git: App
) -> None:
    cli("set-image", str(app_in_git.key), "web=registry.example/web:v2", "--branch", "main")
    assert "web:v2" in world.remote.show("main", f"{app_in_git.folder}/target.yaml")


@pytest.mark.usefixtures("silent")
def test_what_only_reads_says_beside_its_answer_what_is_assumed(cli: Cli, app_in_git: App) -> None:
    failed = cli.run("history", str(app_in_git.key), "-o", "json", code=5)
    wrong, assumed = (json.loads(line) for line in failed.stderr.splitlines())
    assert "the ledger gitops-bg/state/default knows nothing" in (assumed.get("error") or wrong["error"])["message"]
    assert "branch main and cluster default assumed" in (assumed.get("note") or wrong["note"])
    failed = cli.run("explain", str(app_in_git.key), code=4)
    assert "assumed" not in failed.stderr, "there is no answer that anything was assumed for"
