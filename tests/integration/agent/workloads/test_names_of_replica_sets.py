"""An agent goes on with the ReplicaSets that an older release named, on both clusters: no pod restarts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.digest import short
from tests.conformance.steps import wait_sizes
from tests.support.auxiliary_objects import HPA, aim, autoscale, hpa, publish, wait_aim
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import pods, replica_sets
from tests.support.cluster.rawapi import JSON_PATCH, MERGE
from tests.support.scenario import App, Scenario, scenario


@pytest.fixture
def either(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    """On both clusters, one after the other."""
    with scenario(cluster, tmp_path) as made:
        yield made


@pytest.fixture
def upgraded(either: Scenario, monkeypatch: pytest.MonkeyPatch) -> App:
    """The app `web` as an agent with the former names left it: v1 warm, v2 live, v3 offered; today's agent runs."""
    with monkeypatch.context() as older:
        older.setattr(
            names, "replica_set_name", lambda app, _number, digest: names.former_replica_set_name(app, digest)
        )
        either.start()
        web = either.app().deploy("v1")
        publish(web, "hpa", hpa())
        wait_aim(web, "v1")
        web.promote("v2")
        wait_aim(web, "v2")
        web.push_image("v3")
        web.wait_offered("v3")
        wait_sizes(web, v1=2, v2=2, v3=2)
        either.wait_idle()
        either.stop()
    assert named(web) == {tag: f"web-primary-{short(web.digest(tag))}" for tag in ("v1", "v2", "v3")}
    return web


def named(web: App) -> dict[str, str]:
    """The names of the ReplicaSets by tag: exactly one each."""
    found = web.scenario.cluster.list(replica_sets(web.key.namespace))
    assert len(found) == len(web.versions())
    return {tag: version.name for tag, version in web.versions().items()}


def running(web: App) -> dict[str, str]:
    """The names of all pods by uid."""
    found = web.scenario.cluster.list(pods(web.key.namespace))
    return {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in found}


def test_what_an_older_release_named_goes_on_and_only_the_next_version_has_the_new_name(upgraded: App) -> None:
    web, world = upgraded, upgraded.scenario
    sets, before = named(web), running(web)
    assert len(before) == 6
    world.start()
    world.wait_idle()
    assert (named(web), web.live_tag(), aim(web)) == (sets, "v2", "v2")

    merge = web.merge_promotion("v3")
    web.wait_live("v3")
    web.wait_told("promoted", 2)
    wait_aim(web, "v3")
    autoscale(web, "v3", 4)
    wait_sizes(web, v1=4, v2=4, v3=4)
    web.wait(lambda: web.versions()["v3"].available == 4, "the autoscaler's pods are ready")
    web.revert(merge)
    web.wait_live("v2")
    wait_aim(web, "v2")
    world.wait_idle()
    assert named(web) == sets
    assert before.items() <= running(web).items(), "no pod restarted"

    web.push_image("v4")
    web.wait_offered("v4")
    assert named(web) == sets | {"v4": f"web-v4-{short(web.digest('v4'))}"}
    web.merge_promotion("v4")
    web.wait_live("v4")
    wait_aim(web, "v4")
    assert {uid for uid, name in before.items() if name.startswith(sets["v2"])} <= running(web).keys()


CHANGES = {
    "its template": [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "evil:1"}],
    "its labels": {"metadata": {"labels": {names.MANAGED_BY: None}}},
    "its snapshot": {"metadata": {"annotations": {names.SNAPSHOT: None}}},
    "the digest that it claims to run": {"metadata": {"annotations": {names.FULL_DIGEST: "v1:" + "0" * 64}}},
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_an_older_release_named_is_repaired_under_its_name(upgraded: App, what: str) -> None:
    web, world = upgraded, upgraded.scenario
    sets, before = named(web), running(web)
    world.start()
    world.wait_idle()
    path = f"{replica_sets(web.key.namespace)}/{sets['v2']}"
    good = world.cluster.get(path)

    def content(found: dict) -> tuple[object, ...]:
        metadata = found["metadata"]
        return metadata["uid"], metadata["labels"], metadata["annotations"], found["spec"]["template"]["spec"]

    change = CHANGES[what]
    world.cluster.patch(path, change, JSON_PATCH if isinstance(change, list) else MERGE)
    web.wait(lambda: content(world.cluster.get(path)) == content(good), "it is repaired")
    world.wait_idle()
    assert (named(web), web.live_tag(), aim(web)) == (sets, "v2", "v2")
    assert running(web) == before


def test_version_whose_former_replica_set_somebody_deleted_comes_back_under_the_new_name(upgraded: App) -> None:
    web, world = upgraded, upgraded.scenario
    sets = named(web)
    world.start()
    world.wait_idle()
    world.cluster.delete(f"{replica_sets(web.key.namespace)}/{sets['v1']}")
    web.wait(lambda: "v1" in web.versions(), "v1 is back")
    assert named(web) == sets | {"v1": f"web-v1-{short(web.digest('v1'))}"}
    assert (web.live_tag(), aim(web, HPA)) == ("v2", "v2")
