"""The folder of an app leaves main while people use the app: no request fails, whatever its policy says."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_bg.core import names
from tests.integration.traffic.adopted import (
    OLD,
    be_adopted,
    deployment_size,
    dying,
    labels_of_pods,
    pods_of_ours,
)
from tests.integration.traffic.stage import Stage, stage
from tests.support.cluster.paths import replica_sets, services
from tests.support.cluster.rawapi import Json
from tests.support.waiting import eventually


def configured(on: Stage, policy: str) -> None:
    """The policy is known before the folder goes: one that comes with its removal does not count."""
    on.web.spec["deletionPolicy"] = policy
    on.web.configure()
    on.web.wait(lambda: on.web.object()["spec"].get("deletionPolicy") == policy, "the policy is known")


def remove(on: Stage) -> str:
    return on.world.publish("Remove web", {on.web.folder: None})


def is_gone(on: Stage) -> bool:
    return on.world.live(names.PLURAL, "web") is None


def marks(live: Json) -> dict[str, object]:
    """What is ours in the metadata of an object."""
    metadata = live["metadata"]
    texts = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    ours = {key: text for key, text in texts.items() if key.startswith(names.GROUP) or text == names.MANAGER}
    return ours | ({"owners": metadata["ownerReferences"]} if metadata.get("ownerReferences") else {})


def service_of(on: Stage) -> Json:
    return on.cluster.get(f"{services(on.world.namespace)}/web")


def test_an_orphan_serves_on_and_is_nobodys(tmp_path: Path) -> None:
    with stage(tmp_path) as on:
        on.web.strategy["previewService"] = "web-preview"
        on.world.start()
        on.web.deploy("v1")
        on.web.promote("v2")
        on.load.start()
        configured(on, "orphan")
        before = service_of(on)
        sizes = {name: each.replicas for name, each in on.web.versions().items()}
        removed = remove(on)
        on.web.wait(lambda: is_gone(on), "the app is gone")
        assert on.web.ledger_events()[-1] == "deleted"
        mark = len(on.load)
        eventually(lambda: len(on.load) > mark + 200, what="people go on asking")
        assert service_of(on)["spec"] == before["spec"]
        left = on.cluster.list(replica_sets(on.world.namespace))
        assert sorted(each["spec"]["replicas"] for each in left) == sorted(sizes.values())
        everything = [*left, *on.cluster.list(services(on.world.namespace))]
        assert [marks(each) for each in everything] == [{}] * 4

        on.web.revert(removed)  # The name is taken by then: it is said, and nothing is touched.
        said = on.web.wait_condition("Conflict")
        assert "kubectl label service web" in said["message"]
        on.world.wait_idle()
        assert [marks(each) for each in on.cluster.list(replica_sets(on.world.namespace))] == [{}] * 2
        assert on.load.shares(mark).keys() == {"v2"}
        assert not [each.failure for each in on.load.failures()]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["orphan", "revertToTarget"])
def test_whatever_write_the_agent_dies_after_leaving_loses_no_request(tmp_path: Path, policy: str) -> None:
    """The second version serves and a third waits: it gets nothing, although the Deployment's labels are its own."""

    def prepare(on: Stage) -> None:
        on.web.spec["deletionPolicy"] = policy
        be_adopted(on)
        on.web.promote("v2")
        on.wait_used("v2")
        on.web.push_image("v3")
        on.web.wait_offered("v3")

    serves = "v2" if policy == "orphan" else OLD
    with dying(tmp_path, fewest=4, prepare=prepare) as (on, agents):
        before = service_of(on)["spec"]
        remove(on)
        agents.until(lambda: is_gone(on), "the app is gone")
        agents.until(lambda: on.web.ledger_events()[-1] == "deleted", "the ledger says so")
        on.wait_used(serves)
        assert marks(service_of(on)) == {}
        assert "v3" not in on.load.shares(0)
        if policy == "orphan":
            assert service_of(on)["spec"] == before
            assert deployment_size(on) == 0
        else:
            assert service_of(on)["spec"]["selector"] == {"app": "web"}
            assert labels_of_pods(on) == {"web"}
            assert (deployment_size(on), pods_of_ours(on)) == (2, 0)
        assert on.web.ledger_events().count("deleted") == 1
