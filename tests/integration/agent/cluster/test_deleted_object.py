"""The BlueGreenDeployment deleted by hand is drift: live traffic, numbers and the ledger stay as they are."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster.clusters import SandboxCluster, TestCluster
from tests.support.cluster.paths import replica_sets
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually


@pytest.fixture
def either(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    """On both clusters, one after the other."""
    with scenario(cluster, tmp_path) as made:
        yield made


def _uids(app: App) -> dict[str, str]:
    """What traffic depends on, by name."""
    world = app.scenario
    services = {name: world.live("services", name) for name in ("web", "web-preview")}
    found = {name: each["metadata"]["uid"] for name, each in services.items() if each}
    sets = world.cluster.list(replica_sets(world.namespace))
    pods = world.cluster.list(f"/api/v1/namespaces/{world.namespace}/pods")
    return found | {each["metadata"]["name"]: each["metadata"]["uid"] for each in (*sets, *pods)}


def _numbers(app: App) -> dict[str, str]:
    return {tag: version.number for tag, version in app.versions().items()}


@pytest.mark.parametrize("cascade", ["foreground", "background"])
def test_deletion_by_hand_is_no_outage_no_entry_and_no_new_number(either: Scenario, cascade: str) -> None:
    either.start()
    web = either.app().deploy("v1")
    web.promote("v2")
    web.push_image("v3")
    web.wait_offered("v3")
    web.wait_told()
    either.wait_idle()
    before, numbers, told, uid = _uids(web), _numbers(web), web.ledger_events(), web.object()["metadata"]["uid"]

    # kubectl waits for ever for the deletion of what is made anew between two of its looks.
    command = ("delete", "bgd", "web", "-n", either.namespace, f"--cascade={cascade}", "--wait=false")
    done = either.cluster.kubectl(*command)
    assert done.returncode == 0, done.stderr

    eventually(lambda: (either.live("bluegreendeployments", "web") or {}).get("metadata", {}).get("uid", uid) != uid)
    web.wait_phase("AwaitingPromotion")
    eventually(lambda: all(_owned(web, either)), what="everything is taken up again")
    either.wait_idle()
    assert _uids(web) == before
    assert _numbers(web) == numbers
    assert web.ledger_events() == told
    assert web.live_tag() == "v2"
    web.merge_offer()
    web.wait_live("v3")


def _owned(web: App, world: Scenario) -> Iterator[bool]:
    uid = web.object()["metadata"]["uid"]
    services = [world.live("services", name) for name in ("web", "web-preview")]
    for each in (*world.cluster.list(replica_sets(world.namespace)), *services):
        owners = each["metadata"].get("ownerReferences", []) if each else []
        kinds = sorted(owner["kind"] for owner in owners)
        yield kinds == ["BlueGreenDeployment", "Namespace"] and uid in {owner["uid"] for owner in owners}


def test_without_the_right_to_read_namespaces_all_else_works(own_sandbox: SandboxCluster, tmp_path: Path) -> None:
    own_sandbox.sandbox.faults.refuse("get", "namespaces")
    with scenario(own_sandbox, tmp_path) as world:
        world.start()
        web = world.app().deploy("v1")
        web.promote("v2")
        world.wait_idle()
        assert [each["kind"] for each in world.live("services", "web")["metadata"]["ownerReferences"]] == [
            "BlueGreenDeployment"
        ]
