"""Repository, branch and ledger are those that the live app names: nobody has to say them, and what contradicts them
is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli
from tests.support.cluster.clusters import SandboxCluster
from tests.support.git.remote import GitRemote
from tests.support.scenario import Scenario, scenario


class Environments:
    """Production on main and staging on a branch of one repository, each with its agent, in one Kubernetes cluster."""

    def __init__(self, main: Scenario, staging: Scenario) -> None:
        self.main = main
        self.staging = staging
        self.remote = main.remote
        main.start()
        self.web = main.app().deploy("v1")
        main.wait_idle()
        self.remote.pull()
        self.remote.checkout("staging", new=True)
        self.remote.stage({self.web.folder: None})
        self.remote.commit("Begin staging")
        self.remote.run("push", "--quiet", "--set-upstream", "origin", "staging")
        staging.start()
        self.staged = staging.app("web")
        self.staged.add("v1")
        self.staged.wait_live("v1")
        staging.wait_idle()
        main.wait_idle()


@pytest.fixture
def both(sandbox_cluster: SandboxCluster, tmp_path: Path, world: Scenario) -> Iterator[Environments]:
    git = {"branch": "staging", "cluster": "staging"}
    with scenario(sandbox_cluster, tmp_path / "staging", remote=world.remote, git=git) as staging:
        yield Environments(world, staging)


@pytest.fixture
def clone(both: Environments, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> GitRemote:
    """The user is in a clone with main checked out, and names no repository."""
    del cli.env["GITOPS_BG_REPO"]
    both.remote.run("checkout", "--quiet", "main")
    both.remote.run("pull", "--quiet")
    monkeypatch.chdir(both.remote.clone)
    return both.remote


def test_reading_verbs_answer_from_the_branch_of_the_app_and_refuse_what_contradicts_it(
    cli: Cli, both: Environments, clone: GitRemote
) -> None:
    for app, branch, ledger in ((both.web, "main", "test"), (both.staged, "staging", "staging")):
        name = str(app.key)
        assert "Healthy" in cli("explain", name, "--exit-code")
        assert "HistoryRewritten" not in cli("explain", name)
        (planned,) = cli.json("plan", name)["apps"]
        assert (planned["app"], planned["phase"]) == (name, "Healthy")
        assert cli.json("plan", name)["commit"] == clone.head(branch)
        assert cli.json("history", name)["ledger"] == f"gitops-bg/state/{ledger}"
        assert cli.json("diff", name)["differences"] == []
    _get_shows_the_branch_where_something_follows_another_than_main(cli, both)
    _what_several_follow_is_named_in_full(cli, both)
    _what_contradicts_the_app_is_refused(cli, both, clone)


def _get_shows_the_branch_where_something_follows_another_than_main(cli: Cli, both: Environments) -> None:
    title, *rows = (line.split() for line in cli("get").splitlines()[:3])
    assert title[:3] == ["NAMESPACE", "NAME", "BRANCH"]
    assert {row[0]: row[2] for row in rows} == {both.web.key.namespace: "main", both.staging.namespace: "staging"}
    assert "BRANCH" not in cli("get", "-n", both.web.key.namespace)
    assert "Branch:    staging" in cli("get", str(both.staged.key))
    assert "Branch:" not in cli("get", str(both.web.key))
    assert {each["branch"] for each in cli.json("get")["items"]} == {"main", "staging"}


def _what_several_follow_is_named_in_full(cli: Cli, both: Environments) -> None:
    said = cli("plan", code=2)
    assert "(cluster staging)" in said
    assert "(cluster test)" in said
    assert [each["app"] for each in cli.json("plan", "-n", both.staging.namespace)["apps"]] == [str(both.staged.key)]
    assert [each["app"] for each in cli.json("plan", "--cluster", "test")["apps"]] == [str(both.web.key)]
    assert [each["app"] for each in cli.json("plan", "--branch", "staging")["apps"]] == [str(both.staged.key)]
    assert "in full" in cli("explain", "web", code=2)
    assert "Healthy" in cli("explain", "web", "-n", both.staging.namespace)
    assert cli.json("history", str(both.web.key), "--cluster", "test")["ledger"] == "gitops-bg/state/test"
    assert "there are ledgers of test" in cli("history", str(both.web.key), "--cluster", "staging", code=5)


def _what_contradicts_the_app_is_refused(cli: Cli, both: Environments, clone: GitRemote) -> None:
    before = clone.head("main")
    for option in (("--branch", "main"), ("--cluster", "test")):
        said = cli("explain", str(both.staged.key), *option, code=2)
        assert f"{' '.join(option)} (or GITOPS_BG_" in said
        assert f"follows branch staging of {clone.bare.parent}" in said
        assert "(cluster staging)" in said
        cli("set-image", str(both.staged.key), "web=registry.example/web:v2", *option, code=2)
        assert clone.head("main") == before
    cli.env["GITOPS_BG_BRANCH"] = "main"
    assert "GITOPS_BG_BRANCH" in cli("plan", str(both.staged.key), code=2)
    assert "Healthy" in cli("explain", str(both.web.key))


def test_verbs_that_commit_do_so_on_the_branch_of_the_app(cli: Cli, both: Environments, clone: GitRemote) -> None:
    main = clone.head("main")
    cli("set-image", str(both.staged.key), "web=registry.example/web:v2")
    assert "web:v2" in clone.show("staging", f"{both.staged.folder}/target.yaml")
    both.staging.wake()
    both.staged.wait_offered("v2")
    both.staging.wait_idle()
    cli("promote", str(both.staged.key), "--force")
    both.staging.wake()
    both.staged.wait_live("v2")
    both.staging.wait_idle()
    cli("rollback", str(both.staged.key))
    for verb in ("suspend", "resume", "restart"):
        cli(verb, str(both.staged.key))
    assert clone.head("main") == main


def test_an_app_of_another_repository_changes_no_answer(
    sandbox_cluster: SandboxCluster, tmp_path: Path, world: Scenario, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its record names a main that ours never had."""
    monkeypatch.chdir(tmp_path)  # Outside of any clone: this checkout may have an origin.
    world.start()
    web = world.app().deploy("v1")
    with scenario(sandbox_cluster, tmp_path / "other", git={"cluster": "other"}) as other:
        other.start()
        foreign = other.app("shop")
        foreign.add("v1")
        foreign.wait_live("v1")
        other.wait_idle()
        other.stop()
        world.wait_idle()
        world.stop()
        web.push_image("v2")
        for arguments in (("plan", str(web.key)), ("plan",), ("plan", "-n", world.namespace)):
            (planned,) = cli.json(*arguments)["apps"]
            assert (planned["app"], bool(planned["actions"])) == (str(web.key), True), arguments
        assert "next is" in cli("explain", str(web.key))
        assert "nothing was rewritten" in cli("accept-history", code=1)
        assert "is another repository" in cli("explain", str(foreign.key), code=2)
        del cli.env["GITOPS_BG_REPO"]
        assert "Healthy" in cli("explain", str(foreign.key))


def test_a_repository_of_another_name_is_known_by_its_content(world: Scenario, cli: Cli, tmp_path: Path) -> None:
    """Inside of the cluster, or behind a proxy, its address is another one."""
    world.start()
    web = world.app().deploy("v1")
    world.wait_idle()
    mirror = tmp_path / "elsewhere.git"
    world.remote.run("clone", "--quiet", "--no-local", "--mirror", str(world.remote.bare), str(mirror))
    cli.env["GITOPS_BG_REPO"] = str(mirror)
    for arguments in (("explain", str(web.key)), ("plan",)):
        assert "Healthy" in cli(*arguments), arguments
    (planned,) = cli.json("plan")["apps"]
    assert (planned["phase"], planned["actions"]) == ("Healthy", [])
