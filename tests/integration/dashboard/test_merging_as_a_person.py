"""What comes to main as a person is what they asked for and saw, whatever else is on the branch that all share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from gitops_bg.agent.groups.commands import GroupCommands
from gitops_bg.agent.operate.apps import AppCommands
from gitops_bg.agent.operate.asked import Answer, AppCommand, Asked
from gitops_bg.agent.operate.personal_forge import MergedPull
from gitops_bg.core.errors import CommandFailed, WorldChanged
from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.write.commits import Requester
from tests.integration.agent.environments.test_one_environment import enter, live_in_prod
from tests.support.cluster.clusters import SandboxCluster
from tests.support.groups import Store
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually

BEN = Requester(name="Ben", email="ben@example.com", subject="forge#ben", via="dashboard")
MALLORY = """apiVersion: gitops-bg.dev/v1alpha1
kind: Settings
access: [{role: admin, groups: [mallory]}]
"""

BESIDE = r"also changes gitops-bg\.yaml"


class Account:
    """An account at a forge that merges whatever it is asked to."""

    def __init__(self, pull: str = "https://forge/1") -> None:
        self.merged: list[tuple[str, str]] = []
        self.approved: list[tuple[str, str]] = []
        self.pull = pull
        self.refuses = ""

    def merge(self, branch: str, head: str, _title: str, _body: str) -> MergedPull:
        if self.refuses:
            raise CommandFailed(self.refuses)
        self.merged.append((branch, head))
        return MergedPull(self.pull, head)

    def approve(self, branch: str, head: str) -> str:
        self.approved.append((branch, head))
        return self.pull

    def open_pull(self, _branch: str) -> str:
        return self.pull


@pytest.fixture
def protected(sandbox_cluster: SandboxCluster, request: pytest.FixtureRequest) -> Iterator[Scenario]:
    """An agent whose main takes no commit from it."""
    folder = request.getfixturevalue("tmp_path")
    with scenario(sandbox_cluster, folder) as made:
        yield made


@pytest.fixture
def store(protected: Scenario) -> Store:
    """A group, v1 live and v2 a candidate, in a repository whose main is protected."""
    protected.start()
    made = Store(protected)
    cart = {"store-cart": "/store"}
    protected.publish("A store", {**made.group(), **made.version("v1", **cart), **made.version("v2", **cart)})
    made.wait("v1A v2C")
    protected.wait_idle()
    protected.remote.protect()
    return made


@pytest.fixture
def web(protected: Scenario) -> App:
    """An app, v1 live and v2 on its promotion branch."""
    protected.remote.protect()
    protected.start()
    app = protected.app().deploy_by_merge("v1")
    app.push_image("v2")
    app.wait_offered("v2")
    protected.wait_idle()
    return app


def of_groups(world: Scenario) -> GroupCommands:
    assert world.agent is not None
    return world.agent.group_commands


def of_apps(world: Scenario) -> AppCommands:
    assert world.agent is not None
    return world.agent.app_commands


def ask(store: Store, command: AppCommand, version: str = "", account: Account | None = None) -> Answer:
    group = GroupKey(store.world.namespace, store.name)
    asked = Asked(command=command, by=BEN, reason="INC-1", version_of_group=version, account=account)  # type: ignore[arg-type]
    done = of_groups(store.world).plan(group, asked).carry_out()
    store.world.wake()
    store.world.wait_idle()
    return done


def spec_at(store: Store, commit: str) -> dict[str, object]:
    text = store.world.remote.show(commit, f"{store.folder}/group.yaml")
    assert text is not None
    spec: dict[str, object] = yaml.safe_load(text)["spec"]
    return spec


def push_beside(world: Scenario, branch: str, files: dict[str, str], *, squashed: bool = False) -> str:
    """Somebody else's commit on top of a branch, or in place of it; return it."""
    remote = world.remote
    remote.run("fetch", "origin")
    remote.run("checkout", "-B", "beside", f"origin/{branch}")
    for path, text in files.items():
        remote.write(path, text)
    remote.commit("Tidy up")
    if squashed:
        remote.run("reset", "--soft", "origin/main")
        remote.commit("Promote, and tidy up")
    remote.run("push", "origin", f"+HEAD:refs/heads/{branch}")
    remote.run("checkout", "main")
    world.wake()
    world.wait_idle()
    return remote.head(branch)


@pytest.mark.parametrize("promoted_first", [True, False])
def test_a_suspension_and_a_promotion_of_a_group_that_wait_for_a_merge_keep_each_other(
    store: Store, promoted_first: bool
) -> None:
    wanted = [(AppCommand.PROMOTE, "v2"), (AppCommand.SUSPEND, "")]
    for command, version in wanted if promoted_first else reversed(wanted):
        done = ask(store, command, version)
        assert done.commit == store.world.remote.head(done.branch)
    spec = spec_at(store, done.branch)
    suspended = spec["suspend"]
    assert isinstance(suspended, dict)
    assert (spec["active"], suspended["reason"]) == ("v2", "INC-1")
    assert "With what was asked for before" in store.world.remote.message(done.branch)


def test_a_suspension_of_a_group_merged_as_a_person_promotes_nothing_that_waited(store: Store) -> None:
    ask(store, AppCommand.PROMOTE, "v2")
    account = Account()
    done = ask(store, AppCommand.SUSPEND, account=account)
    assert "it was merged as you" in done.says
    ((branch, commit),) = account.merged
    assert branch == f"gitops-bg/ask-groups/{store.world.namespace}/{store.name}/suspend"
    spec = spec_at(store, commit)
    assert (spec["active"], "suspend" in spec) == ("v1", True)


def test_what_is_beside_the_change_on_the_branch_of_a_group_is_not_merged_as_a_person(store: Store) -> None:
    branch = ask(store, AppCommand.PROMOTE, "v2").branch
    push_beside(store.world, branch, {"gitops-bg.yaml": MALLORY}, squashed=True)
    account = Account()
    done = ask(store, AppCommand.PROMOTE, "v2", account)
    assert account.merged == []
    assert f"{branch} also changes gitops-bg.yaml" in done.says
    with pytest.raises(CommandFailed, match=BESIDE):
        ask(store, AppCommand.APPROVE, account=account)
    assert account.approved == []


def test_what_cannot_be_kept_is_not_overwritten_either(store: Store) -> None:
    branch = ask(store, AppCommand.PROMOTE, "v2").branch
    text = store.world.remote.show(branch, f"{store.folder}/group.yaml") or ""
    webhooks = "  webhooks: [{name: release, type: confirm-promotion}]\n"
    head = push_beside(store.world, branch, {f"{store.folder}/group.yaml": text.rstrip() + "\n" + webhooks})
    with pytest.raises(WorldChanged, match="also changes webhooks of"):
        ask(store, AppCommand.SUSPEND)
    assert store.world.remote.head(branch) == head


def test_what_is_beside_the_change_on_the_branch_of_an_app_is_not_merged_as_a_person(web: App) -> None:
    commands, account = of_apps(web.scenario), Account()
    head = push_beside(web.scenario, web.promotion_branch, {"gitops-bg.yaml": MALLORY})
    eventually(lambda: commands.facts(web.key).offered_head == head, what="the agent has seen it")
    asked = Asked(command=AppCommand.PROMOTE, by=BEN, reason="x", account=account)  # type: ignore[arg-type]
    done = commands.plan(web.key, asked).carry_out()
    assert account.merged == []
    assert f"{web.promotion_branch} also changes gitops-bg.yaml" in done.says
    assert done.pull == account.pull, "it leads there"


def test_an_approval_is_of_the_commit_that_was_seen_and_of_nothing_beside_the_version(web: App) -> None:
    commands, account = of_apps(web.scenario), Account()

    def asked(digest: str = "", head: str = "") -> Asked:
        return Asked(command=AppCommand.APPROVE, by=BEN, digest=digest, head=head, account=account)  # type: ignore[arg-type]

    seen = commands.plan(web.key, asked())
    head = push_beside(web.scenario, web.promotion_branch, {"gitops-bg.yaml": MALLORY})
    eventually(lambda: commands.facts(web.key).offered_head == head, what="the agent has seen it")
    with pytest.raises(WorldChanged, match="has another commit by now"):
        commands.plan(web.key, asked(seen.digest, seen.head))
    with pytest.raises(CommandFailed, match=BESIDE):
        commands.plan(web.key, asked())
    assert account.approved == []


def test_a_request_that_nobody_can_merge_leaves_no_branch_and_one_that_waits_has_one(web: App) -> None:
    commands, account, remote = of_apps(web.scenario), Account(pull=""), web.scenario.remote
    account.refuses = "the forge says no"

    def suspend() -> Answer:
        asked = Asked(command=AppCommand.SUSPEND, by=BEN, reason="INC-1", account=account)  # type: ignore[arg-type]
        return commands.plan(web.key, asked).carry_out()

    def branches() -> list[str]:
        ask = "refs/heads/gitops-bg/ask"
        return remote.run("for-each-ref", "--format=%(refname:lstrip=2)", ask, cwd=remote.bare).split()

    with pytest.raises(CommandFailed, match="the forge says no; its branch is gone again"):
        suspend()
    assert branches() == []
    account.pull = "https://forge/2"
    done = suspend()
    assert (done.branch, branches()) == (f"gitops-bg/ask/{web.key}/suspend", [done.branch])
    assert f"{done.branch} asks to suspend by commit" in done.says
    assert suspend().commit == remote.head(done.branch), "it is updated in place"
    assert branches() == [done.branch]
    account.refuses = ""
    assert "it was merged as you" in suspend().says
    assert branches() == []


def test_in_an_environment_an_app_is_approved_suspended_and_resumed_there(protected: Scenario) -> None:
    app = live_in_prod(protected)
    enter(app, "v2", 2)
    app.wait(app.offered, "the promotion is offered")
    protected.wait_idle()
    commands, account = of_apps(protected), Account()

    def do(command: AppCommand) -> Answer:
        asked = Asked(command=command, by=BEN, reason="INC-1", account=account)  # type: ignore[arg-type]
        return commands.plan(app.key, asked).carry_out()

    do(AppCommand.APPROVE)
    assert account.approved == [(app.promotion_branch, protected.remote.head(app.promotion_branch))]
    assert app.promotion_branch.startswith("gitops-bg/promote-in/prod/")
    do(AppCommand.SUSPEND)
    written = yaml.safe_load(protected.remote.show("main", f"{app.own_folder}/app.yaml") or "")
    assert written["spec"]["suspend"]["reason"] == "INC-1"
    app.wait_phase("Suspended")
    protected.wait_idle()
    do(AppCommand.RESUME)
    app.wait(lambda: app.phase() != "Suspended", "it goes on")
