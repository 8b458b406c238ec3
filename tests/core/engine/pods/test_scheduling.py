"""Pods that do not come up: when they are looked at, and where people are told why, in the words of the scheduler."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from gitops_bg.core.model.actions import PublishLedger
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.observed import PodView
from gitops_bg.core.model.spec import PreviewSwitch
from gitops_bg.core.model.version import short
from gitops_bg.core.world import World
from tests.core.shown import Shown
from tests.core.simulation import manual
from tests.core.worlds import EARLIER, NOW, SECOND, active, conditions, decided, digest, pods, rising, world

PORTS = "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports."
CPU = "0/2 nodes are available: 2 Insufficient cpu."
PULL = 'ImagePullBackOff: Back-off pulling image "registry.example/web:9"'
V2 = "2 (v2)"
JUST_NOW, LATE = NOW - 5 * SECOND, NOW - 60 * SECOND


def pod(name: str, of: int = 2, **changes: Any) -> PodView:
    return PodView(name, f"uid-{name}", short(digest(of)), EARLIER, **changes)


def late(*seen: PodView, since: datetime = LATE, **changes: Any) -> World:
    """Version 1 is live; one of two pods of version 2 has been waited for since then."""
    version = rising(2, waiting_since=since, **changes)
    return world(active(1), version, sets=(pods(1), pods(2, 3, 1)), observed={"pods": seen})


def availability(of: World) -> GateResult:
    return next(gate for gate in decided(of).gates if gate.kind is GateKind.AVAILABILITY)


def condition(of: World, kind: str) -> Shown:
    return conditions(of)[kind]


# The pods seen: what is said of version 2.
SAID: dict[str, tuple[tuple[PodView, ...], str]] = {
    "nothing was asked": ((), ""),
    "all have nodes": ((pod("a"), pod("b")), ""),
    "one has none": ((pod("a"), pod("b", unschedulable=PORTS)), f"1 of its pods has no node: {PORTS}"),
    "two have none": (
        (pod("a", unschedulable=CPU), pod("b", unschedulable=CPU)),
        f"2 of its pods have no node: {CPU}",
    ),
    "one cannot pull its image": ((pod("a"), pod("b", waiting=PULL)), f"1 of its pods cannot start: {PULL}"),
    "no node comes before no image": (
        (pod("a", waiting=PULL), pod("b", unschedulable=CPU)),
        f"1 of its pods has no node: {CPU}",
    ),
    "one that is going": ((pod("a", unschedulable=CPU, leaving=True),), ""),
    "another version's": ((pod("a", of=1, unschedulable=CPU),), ""),
}


@pytest.mark.parametrize(("seen", "said"), SAID.values(), ids=SAID)
def test_it_is_said_how_many_pods_of_the_version_have_no_node_and_why(seen: tuple[PodView, ...], said: str) -> None:
    waits = "waiting for its 3 pods to become available"
    assert availability(late(*seen)).reason == (f"{waits}; {said}" if said else waits)


def test_gate_and_condition_say_why_a_candidate_does_not_come_up() -> None:
    seen = late(pod("a"), pod("b", unschedulable=CPU))
    gate = availability(seen)
    assert gate.reason == f"waiting for its 3 pods to become available; 1 of its pods has no node: {CPU}"
    assert "kubectl describe" in gate.remedy
    said = f"{V2} waits: 1 of its pods has no node: {CPU}"
    assert condition(seen, "Progressing") == (None, "PodsUnschedulable", said)


def test_two_versions_with_one_host_port_are_told_what_helps() -> None:
    assert "remove hostPort" in availability(late(pod("a", unschedulable=PORTS))).remedy


GATED = pod("b", shut_gate="target-health.elbv2.k8s.aws/web")


@pytest.mark.parametrize(
    ("strategy", "remedy"),
    [
        ({}, "write previewSwitch: immediate in strategy.blueGreen of app.yaml"),
        ({"preview_service": None}, "write previewService and previewSwitch: immediate in strategy"),
        ({"preview_switch": PreviewSwitch.IMMEDIATE}, "what sets it must know Service web-preview"),
    ],
    ids=("the preview waits for them", "nothing selects them", "it is as it should be"),
)
def test_pods_that_wait_for_a_load_balancer_say_so_and_what_to_write(strategy: dict[str, Any], remedy: str) -> None:
    seen = late(pod("a"), GATED)
    seen = replace(seen, spec=manual(**strategy))
    gate = availability(seen)
    assert gate.reason == (
        "waiting for its 3 pods to become available; "
        "1 of its pods waits for the readiness gate target-health.elbv2.k8s.aws/web"
    )
    assert remedy in gate.remedy
    assert condition(seen, "Progressing")[1] == condition(seen, "CandidateReady")[1] == "PodsAtGate"
    failed = replace(seen, record=late(pod("a"), GATED, failure="ProgressDeadlineExceeded", since=EARLIER).record)
    assert condition(failed, "Progressing")[2].endswith("for the readiness gate target-health.elbv2.k8s.aws/web")


def test_a_version_that_main_names_waits_for_nodes_as_well() -> None:
    version = rising(2, waiting_since=LATE)
    coming = world(
        active(1), version, names_=2, sets=(pods(1), pods(2, 3, 1)), observed={"pods": (pod("a", unschedulable=CPU),)}
    )
    gate = availability(coming)
    assert gate.reason == f"waiting for 3 available pods; 1 of its pods has no node: {CPU}"


def test_what_failed_is_told_with_the_reason() -> None:
    why = f"1 of its pods has no node: {PORTS}"
    failed = late(pod("a", unschedulable=PORTS), since=EARLIER, failure="ProgressDeadlineExceeded")
    for kind in ("Progressing", "Healthy"):
        assert condition(failed, kind)[2].endswith(f"{V2} did not become available: {why}")
    assert availability(failed).reason.endswith(f"did not become available; {why}")
    actions = decided(late(pod("a", unschedulable=PORTS), since=EARLIER)).actions
    entry = next(each for each in actions if isinstance(each, PublishLedger)).entries[-1]
    assert entry.event == "failed"
    assert entry.reason.endswith(f"live traffic is untouched; {why}")


@pytest.mark.parametrize(
    ("of", "at"),
    [
        (late(since=JUST_NOW), JUST_NOW + 15 * SECOND),
        (late(since=NOW - 20 * SECOND), NOW - 20 * SECOND + 600 * SECOND),
        (late(pod("a", unschedulable=CPU), since=NOW - 20 * SECOND), NOW + 60 * SECOND),
        (late(GATED, since=NOW - 20 * SECOND), NOW + 60 * SECOND),
    ],
    ids=[
        "when it is late",
        "its deadline, once pods were listed",
        "again, while one has no node",
        "and while one waits for its gate",
    ],
)
def test_the_engine_looks_when_the_version_is_late_and_again_while_a_pod_has_no_node(of: World, at: datetime) -> None:
    assert decided(of).wake_at == at


NO_IMAGE = late(pod("a", waiting=PULL))
FULL = pods(2, 3, 1, failure='FailedCreate: pods "web-2" is forbidden: exceeded quota: small')
NO_ROOM = world(active(1), rising(2, waiting_since=JUST_NOW), sets=(pods(1), FULL))


def test_an_image_that_cannot_be_pulled_is_said_by_phase_condition_and_gate() -> None:
    said = f"{V2} waits: 1 of its pods cannot start: {PULL}"
    assert condition(NO_IMAGE, "Healthy") == (False, "Progressing", said)
    assert condition(NO_IMAGE, "CandidateReady") == (False, "PodsWaiting", said)
    assert condition(NO_IMAGE, "Progressing") == (None, "PodsWaiting", said)
    assert PULL in availability(NO_IMAGE).reason
    assert decided(NO_IMAGE).wake_at == NOW + 60 * SECOND


def test_a_quota_that_is_full_is_said_before_pods_that_merely_come_up() -> None:
    status, reason, message = condition(NO_ROOM, "CandidateReady")
    assert (status, reason) == (False, "PodsRefused")
    assert "exceeded quota" in message
    assert condition(NO_ROOM, "Healthy")[2] == message
