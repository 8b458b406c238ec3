"""Pods that no node takes: when they are looked up, and where people are told why, in the words of the scheduler."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from gitops_bg.core.checks.pods.scheduling import remedy_for, wants_pods, why_stuck
from gitops_bg.core.model.actions import PublishLedger
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import PodView
from gitops_bg.core.model.record import Record, Restart
from gitops_bg.core.model.spec import PreviewSwitch
from gitops_bg.core.status.conditions import conditions_of
from gitops_bg.core.status.meanings import AUTHOR, NOBODY, demands, meaning_of, troubles
from gitops_bg.core.status.timers import wake_at
from gitops_bg.core.world import World
from tests.core.records import record_of
from tests.core.simulation import manual
from tests.core.worlds import EARLIER, NOW, SECOND, active, candidate, decided, digest, pods, rising, world

PORTS = "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports."
CPU = "0/2 nodes are available: 2 Insufficient cpu."
PULL = 'ImagePullBackOff: Back-off pulling image "registry.example/web:9"'
V2 = f"v2 ({short(digest(2))})"
JUST_NOW, LATE = NOW - 5 * SECOND, NOW - 60 * SECOND


def pod(name: str, of: int = 2, **changes: Any) -> PodView:
    return PodView(name, f"uid-{name}", short(digest(of)), EARLIER, **changes)


def late(*seen: PodView, since: datetime = LATE, **changes: Any) -> World:
    """Version 1 is live; one of two pods of version 2 has been waited for since then."""
    version = rising(2, waiting_since=since, **changes)
    return world(active(1), version, sets=(pods(1), pods(2, 3, 1)), observed={"pods": seen})


def availability(gates: tuple[GateResult, ...]) -> GateResult:
    return next(gate for gate in gates if gate.kind is GateKind.AVAILABILITY)


def condition(of: World, kind: str) -> tuple[bool | None, str, str]:
    found = next(each for each in conditions_of(of) if each.type == kind)
    return found.status, found.reason, found.message


def restarting(*, begun: bool) -> Record:
    return record_of(restart=Restart(NOW, 1, begun=begun))


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        (record_of(), False),
        (record_of(versions=(active(1), candidate(2))), False),
        (record_of(versions=(active(1), rising(2, waiting_since=NOW - 14 * SECOND))), False),
        (record_of(versions=(active(1), rising(2, waiting_since=NOW - 15 * SECOND))), True),
        (record_of(versions=(rising(1, waiting_since=EARLIER), candidate(2))), True),
        (restarting(begun=False), False),
        (restarting(begun=True), True),
    ],
)
def test_pods_are_listed_only_once_a_version_is_late_or_a_restart_has_begun(record: Record, wanted: bool) -> None:
    assert wants_pods(record, NOW) is wanted


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
    assert why_stuck(late(*seen), rising(2)) == said


def test_gate_and_condition_say_why_a_candidate_does_not_come_up() -> None:
    seen = late(pod("a"), pod("b", unschedulable=CPU))
    gate = availability(decided(seen).gates)
    assert gate.reason == f"waiting for its 3 pods to become available; 1 of its pods has no node: {CPU}"
    assert "kubectl describe" in gate.remedy
    said = f"{V2} waits: 1 of its pods has no node: {CPU}"
    assert condition(seen, "Progressing") == (None, "PodsUnschedulable", said)


def test_two_versions_with_one_host_port_are_told_what_helps() -> None:
    gate = availability(decided(late(pod("a", unschedulable=PORTS))).gates)
    assert gate.remedy == remedy_for(PORTS)
    assert "remove hostPort" in gate.remedy
    assert remedy_for(CPU) == remedy_for("") == ""


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
    gate = availability(decided(seen).gates)
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
    gate = availability(decided(coming).gates)
    assert gate.reason == f"waiting for 3 available pods; 1 of its pods has no node: {CPU}"


def test_what_failed_is_told_with_the_reason() -> None:
    why = f"1 of its pods has no node: {PORTS}"
    failed = late(pod("a", unschedulable=PORTS), since=EARLIER, failure="ProgressDeadlineExceeded")
    assert condition(failed, "Progressing")[2] == f"{V2} did not become available: {why}"
    assert availability(decided(failed).gates).reason.endswith(f"did not become available; {why}")
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
    ],
    ids=["when it is late", "its deadline, once pods were listed", "again, while one has no node"],
)
def test_the_engine_looks_when_the_version_is_late_and_again_while_a_pod_has_no_node(of: World, at: datetime) -> None:
    assert wake_at(of) == at


def test_an_image_that_cannot_be_pulled_is_said_by_phase_condition_and_gate_and_nobody_is_told_to_wait():
    state = late(pod("a", waiting=PULL))
    decision, said = decided(state), f"{V2} waits: 1 of its pods cannot start: {PULL}"
    assert condition(state, "Healthy") == (False, "Progressing", said)
    assert condition(state, "CandidateReady") == (False, "PodsWaiting", said)
    assert condition(state, "Progressing") == (None, "PodsWaiting", said)
    assert PULL in availability(decision.gates).reason
    (asked,) = demands(decision.conditions)
    assert meaning_of(asked.type, asked.reason).who == AUTHOR
    assert not [one for one in troubles(decision.conditions) if meaning_of(one.type, one.reason).who == NOBODY]
    assert wake_at(state) == NOW + 60 * SECOND


def test_a_quota_that_is_full_is_said_before_pods_that_merely_come_up():
    full = pods(2, 3, 1, failure='FailedCreate: pods "web-2" is forbidden: exceeded quota: small')
    state = world(active(1), rising(2, waiting_since=JUST_NOW), sets=(pods(1), full))
    status, reason, message = condition(state, "CandidateReady")
    assert (status, reason) == (False, "PodsRefused")
    assert "exceeded quota" in message
    assert condition(state, "Healthy")[2] == message
    assert {one.type for one in demands(decided(state).conditions)} == {"CandidateReady", "ReplicaFailure"}
