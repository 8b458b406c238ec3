"""A real agent with real Git, and a forge of plain values: pull requests follow promotions, and never delay one."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gitops_bg.agent.forge_thread import ForgeConnection
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.journal import PullState
from gitops_bg.forge.port import CheckState, ForgeDown, Prefix, Pull, Review, ReviewVerdict, User
from tests.forge.fake import FakeForge
from tests.support.command_line import Cli
from tests.support.git.remote import GitRemote
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually

SETTINGS = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\nforge: {type: gitea, labels: [promotion]}\n"
BEN = User("4", "ben")
DOWN = ForgeDown("https://forge.example.com did not answer in time")


class ForgeOfRemote(FakeForge):
    """Its branches are those of a real remote: a pull request whose branch is deleted is closed, as forges do it."""

    remote: GitRemote

    def open_pulls(self, prefix: Prefix) -> tuple[Pull, ...]:
        for each in self.opened:
            head = self.remote.head(each.branch)
            if head is None:
                self.closes(each.number)
            else:  # As it is by now: the test may have closed it meanwhile.
                self.pulls[each.number] = replace(self.pulls[each.number], head=head)
        return super().open_pulls(prefix)


@pytest.fixture
def forge(world: Scenario, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForgeOfRemote]:
    made = ForgeOfRemote()
    made.remote = world.remote
    monkeypatch.setattr(
        "gitops_bg.agent.agent.connect_with", lambda *_: lambda wanted: ForgeConnection(made, lambda: None)
    )
    return made


@pytest.fixture
def web(world: Scenario, forge: ForgeOfRemote) -> App:
    """The app `web`, its v1 live; the agent runs, and the repository names a forge."""
    world.publish("settings", {"gitops-bg.yaml": SETTINGS})
    world.start()
    return world.app().deploy("v1")


def offered(web: App, forge: ForgeOfRemote, tag: str = "v2") -> Pull:
    """A new image is pushed, and its pull request open, with its status."""
    web.push_image(tag)
    web.wait_offered(tag)
    eventually(lambda: forge.opened, what="a pull request")
    eventually(lambda: status_of(web, forge), what="its status")
    return forge.opened[0]


def status_of(web: App, forge: ForgeOfRemote) -> str:
    head = web.scenario.remote.head(web.promotion_branch) or ""
    said = forge.statuses.get((head, "gitops-bg/test"))
    return said[-1].state if said else ""


def look(web: App) -> None:
    web.scenario.wake()


def test_a_promotion_is_a_pull_request_until_main_has_it_by_whatever_method(web: App, forge: ForgeOfRemote) -> None:
    pull = offered(web, forge)
    assert pull.title == f"{web.key}: v1 → v2 [test]"
    assert status_of(web, forge) == CheckState.SUCCESS
    assert "registry.example/web:v1 → registry.example/web:v2" in pull.body
    web.wait(lambda: web.status.get("pullRequest", {}).get("url") == pull.url, "the status names it")
    text = web.scenario.remote.show(web.promotion_branch, f"{web.folder}/primary.yaml")
    web.scenario.publish("squashed by hand", {f"{web.folder}/primary.yaml": text})
    web.wait_live("v2")
    web.wait(lambda: not web.offered(), "the branch is withdrawn")
    look(web)
    web.wait(lambda: "pullRequest" not in web.status, "nothing more is told of it")
    assert web.record.holds == ()
    assert len(forge.pulls) == 1


def test_closing_it_holds_the_version_and_reopening_lifts_that(web: App, forge: ForgeOfRemote) -> None:
    pull = offered(web, forge)
    forge.closes(pull.number)
    look(web)
    web.wait_condition("OnHold")
    assert "ada closed pull request #1" in web.condition("OnHold")["message"]
    web.wait(lambda: web.condition("PullRequest")["reason"] == "Closed", "it is told")
    assert web.offered()
    assert web.ledger_events()[-1] == "held" or eventually(lambda: web.ledger_events()[-1] == "held")
    writes = len(forge.writes())
    web.scenario.restart()
    web.scenario.wait_idle()
    look(web)
    eventually(lambda: [call for _, call in forge.calls].count("open_pulls") > 3)
    assert len(forge.writes()) == writes, "neither reopened, nor another one opened, nor written again"
    forge.reopens(pull.number)
    look(web)
    web.wait_condition("OnHold", "Absent")
    web.merge_promotion("v2")
    web.wait_live("v2")


def test_a_newer_image_edits_it_and_a_cancelled_one_is_closed_without_a_hold(web: App, forge: ForgeOfRemote) -> None:
    offered(web, forge)
    web.push_image("v3")
    web.wait_offered("v3")
    web.scenario.advance(31)  # A body is not edited more often.
    look(web)
    eventually(lambda: forge.opened[0].title == f"{web.key}: v1 → v3 [test]", what="the title")
    web.push_image("v1")
    web.wait(lambda: not web.offered(), "the branch is withdrawn")
    eventually(lambda: not forge.opened, what="it is closed")
    web.push_image("v3")
    web.wait_offered("v3")
    eventually(lambda: forge.opened, what="another one")
    assert web.record.holds == ()
    assert len(forge.pulls) == 2


def test_a_forge_that_is_down_holds_up_nothing(web: App, forge: ForgeOfRemote) -> None:
    def fail(call: str) -> GitopsBgError:
        return DOWN

    forge.fails = fail
    web.promote("v2")
    web.push_image("v3")
    web.wait_offered("v3")
    for _ in range(4):
        web.scenario.advance(1000)
        web.scenario.agent.forge.poll_soon()
        before = len(forge.calls)
        eventually(lambda before=before: len(forge.calls) > before, what="it is asked again")
    web.wait(lambda: web.condition("PullRequest")["reason"] == "Trouble", "it is told")
    assert web.condition("PullRequest")["message"] == str(DOWN)
    forge.fails = lambda call: None
    web.scenario.advance(1000)
    web.scenario.agent.forge.poll_soon()
    eventually(lambda: forge.opened, what="its pull request, late")
    web.wait(lambda: web.condition("PullRequest")["reason"] == "Open", "it is told")


def test_a_forge_that_hangs_holds_up_neither_a_promotion_nor_the_end(web: App, forge: ForgeOfRemote) -> None:
    hanging, end = threading.Event(), threading.Event()

    def hang(call: str) -> None:
        hanging.set()
        end.wait(60)

    forge.fails = hang
    try:
        web.push_image("v2")
        assert hanging.wait(30)
        web.merge_promotion("v2")
        web.wait_live("v2")
        begun = time.monotonic()
        web.scenario.stop()
        assert time.monotonic() - begun < 8
    finally:
        end.set()


def test_who_names_no_forge_sees_nothing_of_it(world: Scenario, forge: ForgeOfRemote) -> None:
    world.start()
    web = world.app().deploy("v1")
    web.push_image("v2")
    web.wait_offered("v2")
    world.wait_idle()
    assert forge.calls == []
    assert "pullRequest" not in web.status
    assert web.condition("PullRequest")["reason"] == ""
    world.publish("settings", {"gitops-bg.yaml": SETTINGS})
    eventually(lambda: forge.opened, what="a pull request, as soon as the settings name a forge")
    web.wait(lambda: "pullRequest" in web.status, "it is told")
    world.publish("no forge", {"gitops-bg.yaml": None})
    web.wait(lambda: "pullRequest" not in web.status, "nothing is told of a forge that nobody names any more")


def test_who_merged_is_asked_after_the_switch_until_the_forge_answers_and_told_once(
    web: App, forge: ForgeOfRemote
) -> None:
    pull = offered(web, forge)
    head = forge.remote.head(web.promotion_branch)
    assert head is not None
    forge.given[pull.number] = [Review(BEN, ReviewVerdict.APPROVED, pull.updated_at, head)]
    forge.fails = lambda call: DOWN if call == "merged" else None
    promotion = web.merge_promotion("v2")
    web.wait_live("v2")
    web.wait(lambda: not web.offered(), "the branch is withdrawn")
    assert "merged" not in web.ledger_events(), "traffic waits for no answer"

    web.scenario.restart()
    forge.ends(pull.number, PullState.MERGED, BEN)
    forge.pulls[pull.number] = replace(forge.pulls[pull.number], merge_commit=promotion)
    forge.fails = lambda _: None
    web.scenario.advance(1000)
    web.scenario.wake()
    web.wait_told("merged")
    web.scenario.restart()
    web.scenario.wait_idle()
    entries = [each for each in web.ledger() if each["Event"] == "merged"]
    assert [(each["By"], each["Approved-By"]) for each in entries] == [("ben (gitea 4)", "ben (gitea 4)")]
    assert entries[0]["Commit"] == promotion


# --- a rollback that people put on the branch, because main takes only pull requests ---------------------------------


@pytest.fixture
def cli(world: Scenario, tmp_path: Path) -> Cli:
    """The command line for that world."""
    return Cli(world.remote, world.cluster.kubeconfig, tmp_path)


@pytest.fixture
def protected(web: App, forge: ForgeOfRemote) -> App:
    """v2 is live, v1 served before; main takes only pull requests from now on."""
    offered(web, forge, "v2")
    web.merge_offer()
    web.wait_live("v2")
    web.wait_told()
    web.wait(lambda: not web.offered(), "the branch is withdrawn")
    web.scenario.wake()
    eventually(lambda: not forge.opened, what="its pull request is over")
    web.scenario.remote.protect()
    return web


def rolled_back(cli: Cli, web: App) -> None:
    """A person asks for the way back; main refuses their commit."""
    cli("rollback", str(web.key), "-m", "errors", code=3)
    assert web.primary_digest(web.promotion_branch) == web.digest("v1")
    web.scenario.wake()


def titled(web: App, forge: ForgeOfRemote, title: str) -> None:
    """Wait until the open one has this title: a text is written once in 30 seconds."""

    def is_titled() -> bool:
        web.scenario.advance(31)
        web.scenario.wake()
        return [each.title for each in forge.opened] == [f"{web.key}: {title} [test]"]

    eventually(is_titled, what=title)


def test_it_has_a_pull_request_whose_status_lets_it_in_also_where_whoever_asked_knew_no_cluster(
    cli: Cli, protected: App, forge: ForgeOfRemote
) -> None:
    """No ledger says which cluster it is. Found so: the commit named one called default, and every agent left the
    branch to that one.
    """
    remote = protected.scenario.remote
    remote.run("push", "origin", ":gitops-bg/state/test")
    rolled_back(cli, protected)
    assert "[default]" not in remote.run("log", "-1", "--format=%s", protected.promotion_branch, cwd=remote.bare)
    titled(protected, forge, "back to v1 (v1)")
    eventually(lambda: status_of(protected, forge) == CheckState.SUCCESS, what="its status")
    assert "errors" in forge.opened[0].body
    protected.merge_offer()
    protected.wait_live("v1")


def test_it_takes_the_text_over_and_closing_it_holds_no_version(cli: Cli, protected: App, forge: ForgeOfRemote) -> None:
    pull = offered(protected, forge, "v3")
    rolled_back(cli, protected)
    titled(protected, forge, "back to v1 (v1)")
    assert [each.number for each in forge.opened] == [pull.number]
    eventually(lambda: status_of(protected, forge) == CheckState.SUCCESS, what="its status")
    forge.closes(pull.number)
    protected.scenario.wake()
    protected.wait(lambda: protected.condition("PullRequest")["reason"] == "Closed", "it is told")
    protected.scenario.wake()
    protected.scenario.wait_idle()
    assert not protected.record.held(protected.digest("v3"))
    protected.scenario.remote.run("push", "origin", f":{protected.promotion_branch}")
    protected.scenario.wake()
    protected.wait_offered("v3")
    titled(protected, forge, "v2 → v3")


def test_what_somebody_pushes_onto_the_branch_is_what_the_text_says(protected: App, forge: ForgeOfRemote) -> None:
    remote = protected.scenario.remote
    primary = f"{protected.folder}/primary.yaml"
    old = remote.show(remote.run("log", "--format=%H", "-1", "--skip=1", remote.branch, "--", primary).strip(), primary)
    offered(protected, forge, "v3")
    protected.scenario.pull()
    remote.run("fetch", "origin")
    remote.run("checkout", "-B", "edit", f"origin/{protected.promotion_branch}")
    remote.stage({primary: old})
    remote.commit("better this one")
    remote.run("push", "origin", f"edit:{protected.promotion_branch}")
    remote.run("checkout", remote.branch)
    titled(protected, forge, "back to v1 (v1)")
