"""A verb that commits, called in a clone: the clone gets the commit, too, unless its user would lose something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli
from tests.support.git.remote import GitRemote
from tests.support.scenario import App, Scenario


@pytest.fixture
def remote(world: Scenario) -> GitRemote:
    return world.remote


@pytest.fixture
def shop(world: Scenario, monkeypatch: pytest.MonkeyPatch) -> App:
    """The app `web` in Git, whose user is in their clone; no agent runs."""
    app = world.app()
    app.add("v1")
    monkeypatch.chdir(world.remote.clone)
    return app


def image(tag: str) -> str:
    return f"web=registry.example/web:{tag}"


def head(remote: GitRemote) -> str:
    return remote.run("rev-parse", "main")


def is_clean(remote: GitRemote) -> bool:
    return remote.run("status", "--porcelain", "--branch") == "## main...origin/main"


def test_the_clone_moves_along_with_branch_and_file(cli: Cli, shop: App, remote: GitRemote) -> None:
    result = cli.run("set-image", str(shop.key), image("v2"))
    assert head(remote) == remote.head()
    assert "web:v2" in remote.read(f"{shop.folder}/target.yaml")
    assert is_clean(remote)
    assert result.stderr == ""


def test_it_moves_along_from_a_folder_of_the_clone(
    cli: Cli, shop: App, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(remote.clone / shop.folder)
    del cli.env["GITOPS_BG_REPO"]
    cli("set-image", str(shop.key), image("v2"))
    assert head(remote) == remote.head()
    assert is_clean(remote)


@pytest.mark.parametrize(
    "arguments", [("suspend", "-r", "tea"), ("retry",), ("restart",)], ids=["suspend", "retry", "restart"]
)
def test_so_it_is_for_every_verb_that_edits_a_file(
    cli: Cli, shop: App, remote: GitRemote, arguments: tuple[str, ...]
) -> None:
    before = head(remote)
    verb, *options = arguments
    cli(verb, str(shop.key), *options)
    assert before != head(remote) == remote.head()
    assert is_clean(remote)


def test_so_it_is_for_a_promotion_a_rollback_and_undo(
    cli: Cli, web: App, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    web.scenario.wait_idle()
    web.scenario.pull()
    monkeypatch.chdir(remote.clone)
    for verb, tag in (("promote", "v2"), ("rollback", "v1"), ("undo", "v1")):
        cli(verb, str(web.key))
        assert head(remote) == remote.head(), verb
        assert is_clean(remote), verb
        if verb != "undo":
            web.wait_live(tag)
            web.scenario.wait_idle()
            web.scenario.pull()


def test_other_changes_of_the_user_stay_as_they_are(cli: Cli, shop: App, remote: GitRemote) -> None:
    remote.write("staged.txt", "staged")
    (remote.clone / "loose.txt").write_text("loose")
    (remote.clone / shop.folder / "app.yaml").write_text("# half an idea\n")
    cli("set-image", str(shop.key), image("v2"))
    assert head(remote) == remote.head()
    assert remote.read(f"{shop.folder}/app.yaml") == "# half an idea\n"
    assert (remote.read("staged.txt"), remote.read("loose.txt")) == ("staged", "loose")


def test_a_change_of_the_same_file_is_never_overwritten(cli: Cli, shop: App, remote: GitRemote) -> None:
    before = head(remote)
    (remote.clone / shop.folder / "target.yaml").write_text("# half an idea\n")
    result = cli.run("set-image", str(shop.key), image("v2"))
    assert "commit them, then `git pull --rebase`" in result.stderr
    assert remote.read(f"{shop.folder}/target.yaml") == "# half an idea\n"
    assert before == head(remote) != remote.head()


def test_a_commit_that_is_not_pushed_is_kept(cli: Cli, shop: App, remote: GitRemote) -> None:
    remote.write("mine.txt", "mine")
    mine = remote.commit("mine")
    result = cli.run("set-image", str(shop.key), image("v2"))
    assert "`git pull` brings it along" in result.stderr
    assert head(remote) == mine


def test_a_clone_that_is_behind_is_told_to_pull(cli: Cli, shop: App, remote: GitRemote) -> None:
    before = head(remote)
    cli("suspend", str(shop.key))
    remote.run("reset", "--quiet", "--hard", before)
    result = cli.run("set-image", str(shop.key), image("v2"))
    assert "`git pull` brings it along" in result.stderr
    assert head(remote) == before


def test_another_branch_is_left_alone(cli: Cli, shop: App, remote: GitRemote) -> None:
    remote.checkout("idea", new=True)
    before = head(remote)
    result = cli.run("set-image", str(shop.key), image("v2"))
    assert "main is not checked out here; `git fetch origin main:main` brings it along" in result.stderr
    assert (head(remote), remote.tip) == (before, before)


def test_json_is_json_whatever_is_noted(cli: Cli, shop: App, remote: GitRemote) -> None:
    remote.checkout("idea", new=True)
    assert cli.json("set-image", str(shop.key), image("v2"))["changed"] is True


def test_a_clone_of_something_else_is_none_of_our_business(
    cli: Cli, shop: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = GitRemote(tmp_path / "other")
    other.publish("begin", {"a": "1"})
    monkeypatch.chdir(other.clone)
    before = head(other)
    assert cli.run("set-image", str(shop.key), image("v2")).stderr == ""
    assert head(other) == before


def test_what_is_so_already_moves_nothing(cli: Cli, shop: App, remote: GitRemote) -> None:
    before = head(remote)
    assert "already" in cli("set-image", str(shop.key), image("v1"))
    assert head(remote) == before == remote.head()
