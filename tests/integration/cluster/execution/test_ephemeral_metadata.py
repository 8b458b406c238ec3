"""`activeMetadata` and `previewMetadata` on live objects: in place, remembered, taken away; no drift, no restart."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.cluster.manifests import pod_templates
from gitops_bg.cluster.manifests.pod_templates import EphemeralMetadata
from gitops_bg.core import names
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.actions import ApplyApp, ScaleReplicaSet, SyncPodMetadata
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.observed import Observed, ReplicaSetView
from gitops_bg.core.model.version import NO_METADATA, PodMetadata, Snapshot
from tests.integration.cluster.scene import Scene, create, snapshot
from tests.support.cluster.paths import pods, replica_sets
from tests.support.cluster.rawapi import MERGE, Json

PREVIEW = PodMetadata((("role", "preview"), ("tier", "blue")), (("example.com/note", "not live"),))
ACTIVE = PodMetadata((("role", "active"),), (("example.com/since", "today"),))

UNREADABLE = ["", "x", "{}", "[]", "null", '{"labels": "a"}', '{"labels": ["a"]}', '{"former": [1]}']


@pytest.mark.parametrize("text", UNREADABLE)
def test_annotation_that_says_nothing_adds_nothing(text: str) -> None:
    assert pod_templates.read_metadata(text) == EphemeralMetadata()


WORN = [
    EphemeralMetadata(),
    EphemeralMetadata(ACTIVE),
    EphemeralMetadata(ACTIVE).changed(PREVIEW),
    EphemeralMetadata(ACTIVE).changed(PREVIEW).changed(NO_METADATA),
]


@pytest.mark.parametrize("worn", WORN)
def test_annotation_comes_back_as_it_was_written(worn: EphemeralMetadata) -> None:
    assert pod_templates.read_metadata(pod_templates.written_metadata(worn)) == worn


def test_all_that_pods_may_still_carry_is_remembered_until_each_was_looked_at() -> None:
    worn = EphemeralMetadata(PREVIEW).changed(ACTIVE).changed(NO_METADATA)
    assert {key for key, _ in worn.former.labels} == {"role", "tier"}
    assert pod_templates.written_metadata(worn.settled()) == ""
    assert EphemeralMetadata(ACTIVE).changed(ACTIVE) == EphemeralMetadata(ACTIVE)


def test_our_labels_cannot_be_taken_the_place_of() -> None:
    ours = {names.DIGEST: "3f9c"}
    dressed = pod_templates.dress({}, PodMetadata(((names.DIGEST, "other"), ("role", "active"))), ours)
    assert dressed["metadata"]["labels"] == {names.DIGEST: "3f9c", "role": "active"}


def dressing(of: Snapshot, metadata: PodMetadata) -> SyncPodMetadata:
    return SyncPodMetadata(of.digest, 1, metadata)


def view(seen: Observed) -> ReplicaSetView:
    return seen.replica_sets[0]


def live_pods(scene: Scene) -> list[Json]:
    return scene.cluster.list(pods(scene.app.namespace))


def carried(scene: Scene, *keys: str) -> list[dict[str, Any]]:
    """Of each pod, by age: its labels and annotations of these keys."""
    found = []
    for pod in live_pods(scene):
        both = {**pod["metadata"]["labels"], **(pod["metadata"].get("annotations") or {})}
        found.append({key: both[key] for key in keys if key in both})
    return found


KEYS = ("role", "tier", "example.com/note", "example.com/since")
AS_PREVIEW = {"role": "preview", "tier": "blue", "example.com/note": "not live"}
AS_ACTIVE = {"role": "active", "example.com/since": "today"}


@pytest.fixture
def one(scene: Scene) -> Snapshot:
    """A version with two pods that are available, dressed as a candidate."""
    made = snapshot("v1")
    scene.do(ApplyApp(), create(made, replicas=2, metadata=PREVIEW))
    scene.available(made, 2)
    return made


def test_pods_are_born_with_it_and_it_is_no_drift(scene: Scene, one: Snapshot) -> None:
    assert carried(scene, *KEYS) == [AS_PREVIEW] * 2
    found = view(scene.observe())
    assert (found.metadata, found.pods_outdated, found.drifted) == (PREVIEW, False, False)
    assert found.snapshot == one


def test_it_changes_in_place_first_in_the_template_then_on_the_pods_that_are_there(scene: Scene, one: Snapshot) -> None:
    before = {pod["metadata"]["uid"] for pod in live_pods(scene)}
    scene.do(create(one, replicas=2, repair=True, metadata=ACTIVE))
    seen = scene.until(lambda seen: view(seen).pods_outdated)
    assert view(seen).metadata == ACTIVE
    assert carried(scene, *KEYS) == [AS_PREVIEW] * 2

    scene.do(dressing(one, ACTIVE))

    assert carried(scene, *KEYS) == [AS_ACTIVE] * 2
    assert {pod["metadata"]["uid"] for pod in live_pods(scene)} == before
    assert not view(scene.until(lambda seen: not view(seen).pods_outdated)).drifted
    assert {pod["metadata"]["labels"][names.DIGEST] for pod in live_pods(scene)} == {scene.selector(one)[names.DIGEST]}

    scene.do(ScaleReplicaSet(one.digest, 1, 2, 3, "told to"))
    scene.available(one, 3)
    assert carried(scene, *KEYS) == [AS_ACTIVE] * 3


def test_it_is_taken_away_also_where_the_agent_died_in_between(scene: Scene, one: Snapshot) -> None:
    """Dead after the template was changed, twice: what stood there before is remembered on the ReplicaSet."""
    scene.do(create(one, replicas=2, repair=True, metadata=ACTIVE))
    scene.do(create(one, replicas=2, repair=True))
    scene.until(lambda seen: view(seen).pods_outdated and view(seen).metadata == NO_METADATA)
    scene.do(dressing(one, NO_METADATA))

    assert carried(scene, *KEYS) == [{}] * 2
    live = scene.live("replicasets", names.replica_set_name(scene.app, 1, one.digest))
    assert names.POD_METADATA not in live["metadata"]["annotations"]
    assert "role" not in live["spec"]["template"]["metadata"]["labels"]


def test_template_gets_its_own_label_back_and_what_others_put_on_pods_stays(scene: Scene) -> None:
    spec = {"containers": [{"name": "web", "image": "registry.example/web:v1"}]}
    one = snapshot_of({"metadata": {"labels": {"role": "from Git"[:4]}}, "spec": spec})
    scene.do(ApplyApp(), create(one, metadata=ACTIVE))
    scene.available(one)
    (pod,) = live_pods(scene)
    path = f"{pods(scene.app.namespace)}/{pod['metadata']['name']}"
    scene.cluster.patch(path, {"metadata": {"labels": {"theirs": "yes"}}}, MERGE)

    scene.do(create(one, repair=True))
    scene.until(lambda seen: view(seen).pods_outdated)
    scene.do(dressing(one, NO_METADATA))

    assert carried(scene, "role", "theirs", "example.com/since") == [{"role": "from", "theirs": "yes"}]


def test_repair_of_a_template_keeps_it(scene: Scene, one: Snapshot) -> None:
    path = f"{replica_sets(scene.app.namespace)}/{names.replica_set_name(scene.app, 1, one.digest)}"
    scene.cluster.patch(path, {"spec": {"template": {"metadata": {"labels": {"role": "hand"}}}}}, MERGE)
    scene.until(lambda seen: view(seen).drifted)
    scene.do(create(one, replicas=2, repair=True, metadata=PREVIEW))
    found = view(scene.until(lambda seen: not view(seen).drifted))
    assert (found.metadata, found.pods_outdated) == (PREVIEW, False)


def test_pods_wait_for_a_template_that_says_so(scene: Scene, one: Snapshot) -> None:
    with pytest.raises(WorldChanged, match="does not give role=active"):
        scene.do(dressing(one, ACTIVE))
