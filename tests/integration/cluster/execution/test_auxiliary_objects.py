"""Auxiliary objects on both clusters: made, recognised, repaired, aimed, deleted; what is not ours is left alone."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.cluster.api.errors import ForeignObject, NotFound
from gitops_bg.core.errors import Transient
from gitops_bg.core.model.actions import ApplyApp, ApplyAuxiliaryObject, DeleteAuxiliaryObject
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.model.record import LastRead, Record
from gitops_bg.core.names import replica_set_name
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.manifests.auxiliary import UNKNOWN, AuxiliaryObjects
from tests.integration.cluster.scene import Scene, create, snapshot, watching
from tests.support.auxiliary_objects import BUDGET, HPA, SCALED_OBJECT, budget, hpa, keda, scaled_object, untracked
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import Json

V1, V2 = snapshot("v1"), snapshot("v2")
PATHS = {
    HPA: ("autoscaling/v2", "autoscaling/v2beta2"),
    BUDGET: ("policy/v1", "policy/v1beta1"),
    "ConfigMap": ("v1",),
    "Secret": ("v1",),
    SCALED_OBJECT: ("keda.sh/v1alpha1",),
}


def written(scene: Scene, *manifests: Json) -> AppConfig:
    """What the folder says, with these auxiliary objects."""
    given = {auxiliary_object_of(each): each for each in manifests}
    return replace(scene.config, auxiliary_objects=AuxiliaryObjects(given))


def auxiliary_object_of(manifest: Json) -> AuxiliaryObject:
    return AuxiliaryObject(manifest["kind"], manifest["metadata"]["name"])


def path(scene: Scene, auxiliary_object: AuxiliaryObject) -> str:
    """Where this cluster has it."""
    found = [collection(each, auxiliary_object.kind, scene.app.namespace) for each in PATHS[auxiliary_object.kind]]
    served = next(each for each in found if scene.cluster.request("GET", each)[0] == 200)
    return f"{served}/{auxiliary_object.name}"


def live(scene: Scene, manifest: Json) -> Any:
    return scene.cluster.find(path(scene, auxiliary_object_of(manifest)))


def apply(scene: Scene, manifest: Json, of: str = "") -> None:
    """Have the code under test apply it; an autoscaler aimed at the version of a digest."""
    action = ApplyAuxiliaryObject(auxiliary_object_of(manifest), "told to", of, 1 if of else None)
    scene.do(action, config=written(scene, manifest))


def seen(scene: Scene, manifest: Json) -> AuxiliaryView | None:
    views = scene.observe(written(scene, manifest)).auxiliary_objects
    return next(iter(views), None)


QPS = {"metric": {"name": "qps"}, "target": {"type": "AverageValue", "averageValue": 0.5}}
DETAILED = hpa(behavior={"scaleDown": {"stabilizationWindowSeconds": 60}}, metrics=[{"type": "Pods", "pods": QPS}])
NO_LESS = {"minAvailable": "50%"}
EACH: Mapping[str, Json] = {
    "an HPA": hpa(),
    "an HPA that the server writes differently": DETAILED,
    "a budget": budget(**NO_LESS),
    "a ConfigMap": untracked(level="info", empty=""),
    "a Secret": {**untracked("Secret"), "stringData": {"token": "x"}, "data": {"other": "eA=="}},
}


@pytest.mark.parametrize("name", EACH)
def test_what_was_applied_is_as_git_says_also_for_an_agent_that_has_just_begun(scene: Scene, name: str) -> None:
    """In whatever version the server has: autoscaling/v2 is v2beta2 on 1.20, policy/v1 is v1beta1."""
    manifest = EACH[name]
    scene.do(ApplyApp())
    assert seen(scene, manifest) is None
    apply(scene, manifest, V1.digest if manifest["kind"] == HPA else "")
    view = seen(scene, manifest)
    aim = replica_set_name(scene.app, 1, V1.digest) if manifest["kind"] == HPA else ""
    assert view == AuxiliaryView(auxiliary_object_of(manifest), scale_target=aim)
    owner = live(scene, manifest)["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("BlueGreenDeployment", "web", True)


def test_a_secret_holds_what_its_texts_say(scene: Scene) -> None:
    scene.do(ApplyApp())
    apply(scene, EACH["a Secret"])
    assert live(scene, EACH["a Secret"])["data"] == {"token": base64.b64encode(b"x").decode(), "other": "eA=="}


def _lower_the_maximum(body: Json) -> Json:
    return {"spec": {"maxReplicas": 3}}


def _take_the_labels(body: Json) -> Json:
    return {"metadata": {"labels": {"gitops-bg.dev/app": None}}}


def _protect_nobody(body: Json) -> Json:
    return {"spec": {"minAvailable": "0%"}}


def _change_a_value(body: Json) -> Json:
    return {"data": {"level": "debug"}}


def _add_a_key(body: Json) -> Json:
    return {"data": {"more": "x"}}


def _remove_a_key(body: Json) -> Json:
    return {"data": {"empty": None}}


REPAIRS: list[tuple[str, Callable[[Json], Json]]] = [
    ("an HPA", _lower_the_maximum),
    ("an HPA", _take_the_labels),
    ("a budget", _protect_nobody),
    ("a ConfigMap", _change_a_value),
    ("a ConfigMap", _add_a_key),
    ("a ConfigMap", _remove_a_key),
    ("a ConfigMap", _take_the_labels),
]


@pytest.mark.parametrize(("name", "change"), REPAIRS, ids=lambda each: getattr(each, "__name__", each))
def test_what_somebody_changed_is_repaired(scene: Scene, name: str, change: Callable[[Json], Json]) -> None:
    manifest, aim = EACH[name], V1.digest if EACH[name]["kind"] == HPA else ""
    scene.do(ApplyApp())
    apply(scene, manifest, aim)
    before = live(scene, manifest)
    scene.cluster.patch(path(scene, auxiliary_object_of(manifest)), change(before))
    view = seen(scene, manifest)
    assert view is not None
    assert view.drifted
    apply(scene, manifest, aim)
    after = live(scene, manifest)
    for key in ("spec", "data"):
        assert after.get(key) == before.get(key)
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert not seen(scene, manifest).drifted


def test_a_field_that_left_git_leaves_the_cluster(scene: Scene) -> None:
    shorter = hpa(metrics=DETAILED["spec"]["metrics"])
    scene.do(ApplyApp())
    apply(scene, DETAILED, V1.digest)
    assert seen(scene, shorter).drifted
    apply(scene, shorter, V1.digest)
    # Where 1.20 fills in a whole behavior, it keeps the rest of that, which is what it does without any.
    behavior = live(scene, shorter)["spec"].get("behavior") or {}
    assert "stabilizationWindowSeconds" not in behavior.get("scaleDown", {})
    assert not seen(scene, shorter).drifted


def test_an_autoscaler_that_git_does_not_describe_just_now_is_only_aimed_anew(scene: Scene) -> None:
    """Git is away, and an operator rolls back."""
    scene.do(ApplyApp(), create(V1), create(V2, number=2))
    apply(scene, DETAILED, V2.digest)
    before = live(scene, DETAILED)
    copy = auxiliary_object_of(DETAILED)
    scene.do(
        ApplyAuxiliaryObject(copy, "told to", V1.digest, 1), config=replace(scene.config, auxiliary_objects=UNKNOWN)
    )
    after = live(scene, DETAILED)
    assert after["spec"].pop("scaleTargetRef")["name"] == replica_set_name(scene.app, 1, V1.digest)
    before["spec"].pop("scaleTargetRef")
    assert after["spec"] == before["spec"]
    views = scene.observe(
        replace(scene.config, auxiliary_objects=UNKNOWN), Record(last_read=LastRead(auxiliary_objects=(copy,)))
    ).auxiliary_objects
    assert views == (AuxiliaryView(copy, scale_target=replica_set_name(scene.app, 1, V1.digest)),)


def test_what_is_not_ours_is_neither_overwritten_nor_deleted(scene: Scene) -> None:
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "flags", "namespace": scene.app.namespace}}
    scene.cluster.apply({**theirs, "data": {"level": "theirs"}}, manager="helm")
    ours = untracked(level="ours")
    scene.do(ApplyApp())
    whose = f"ConfigMap {scene.app.namespace}/flags is made by somebody else"
    assert seen(scene, ours).owner.startswith(whose)
    assert "kubectl label configmap flags" in seen(scene, ours).owner
    with pytest.raises(ForeignObject, match=whose):
        apply(scene, ours)
    with pytest.raises(ForeignObject, match=whose):
        scene.do(DeleteAuxiliaryObject(auxiliary_object_of(ours), "told to"))
    assert live(scene, ours)["data"] == {"level": "theirs"}


def test_what_is_deleted_is_gone_and_may_be_deleted_again(scene: Scene) -> None:
    scene.do(ApplyApp())
    apply(scene, budget())
    scene.do(DeleteAuxiliaryObject(auxiliary_object_of(budget()), "it left Git"))
    assert live(scene, budget()) is None
    scene.do(DeleteAuxiliaryObject(auxiliary_object_of(budget()), "it left Git"))


def test_a_kind_that_the_server_does_not_have_is_named_until_it_has_it(scene: Scene) -> None:
    """KEDA is installed while the agent runs, and taken away again."""
    missing = "this cluster has no CustomResourceDefinition scaledobjects.keda.sh"
    scene.do(ApplyApp())
    assert missing in seen(scene, scaled_object()).trouble
    with pytest.raises(NotFound, match=missing):
        apply(scene, scaled_object(), V1.digest)
    with keda(scene.cluster):
        assert seen(scene, scaled_object()) is None
        apply(scene, scaled_object(), V1.digest)
        view = seen(scene, scaled_object())
        assert (view.trouble, view.drifted, view.scale_target) == ("", False, replica_set_name(scene.app, 1, V1.digest))
    assert seen(scene, scaled_object()).trouble
    assert missing in seen(scene, scaled_object()).trouble
    known = LastRead(auxiliary_objects=(auxiliary_object_of(scaled_object()),))
    assert scene.observe(record=Record(last_read=known)).auxiliary_objects == ()


def test_a_deleted_autoscaler_is_not_remembered_while_the_server_does_not_answer(
    own_sandbox: SandboxCluster,
) -> None:
    own_sandbox.install_our_kind()
    with watching(own_sandbox, own_sandbox.namespace()) as scene:
        scene.do(ApplyApp())
        apply(scene, hpa(), V1.digest)
        assert seen(scene, hpa()) is not None
        gone = DeleteAuxiliaryObject(auxiliary_object_of(hpa()), "it left the folder")
        scene.do(gone, config=written(scene))
        own_sandbox.sandbox.faults.refuse("get", "horizontalpodautoscalers", status=500)
        with pytest.raises(Transient):
            seen(scene, hpa())
