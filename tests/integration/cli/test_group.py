"""The verbs about release groups: their stages, and the commits that change them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.integration.cli.conftest import AUTHOR, Cli
from tests.support.cluster.clusters import SandboxCluster
from tests.support.groups import Store
from tests.support.scenario import Scenario
from tests.support.waiting import eventually


@contextmanager
def looked_at_again_and_again(world: Scenario) -> Iterator[None]:
    """The agent looks at Git several times a second."""
    enough = threading.Event()

    def look() -> None:
        while not enough.wait(0.2):
            world.wake()

    looks = threading.Thread(target=look)
    looks.start()
    try:
        yield
    finally:
        enough.set()
        looks.join()


@pytest.fixture
def store(world: Scenario) -> Store:
    return Store(world)


def test_a_group_is_shown_promoted_rolled_back_and_a_version_of_it_deleted(cli: Cli, store: Store) -> None:
    store.begin()
    name = f"{store.world.namespace}/store"
    (shown,) = cli.json("group", "get", "-n", store.world.namespace)["items"]
    assert (shown["active"], shown["candidates"], shown["phase"]) == ("v1", ["v2"], "Healthy")
    assert "record" not in shown

    promoted = cli.json("group", "promote", name, "v2")
    assert promoted["changed"] is True
    assert 'active: "v2"' in (store.world.remote.show("main", f"{store.folder}/group.yaml") or "")
    assert store.world.remote.log()[0].subject == "store: promote v2"
    assert store.world.remote.log()[0].author in AUTHOR
    store.world.wake()
    store.wait("v1L v2A")
    assert "main asks for v2 already" in cli("group", "promote", name, "v2")

    cli("group", "rollback", name, "v1")
    store.world.wake()
    store.wait("v1A v2C")
    store.wait_for_ledger("rolled-back")
    told = cli.json("group", "history", name)["entries"]
    assert [(each["event"], each.get("fromVersion"), each["toVersion"]) for each in told] == [
        ("rolled-back", 2, 1),
        ("promoted", 1, 2),
        ("candidate", None, 2),
        ("deployed", None, 1),
    ]
    assert cli.json("history", name)["entries"] == told
    assert told[1]["commit"] == promoted["commit"]
    text = cli("group", "history", name, "--limit", "1")
    assert [word in text for word in ("rolled-back", "v2", told[0]["commit"][:10])] == [True] * 3
    assert "promoted" not in text
    cli("group", "delete", name, "v2")
    store.world.wake()
    store.wait("v1A")
    assert store.world.remote.show("main", f"{store.folder}/v2/cart/target.yaml") is None


def test_the_verbs_of_apps_are_about_a_group_where_it_has_the_name(cli: Cli, store: Store) -> None:
    store.begin()
    store.world.wait_idle()
    name = f"{store.world.namespace}/store"
    (shown,) = cli.json("get", name)["items"]
    assert (shown["active"], shown["candidates"]) == ("v1", ["v2"])
    for verb in ("get", "tree", "explain", "plan", "diff"):
        said, by_group = (re.sub(r" +\d+s\b", "", cli(*words, name)) for words in ((verb,), ("group", verb)))
        assert said == by_group, verb
    assert cli.json("promote", name, "-m", "looked at it")["version"] == "v2", "the only candidate"
    assert store.world.remote.log()[0].subject == "store: promote v2"
    store.world.wake()
    store.wait("v1L v2A")
    assert "has no version to promote" in cli("promote", name, code=1)
    assert "main asks for v1" in cli("rollback", name)
    store.world.wake()
    store.wait("v1A v2C")
    store.wait_for_ledger("rolled-back")
    assert cli("history", name, "--limit", "1") == cli("group", "history", name, "--limit", "1")
    with looked_at_again_and_again(store.world):
        assert "main asks for v2" in cli("promote", name, "--to", "2", "--wait")
    assert store.stages() == "v1L v2A"


def test_a_list_has_apps_and_groups_and_members_below_their_group(cli: Cli, store: Store) -> None:
    """A member is an app like any other: what it lacks is seen, and whose it is. Groups alone are the same list."""
    store.begin()
    store.world.app().deploy("one")
    store.world.wait_idle()
    here = ("-n", store.world.namespace)
    lines = cli("get", *here).splitlines()
    assert lines[0].split()[:3] == ["NAMESPACE", "NAME", "KIND"]
    rows = [re.split(r" {2,}", line)[1:6] for line in lines[1:]]
    assert rows == [
        ["store", "group", "Healthy", "v1", "-"],
        ["auth-v1", "app of store", "Healthy", "v1 (v1)", "blue"],
        ["cart-v1", "app of store", "Healthy", "v1 (v1)", "blue"],
        ["cart-v2", "app of store", "Healthy", "v2 (v1)", "blue"],
        ["web", "app", "Healthy", "one (v1)", "blue"],
    ]
    items = cli.json("get", *here)["items"]
    assert [(each["kind"], each["name"], each.get("group")) for each in items] == [
        ("group", "store", None),
        *(("app", name, "store") for name in ("auth-v1", "cart-v1", "cart-v2")),
        ("app", "web", ""),
    ]
    assert "record" not in items[0]
    assert [each for each in items if each["kind"] == "group"] == cli.json("group", "get", *here)["items"]
    alone = cli("group", "get", *here).splitlines()
    assert [line.split()[1:5] for line in alone] == [line.split()[1:5] for line in lines[:2]]


def test_where_groups_may_not_be_listed_apps_are_and_that_is_said(
    cli: Cli, world: Scenario, sandbox_cluster: SandboxCluster
) -> None:
    world.start()
    world.app().deploy("v1")
    sandbox_cluster.sandbox.faults.refuse("list", "releasegroups", world.namespace)
    said = cli("get", "-n", world.namespace)
    assert "Healthy" in said
    assert "release groups are not listed: " in said


def test_an_app_of_the_same_name_is_meant_and_what_it_lacks_is_looked_for_in_no_group(cli: Cli, store: Store) -> None:
    store.begin()
    name, remote = f"{store.world.namespace}/store", store.world.remote
    assert "main has no version v9 of" in cli("promote", name, "--to", "v9", code=5)
    store.activate("v2")
    store.wait("v1L v2A")
    store.world.app("store").deploy("one")
    store.world.wait_idle()
    head = remote.head()
    lacking = cli("rollback", name, "--to", "some-tag", code=5)
    assert "some-tag" in lacking
    assert "release group" not in lacking
    assert remote.head() == head


def test_a_name_of_neither_kind_is_said_to_be_no_app(cli: Cli, store: Store) -> None:
    store.begin()
    missing = f"{store.world.namespace}/nothing"
    for verb in ("get", "explain", "diff", "promote", "rollback"):
        assert f"app {missing}" in cli(verb, missing, code=5), verb
    store.world.stop()
    late = cli("promote", f"{store.world.namespace}/store", "--wait", "--timeout", "1s", code=1)
    assert "requests have not moved to v2 within 1s" in late
    said = cli("promote", f"{store.world.namespace}/store", "--full", code=5)
    assert "of a release group: No such option: --full" in said


def test_where_main_takes_no_commit_the_branch_of_the_group_has_it_and_its_merge_promotes(
    cli: Cli, store: Store
) -> None:
    """As `gitops-bg promote` does of an app; whoever merges it, it is one commit for all services."""
    store.begin()
    store.world.wait_idle()
    remote, name = store.world.remote, f"{store.world.namespace}/store"
    branch = f"gitops-bg/promote-groups/{name}"
    remote.protect()
    head = remote.head()
    said = cli("group", "promote", name, "v2", code=3)
    assert "main takes no commit from you: " in said
    assert f"offered on {branch}; merge it: git merge --no-ff origin/{branch}" in said
    again = cli.json("group", "promote", name, "v2", code=3)
    assert (again["changed"], again["offeredOn"], again["commit"]) == (False, branch, remote.head(branch))
    assert "protected" in again["refused"]
    assert remote.head() == head
    remote.merge(branch)
    store.world.wake()
    store.wait("v1L v2A")
    eventually(lambda: remote.head(branch) is None, what="the branch that main has is gone")
    assert "offered on" in cli("group", "rollback", name, "v1", code=3)
    assert 'active: "v1"' in (remote.show(branch, f"{store.folder}/group.yaml") or "")
    assert "offered on" in cli("group", "delete", name, "v1", code=3)
    assert remote.show(branch, f"{store.folder}/v1/cart/target.yaml") is None


def test_where_no_branch_takes_it_either_it_says_what_to_do(cli: Cli, store: Store) -> None:
    store.begin()
    store.world.wait_idle()
    store.world.remote.refuse("*")
    said = " ".join(cli("group", "promote", f"{store.world.namespace}/store", "v2", code=3).split())
    assert "main takes no commit from you: " in said
    assert f"; nor does gitops-bg/promote-groups/{store.world.namespace}/store: " in said
    assert said.endswith("Make the change on a branch of your own and open a pull request")


def test_verbs_are_held_to_stages_and_to_what_there_is_before_they_commit_anything(cli: Cli, store: Store) -> None:
    """Found so: a rollback to a candidate promoted it, and what the group rejects was committed to main first."""
    store.begin()
    store.world.wait_idle()
    name, remote = f"{store.world.namespace}/store", store.world.remote
    head = remote.head()
    assert f"main has no version v9 of {name}; it has v1, v2" in cli("group", "promote", name, "v9", code=5)
    assert "'two' is no version; write v1, v2" in cli("group", "promote", name, "two", code=2)
    assert f"main has no group other; it has {name}" in cli("group", "promote", "other", "v2", code=5)
    assert "the cluster has no group other" in cli("group", "get", "other", code=5)
    assert "v1 is active: promote another version, or roll back, first" in cli("group", "delete", name, "v1", code=1)
    assert f"main has no version v9 of {name}" in cli("group", "delete", name, "v9", code=5)
    said = cli("group", "rollback", name, "v2", code=1)
    assert f"to have v2: gitops-bg promote {name} --to v2; nothing was committed" in said
    assert remote.head() == head
    cli("group", "promote", name, "v2")
    store.world.wake()
    store.wait("v1L v2A")
    store.world.wait_idle()
    head = remote.head()
    said = cli("group", "promote", name, "v1", code=1)
    assert f"v1 is legacy: to go back to it, gitops-bg rollback {name} --to v1; nothing was committed" in said
    assert "v2 is active" in cli("group", "delete", name, "v2", code=1)
    assert remote.head() == head
    cli.env["GITOPS_BG_KUBECONFIG"] = "/nowhere"
    said = cli("group", "rollback", name, "v1")
    assert f"nobody could ask in which stages the versions of {name} are, so this is not checked: " in said
    assert remote.log()[0].subject == "store: roll back to v1"


def test_in_a_group_with_a_mistake_nothing_is_promoted_and_the_active_version_is_not_deleted(
    cli: Cli, store: Store
) -> None:
    store.begin()
    store.world.wait_idle()
    name, remote = f"{store.world.namespace}/store", store.world.remote
    routes = f"{store.folder}/v2/cart/routes.yaml"
    store.world.publish("A mistake", {routes: "kind: nonsense\n"})
    eventually(lambda: store.status()["phase"] == "Invalid", what="the agent has read it")
    head = remote.head()
    assert "v1 is active: promote another version" in cli("group", "delete", name, "v1", code=1)
    assert remote.head() == head

    store.spec["archiveSize"] = -1
    store.world.publish("Another mistake", {**store.group(), routes: None})
    said = cli("group", "promote", name, "v2", code=1)
    assert "group.yaml:" in said
    assert "-1 is too small (write 0 or more)" in said

    head = store.world.publish("A worse one", {f"{store.folder}/group.yaml": "spec: ["})
    assert "nobody can read which version groups/" in cli("group", "delete", name, "v1", code=1)
    assert remote.head() == head
