"""An app that has another name: that one takes its preview Service, and it ends once no request reaches it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.actions import ApplyApp, ApplyService, DeleteApp, PointPreview
from gitops_bg.core.model.spec import Adoption
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import APP, replica_set_name, selector
from gitops_bg.spec.app.load import AppConfig
from tests.integration.cluster.scene import Scene, config, create, snapshot
from tests.support.cluster.paths import services
from tests.support.cluster.rawapi import JSON_PATCH
from tests.support.waiting import eventually

ONE = snapshot("v1")
ENDS = DeleteApp(moved_to="shop")


def renamed(scene: Scene) -> Scene:
    return replace(scene, app=AppKey(scene.app.namespace, "shop"))


def agreeing(scene: Scene) -> AppConfig:
    """The folder of the app under its new name."""
    said = config(scene.app)
    assert said.spec is not None
    return replace(said, spec=replace(said.spec, adopt=Adoption(app="web", left=("web",))))


def lead(scene: Scene, labels: dict[str, str], name: str = "web") -> None:
    """Have a Service select other pods, as another app does that takes it over, or a person."""
    change = [{"op": "add", "path": "/spec/selector", "value": labels}]
    scene.cluster.patch(f"{services(scene.app.namespace)}/{name}", change, JSON_PATCH)


def test_it_does_not_end_while_a_request_may_reach_it(scene: Scene) -> None:
    scene.serve(ONE)
    for labels in (scene.selector(ONE), {APP: "web"}, {"team": "shop"}):
        lead(scene, labels)
        with pytest.raises(WorldChanged, match="the active Service web selects"):
            scene.do(ENDS)
    lead(scene, selector(renamed(scene).app, ONE.digest))
    name = replica_set_name(scene.app, 1, ONE.digest)
    pod = {"kind": "Pod", "name": f"{name}-abcde", "uid": "5eed"}
    late = scene.cluster.add_ready_endpoint(scene.app.namespace, "web", pod)  # Its controller is late to change it.
    with pytest.raises(WorldChanged, match=f"the endpoints of the active Service web still lead to {name}"):
        scene.do(ENDS)
    scene.cluster.delete(late)
    eventually(lambda: ended(scene), what="the endpoints have followed, and it ends")
    eventually(lambda: not scene.observe().app_uid, what="it is gone")


def ended(scene: Scene) -> bool:
    try:
        scene.do(ENDS)
    except WorldChanged:
        return False
    return True


def test_a_version_without_pods_keeps_nothing_back(scene: Scene) -> None:
    scene.do(ApplyApp(), create(ONE, replicas=0), ApplyService("active", "web", ONE.digest, "told to"))
    scene.until(lambda seen: seen.replica_sets and seen.app_uid)
    scene.do(ENDS)
    eventually(lambda: not scene.observe().app_uid, what="it is gone")


def test_the_preview_service_goes_along_in_one_write_over_what_was_read(scene: Scene) -> None:
    scene.serve(ONE)
    scene.do(ApplyService("preview", "web-preview", ONE.digest, "told to"))
    new, folder = renamed(scene), agreeing(scene)
    new.do(ApplyApp(), create(ONE), config=folder)
    before = tuple(sorted(scene.selector(ONE).items()))
    late = PointPreview("web-preview", (("app", "other"),), ONE.digest, adopts=True)
    with pytest.raises(WorldChanged):
        new.do(late, config=folder)
    take = replace(late, expected_selector=before)
    with pytest.raises(WorldChanged, match="somebody's by now"):
        new.do(take, config=config(scene.app))
    new.do(take, config=folder)
    found = scene.live("services", "web-preview")
    assert found["spec"]["selector"] == new.selector(ONE)
    assert found["metadata"]["labels"][APP] == "shop"
    assert [owner["name"] for owner in found["metadata"]["ownerReferences"] if owner.get("controller")] == ["shop"]
    seen = new.observe(folder).preview_service
    assert seen is not None
    assert (seen.ours, seen.app) == (True, "")
