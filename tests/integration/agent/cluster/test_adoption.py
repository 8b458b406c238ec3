"""A live Deployment is adopted: what the Services' endpoints were at every moment, on both clusters."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitops_bg.core import names
from gitops_bg.core.checks.adoption import STAND_IN
from tests.support import manifests
from tests.support.cluster.clusters import SandboxCluster, TestCluster
from tests.support.cluster.paths import collection, pods, services
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually


@pytest.fixture
def either(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    """On both clusters, one after the other."""
    with scenario(cluster, tmp_path) as made:
        yield made


def live(world: Scenario, *names_of_services: str, replicas: int = 2, **labels: str) -> None:
    """A Deployment and Services that serve."""
    carried = labels or {"app": "web"}
    world.cluster.apply(manifests.deployment(world.namespace, "old", replicas, **carried), manager="kubectl")
    for name in names_of_services or ("web",):
        world.cluster.apply(manifests.service(world.namespace, name, app="web"), manager="kubectl")
        eventually(lambda name=name: len(behind(world, name)) == replicas, what=f"{name} serves")


def behind(world: Scenario, service: str) -> set[str]:
    """The names of the ready pods behind a Service."""
    slices = world.cluster.list(
        world.cluster.endpoint_slices(world.namespace), labelSelector=f"kubernetes.io/service-name={service}"
    )
    return {name for each in slices for name in ready_in(each)}


def ready_in(slice_: Json) -> set[str]:
    endpoints = slice_.get("endpoints") or []
    return {each["targetRef"]["name"] for each in endpoints if each["conditions"].get("ready", True)}


@contextmanager
def endpoints_of(world: Scenario, service: str) -> Iterator[list[set[str]]]:
    """Every set of ready pods that the slices of a Service showed, in order, from now on."""
    seen: list[set[str]] = []
    path = world.cluster.endpoint_slices(world.namespace)
    label = f"kubernetes.io/service-name={service}"
    with world.cluster.watch(path, labelSelector=label) as events:

        def follow() -> None:
            with contextlib.suppress(Exception):  # the watch ends in the middle of a read
                seen.extend(ready_in(event["object"]) for event in events if event["type"] != "DELETED")

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield seen
        finally:
            events.stop()  # Closing the connection alone waits for the thread that reads it.
            thread.join(10)


def adopting(world: Scenario, scale_down: str = "onSuccess", **strategy: object) -> App:
    web = world.app()
    web.spec["adopt"] = {"deployment": "old", "scaleDown": scale_down}
    web.strategy |= {"scaleDownDelaySeconds": 300, **strategy}
    return web


def size_of_old(world: Scenario) -> int:
    return int(world.cluster.get(f"{collection('apps/v1', 'Deployment', world.namespace)}/old")["spec"]["replicas"])


def is_ours(pod: str) -> bool:
    return pod.startswith("web-v1-")


def handed_over(web: App) -> bool:
    return web.live_tag() == "v1" and web.record.adopted is not None


def adopted(world: Scenario, scale_down: str = "never") -> App:
    """An app that has taken live traffic over from a Deployment."""
    live(world)
    world.start()
    web = adopting(world, scale_down)
    web.add("v1", "Adopt web")
    web.wait(lambda: handed_over(web), "the Service is handed over")
    web.wait_primary("v1")
    return web


def test_the_service_has_old_pods_then_ours_and_never_none_nor_both_before_it_moves(either: Scenario) -> None:
    live(either)
    either.start()
    web = adopting(either)
    with endpoints_of(either, "web") as seen:
        web.add("v1", "Adopt web")
        web.wait(lambda: handed_over(web), "the Service is handed over")
        eventually(lambda: seen and len(seen[-1]) == 2 and all(map(is_ours, seen[-1])), what="the slices follow")
        assert all(seen), "some pods are ready at every moment"
        assert all(len(set(map(is_ours, each))) == 1 for each in seen), "either the old pods, or ours"

    service = either.cluster.get(f"{services(either.namespace)}/web")
    assert service["metadata"]["labels"][names.MANAGED_BY] == names.MANAGER
    assert '"selector": {"app": "web"}' in service["metadata"]["annotations"][names.BEFORE_ADOPTION]
    assert names.KIND in [each["kind"] for each in service["metadata"]["ownerReferences"]]
    assert web.condition("Conflict")["status"] == "Absent"
    eventually(lambda: _stand_ins(either) == 0, what="the labels are back, in place")
    assert size_of_old(either) == 2
    either.advance(301)
    web.wait(lambda: web.condition("Adopting")["reason"] == "Adopted", "the adoption is over")
    assert size_of_old(either) == 0
    reasons = {event["reason"] for event in either.events()}
    eventually(
        lambda: {"ServiceTakenOver", "ScalingDeployment"} <= {e["reason"] for e in either.events()}, what=f"{reasons}"
    )


def _stand_ins(world: Scenario) -> int:
    return sum(each["metadata"]["labels"].get("app") == STAND_IN for each in world.cluster.list(pods(world.namespace)))


def of_ours(world: Scenario) -> list[Json]:
    return world.cluster.list(pods(world.namespace), labelSelector=f"{names.APP}=web")


def test_a_service_that_the_app_does_not_name_has_no_pod_before_the_hand_over_and_is_named_after(
    either: Scenario,
) -> None:
    """Until then, however late it is made; from then on it has the pods of every version, and that is said."""
    labels = {"app": "web", "tier": "front", "team": "shop"}
    live(either, **labels)
    either.cluster.apply(manifests.service(either.namespace, "leak", tier="front"), manager="kubectl")
    eventually(lambda: len(behind(either, "leak")) == 2, what="the other Service serves")
    either.start()
    web = adopting(either, "never")
    web.template = {"metadata": {"labels": labels}}
    web.spec |= {"minReadySeconds": 3000, "progressDeadlineSeconds": 3600}  # Ready pods, and no hand-over.
    with endpoints_of(either, "leak") as leaked:
        web.add("v1", "Adopt web")
        held = {"app": STAND_IN, "tier": STAND_IN, "team": "shop"}
        web.wait(lambda: _ready_with(either, held) == 2, "our pods are ready, with stand-ins", 30)
        either.cluster.apply(manifests.service(either.namespace, "late", team="shop"), manager="kubectl")
        held["team"] = STAND_IN
        eventually(lambda: either.advance(1) or _ready_with(either, held) == 2, what="they leave a later Service, too")
        eventually(lambda: behind(either, "late") == behind(either, "web"), what="the later Service has no pod of ours")
        assert not any(map(is_ours, set().union(*leaked)))
    assert web.live_tag() == ""

    del web.spec["minReadySeconds"]
    web.configure()
    web.wait(lambda: handed_over(web), "the Service is handed over")
    eventually(lambda: _ready_with(either, labels) == 2, what="the labels are back, in place")
    assert web.condition("Exposed")["status"] == "Absent"
    web.push_image("v2")
    said = web.wait_condition("Exposed")
    assert (said["reason"], said["message"].count("has the pods of v2")) == ("SelectedByOthers", 2)
    assert "Service late (team=shop)" in said["message"]
    assert "Service leak (tier=front)" in said["message"]

    agreed = {"metadata": {"annotations": {names.ALL_VERSIONS: "true"}}}
    either.cluster.patch(f"{services(either.namespace)}/leak", agreed)
    either.cluster.patch(f"{services(either.namespace)}/late", {"spec": {"selector": {names.COLOR: "blue"}}})
    either.restart()
    web.wait_condition("Exposed", "Absent")


def _ready_with(world: Scenario, labels: Mapping[str, str]) -> int:
    """How many pods of ours are ready and carry these labels."""
    found = [each for each in of_ours(world) if labels.items() <= each["metadata"]["labels"].items()]
    conditions = [condition for each in found for condition in (each.get("status") or {}).get("conditions") or []]
    return len([each for each in conditions if (each["type"], each["status"]) == ("Ready", "True")])


def test_services_that_may_not_be_listed_stop_no_app(tmp_path: Path) -> None:
    with SandboxCluster.run(tmp_path) as cluster, scenario(cluster, tmp_path) as world:
        live(world)
        world.start()
        world.wait_idle()  # The caches have their first lists.
        cluster.sandbox.faults.refuse("list", "services", world.namespace)
        web = adopting(world, "never")
        web.add("v1", "Adopt web")
        web.wait(lambda: handed_over(web), "the Service is handed over")
        web.push_image("v2")
        web.wait_offered("v2")
        web.wait(lambda: "services" in _unreadable(web), "it is said")
        web.merge_offer()
        web.wait_live("v2")


def _unreadable(web: App) -> str:
    said = web.condition("Exposed")
    return str(said["message"]) if said["reason"] == "ServicesUnreadable" else ""


def budget_of(world: Scenario) -> Json:
    return {
        "apiVersion": world.cluster.preferred("policy"),
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": world.namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }


def labels_of_budget(world: Scenario) -> dict[str, str]:
    path = f"{collection(world.cluster.preferred('policy'), 'PodDisruptionBudget', world.namespace)}/web"
    return world.cluster.get(path)["metadata"].get("labels") or {}


def labels_of_service(world: Scenario) -> dict[str, str]:
    return world.cluster.get(f"{services(world.namespace)}/web")["metadata"].get("labels") or {}


def test_several_services_and_a_budget_are_taken_over_together(either: Scenario) -> None:
    live(either, "web", "web-admin")
    budget = budget_of(either)
    either.cluster.apply(budget, manager="kubectl")
    either.start()
    web = adopting(either, "never", activeService=None, activeServices=["web", "web-admin"])
    web.objects["budget.yaml"] = budget
    web.objects["services.yaml"] = manifests.service(either.namespace, "web-admin")
    web.add("v1", "Adopt web")
    web.wait(lambda: handed_over(web) and web.selected("web-admin") == web.selected(), "both are handed over")
    eventually(lambda: labels_of_budget(either).get(names.MANAGED_BY) == names.MANAGER, what="the budget is ours")
    assert web.condition("Conflict")["status"] == "Absent"


def test_revert_to_target_gives_each_endpoint_back_and_leaves_the_budget(either: Scenario) -> None:
    """Its folder goes: the Service has our pods, then the old ones; at no moment none, nor both."""
    live(either)
    given = manifests.service(either.namespace, app="web")
    given["metadata"] |= {"labels": {"team": "shop", names.MANAGED_BY: "Helm"}, "annotations": {"doc": "old"}}
    either.cluster.apply(given, manager="kubectl")
    before = either.cluster.get(f"{services(either.namespace)}/web")
    either.cluster.apply(budget_of(either), manager="kubectl")
    either.start()
    web = adopting(either, "progressively", scaleDownDelaySeconds=0)
    web.spec["deletionPolicy"] = "revertToTarget"
    web.objects["budget.yaml"] = budget_of(either)
    changed = {"labels": {"team": "cart", "new": "1"}, "annotations": {"doc": "new", "more": "1"}}
    web.objects["services.yaml"] = {**given, "metadata": given["metadata"] | changed}
    web.add("v1", "Adopt web")
    web.wait(lambda: labels_of_service(either).get("new"), "the Service is as Git says")
    web.wait(lambda: handed_over(web) and web.condition("Adopting")["reason"] == "Adopted", "the adoption is over")
    with endpoints_of(either, "web") as seen:
        either.publish("Remove web", {web.folder: None})
        web.wait(lambda: not either.live(names.PLURAL, "web"), "the app is gone")
        eventually(lambda: seen and len(seen[-1]) == 2 and not any(map(is_ours, seen[-1])), what="the slices follow")
        assert all(seen), "some pods are ready at every moment"
        assert all(len(set(map(is_ours, each))) == 1 for each in seen), "either ours, or the old pods"

    after = either.cluster.get(f"{services(either.namespace)}/web")
    assert after["spec"] == before["spec"]
    had = {key: after["metadata"].get(key) or None for key in ("labels", "annotations", "ownerReferences")}
    assert had == {key: before["metadata"].get(key) or None for key in had}
    eventually(lambda: not web.versions(), what="the versions are collected")
    assert size_of_old(either) == 2
    assert labels_of_budget(either) == {}
    assert web.ledger_events()[-2:] == ["released", "deleted"]


def test_a_release_under_a_new_name_waits_for_the_end_of_the_former_app(either: Scenario) -> None:
    """Its warm pods carry the labels that the Service gets back: they served before, and nobody gives them traffic."""
    web = adopted(either)
    shop = web.rename("shop")
    shop.wait(lambda: shop.condition("Adopting")["reason"] == "Adopted", "the app has its new name")
    eventually(lambda: _stand_ins(either) == 0, what="the labels are back")
    shop.spec["release"] = {"deployment": "old"}
    with endpoints_of(either, "web") as seen:
        shop.configure()
        missing = "Service web would select pods of app web, until web, which this app was before, has ended"
        said = f"live traffic goes back to Deployment old; {missing}"
        shop.wait(lambda: shop.condition("Released")["message"] == said, "it says what it waits for")
        either.wait_idle()
        assert all(map(is_of_shop, behind(either, "web")))
        assert len([each for each in names_of_pods(either) if is_ours(each)]) == 2, "the former app is warm"
        either.advance(301)

        def is_back() -> bool:
            either.advance(5)
            return bool(shop.record.released)

        eventually(is_back, what="live traffic is back")
        eventually(lambda: seen and len(seen[-1]) == 2 and not any(map(is_of_shop, seen[-1])), what="the slices follow")
        assert all(seen), "some pods are ready at every moment"
        assert all(len(set(map(is_of_shop, each))) == 1 for each in seen), "either those of the app, or the old ones"
        assert not [each for each in seen if any(map(is_ours, each))], "none of the former app"
    assert either.live(names.PLURAL, "web") is None


def is_of_shop(pod: str) -> bool:
    return pod.startswith("shop-v1-")


def names_of_pods(world: Scenario) -> list[str]:
    return [each["metadata"]["name"] for each in world.cluster.list(pods(world.namespace))]


def test_everything_that_is_in_the_way_is_said_at_once_and_nothing_is_taken(either: Scenario) -> None:
    live(either)
    controller = {"apiVersion": "v1", "kind": "ConfigMap", "name": "boss", "uid": "1", "controller": True}
    metadata = {"ownerReferences": [controller]}
    boss = either.cluster.apply(manifests.config_map(either.namespace, "boss"))
    controller["uid"] = boss["metadata"]["uid"]
    either.cluster.patch(f"{services(either.namespace)}/web", {"metadata": metadata})
    either.cluster.apply(manifests.service(either.namespace, "web-preview", app="else"), manager="helm")
    either.start()
    web = adopting(either)
    web.add("v1", "Adopt web")
    adopting_said = web.wait_condition("Adopting")
    web.wait(lambda: web.condition("Adopting")["reason"] == "Conflict", "it says what is in the way")
    message = web.condition("Adopting")["message"]
    assert "web is controlled by ConfigMap boss" in message, adopting_said
    assert "web-preview is made by somebody else" in message
    either.wait_idle()
    assert either.cluster.get(f"{services(either.namespace)}/web")["spec"]["selector"] == {"app": "web"}
    assert len(behind(either, "web")) == 2


def test_a_service_that_was_taken_over_keeps_what_it_said_of_its_pods_and_takes_nothing_more(world: Scenario) -> None:
    live(world)
    path = f"{services(world.namespace)}/web"
    world.cluster.patch(path, {"spec": {"sessionAffinity": "ClientIP"}}, fieldManager="kubectl-edit")
    world.start()
    web = adopting(world, scale_down="never")
    web.add("v1", "Adopt web")
    web.wait(lambda: handed_over(web), "the Service is handed over")

    world.cluster.patch(path, {"spec": {"publishNotReadyAddresses": True}}, fieldManager="kubectl-edit")

    web.wait(lambda: not world.cluster.get(path)["spec"].get("publishNotReadyAddresses"), "that is taken out")
    assert world.cluster.get(path)["spec"]["sessionAffinity"] == "ClientIP"
    eventually(
        lambda: any("kubectl-edit changed spec.publishNotReadyAddresses" in each["message"] for each in world.events()),
        what="it is said",
    )
