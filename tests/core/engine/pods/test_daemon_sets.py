"""Versions that DaemonSets run: on or off, as big as the cluster says, and not compared with another kind by number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.model.actions import SwitchTraffic
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.observed import ReplicaSetView
from gitops_bg.core.model.version import Version, WorkloadKind
from gitops_bg.core.world import World
from tests.core.worlds import (
    EARLIER,
    active,
    archived,
    candidate,
    decided,
    legacy,
    pods,
    rising,
    sentences,
    size_after,
    target,
    world,
)

DAEMON = WorkloadKind.DAEMON_SET


def everywhere(of: Version) -> Version:
    """The same version, run by a DaemonSet; its digest stays, because nothing here reads a template."""
    return replace(of, snapshot=replace(of.snapshot, workload=DAEMON))


def nodes(of: int, wanted: int, available: int | None = None) -> ReplicaSetView:
    """The DaemonSet of a version that so many nodes are for; 0: it was taken off them."""
    view = pods(of, wanted, available)
    return replace(view, snapshot=replace(view.snapshot, workload=DAEMON))


def said(*versions: Version, sets: tuple[ReplicaSetView, ...], **more: object) -> World:
    """A world whose target is version n's DaemonSet, without a number of replicas."""
    newest = versions[-1].number
    wanted = target(newest)
    wanted = replace(wanted, replicas=None, snapshot=replace(wanted.snapshot, workload=DAEMON))
    desired = {"target": wanted, **(more.pop("desired", {}))}  # type: ignore[dict-item]
    record = {"replicas": None, **(more.pop("record", {}))}  # type: ignore[dict-item]
    return world(*versions, sets=sets, desired=desired, record=record, **more)  # type: ignore[arg-type]


V1, V2 = everywhere(active(1)), everywhere(candidate(2))

TO_NO_REPLICAS = world(
    V1, candidate(2), names_=2, sets=(nodes(1, 5), pods(2, 0)), desired={"target": target(2, 0)}, record={"replicas": 0}
)

# The world, and a version: how many pods it has then.
SIZES: dict[str, tuple[World, int, int]] = {
    "live: its own": (said(V1, sets=(nodes(1, 5),)), 1, 5),
    "a candidate beside it: its own": (said(V1, V2, sets=(nodes(1, 5), nodes(2, 3))), 2, 3),
    "a candidate that is off: on": (said(V1, V2, sets=(nodes(1, 5), nodes(2, 0))), 2, 1),
    "one that has no DaemonSet yet": (said(V1, V2, sets=(nodes(1, 5),)), 2, 1),
    "warm": (said(everywhere(legacy(1)), everywhere(active(2)), sets=(nodes(1, 5), nodes(2, 5))), 1, 5),
    "warm, beside a DaemonSet of more nodes, and no DaemonSet itself": (
        said(legacy(1), everywhere(active(2)), sets=(pods(1, 3), nodes(2, 500)), record={"replicas": 3}),
        1,
        3,
    ),
    "no DaemonSet, of no replicas, beside one": (TO_NO_REPLICAS, 2, 0),
    "live, beside what comes of no replicas": (TO_NO_REPLICAS, 1, 5),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_daemon_set_is_on_its_nodes_or_off_them_and_is_no_measure_for_another_kind(name: str) -> None:
    state, number, size = SIZES[name]
    assert size_after(state, number) == size


def test_an_archived_one_is_taken_off_its_nodes_and_nothing_is_said_twice() -> None:
    old, live = everywhere(archived(1)), everywhere(active(2))
    actions = [each for each in sentences(said(old, live, sets=(nodes(1, 5), nodes(2, 5)))) if "nodes" in each]
    assert [each.rpartition(")")[2] for each in actions] == [" off its nodes: archived"]
    assert not [each for each in sentences(said(old, live, sets=(nodes(1, 0), nodes(2, 5)))) if "nodes" in each]


def coming(old: ReplicaSetView, new: ReplicaSetView) -> World:
    """Version 1 serves, and main names version 2."""
    return said(V1, V2, names_=2, sets=(old, new))


def going_back(old: ReplicaSetView, live: ReplicaSetView) -> World:
    """Version 2 serves, and traffic is to go back to version 1."""
    versions = everywhere(legacy(1, left_at=EARLIER)), everywhere(active(2))
    return said(*versions, names_=1, sets=(old, live))


# How many pods the version needs that traffic is to go to.
NEEDED: dict[str, tuple[World, int]] = {
    "forward: all of its own": (coming(nodes(1, 5), nodes(2, 5, 4)), 5),
    "forward to fewer nodes: all of those": (coming(nodes(1, 5), nodes(2, 2, 1)), 2),
    "forward to more nodes: all of those": (coming(nodes(1, 2), nodes(2, 5, 1)), 5),
    "forward to no node: more than there are": (coming(nodes(1, 5), nodes(2, 1, 0)), 1),
    "forward from another kind: all of its own, though more serve": (
        said(active(1), V2, names_=2, sets=(pods(1, 3), nodes(2, 2)), record={"replicas": 3}),
        2,
    ),
    "back: as many as serve": (going_back(nodes(1, 5, 4), nodes(2, 5, 4)), 4),
    "back to fewer nodes: no more than those": (going_back(nodes(1, 2), nodes(2, 5)), 2),
    "back from a broken one: one": (going_back(nodes(1, 5, 1), nodes(2, 5, 0)), 1),
    "back to another kind: no more than it has replicas": (
        said(
            legacy(1, left_at=EARLIER),
            everywhere(active(2)),
            names_=1,
            sets=(pods(1, 3), nodes(2, 500)),
            record={"replicas": 3},
        ),
        3,
    ),
}


def needed(state: World) -> str:
    """What a switch asks of the version that it leads to, or what is waited for."""
    decision = decided(state)
    switches = [str(each.needs_available) for each in decision.actions if isinstance(each, SwitchTraffic)]
    shut = [each.reason for each in decision.gates if each.kind is GateKind.AVAILABILITY and not each.open]
    (said,) = (*switches, *shut)
    return said.removeprefix("waiting for ").removesuffix(" available pods")


@pytest.mark.parametrize("name", NEEDED)
def test_forward_needs_every_pod_and_back_as_many_as_serve(name: str) -> None:
    state, pods_needed = NEEDED[name]
    assert needed(state) == str(pods_needed)


@pytest.mark.parametrize(
    ("version", "available", "serving", "wanted"),
    [
        (everywhere(rising(2)), 4, 4, False),
        (V2, 4, 4, True),
        (V2, 3, 4, False),
        (V2, 5, 4, True),
        (V2, 0, 0, False),
    ],
    ids=["not yet up", "a node is gone for both", "worse than what serves", "better", "none"],
)
def test_a_candidate_that_was_up_stays_so_while_it_is_no_worse_than_what_serves(
    version: Version, available: int, serving: int, wanted: bool
) -> None:
    state = said(V1, version, sets=(nodes(1, 5, serving), nodes(2, 5, available)))
    assert bool(decided(state).record.numbered(2).available_since) is wanted  # type: ignore[union-attr]


def test_the_number_of_replicas_shown_is_that_of_what_serves() -> None:
    counts = decided(said(V1, V2, sets=(nodes(1, 5, 4), nodes(2, 6)))).counts
    assert (counts.desired, counts.available) == (5, 4)
    assert decided(said(V1, sets=(nodes(1, 1, 0),))).counts.desired == 1, "also where it is for no node"
