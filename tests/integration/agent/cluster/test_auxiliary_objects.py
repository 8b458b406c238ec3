"""Auxiliary objects of an app, with a running agent: they follow Git at once, and hold up nothing."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from gitops_bg.core import names
from gitops_bg.core.model.observed import OperatorCommand, Request
from tests.conformance.steps import sizes, wait_sizes
from tests.support.agent.mortality import Mortals
from tests.support.auxiliary_objects import (
    BUDGET,
    HPA,
    SCALED_OBJECT,
    aim,
    autoscale,
    budget,
    hpa,
    keda,
    live,
    path,
    publish,
    scaled_object,
    untracked,
    wait_aim,
)
from tests.support.cluster.clusters import SandboxCluster, TestCluster
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App, Scenario, scenario

COPY = "web-primary"


@pytest.fixture
def world(own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(own_sandbox, tmp_path) as made:
        yield made


@pytest.fixture
def scaled(web: App) -> App:
    """The app `web`, live, with an HPA."""
    publish(web, "hpa", hpa())
    wait_aim(web, "v1")
    return web


def look(web: App) -> None:
    """Have the agent look at the app again, as the resync does."""
    assert web.scenario.agent is not None
    web.scenario.agent.wake_all([web.key])


# --- what follows Git ---


def test_replicas_count_again_when_the_autoscaler_leaves_the_folder(scaled: App) -> None:
    autoscale(scaled, "v1", 5)
    wait_sizes(scaled, v1=5)
    scaled.scenario.wait_idle()
    assert sizes(scaled) == {"v1": 5}
    publish(scaled, "hpa", None)
    scaled.wait(lambda: live(scaled, HPA, COPY) is None, "the copy is gone")
    wait_sizes(scaled, v1=2)


def test_the_autoscaler_may_become_another_kind(scaled: App) -> None:
    with keda(scaled.scenario.cluster):
        files = {f"{scaled.folder}/hpa.yaml": None, f"{scaled.folder}/scaler.yaml": _yaml(scaled_object())}
        scaled.scenario.publish("KEDA", files)
        wait_aim(scaled, "v1", SCALED_OBJECT)
        scaled.wait(lambda: live(scaled, HPA, COPY) is None, "the HPA is gone")


def test_untracked_configuration_and_budgets_come_and_go_with_their_files(web: App) -> None:
    publish(web, "flags", untracked(level="info"))
    publish(web, "budget", budget())
    web.wait(lambda: live(web, "ConfigMap", "flags") and live(web, BUDGET, "web"), "both are there")
    publish(web, "flags", untracked(level="debug"))
    web.wait(lambda: live(web, "ConfigMap", "flags")["data"] == {"level": "debug"}, "it follows Git")
    web.promote("v2")
    assert live(web, "ConfigMap", "flags")["data"] == {"level": "debug"}
    publish(web, "flags", None)
    publish(web, "budget", None)
    web.wait(lambda: not (live(web, "ConfigMap", "flags") or live(web, BUDGET, "web")), "both are gone")


def test_what_somebody_changes_is_repaired_within_one_watch_event(scaled: App) -> None:
    """Nobody has the agent look again."""
    publish(scaled, "flags", untracked(level="info"))
    publish(scaled, "budget", budget(minAvailable="50%"))
    scaled.wait(lambda: live(scaled, "ConfigMap", "flags") and live(scaled, BUDGET, "web"), "both are there")
    scaled.scenario.wait_idle()
    cluster = scaled.scenario.cluster
    cluster.patch(path(scaled, HPA, COPY), {"spec": {"maxReplicas": 3}}, fieldManager="kubectl-edit")
    scaled.wait(lambda: live(scaled, HPA, COPY)["spec"]["maxReplicas"] == 99, "the copy is repaired")
    cluster.patch(path(scaled, BUDGET, "web"), {"spec": {"minAvailable": "0%"}}, fieldManager="kubectl-edit")
    scaled.wait(lambda: live(scaled, BUDGET, "web")["spec"]["minAvailable"] == "50%", "the budget is repaired")
    cluster.patch(path(scaled, "ConfigMap", "flags"), {"data": {"level": "debug"}}, fieldManager="kubectl-edit")
    scaled.wait(lambda: live(scaled, "ConfigMap", "flags")["data"] == {"level": "info"}, "so is the ConfigMap")
    cluster.delete(path(scaled, BUDGET, "web"))
    scaled.wait(lambda: live(scaled, BUDGET, "web"), "what is deleted comes back")
    for said in (
        "it differs from what Git says; kubectl-edit changed spec.maxReplicas: 3 → 99",
        "it differs from what Git says; kubectl-edit changed spec.minAvailable: 0% → 50%",
        "it differs from what Git says; kubectl-edit changed data.level",
        "it does not exist; somebody deleted it",
    ):
        scaled.wait(lambda said=said: any(said in each["message"] for each in scaled.scenario.events()), said)


def test_nothing_is_deleted_while_the_folder_is_broken(scaled: App) -> None:
    files = {f"{scaled.folder}/hpa.yaml": None, f"{scaled.folder}/other.yaml": "a: [1"}
    scaled.scenario.publish("Break it", files)
    scaled.wait_condition("InvalidSpec")
    scaled.scenario.wait_idle()
    assert aim(scaled) == "v1"


# --- what it stays quiet about ---


def test_an_agent_that_begins_anew_writes_nothing(scaled: App) -> None:
    publish(scaled, "budget", budget())
    publish(scaled, "flags", untracked(level="info"))
    scaled.wait(lambda: live(scaled, "ConfigMap", "flags"), "all are there")
    scaled.wait_phase("Healthy")
    scaled.scenario.settle()
    before = scaled.scenario.writes()
    scaled.scenario.restart(fresh_mirror=True)
    scaled.scenario.wait_idle()
    assert scaled.scenario.writes() == before


def test_an_app_that_has_none_asks_the_server_for_none(web: App, own_sandbox: SandboxCluster) -> None:
    web.promote("v2")
    kinds = ("horizontalpodautoscalers", "scaledobjects", "poddisruptionbudgets")
    assert [own_sandbox.sandbox.requests.count(verb="get", resource=kind) for kind in kinds] == [0, 0, 0]


# --- what holds up nothing ---


def test_without_keda_its_condition_names_the_definition_and_traffic_moves_on(web: App) -> None:
    publish(web, "scaler", scaled_object())
    refused = web.wait_condition("Refused")
    assert "no CustomResourceDefinition scaledobjects.keda.sh" in refused["message"]
    web.promote("v2")
    with keda(web.scenario.cluster):
        look(web)
        wait_aim(web, "v2", SCALED_OBJECT)
        web.wait_condition("Refused", "Absent")


def test_a_refusal_of_one_auxiliary_object_holds_up_neither_traffic_nor_the_others(world: Scenario, web: App) -> None:
    world.cluster.sandbox.faults.refuse("patch", "horizontalpodautoscalers", world.namespace)  # type: ignore[attr-defined]
    world.publish("all", {f"{web.folder}/{name}.yaml": _yaml(each) for name, each in (("a", hpa()), ("b", budget()))})
    web.wait(lambda: live(web, BUDGET, "web"), "the budget is there")
    refused = web.wait_condition("Refused")
    assert "horizontalpodautoscalers" in refused["message"]
    assert web.phase() == "Degraded"
    web.promote("v2")
    world.cluster.sandbox.faults.clear()  # type: ignore[attr-defined]
    look(web)
    wait_aim(web, "v2")
    web.wait_condition("Refused", "Absent")


def test_an_auxiliary_object_that_cannot_be_read_for_a_while_holds_up_no_switch_and_no_way_back(
    scaled: App, own_sandbox: SandboxCluster
) -> None:
    own_sandbox.sandbox.faults.refuse("get", "horizontalpodautoscalers", scaled.key.namespace, status=500)
    promoted = scaled.promote("v2")
    scaled.wait_phase("Degraded")
    assert HPA in str(scaled.object()["status"]["conditions"])
    scaled.revert(promoted)
    scaled.wait_live("v1")
    own_sandbox.sandbox.faults.clear()
    look(scaled)
    scaled.wait_condition("Refused", "Absent")
    wait_aim(scaled, "v1")


def test_a_candidate_that_is_refused_keeps_nothing_from_what_serves(scaled: App, own_sandbox: SandboxCluster) -> None:
    """An admission hook takes no new ReplicaSet; the maximum of the live version can be raised all the same."""
    own_sandbox.sandbox.faults.refuse("patch", "replicasets", scaled.key.namespace)
    scaled.push_image("v2")
    scaled.wait_condition("Refused")
    publish(scaled, "hpa", hpa(maximum=200))
    scaled.wait(lambda: live(scaled, HPA, COPY)["spec"]["maxReplicas"] == 200, "the copy follows Git")
    own_sandbox.sandbox.faults.clear()
    look(scaled)
    scaled.wait_offered("v2")


def test_an_autoscaler_that_is_somebody_elses_is_a_conflict(web: App) -> None:
    theirs = hpa()
    theirs["metadata"] = {"name": COPY, "namespace": web.key.namespace}
    web.scenario.cluster.apply(theirs, manager="helm")
    publish(web, "hpa", hpa(maximum=50))
    conflict = web.wait_condition("Conflict")
    assert f"HorizontalPodAutoscaler {web.key.namespace}/{COPY} is made by somebody else" in conflict["message"]
    web.promote("v2")
    assert live(web, HPA, COPY)["spec"]["maxReplicas"] == 99


# --- the way back ---


def test_the_way_back_takes_the_autoscaler_along_though_the_folder_has_left_main(scaled: App) -> None:
    scaled.promote("v2")
    wait_aim(scaled, "v2")
    scaled.scenario.publish("Remove it", {scaled.folder: None})
    scaled.wait_told("orphaned")
    scaled.ask(Request("1", OperatorCommand.ROLLBACK, "ada", datetime.now(UTC), "smells"))
    wait_aim(scaled, "v1")
    assert scaled.live_tag() == "v1"


def test_agents_that_die_after_every_write_end_with_the_autoscaler_at_what_serves(scaled: App) -> None:
    """And no one of them ever aimed it at a version that the Service did not yet go to."""
    scaled.push_image("v2")
    scaled.wait_offered("v2")
    scaled.wait_told()
    scaled.scenario.stop()
    scaled.merge_offer()
    agents = Mortals(scaled.scenario, writes=1)

    def has_arrived() -> bool:
        assert aim(scaled) == "v1" or scaled.live_tag() == "v2"
        return aim(scaled) == "v2" and scaled.is_told()

    agents.until(has_arrived, "v2 is live and scaled")
    assert agents.done.count("apply HorizontalPodAutoscaler") == 1


def _yaml(manifest: Json) -> str:
    return str(yaml.safe_dump(manifest))


# --- under another name ---


@contextmanager
def conditions_of(world: Scenario, *kinds: str) -> Iterator[set[tuple[str, str, str]]]:
    """App, condition and message of every condition of these kinds that is ever true, from now on."""
    seen: set[tuple[str, str, str]] = set()
    # The garbage collector may need 40 s to hear of an owner of a kind that it has just met: all of it is watched.
    with world.cluster.watch(collection(names.API_VERSION, names.KIND, world.namespace), seconds=600) as events:

        def follow() -> None:
            with contextlib.suppress(Exception):  # the watch ends in the middle of a read
                for event in events:
                    body = event["object"]
                    for each in (body.get("status") or {}).get("conditions") or ():
                        if (each["type"] in kinds) and each["status"] == "True":
                            seen.add((body["metadata"]["name"], each["type"], each["message"]))

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield seen
        finally:
            events.stop()
            thread.join(10)


BESIDE = ((HPA, COPY), (BUDGET, "web"), ("ConfigMap", "flags"))


def test_they_go_along_with_live_traffic_where_their_app_gets_another_name(
    cluster: TestCluster, tmp_path: Path
) -> None:
    """The autoscaler scales what serves, and nobody is in conflict, while the former app is warm."""
    with scenario(cluster, tmp_path) as world:
        web = world.app()
        evictions = {**budget(), "apiVersion": cluster.preferred("policy")}
        web.objects = {"hpa.yaml": hpa(), "budget.yaml": evictions, "flags.yaml": untracked(level="info")}
        world.start()
        web.deploy("v1")
        wait_aim(web, "v1")
        web.wait(lambda: all(live(web, *each) for each in BESIDE), "all are there")
        before = [live(web, *each)["metadata"]["uid"] for each in BESIDE]

        def are_of_shop() -> bool:
            shown = [live(shop, *each)["metadata"] for each in BESIDE]
            owners = {owner["name"] for each in shown for owner in each["ownerReferences"]}
            return owners == {"shop"} and {each["labels"][names.APP] for each in shown} == {"shop"}

        with conditions_of(world, "Conflict", "Stalled") as seen:
            shop = web.rename("shop")
            shop.wait(lambda: shop.condition("Adopting")["reason"] == "Adopted", "the Service is taken over")
            shop.wait(are_of_shop, "so are they")
            world.wait_idle()
            assert world.live(names.PLURAL, "web"), "the former app is warm"
            (serving,) = shop.versions().values()
            assert live(shop, HPA, COPY)["spec"]["scaleTargetRef"]["name"] == serving.name
            assert (shop.phase(), web.phase()) == ("Healthy", "Progressing"), "the former app ends by itself"
            assert web.condition("FolderInMain")["reason"] == "Leaving"
            world.advance(301)
            shop.wait(lambda: world.live(names.PLURAL, "web") is None, "the former app is gone")
            shop.wait(lambda: not web.versions(), "and its pods")
            assert [live(shop, *each)["metadata"]["uid"] for each in BESIDE] == before
        assert not seen
