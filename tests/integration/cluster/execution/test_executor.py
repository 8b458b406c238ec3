"""Each action on both clusters: what it writes, and when it refuses (I1, I2, foreign objects, lost races)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.cluster.api.errors import ForeignObject
from gitops_bg.core import names
from gitops_bg.core.errors import InvalidInput, Refused, WorldChanged
from gitops_bg.core.model.actions import (
    ApplyApp,
    ApplyService,
    ClusterAction,
    DeleteApp,
    DeleteReplicaSet,
    HandBack,
    MarkService,
    PointPreview,
    RepairSelector,
    ScaleReplicaSet,
)
from gitops_bg.core.model.version import AppKey, short
from tests.integration.cluster.scene import Scene, config, create, snapshot, switch
from tests.support import manifests
from tests.support.cluster.paths import replica_sets, services
from tests.support.cluster.rawapi import APPLY, JSON_PATCH, MERGE, Json
from tests.support.waiting import eventually

ONE, TWO = snapshot("v1"), snapshot("v2")


def scale(of: object, current: int, to: int) -> ScaleReplicaSet:
    return ScaleReplicaSet(of.digest, 1, current, to, "told to")  # type: ignore[attr-defined]


def name_of(scene: Scene, of: object) -> str:
    return names.replica_set_name(scene.app, 2 if of is TWO else 1, of.digest)  # type: ignore[attr-defined]


# The BlueGreenDeployment.


def test_the_app_is_made_from_git_and_seen_at_once(scene: Scene) -> None:
    scene.do(ApplyApp())
    seen = scene.observe()
    assert seen.app_uid
    assert not seen.app_drifted
    assert not seen.app_foreign
    assert scene.subject.apps() == [scene.app]


def test_a_change_of_the_apps_live_spec_is_seen_and_repaired(scene: Scene) -> None:
    scene.do(ApplyApp())
    path = f"/apis/gitops-bg.dev/v1alpha1/namespaces/{scene.app.namespace}/bluegreendeployments/web"
    body = {"spec": {"strategy": {"blueGreen": {"activeService": "other"}}}}
    scene.cluster.patch(path, body, MERGE)
    scene.until(lambda seen: seen.app_drifted)
    scene.do(ApplyApp())
    assert not scene.observe().app_drifted


def test_an_app_somebody_made_by_hand_is_not_taken_over_until_it_is_labelled(scene: Scene) -> None:
    spec = dict(config(scene.app).body)
    metadata = {"name": "web", "namespace": scene.app.namespace}
    head = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": metadata}
    scene.cluster.apply({**head, "spec": spec})
    scene.until(lambda seen: seen.app_foreign)
    with pytest.raises(ForeignObject, match="made by somebody else; to hand it over: kubectl label"):
        scene.do(ApplyApp())
    assert scene.subject.apps() == []
    scene.cluster.apply({**head, "metadata": metadata | {"labels": {names.MANAGED_BY: names.MANAGER}}, "spec": spec})
    scene.until(lambda seen: not seen.app_foreign)
    scene.do(ApplyApp())
    assert not scene.observe().app_drifted


def test_deleting_the_app_deletes_all_it_owns(scene: Scene) -> None:
    scene.serve(ONE)
    scene.do(DeleteApp())
    # The first collection of a new custom kind takes the garbage collector of 1.20 up to a minute.
    eventually(lambda: not scene.observe().app_uid and not scene.observe().replica_sets)
    where = services(scene.app.namespace)
    eventually(lambda: scene.cluster.find(f"{where}/web") is None, what="the Service is collected")


# ReplicaSets.


def test_a_version_runs_as_written_with_our_labels_on_top(scene: Scene) -> None:
    scene.do(ApplyApp(), create(ONE, replicas=2, min_ready_seconds=0))
    live = scene.live("replicasets", name_of(scene, ONE))
    assert live["spec"]["replicas"] == 2
    assert live["spec"]["selector"]["matchLabels"] == scene.selector(ONE)
    labels = live["spec"]["template"]["metadata"]["labels"]
    assert labels == {"team": "shop", **scene.selector(ONE), names.COLOR: "blue", names.VERSION: "1"}
    assert live["metadata"]["annotations"][names.FULL_DIGEST] == ONE.digest
    assert live["metadata"]["annotations"][names.SNAPSHOT] == ONE.text
    owner, second = live["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == (names.KIND, "web", True)
    assert (second["kind"], second["name"]) == ("Namespace", scene.app.namespace)
    scene.available(ONE, pods=2)
    (view,) = scene.observe().replica_sets
    assert (view.snapshot, view.replicas, view.ours, view.drifted) == (ONE, 2, True, False)


def test_a_tampered_template_is_seen_and_repaired(scene: Scene) -> None:
    scene.do(ApplyApp(), create(ONE))
    path = f"{replica_sets(scene.app.namespace)}/{name_of(scene, ONE)}"
    change = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "evil:1"}]
    scene.cluster.patch(path, change, JSON_PATCH)
    scene.until(lambda seen: seen.replica_sets[0].drifted)
    scene.do(create(ONE, repair=True))
    scene.until(lambda seen: not seen.replica_sets[0].drifted)
    assert (
        scene.live("replicasets", name_of(scene, ONE))["spec"]["template"]["spec"]["containers"][0]["image"] != "evil:1"
    )


def test_quantities_defaults_and_ports_without_protocol_are_no_drift(scene: Scene) -> None:
    resources = {"requests": {"cpu": 0.5, "memory": "1024Mi"}, "limits": {"cpu": "1000m"}}
    tricky = snapshot(
        "v9",
        resources=resources,
        env=[{"name": "EMPTY", "value": ""}, {"name": "A", "value": "1"}],
        ports=[{"containerPort": 8080}, {"containerPort": 8080, "protocol": "UDP"}],
        readinessProbe={"httpGet": {"port": 8080, "path": "/"}},
    )
    scene.do(ApplyApp(), create(tricky))
    scene.available(tricky)
    assert not scene.observe().replica_sets[0].drifted


def test_a_repair_that_changes_nothing_is_not_asked_for_again(scene: Scene) -> None:
    """What the server makes of our intent is no drift, even where we do not know its normalisation (I5)."""
    odd = snapshot("v9", resources={"limits": {"memory": "0.0005Gi"}}, securityContext={"runAsUser": 0})
    scene.do(ApplyApp(), create(odd), create(odd, repair=True))
    assert not scene.observe().replica_sets[0].drifted


def test_an_invalid_template_is_refused_with_the_servers_words(scene: Scene) -> None:
    broken = snapshot("v9", image="")
    scene.do(ApplyApp())
    with pytest.raises(Refused, match="image"):
        scene.do(create(broken))


def test_a_foreign_replica_set_is_left_alone_and_shown(scene: Scene) -> None:
    scene.do(ApplyApp())
    theirs = manifests.replica_set(scene.app.namespace, name_of(scene, ONE), replicas=0)
    before = scene.cluster.create(replica_sets(scene.app.namespace), theirs)
    with pytest.raises(ForeignObject, match="made by somebody else"):
        scene.do(create(ONE))
    after = scene.live("replicasets", name_of(scene, ONE))
    assert after["metadata"].get("labels") == before["metadata"].get("labels")
    assert after["spec"] == before["spec"]
    (view,) = scene.observe().replica_sets
    assert not view.ours
    assert "made by somebody else" in view.owner
    scene.cluster.delete(f"{replica_sets(scene.app.namespace)}/{name_of(scene, ONE)}")
    eventually(lambda: not scene.observe().replica_sets, what="it is noticed that the foreign one is gone")


def test_scaling_is_a_compare_and_swap(scene: Scene) -> None:
    scene.do(ApplyApp(), create(ONE, replicas=1))
    scene.available(ONE)  # Nobody else writes to it any more.
    scene.do(scale(ONE, 1, 2))
    assert scene.observe().replica_sets[0].replicas == 2, "our own write is in the cache at once"
    with pytest.raises(WorldChanged):
        scene.do(scale(ONE, 1, 5))
    assert scene.live("replicasets", name_of(scene, ONE))["spec"]["replicas"] == 2


@pytest.mark.parametrize("how", ["scaled down", "deleted"])
def test_what_serves_is_never(how: str, scene: Scene) -> None:
    scene.serve(ONE)
    action = scale(ONE, 1, 0) if how == "scaled down" else DeleteReplicaSet(name_of(scene, ONE), ONE.digest, "told to")
    with pytest.raises(WorldChanged, match="the active Service web selects"):
        scene.do(action)
    assert scene.live("replicasets", name_of(scene, ONE))["spec"]["replicas"] == 1


def test_what_serves_by_somebody_elses_hand_is_not_scaled_down_either(scene: Scene) -> None:
    scene.serve(ONE)
    scene.do(create(TWO, number=2))
    moved = {"spec": {"selector": {**scene.selector(TWO)}}}
    scene.cluster.patch(f"{services(scene.app.namespace)}/web", moved, MERGE)
    with pytest.raises(WorldChanged, match="selects"):
        scene.do(scale(TWO, 1, 0))


@pytest.mark.parametrize("of_a_group", [True, False])
def test_what_the_service_of_a_release_group_follows_is_not_scaled_down(scene: Scene, of_a_group: bool) -> None:
    """And a Service of somebody else, which happens to have the service's name, keeps no pods."""
    member = replace(scene, app=AppKey(scene.app.namespace, "cart-v1"))
    member.do(ApplyApp())
    member.until(lambda seen: seen.app_uid)
    member.do(create(ONE))
    labels = {names.RELEASE_GROUP: "store"} if of_a_group else {}
    spec = {"selector": member.selector(ONE), "ports": [{"port": 80, "protocol": "TCP"}]}
    scene.cluster.create(services(scene.app.namespace), {"metadata": {"name": "cart", "labels": labels}, "spec": spec})
    if of_a_group:
        with pytest.raises(WorldChanged, match="cart selects"):
            member.do(scale(ONE, 1, 0))
    else:
        member.do(scale(ONE, 1, 0))


def test_what_serves_with_more_pods_than_the_target_asks_for_is_scaled_to_its_size(scene: Scene) -> None:
    scene.serve(ONE)
    scene.do(scale(ONE, 1, 3))
    scene.do(replace(scale(ONE, 3, 2), serving=True))
    assert scene.live("replicasets", name_of(scene, ONE))["spec"]["replicas"] == 2


def test_what_does_not_serve_is_scaled_down_and_deleted(scene: Scene) -> None:
    scene.serve(ONE)
    scene.do(create(TWO, number=2), scale(TWO, 1, 0), DeleteReplicaSet(name_of(scene, TWO), TWO.digest, "told to"))
    assert [view.name for view in scene.observe().replica_sets] == [name_of(scene, ONE)]
    scene.do(DeleteReplicaSet(name_of(scene, TWO), TWO.digest, "again, after a crash"))


# Traffic.


def test_the_first_switch_makes_the_service_from_the_ports_of_the_pods(scene: Scene) -> None:
    scene.serve(ONE)
    live = scene.live("services", "web")
    assert live["spec"]["selector"] == scene.selector(ONE)
    (port,) = live["spec"]["ports"]
    assert (port["name"], port["port"], port["targetPort"]) == ("http", 8080, "http")
    seen = scene.until(lambda seen: seen.active_service and seen.active_service.ready_endpoints == 1)
    assert seen.active_service is not None
    assert not seen.active_service.drifted
    assert seen.active_service.ours


def test_a_service_from_git_is_made_as_written(scene: Scene) -> None:
    written = manifests.service(scene.app.namespace, "web", ignored="selector")
    written["metadata"]["annotations"] = {"team": "shop"}
    del written["spec"]["ports"][0]["protocol"]
    asked = config(scene.app, web=written)
    scene.do(ApplyApp(), create(ONE))
    scene.available(ONE)
    scene.do(switch(ONE, create=True), config=asked)
    live = scene.live("services", "web")
    assert (live["spec"]["ports"][0]["port"], live["spec"]["selector"]) == (80, scene.selector(ONE))
    assert live["metadata"]["annotations"]["team"] == "shop"
    assert not scene.observe(asked).active_service.drifted  # type: ignore[union-attr]
    assert scene.observe().active_service.drifted  # type: ignore[union-attr]


def test_a_service_without_any_port_is_the_authors_to_solve(scene: Scene) -> None:
    silent = snapshot("v1", ports=[])
    scene.do(ApplyApp(), create(silent))
    scene.available(silent)
    with pytest.raises(InvalidInput, match=r"target\.yaml.*containerPort"):
        scene.do(switch(silent, create=True), config=config(scene.app, silent))


def test_a_switch_is_one_write_and_seen_at_once(scene: Scene) -> None:
    scene.serve(ONE)
    scene.do(create(TWO, number=2))
    scene.available(TWO)
    before = len(scene.cluster.writes())
    scene.do(switch(TWO, scene.selector(ONE), number=2))
    assert scene.observe().active_service.digest == short(TWO.digest)  # type: ignore[union-attr]
    assert scene.live("services", "web")["spec"]["selector"] == scene.selector(TWO)

    def patches() -> list[object]:
        return [each for each in scene.cluster.writes()[before:] if f"{scene.app.namespace}/services/web" in each.path]

    assert eventually(patches, what="the write is in the audit log")
    assert len(patches()) == 1


def test_a_switch_that_somebody_forestalled_is_refused(scene: Scene) -> None:
    scene.serve(ONE)
    scene.do(create(TWO, number=2))
    scene.available(TWO)
    moved = {"spec": {"selector": {"color": "mine"}}}
    scene.cluster.patch(f"{services(scene.app.namespace)}/web", moved, MERGE)
    with pytest.raises(WorldChanged):
        scene.do(switch(TWO, scene.selector(ONE), number=2))
    assert scene.live("services", "web")["spec"]["selector"]["color"] == "mine"


def test_a_wiped_selector_can_be_the_expected_one(scene: Scene) -> None:
    scene.serve(ONE)
    scene.cluster.patch(f"{services(scene.app.namespace)}/web", {"spec": {"selector": None}}, MERGE)
    scene.until(lambda seen: seen.active_service and not seen.active_service.selector)
    scene.do(switch(ONE, {}))
    assert scene.live("services", "web")["spec"]["selector"] == scene.selector(ONE)


def test_traffic_does_not_move_to_pods_that_are_not_available(scene: Scene) -> None:
    scene.serve(ONE)
    bad = snapshot("bad")
    scene.do(create(bad, number=2))
    with pytest.raises(WorldChanged, match=r"0 available pods, not 1|has not looked at"):
        scene.do(switch(bad, scene.selector(ONE), number=2))
    with pytest.raises(WorldChanged, match="is gone"):
        scene.do(switch(TWO, scene.selector(ONE), number=2))
    assert scene.live("services", "web")["spec"]["selector"] == scene.selector(ONE)


def test_going_back_needs_no_available_pods_where_none_are_asked_for(scene: Scene) -> None:
    scene.serve(ONE)
    bad = snapshot("bad")
    scene.do(create(bad, number=2), switch(bad, scene.selector(ONE), needs_available=0))
    assert scene.live("services", "web")["spec"]["selector"] == scene.selector(bad)


def test_a_foreign_service_is_not_taken_over_until_it_is_labelled(scene: Scene) -> None:
    theirs = manifests.service(scene.app.namespace, "web", app="web")
    before = scene.cluster.create(services(scene.app.namespace), theirs)
    scene.do(ApplyApp(), create(ONE))
    scene.available(ONE)
    seen = scene.observe().active_service
    assert seen is not None
    assert not seen.ours
    assert "Service" in seen.owner
    assert "kubectl label service web" in seen.owner
    for action in (switch(ONE, create=True), ApplyService("active", "web", ONE.digest, "told to")):
        with pytest.raises(ForeignObject, match="kubectl label service web"):
            scene.do(action)
    with pytest.raises(WorldChanged):
        scene.do(switch(ONE, {"app": "web"}))
    assert scene.live("services", "web")["spec"] == before["spec"]
    labels = {names.MANAGED_BY: names.MANAGER, names.APP: "web"}
    scene.cluster.patch(f"{services(scene.app.namespace)}/web", {"metadata": {"labels": labels}}, MERGE)
    scene.until(lambda seen: seen.active_service and seen.active_service.ours)
    scene.do(switch(ONE, {"app": "web"}))
    assert scene.live("services", "web")["spec"]["selector"] == scene.selector(ONE)


def test_a_service_that_appeared_after_we_looked_is_not_overwritten(scene: Scene) -> None:
    scene.do(ApplyApp(), create(ONE))
    scene.available(ONE)
    assert scene.observe().active_service is None
    scene.cluster.create(services(scene.app.namespace), manifests.service(scene.app.namespace, "web", app="web"))
    with pytest.raises(ForeignObject):
        scene.do(switch(ONE, create=True))
    assert not scene.observe().active_service.ours  # type: ignore[union-attr]


def test_a_changed_port_is_repaired_and_a_port_that_left_git_goes(scene: Scene) -> None:
    written = manifests.service(scene.app.namespace, "web")
    extra = {"name": "metrics", "port": 9090, "protocol": "TCP", "targetPort": 9090}
    both = {**written, "spec": {"ports": [*written["spec"]["ports"], extra]}}
    scene.do(ApplyApp(), create(ONE))
    repair = ApplyService("active", "web", ONE.digest, "told to")
    scene.do(repair, config=config(scene.app, web=both))
    assert len(scene.live("services", "web")["spec"]["ports"]) == 2
    assert not scene.observe(config(scene.app, web=both)).active_service.drifted  # type: ignore[union-attr]
    scene.do(repair, config=config(scene.app, web=written))
    assert len(scene.live("services", "web")["spec"]["ports"]) == 1


def test_a_service_of_which_git_cannot_be_read_keeps_all_but_what_makes_it_ours(scene: Scene) -> None:
    written = manifests.service(scene.app.namespace, "web")
    written["metadata"]["annotations"] = {"team": "shop"}
    scene.do(ApplyApp(), create(ONE))
    repair = ApplyService("active", "web", ONE.digest, "told to")
    scene.do(repair, config=config(scene.app, web=written))
    before = scene.live("services", "web")
    unread = replace(config(scene.app), whole=False)
    assert not scene.observe(unread).active_service.drifted  # type: ignore[union-attr]
    foreign = {"metadata": {"labels": {names.APP: None}}, "spec": {"selector": {"app": "else"}}}
    scene.cluster.patch(f"{services(scene.app.namespace)}/web", foreign, MERGE)
    scene.until(lambda _: scene.observe(unread).active_service.drifted)  # type: ignore[union-attr]
    scene.do(repair, config=unread)
    after = scene.live("services", "web")
    assert after["spec"] == before["spec"]
    for key in ("labels", "annotations", "ownerReferences"):
        assert after["metadata"][key] == before["metadata"][key]
    scene.do(repair, config=config(scene.app, web=written))
    assert scene.live("services", "web")["spec"] == before["spec"]


def test_a_key_that_somebody_added_to_the_selector_goes(scene: Scene) -> None:
    scene.serve(ONE)
    scene.cluster.patch(f"{services(scene.app.namespace)}/web", {"spec": {"selector": {"app": "else"}}}, MERGE)
    scene.until(lambda seen: seen.active_service and not seen.active_service.digest)
    scene.do(ApplyService("active", "web", ONE.digest, "somebody changed its selector"))
    assert scene.live("services", "web")["spec"]["selector"] == scene.selector(ONE)


@pytest.mark.parametrize("refused", [False, True])
def test_a_live_service_is_led_back_whatever_else_git_says_of_it(scene: Scene, refused: bool) -> None:
    """What the server refuses of its manifest is applied after that."""
    scene.serve(ONE)
    scene.cluster.patch(f"{services(scene.app.namespace)}/web", {"spec": {"selector": {"app": "else"}}}, MERGE)
    seen = scene.until(lambda seen: seen.active_service and not seen.active_service.digest).active_service
    assert seen is not None
    ports = [{"name": "http", "port": 8080, "targetPort": "http"}]
    written = config(scene.app, web={"spec": {"clusterIP": "None", "ports": ports}}) if refused else scene.config
    scene.do(RepairSelector("web", seen.selector, ONE.digest, "somebody changed its selector"), config=written)
    assert scene.live("services", "web")["spec"]["selector"] == scene.selector(ONE)
    with pytest.raises(WorldChanged):
        scene.do(RepairSelector("web", seen.selector, ONE.digest, "it was seen before that"))


def test_the_preview_moves_whether_pods_are_available_or_not(scene: Scene) -> None:
    scene.serve(ONE)
    scene.do(ApplyService("preview", "web-preview", ONE.digest, "told to"), create(TWO, replicas=0, number=2))
    scene.do(PointPreview("web-preview", tuple(sorted(scene.selector(ONE).items())), TWO.digest))
    assert scene.observe().preview_service.digest == short(TWO.digest)  # type: ignore[union-attr]
    with pytest.raises(WorldChanged):
        scene.do(PointPreview("web-preview", tuple(sorted(scene.selector(ONE).items())), TWO.digest))


def test_a_preview_that_nobody_controls_any_more_is_moved_and_was_nobody_elses_before(scene: Scene) -> None:
    scene.serve(ONE)
    scene.do(ApplyService("preview", "web-preview", ONE.digest, "told to"), create(TWO, replicas=0, number=2))
    path = f"{services(scene.app.namespace)}/web-preview"
    bare = scene.cluster.patch(path, {"metadata": {"ownerReferences": None}}, MERGE)
    scene.until(lambda seen: seen.preview_service and seen.preview_service.drifted)
    scene.do(PointPreview("web-preview", tuple(sorted(bare["spec"]["selector"].items())), TWO.digest))
    moved = scene.cluster.get(path)
    assert moved["spec"]["selector"] == scene.selector(TWO)
    assert names.BEFORE_ADOPTION not in (moved["metadata"].get("annotations") or {})


def test_a_mark_leaves_the_service_as_it_is_and_outlives_its_repair(scene: Scene) -> None:
    scene.serve(ONE)
    before, selector = scene.live("services", "web"), tuple(sorted(scene.selector(ONE).items()))
    scene.do(MarkService("web", selector, "5eed-1"))
    scene.until(lambda seen: seen.active_service and seen.active_service.withdrawn == "5eed-1")
    after = scene.live("services", "web")
    assert after["spec"] == before["spec"]
    assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
    scene.do(ApplyService("active", "web", ONE.digest, "it differs from what Git asks for"))
    assert scene.observe().active_service.withdrawn == "5eed-1"  # type: ignore[union-attr]
    with pytest.raises(WorldChanged):
        scene.do(MarkService("web", tuple(sorted(scene.selector(TWO).items())), "5eed-2"))


@pytest.mark.parametrize("label", [names.MANAGED_BY, names.APP])
def test_our_own_objects_without_their_labels_are_repaired_not_disowned(scene: Scene, label: str) -> None:
    scene.serve(ONE)
    bare = {"metadata": {"labels": {label: None}}}
    scene.cluster.patch(f"{services(scene.app.namespace)}/web", bare, MERGE)
    seen = scene.until(lambda seen: seen.active_service and seen.active_service.drifted).active_service
    assert seen is not None
    assert seen.ours
    scene.do(ApplyService("active", "web", ONE.digest, "told to"))
    scene.until(lambda seen: seen.active_service and not seen.active_service.drifted)
    scene.cluster.patch(f"{replica_sets(scene.app.namespace)}/{name_of(scene, ONE)}", bare, MERGE)
    scene.until(lambda seen: not seen.replica_sets or seen.replica_sets[0].drifted)
    scene.do(create(ONE, replicas=0))
    assert scene.live("replicasets", name_of(scene, ONE))["spec"]["replicas"] == 1, "who created it did not see it"
    assert scene.live("services", "web")["spec"]["selector"] == scene.selector(ONE)
    scene.until(lambda seen: [each.drifted for each in seen.replica_sets] == [False])


def test_pods_that_nobody_promoted_leave_a_service_that_has_others_and_none_that_has_them_alone(scene: Scene) -> None:
    scene.serve(ONE)
    path = f"{services(scene.app.namespace)}/web"
    down = ScaleReplicaSet(TWO.digest, 2, 1, 0, "nobody promoted it", unpromoted=True)
    scene.do(create(TWO, number=2))
    alone = [{"op": "replace", "path": "/spec/selector", "value": scene.selector(TWO)}]
    scene.cluster.patch(path, alone, JSON_PATCH)
    with pytest.raises(WorldChanged, match="the active Service web selects"):
        scene.do(down)
    among_others = [{"op": "replace", "path": "/spec/selector", "value": {names.APP: "web"}}]
    scene.cluster.patch(path, among_others, JSON_PATCH)
    with pytest.raises(WorldChanged, match="the active Service web selects"):
        scene.do(replace(down, unpromoted=False))
    scene.do(down)
    assert scene.live("replicasets", name_of(scene, TWO))["spec"]["replicas"] == 0


STICKY: Json = {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}}
ROUTING: tuple[tuple[Json, Json], ...] = (
    # what a Service said of which pods get requests, and what Git says
    ({"publishNotReadyAddresses": True}, {"publishNotReadyAddresses": False}),
    (STICKY, {"sessionAffinity": "None"}),
    ({"sessionAffinity": "ClientIP"}, STICKY),
    ({}, {**STICKY, "publishNotReadyAddresses": True}),
    ({**STICKY, "publishNotReadyAddresses": True}, {}),
)


def test_a_service_that_is_handed_back_is_as_it_was(scene: Scene) -> None:
    scene.do(ApplyApp(), create(ONE))
    scene.available(ONE)
    ours, path = tuple(sorted(scene.selector(ONE).items())), f"{services(scene.app.namespace)}/web"
    ports = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}]
    for before, git in ROUTING:
        head = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
        theirs = {**head, "spec": {"selector": {"app": "old"}, "ports": ports, **before}}
        scene.cluster.patch(path, theirs, APPLY, fieldManager="helm", force="true")
        was = scene.live("services", "web")["spec"]
        given = config(scene.app, ONE, web={**head, "spec": {"ports": ports, **git}})
        scene.do(switch(ONE, {"app": "old"}, adopts=True), config=given)
        scene.do(ApplyService("active", "web", ONE.digest, "as Git says"), config=given)
        said = scene.live("services", "web")["spec"]
        assert all(said.get(name, False) == value for name, value in (git or before).items())
        scene.do(HandBack("web", ours, (("app", "old"),)), config=given)
        assert scene.live("services", "web")["spec"] == was
        scene.cluster.delete(path)


@pytest.mark.parametrize("first", [ApplyService("active", "web", ONE.digest, "told to"), switch(ONE, {"app": "old"})])
def test_what_labels_hand_over_was_changed_by_nobody(scene: Scene, first: ClusterAction) -> None:
    scene.do(ApplyApp(), create(ONE))
    scene.available(ONE)
    theirs = manifests.service(scene.app.namespace, "web", app="old")
    theirs["metadata"]["labels"] = {names.MANAGED_BY: names.MANAGER, names.APP: "web"}
    theirs["spec"] |= STICKY
    scene.cluster.apply(theirs, manager="helm")
    assert scene.subject.carry_out(scene.app, scene.config, first).drifts == ()
    assert scene.live("services", "web")["spec"]["selector"] == scene.selector(ONE)
    assert STICKY.items() <= scene.live("services", "web")["spec"].items()


def test_a_service_is_not_handed_back_while_that_would_select_pods_of_an_app(scene: Scene) -> None:
    """They may have come since it was decided, and no cache shows them."""
    scene.serve(ONE)
    ours = tuple(sorted(scene.selector(ONE).items()))
    with pytest.raises(WorldChanged, match="it has pods of web now"):
        scene.do(HandBack("web", ours, ((names.APP, "web"),)))
    assert scene.live("services", "web")["spec"]["selector"] == dict(ours)
    scene.do(HandBack("web", ours, (("app", "nobody"),)))
    assert scene.live("services", "web")["spec"]["selector"] == {"app": "nobody"}
