"""`status`: each phase as a line with its reason, until the app has settled; the exit code says how."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.cli.commands.inspect.status import is_to_end, standing_of
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import API_VERSION
from tests.integration.cli.conftest import Cli
from tests.support.cluster.clusters import TestCluster
from tests.support.scenario import App, Scenario

APPROVAL = {"kind": "approval", "open": False, "reason": "waiting"}
AVAILABLE = {"kind": "availability", "open": True, "reason": "its pods are available"}
MANUAL = {"kind": "manual", "open": False, "reason": "closed"}
HOOK = {"kind": "hook", "open": False, "reason": "refused"}
COUNTDOWN = {"kind": "pause", "open": False, "reason": "autoPromotionSeconds: 60"}

# phase: its exit code, whether a wait ends there, and whether it does with --until-asked
PHASES: dict[str, tuple[int, bool, bool]] = {
    "Healthy": (0, True, True),
    "Degraded": (1, True, True),
    "ScaledToZero": (1, True, True),
    "Invalid": (1, True, True),
    "Held": (1, True, True),
    "Suspended": (6, False, True),
    "Paused": (6, False, True),
    "AwaitingPromotion": (7, False, False),
    "Waiting": (7, False, False),
    "Restarting": (7, False, False),
    "Adopting": (7, False, False),
    "Deploying": (7, False, False),
    "Progressing": (7, False, False),
    "Promoting": (7, False, False),
    "RollingBack": (7, False, False),
    "Unknown": (7, False, False),
}


def standing(phase: str, *gates: dict[str, Any]) -> tuple[int, bool, bool]:
    found = standing_of(AppKey("shop", "web"), {"status": {"phase": phase, "message": "why", "gates": list(gates)}})
    assert found.message == "why"
    return found.code, found.ends(until_asked=False), found.ends(until_asked=True)


@pytest.mark.parametrize("phase", PHASES)
def test_each_phase_has_its_exit_code(phase: str) -> None:
    assert standing(phase) == PHASES[phase]


def test_every_phase_is_in_the_table() -> None:
    assert {str(phase) for phase in Phase} | {"Unknown"} == set(PHASES)


def test_an_app_without_a_status_is_on_its_way() -> None:
    assert standing_of(AppKey("shop", "web"), {}).code == 7


def test_a_promotion_waits_for_a_person_where_only_the_approval_is_missing() -> None:
    assert standing("AwaitingPromotion", AVAILABLE, APPROVAL) == (6, False, True)
    assert standing("AwaitingPromotion", AVAILABLE, COUNTDOWN) == (7, False, False)
    assert standing("AwaitingPromotion", COUNTDOWN, APPROVAL) == (7, False, False)


def test_a_closed_gate_waits_for_a_person_and_a_hook_that_refuses_for_its_backend() -> None:
    assert standing("Waiting", AVAILABLE, MANUAL, APPROVAL) == (6, False, True)
    assert standing("AwaitingPromotion", AVAILABLE, MANUAL) == (6, False, True)
    assert standing("Waiting", AVAILABLE, HOOK, APPROVAL) == (7, False, False)


def test_each_state_of_an_app_is_said_with_its_exit_code(cli: Cli, web: App) -> None:
    key = str(web.key)
    assert cli("status", key).startswith("Healthy: live traffic goes to v1 (")
    assert "runs no app" in cli("status", f"{web.key.namespace}/nobody", code=5)

    cli("suspend", key, "-r", "incident 4711")
    web.scenario.wake()
    web.wait_phase("Suspended")
    assert "Grace Hopper <grace@example.com>: incident 4711" in cli("status", key, "--until-asked", code=6)
    cli("resume", key)

    web.push_image("bad")
    web.wait_phase("Progressing")
    assert "waiting for its 2 pods" in cli("status", key, "--no-watch", code=7)
    web.spec["progressDeadlineSeconds"] = 1
    web.configure()
    web.wait_phase("Degraded")
    assert cli("status", key, "--no-watch", code=1).startswith("Degraded: ProgressDeadlineExceeded: bad (v2) ")

    web.push_image("v3")
    web.wait_phase("AwaitingPromotion")
    web.wait_offered("v3")
    shown = cli("status", key, "--timeout", "200ms", code=6)
    assert "waiting for the promotion branch to be merged" in shown
    assert "not settled within 0s" in shown
    assert "not settled" not in cli("status", key, "--until-asked", code=6)

    cli("abort", key, "--reason", "errors on the preview")
    web.wait_phase("Held")
    assert "errors on the preview" in cli("status", key, code=1)

    web.scenario.publish("oops", {f"{web.folder}/target.yaml": "kind: [\n"})
    web.wait_phase("Invalid")
    assert f"{web.folder}/target.yaml:" in cli("status", key, code=1)


@pytest.fixture
def going(web: App, monkeypatch: pytest.MonkeyPatch) -> App:
    """An app that waits for its promotion, and whose object is deleted while somebody waits, as an agent does it."""
    web.push_image("v2")
    web.wait_phase("AwaitingPromotion")
    web.scenario.wait_idle()
    web.scenario.stop()

    @contextmanager
    def goes(*_: object) -> Iterator[Callable[[float | None], None]]:
        path = f"/apis/{API_VERSION}/namespaces/{web.key.namespace}/bluegreendeployments/{web.key.name}"
        yield lambda _: web.scenario.cluster.delete(path)

    monkeypatch.setattr("gitops_bg.cli.commands.inspect.status.changes", goes)
    return web


def test_an_app_that_ends_as_main_asked_for_has_settled(cli: Cli, going: App) -> None:
    path = f"/apis/{API_VERSION}/namespaces/{going.key.namespace}/bluegreendeployments/{going.key.name}"
    going.scenario.cluster.patch(path, {"spec": {"deletionPolicy": "delete"}})
    said = cli("status", str(going.key)).splitlines()
    assert said[-1] == "Ended: the app is gone from the cluster, as main asked for"


def test_an_app_that_somebody_deletes_is_not_found(cli: Cli, going: App) -> None:
    assert "is gone from the cluster, and main did not ask for that" in cli("status", str(going.key), code=5)


def test_an_app_ends_as_main_asks_where_it_leaves_or_was_to_go_with_its_folder() -> None:
    leaving = {"type": "FolderInMain", "status": "False", "reason": "Leaving", "message": "it is shop/shop now"}
    kept = leaving | {"reason": "Orphaned"}
    assert is_to_end({"status": {"conditions": [leaving]}})
    assert not is_to_end({"spec": {}, "status": {"conditions": [kept]}})
    assert not is_to_end({"spec": {"deletionPolicy": "keep"}})
    assert is_to_end({"spec": {"deletionPolicy": "orphan"}})


def test_a_promotion_is_followed_phase_by_phase_on_both_clusters(
    either_world: Scenario, cluster: TestCluster, tmp_path: Path
) -> None:
    cli = Cli(either_world.remote, cluster.kubeconfig, tmp_path)
    either_world.start()
    web = either_world.app().deploy("v1")
    web.push_image("v2")
    web.wait_phase("AwaitingPromotion")
    web.wait_offered("v2")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(cli, "status", str(web.key), "--timeout", "60s", "-o", "json")
        web.merge_offer()
        lines = [json.loads(line) for line in waiting.result().splitlines()]
    phases = [line["phase"] for line in lines]
    assert phases[-1] == "Healthy"
    assert set(phases) <= {"AwaitingPromotion", "Promoting", "Healthy"}
    assert all(line["message"] and line["app"] == str(web.key) for line in lines)
    assert (lines[-1]["code"], lines[-1]["message"][:25]) == (0, "live traffic goes to v2 (")
