"""Versions that cannot be told apart, or known again, by their digests: nothing moves, and the condition says why."""

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.model.actions import CommitPrimary, CreateReplicaSet, ScaleReplicaSet, SwitchTraffic
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.desired import Missing, Primary
from gitops_bg.core.model.version import ConfigurationRef, Snapshot
from gitops_bg.core.world import World
from tests.core.shown import ABSENT
from tests.core.simulation import template
from tests.core.worlds import (
    active,
    archived,
    candidate,
    conditions,
    decided,
    did,
    digest,
    legacy,
    pods,
    primary,
    target,
    world,
)

MOVING = (CreateReplicaSet, ScaleReplicaSet, SwitchTraffic, CommitPrimary)


def twin(number: int) -> str:
    """Another digest with the short form of version ``number``."""
    other = digest(number)[: len("v1:") + 10] + "0" * 54
    assert other != digest(number)
    return other


def as_twin(number: int, content: str = "9") -> Snapshot:
    return replace(template(content), digest=twin(number))


# The world, and the two of it that have one short digest.
TWINS: dict[str, tuple[World, tuple[str, str]]] = {
    "the target and the version that serves": (
        world(active(1), desired={"target": replace(target(1), snapshot=as_twin(1))}),
        (f"v1 ({digest(1)})", f"that of target.yaml ({twin(1)})"),
    ),
    "the target and a version that served long ago": (
        world(archived(1), active(2), desired={"target": replace(target(1), snapshot=as_twin(1))}),
        (f"v1 ({digest(1)})", f"that of target.yaml ({twin(1)})"),
    ),
    "primary.yaml and a candidate": (
        world(active(1), candidate(2), desired={"primary": replace(primary(2), snapshot=as_twin(2))}),
        (f"v2 ({digest(2)})", f"that of primary.yaml ({twin(2)})"),
    ),
    "the target and primary.yaml": (
        world(
            active(1),
            desired={"target": target(5), "primary": replace(primary(5), snapshot=as_twin(5))},
        ),
        (f"that of target.yaml ({digest(5)})", f"that of primary.yaml ({twin(5)})"),
    ),
    "two versions of the record": (
        world(legacy(1), active(2), candidate(3, snapshot=as_twin(2)), desired={"target": target(2)}),
        (f"v2 ({digest(2)})", f"v3 ({twin(2)})"),
    ),
}
NEWER_NAME = "v9:" + digest(1).partition(":")[2]
ALONE: dict[str, World] = {
    "versions with digests of their own": world(legacy(1), active(2), candidate(3)),
    "one version by both documents": world(active(1)),
    "a version that the record knows by the digest of a newer release": world(
        replace(active(1), snapshot=replace(template("1"), digest=NEWER_NAME)),
        desired={"target": target(1), "primary": primary(1)},
        record={"traffic": NEWER_NAME, "preview": NEWER_NAME, "primary": NEWER_NAME},
    ),
    "nothing": world(desired={"target": Missing.ABSENT, "primary": Missing.ABSENT}),
}


@pytest.mark.parametrize("case", TWINS)
def test_two_digests_with_one_short_form_are_a_conflict_that_names_both_and_nothing_moves(case: str) -> None:
    state, (one, other) = TWINS[case]
    decision, said = decided(state), conditions(state)["Conflict"]
    assert did(state, *MOVING) == []
    assert (said.status, said.reason) == (True, "SameShortDigest")
    assert said.message.startswith(f"{one} and {other} both have the short digest {one.partition('v1:')[2][:10]}, ")
    assert decision.phase is Phase.DEGRADED
    assert decision.record.routing.traffic == state.record.routing.traffic
    stages = [
        [(version.digest, version.stage) for version in record.versions] for record in (state.record, decision.record)
    ]
    assert stages[0] == stages[1]


@pytest.mark.parametrize("case", ALONE)
def test_versions_that_can_be_told_apart_are_no_conflict(case: str) -> None:
    assert conditions(ALONE[case])["Conflict"] == ABSENT


def theirs(content: str, name: str = "v9:ff", **changes: Any) -> Primary:
    """A ``primary.yaml`` of a newer release."""
    return replace(primary(1), snapshot=replace(template(content), digest=name, **changes))


LOST = replace(archived(1), snapshot=Snapshot(digest(1), ""))
NEWER = replace(archived(1), snapshot=replace(template("1"), digest="v9:ff"))
SETTINGS = (ConfigurationRef("ConfigMap", "web", "v1:00"),)
# The world, and whether its primary.yaml, whose digest nobody here can compute, is accepted.
FOREIGN_DIGESTS: dict[str, tuple[World, bool]] = {
    "the content of the version that serves": (world(active(2), desired={"primary": theirs("2")}), True),
    "the content of a version that served": (world(archived(1), active(2), desired={"primary": theirs("1")}), True),
    "the content of the target": (world(active(1), desired={"target": target(2), "primary": theirs("2")}), True),
    "the content of a ReplicaSet whose version lost it": (
        world(LOST, active(2), sets=(pods(1), pods(2)), desired={"primary": theirs("1")}),
        True,
    ),
    "the content of somebody else's ReplicaSet": (
        world(LOST, active(2), sets=(pods(1, ours=False), pods(2)), desired={"primary": theirs("1")}),
        False,
    ),
    "content that nobody knows": (world(active(1), desired={"target": target(1), "primary": theirs("7")}), False),
    "no other content in a new cluster": (
        world(desired={"target": Missing.ABSENT, "primary": theirs("7")}, record={"traffic": ""}),
        False,
    ),
    "the same template with other configuration": (
        world(active(1), desired={"target": target(1), "primary": theirs("1", configuration=SETTINGS)}),
        False,
    ),
    "a version known by that digest": (world(NEWER, active(2), desired={"primary": theirs("1")}), True),
    "a version known by that digest, with other content": (
        world(NEWER, active(2), desired={"primary": theirs("7")}),
        False,
    ),
    "a version known by that digest, with the content of another": (
        world(NEWER, active(2), desired={"primary": theirs("2")}),
        False,
    ),
    "a digest of this release": (world(active(1), desired={"primary": primary(7), "target": target(1)}), True),
    "no primary.yaml": (world(active(1), desired={"primary": Missing.ABSENT, "target": target(1)}), True),
}


@pytest.mark.parametrize("case", FOREIGN_DIGESTS)
def test_digest_that_cannot_be_computed_here_counts_only_with_the_content_of_a_known_version(case: str) -> None:
    state, counts = FOREIGN_DIGESTS[case]
    said = conditions(state)["InvalidSpec"]
    assert (said == ABSENT) is counts
    if counts:
        return
    assert said.message == (
        "primary.yaml: digest: its digest begins with v9:, which this release does not compute, and it is no version "
        "known here (run the release that wrote it, or revert the change)"
    )
    decision = decided(state)
    assert did(state, *MOVING) == []
    assert decision.phase is Phase.INVALID
    assert decision.record.routing.traffic == state.record.routing.traffic


def test_the_version_that_serves_gets_its_pods_back_though_another_has_its_short_digest() -> None:
    state = world(
        legacy(1), active(2), candidate(3, snapshot=as_twin(2)), sets=(pods(1),), desired={"target": target(2)}
    )
    [created] = [action for action in decided(state).actions if isinstance(action, CreateReplicaSet)]
    assert created.snapshot.digest == digest(2)
