"""Versions that DaemonSets run: on or off, as big as the cluster says, and not compared with another kind by number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.checks.pods.availability import is_available
from gitops_bg.core.checks.pods.sizes import needed_to_switch, wanted_size
from gitops_bg.core.model.digest import digest_of, is_genuine, same_content, snapshot_of, with_configuration
from gitops_bg.core.model.observed import ReplicaSetView
from gitops_bg.core.model.version import ConfigurationRef, Version, WorkloadKind
from gitops_bg.core.status.counts import counts_of
from gitops_bg.core.world import World
from tests.core.worlds import EARLIER, active, archived, candidate, legacy, pods, rising, sentences, target, world

TEMPLATE = {"spec": {"containers": [{"name": "web", "image": "web:1"}]}}
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

# The world, and a version: how many pods it should have.
SIZES: dict[str, tuple[World, Version, int]] = {
    "live: its own": (said(V1, sets=(nodes(1, 5),)), V1, 5),
    "live, for no node: on all the same": (said(V1, sets=(nodes(1, 1, 0),)), V1, 1),
    "a candidate beside it: its own": (said(V1, V2, sets=(nodes(1, 5), nodes(2, 3))), V2, 3),
    "a candidate that is off: on": (said(V1, V2, sets=(nodes(1, 5), nodes(2, 0))), V2, 1),
    "one that has no DaemonSet yet": (said(V1, V2, sets=(nodes(1, 5),)), V2, 1),
    "warm": (said(everywhere(legacy(1)), everywhere(active(2)), sets=(nodes(1, 5), nodes(2, 5))), V1, 5),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_daemon_set_is_on_its_nodes_or_off_them(name: str) -> None:
    state, version, size = SIZES[name]
    assert wanted_size(state, state.record.version(version.digest) or version) == size


def test_an_archived_one_is_taken_off_its_nodes_and_nothing_is_said_twice() -> None:
    old, live = everywhere(archived(1)), everywhere(active(2))
    assert wanted_size(said(old, live, sets=(nodes(1, 5), nodes(2, 5))), old) == 0
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


# The world, the version that traffic is to go to: how many pods it needs.
NEEDED: dict[str, tuple[World, int, int]] = {
    "forward: all of its own": (coming(nodes(1, 5), nodes(2, 5, 4)), 2, 5),
    "forward to fewer nodes: all of those": (coming(nodes(1, 5), nodes(2, 2, 1)), 2, 2),
    "forward to more nodes: all of those": (coming(nodes(1, 2), nodes(2, 5, 1)), 2, 5),
    "forward to no node: more than there are": (coming(nodes(1, 5), nodes(2, 1, 0)), 2, 1),
    "back: as many as serve": (going_back(nodes(1, 5, 4), nodes(2, 5, 4)), 1, 4),
    "back to fewer nodes: no more than those": (going_back(nodes(1, 2), nodes(2, 5)), 1, 2),
    "back from a broken one: one": (going_back(nodes(1, 5, 1), nodes(2, 5, 0)), 1, 1),
}


@pytest.mark.parametrize("name", NEEDED)
def test_forward_needs_every_pod_and_back_as_many_as_serve(name: str) -> None:
    state, number, needed = NEEDED[name]
    version = state.record.numbered(number)
    assert version is not None
    assert needed_to_switch(state, version) == needed


def test_versions_of_different_kinds_are_not_compared_by_number() -> None:
    """From three replicas to a pod on each of five nodes, and back."""
    forward = said(active(1), V2, names_=2, sets=(pods(1, 3), nodes(2, 2, 2)), record={"replicas": 3})
    assert needed_to_switch(forward, V2) == 2
    assert wanted_size(forward, forward.record.versions[0]) == 3, "what serves keeps its size"
    back = said(
        legacy(1, left_at=EARLIER),
        everywhere(active(2)),
        names_=1,
        sets=(pods(1, 3), nodes(2, 500)),
        record={"replicas": 3},
    )
    version = back.record.versions[0]
    assert (wanted_size(back, version), needed_to_switch(back, version)) == (3, 3)
    warm = said(legacy(1), everywhere(active(2)), sets=(pods(1, 3), nodes(2, 500)), record={"replicas": 3})
    assert wanted_size(warm, warm.record.versions[0]) == 3, "nor does it grow to what serves"
    empty = world(V1, candidate(2), names_=2, sets=(nodes(1, 5), pods(2, 0)), desired={"target": target(2, 0)})
    assert wanted_size(empty, empty.record.versions[1]) == 0, "and one of no replicas gets none"


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
    assert is_available(state, version) is wanted


def test_the_number_of_replicas_shown_is_that_of_what_serves() -> None:
    counts = counts_of(said(V1, V2, sets=(nodes(1, 5, 4), nodes(2, 3))))
    assert (counts.desired, counts.available) == (5, 4)


def test_the_kind_is_part_of_the_digest_and_no_digest_of_before_changes() -> None:
    deployed, daemon = snapshot_of(TEMPLATE), snapshot_of(TEMPLATE, workload=DAEMON)
    assert deployed.digest == digest_of(deployed.text)
    assert daemon.digest == "v1:9c6f57b05dfbe5dd00ef284c8c9a2f63327669381fb9776da31f184ce36159a0"
    assert not same_content(deployed, daemon)
    assert is_genuine(daemon)
    assert not is_genuine(replace(daemon, workload=WorkloadKind.REPLICA_SET))
    ref = ConfigurationRef("ConfigMap", "a", "v1:1")
    configured = with_configuration(daemon, [ref])
    assert configured.workload is DAEMON
    assert configured == snapshot_of(TEMPLATE, [ref], DAEMON)
