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
    live,
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


def is_adopted(on: Stage) -> bool:
    if is_gone(on):
        return False
    record = on.web.record
    return bool(on.web.live_tag() == "v1" and record.adopted and not (record.release or record.released))


def marks(live: Json) -> dict[str, object]:
    """What is ours in the metadata of an object."""
    metadata = live["metadata"]
    texts = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    ours = {key: text for key, text in texts.items() if key.startswith(names.GROUP) or text == names.MANAGER}
    return ours | ({"owners": metadata["ownerReferences"]} if metadata.get("ownerReferences") else {})


def service_of(on: Stage) -> Json:
    return on.cluster.get(f"{services(on.world.namespace)}/web")


def test_revert_to_target_gives_live_traffic_back_and_then_the_app_goes(tmp_path: Path) -> None:
    """The second version serves and a third waits: it gets nothing, although the Deployment's labels are its own."""
    with stage(tmp_path) as on:
        live(on)
        before = service_of(on)
        on.load.start()
        on.web.spec["deletionPolicy"] = "revertToTarget"
        be_adopted(on)
        on.web.promote("v2")
        on.wait_used("v2")
        on.web.push_image("v3")
        on.web.wait_offered("v3")
        remove(on)
        on.web.wait(lambda: is_gone(on), "the app is gone", 60)
        on.wait_used(OLD)
        eventually(lambda: not on.cluster.list(replica_sets(on.world.namespace), labelSelector=names.APP), what="gone")
        assert [deployment_size(on), pods_of_ours(on), labels_of_pods(on)] == [2, 0, {"web"}]
        after = service_of(on)
        assert (after["spec"], marks(after)) == (before["spec"], {})
        assert on.web.ledger_events()[-2:] == ["released", "deleted"]
        assert on.load.shares(0).keys() == {OLD, "v1", "v2"}
        assert not [each.failure for each in on.load.failures()]


def test_a_folder_that_comes_back_before_its_app_is_gone_is_adopted_anew(tmp_path: Path) -> None:
    """Nobody meant it: the removal is reverted while live traffic is on its way back."""
    with stage(tmp_path) as on:
        live(on)
        on.load.start()
        on.web.spec["deletionPolicy"] = "revertToTarget"
        be_adopted(on)
        removed = remove(on)
        eventually(lambda: deployment_size(on) == 2, what="it is on its way")
        on.web.revert(removed)
        on.web.wait(lambda: is_adopted(on), "it is adopted, or adopted anew", 60)
        on.wait_used("v1")
        assert not [each.failure for each in on.load.failures()]


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
    def prepare(on: Stage) -> None:
        on.web.spec["deletionPolicy"] = policy
        be_adopted(on)

    serves = "v1" if policy == "orphan" else OLD
    with dying(tmp_path, fewest=4, prepare=prepare) as (on, agents):
        remove(on)
        agents.until(lambda: is_gone(on), "the app is gone")
        agents.until(lambda: on.web.ledger_events()[-1] == "deleted", "the ledger says so")
        on.wait_used(serves)
        assert marks(service_of(on)) == {}
        assert pods_of_ours(on) == (2 if policy == "orphan" else 0)
        assert deployment_size(on) == (0 if policy == "orphan" else 2)
        assert on.web.ledger_events().count("deleted") == 1
