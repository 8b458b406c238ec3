"""The executor's report of its work equals what the server shows, on both clusters."""

from __future__ import annotations

from gitops_bg.core.model.actions import (
    ApplyApp,
    ApplyService,
    ClusterAction,
    DeleteReplicaSet,
    PointPreview,
    ScaleReplicaSet,
)
from gitops_bg.core.names import replica_set_name
from tests.integration.cluster.scene import Scene, create, snapshot, switch

ONE, TWO = snapshot("v1"), snapshot("v2")


def done(scene: Scene, action: ClusterAction) -> list[str]:
    """Carry it out; what it says of it, without the namespace."""
    result = scene.subject.carry_out(scene.app, scene.config, action)
    assert result.action == action
    return [str(entry).replace(f"/{scene.app.namespace}/", " ") for entry in result.entries]


def test_each_action_says_what_it_created_configured_left_unchanged_and_deleted(scene: Scene) -> None:
    first, second = (replica_set_name(scene.app, number, each.digest) for number, each in ((1, ONE), (2, TWO)))
    assert done(scene, ApplyApp()) == ["BlueGreenDeployment web created"]
    assert done(scene, ApplyApp()) == ["BlueGreenDeployment web unchanged"]
    assert done(scene, create(ONE)) == [f"ReplicaSet {first} created"]
    scene.available(ONE)
    assert done(scene, switch(ONE, create=True)) == ["Service web created"]
    assert done(scene, create(TWO, number=2)) == [f"ReplicaSet {second} created"]
    assert done(scene, ApplyService("preview", "web-preview", ONE.digest, "x")) == ["Service web-preview created"]
    preview = PointPreview("web-preview", tuple(sorted(scene.selector(ONE).items())), TWO.digest)
    assert done(scene, preview) == ["Service web-preview configured"]
    scene.available(TWO)
    assert done(scene, switch(TWO, scene.selector(ONE), number=2)) == ["Service web configured"]
    assert done(scene, ScaleReplicaSet(ONE.digest, 1, 1, 0, "x")) == [f"ReplicaSet {first} configured"]
    assert done(scene, DeleteReplicaSet(first, ONE.digest, "x")) == [f"ReplicaSet {first} deleted"]
    assert done(scene, DeleteReplicaSet(first, ONE.digest, "x")) == []
