"""An app that has an heir: it lets go what serves, and the heir takes its Services over, and the old pods away."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.actions import ApplyApp, DeleteApp, PointPreview, ScaleDeployment, SwitchTraffic
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.record import Adopted, Record, SwitchKind
from gitops_bg.core.model.spec import Adoption, DeletionPolicy, ScaleDown
from gitops_bg.core.model.version import AppKey, Snapshot, WorkloadKind
from gitops_bg.core.names import APP, BEFORE_ADOPTION, MANAGED_BY, MANAGER, replica_set_name
from gitops_bg.spec.app.load import AppConfig
from tests.integration.cluster.scene import Scene, config, create, snapshot
from tests.support.cluster.paths import replica_sets, services
from tests.support.cluster.rawapi import MERGE
from tests.support.waiting import eventually

ONE, TWO = snapshot("v1"), snapshot("v2")
ENDS = DeleteApp(DeletionPolicy.ORPHAN, heir="shop", serving=(short(ONE.digest),))


def heir_of(scene: Scene, of: Snapshot = ONE) -> tuple[Scene, AppConfig]:
    """The app under its new name, with pods of the version that serves, and its folder."""
    said = config(scene.app, of)
    assert said.spec is not None
    spec = replace(said.spec, adopt=Adoption(scale_down=ScaleDown.ON_SUCCESS))
    new, folder = replace(scene, app=AppKey(scene.app.namespace, "shop")), replace(said, spec=spec)
    new.do(ApplyApp(), create(of), config=folder)
    new.available(of)
    return new, folder


def sizes(scene: Scene) -> dict[str, int]:
    found = scene.cluster.list(replica_sets(scene.app.namespace))
    return {each["metadata"]["name"]: each["spec"]["replicas"] for each in found}


def name_of(scene: Scene, number: int, digest: str) -> str:
    return replica_set_name(scene.app, number, digest)


def has_been_seen(scene: Scene, name: str) -> bool:
    live = scene.live("replicasets", name)
    return bool(live["status"].get("observedGeneration", 0) >= live["metadata"]["generation"])


def let_go(scene: Scene) -> None:
    """The app serves its first version, and has another one; then it ends."""
    scene.serve(ONE)
    scene.do(create(TWO, number=2, replicas=1))
    scene.available(TWO)  # Until then its controller writes, too.
    scene.do(ENDS)
    eventually(lambda: not scene.observe().app_uid, what="it is gone")
    eventually(lambda: has_been_seen(scene, name_of(scene, 1, ONE.digest)), what="its controller writes no more")


def test_of_its_workloads_only_what_serves_stays(scene: Scene) -> None:
    let_go(scene)
    one = name_of(scene, 1, ONE.digest)
    eventually(lambda: sizes(scene).keys() == {one}, what="the other one went with it")
    live = scene.cluster.get(f"{replica_sets(scene.app.namespace)}/{one}")["metadata"]
    assert not live.get("ownerReferences")
    assert MANAGED_BY not in (live.get("labels") or {})
    assert scene.live("services", "web")["spec"]["selector"] == scene.selector(ONE)


def test_it_does_not_end_where_live_traffic_goes_to_what_would_go(scene: Scene) -> None:
    scene.serve(ONE)
    with pytest.raises(WorldChanged, match="the active Service web selects"):
        scene.do(replace(ENDS, serving=(short(TWO.digest),)))
    assert scene.observe().app_uid


def test_the_heir_takes_the_services_over_in_one_write_each(scene: Scene) -> None:
    let_go(scene)
    new, folder = heir_of(scene)
    expected = tuple(sorted(scene.selector(ONE).items()))
    late = SwitchTraffic("web", (("app", "x"),), None, "", 1, ONE.digest, SwitchKind.FIRST, 1, adopts=True)
    with pytest.raises(WorldChanged):
        new.do(late, config=folder)
    new.do(replace(late, expected_selector=expected), config=folder)
    found = scene.live("services", "web")
    assert (found["spec"]["selector"], found["metadata"]["labels"][APP]) == (new.selector(ONE), "shop")
    seen = new.observe(folder).active_service
    assert seen is not None
    assert (seen.ours, seen.let_go_by, seen.before) == (True, "", expected)


def test_a_preview_service_that_somebody_claims_by_now_is_not_taken_over(scene: Scene) -> None:
    let_go(scene)
    new, folder = heir_of(scene)
    labels = {"metadata": {"labels": {MANAGED_BY: MANAGER, APP: "other"}}}
    scene.cluster.patch(f"{services(scene.app.namespace)}/web", labels, MERGE)
    take = PointPreview("web", tuple(sorted(scene.selector(ONE).items())), ONE.digest, adopts=True)
    with pytest.raises(WorldChanged, match="somebody's by now"):
        new.do(take, config=folder)


def test_what_the_former_app_has_not_let_go_yet_is_not_gone(scene: Scene) -> None:
    """It died between its Services and its ReplicaSets, and the heir has these Services by now."""
    scene.serve(ONE)
    new, folder = heir_of(scene)
    path = f"{services(scene.app.namespace)}/web"
    was = {BEFORE_ADOPTION: json.dumps({"selector": scene.selector(ONE), "labels": {}})}
    labels = {MANAGED_BY: MANAGER, APP: "shop"}
    taken = {"metadata": {"labels": labels, "annotations": was}, "spec": {"selector": new.selector(ONE)}}
    scene.cluster.patch(path, taken, MERGE)
    goes = Record(adopted=Adopted(""))
    new.until(lambda seen: seen.active_service and seen.active_service.before, config=folder)
    seen = new.observe(folder, goes).deployment
    assert seen is not None
    assert (seen.controller, seen.gone) == ("BlueGreenDeployment web", False)
    scene.do(ENDS)
    eventually(lambda: (found := new.observe(folder, goes).deployment) and not found.controller, what="it is let go")


def test_the_pods_that_served_go_by_one_write_on_their_replica_set(scene: Scene) -> None:
    let_go(scene)
    new, folder = heir_of(scene)
    take = SwitchTraffic(
        "web", tuple(sorted(scene.selector(ONE).items())), None, "", 1, ONE.digest, SwitchKind.FIRST, 1, adopts=True
    )
    one, goes = name_of(scene, 1, ONE.digest), Record(adopted=Adopted(""))
    down = ScaleDeployment(one, sizes(scene)[one], 0, "told to", "ReplicaSet")
    with pytest.raises(WorldChanged, match="the active Service web selects"):
        new.do(down, config=folder)
    new.do(take, config=folder)
    seen = new.observe(folder, goes).deployment
    assert seen is not None
    assert (seen.kind, seen.name, seen.replicas, seen.gone) == ("ReplicaSet", one, down.current, False)
    with pytest.raises(WorldChanged, match="has another size by now"):
        new.do(replace(down, current=7), config=folder)
    new.do(down, config=folder)
    eventually(lambda: (found := new.observe(folder, goes).deployment) and found.gone, what="it is gone")


def test_a_daemon_set_that_served_goes_as_a_whole(scene: Scene) -> None:
    daemon, ends = replace(ONE, workload=WorkloadKind.DAEMON_SET), replace(ENDS, serving=(short(ONE.digest),))
    scene.subject.observe(scene.app, config(scene.app, daemon), Record())  # From then on DaemonSets are followed.
    scene.serve(daemon)
    scene.do(ends)
    eventually(lambda: not scene.observe().app_uid, what="it is gone")
    new, folder = heir_of(scene, daemon)
    take = SwitchTraffic(
        "web", tuple(sorted(scene.selector(ONE).items())), None, "", 1, ONE.digest, SwitchKind.FIRST, 1, adopts=True
    )
    new.do(take, config=folder)
    goes = Record(adopted=Adopted(""))
    new.until(lambda seen: seen.active_service and seen.active_service.before, config=folder)
    seen = new.observe(folder, goes).deployment
    assert seen is not None
    one = name_of(scene, 1, ONE.digest)
    assert (seen.kind, seen.name, seen.replicas > 0, seen.controller) == ("DaemonSet", one, True, "")
    new.do(ScaleDeployment(one, seen.replicas, 0, "told to", "DaemonSet"), config=folder)
    eventually(
        lambda: (found := new.observe(folder, goes).deployment) and found.gone, what="it is gone, and ours is not it"
    )
