"""ReplicaSets: which are created, repaired, scaled and deleted, in which order, and which are left alone."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.actions import CreateReplicaSet, DeleteReplicaSet, ScaleReplicaSet
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.spec import AntiAffinity, Suspension
from gitops_bg.core.model.version import AntiAffinityTerm, Snapshot, Version
from gitops_bg.core.world import World
from tests.core.simulation import manual, template
from tests.core.worlds import (
    NOW,
    active,
    archived,
    candidate,
    decided,
    digest,
    legacy,
    pods,
    rising,
    service,
    target,
    world,
)

SUSPENDED = replace(manual(), suspend=Suspension("incident"))
SLOWER = replace(manual(), min_ready_seconds=10)
SNAPSHOTLESS = Snapshot(digest(1), "")
NOWHERE = {"primary": Missing.ABSENT, "target": Missing.ABSENT}
"""Git has no snapshot either."""
PENDING = Switch(digest(2), digest(1), SwitchKind.ROLLBACK, NOW)


def bare(version: Version) -> Version:
    return replace(version, snapshot=Snapshot(version.digest, ""))


def named(number: int) -> str:
    return f"{number} (v{number})"


REPLICA_SETS: dict[str, tuple[World, list[str]]] = {
    "nothing while all is there": (world(active(1), candidate(2)), []),
    "a candidate begins at 0": (
        world(active(1), rising(2), sets=(pods(1),)),
        [f"create the green ReplicaSet of {named(2)} at 0", f"scale {named(2)} from 0 to 3: a new candidate"],
    ),
    "a candidate of an app at 0 stays there": (
        world(active(1), rising(2), sets=(pods(1, 0),), desired={"target": target(2, 0)}),
        [f"create the green ReplicaSet of {named(2)} at 0"],
    ),
    "what serves comes back at its size at once": (
        world(active(1), sets=()),
        [f"create the blue ReplicaSet of {named(1)} at 3"],
    ),
    "a warm version comes back warm": (
        world(legacy(1), active(2), sets=(pods(2),)),
        [f"create the blue ReplicaSet of {named(1)} at 3"],
    ),
    "what traffic returns to comes back": (
        world(archived(1), active(2), names_=1, sets=(pods(2),)),
        [f"create the blue ReplicaSet of {named(1)} at 3"],
    ),
    "an archived version that was deleted stays away": (world(archived(1), active(2), sets=(pods(2),)), []),
    "a superseded candidate that was deleted stays away": (
        world(active(1), candidate(2, retiring=True), wants=1, sets=(pods(1),)),
        [],
    ),
    "nothing is created without a snapshot": (world(bare(active(1)), sets=(), desired=NOWHERE), []),
    "a snapshot that only Git still has is enough": (
        world(bare(active(1)), sets=()),
        [f"create the blue ReplicaSet of {named(1)} at 3"],
    ),
    "what is too small grows": (
        world(active(1), sets=(pods(1, 1),)),
        [f"scale {named(1)} from 1 to 3: the active version needs 3"],
    ),
    "what differs is repaired, and never made smaller by that": (
        world(active(1), sets=(pods(1, 5, drifted=True),)),
        [f"repair the blue ReplicaSet of {named(1)} at 5"],
    ),
    "what differs and is too small is repaired at its size": (
        world(active(1), sets=(pods(1, 1, drifted=True),)),
        [f"repair the blue ReplicaSet of {named(1)} at 3"],
    ),
    "a new minReadySeconds is a repair, not a rollout": (
        world(active(1), spec=SLOWER),
        [f"repair the blue ReplicaSet of {named(1)} at 3"],
    ),
    "what differs and cannot be repaired is scaled all the same": (
        world(bare(active(1)), sets=(pods(1, 1, drifted=True, snapshot=SNAPSHOTLESS),), desired=NOWHERE),
        [f"scale {named(1)} from 1 to 3: the active version needs 3"],
    ),
    "one that is going away is waited for": (world(active(1), sets=(pods(1, deleting=True),)), []),
    "one that is going away is waited for under whatever name": (
        world(active(1), sets=(pods(1, name="web-primary-0123456789", deleting=True),)),
        [],
    ),
    "one of another version that is going away is in nobody's way": (
        world(active(1), sets=(pods(2, deleting=True),)),
        [f"create the blue ReplicaSet of {named(1)} at 3"],
    ),
    "one of another version number is the version's all the same": (
        world(active(1), sets=(pods(1, 1, name="web-v9-0123456789"),)),
        [f"scale {named(1)} from 1 to 3: the active version needs 3"],
    ),
    "somebody else's of that name is left alone": (world(active(1), sets=(pods(1, ours=False),)), []),
    "somebody else's of another name hides none of ours": (
        world(active(1), sets=(pods(1, ours=False, name="theirs"), pods(1, 1))),
        [f"scale {named(1)} from 1 to 3: the active version needs 3"],
    ),
    "somebody else's of another name stands in nobody's way": (
        world(active(1), sets=(pods(1, ours=False, name="theirs"),)),
        [f"create the blue ReplicaSet of {named(1)} at 3"],
    ),
    "suspended: nothing but what traffic returns to": (
        world(
            archived(1), active(2), candidate(3), names_=1, spec=SUSPENDED, sets=(pods(1, 0), pods(2, 3), pods(3, 1))
        ),
        [f"scale {named(1)} from 0 to 3: the legacy version needs 3"],
    ),
    "suspended: nothing where traffic goes nowhere": (world(active(1), spec=SUSPENDED, sets=()), []),
    "suspended: what is to serve where nothing does": (
        world(legacy(1), rising(2), live=0, names_=1, spec=SUSPENDED, sets=()),
        [f"create the green ReplicaSet of {named(1)} at 3"],
    ),
    "suspended: nothing where nothing serves, and is to": (world(rising(1), live=0, spec=SUSPENDED, sets=()), []),
    "suspended: nothing of what main promotes": (
        world(active(1), rising(2), names_=2, spec=SUSPENDED, sets=(pods(1),)),
        [],
    ),
    "an archived version goes to 0": (
        world(archived(1), active(2), sets=(pods(1), pods(2))),
        [f"scale {named(1)} from 3 to 0: archived"],
    ),
    "the live version follows the target down": (
        world(active(1), desired={"target": target(1, 2)}),
        [f"scale {named(1)} from 3 to 2: the active version needs 2"],
    ),
    "a candidate that was scaled by hand": (
        world(active(1), candidate(2), sets=(pods(1), pods(2, 9))),
        [f"scale {named(2)} from 9 to 3: the candidate version needs 3"],
    ),
    "nothing that the live Service selects, whatever the record says": (
        world(archived(1), active(2), sets=(pods(1), pods(2)), observed={"active_service": service("web", 1)}),
        [],
    ),
    "nothing while a switch is on its way": (
        world(
            archived(0), legacy(1), active(2), names_=1, sets=(pods(0), pods(1), pods(2)), record={"switch": PENDING}
        ),
        [],
    ),
    "nothing while it is suspended": (world(archived(1), active(2), spec=SUSPENDED, sets=(pods(1), pods(2))), []),
    "what is repaired in the same pass is made smaller in the next": (
        world(archived(1), active(2), sets=(pods(1, drifted=True), pods(2))),
        [f"repair the blue ReplicaSet of {named(1)} at 3"],
    ),
    "what differs and cannot be repaired is made smaller": (
        world(bare(archived(1)), active(2), sets=(pods(1, drifted=True, snapshot=SNAPSHOTLESS), pods(2))),
        [f"scale {named(1)} from 3 to 0: archived"],
    ),
    "one that no version knows is deleted": (
        world(active(1), sets=(pods(1), pods(9, 0, name="web-9"))),
        ["delete ReplicaSet web-9: beyond revisionHistoryLimit"],
    ),
    "one that no version knows, and the live Service selects, stays": (
        world(active(1), sets=(pods(1), pods(9)), observed={"active_service": service("web", 9)}),
        [],
    ),
    "one that no version knows, and is somebody else's, stays": (
        world(active(1), sets=(pods(1), pods(9, ours=False))),
        [],
    ),
    "one that is going away already is not deleted again": (
        world(active(1), sets=(pods(1), pods(9, deleting=True))),
        [],
    ),
}


@pytest.mark.parametrize("name", REPLICA_SETS)
def test_what_is_done_with_replica_sets(name: str) -> None:
    state, said = REPLICA_SETS[name]
    kinds = CreateReplicaSet | ScaleReplicaSet | DeleteReplicaSet
    assert [str(action) for action in decided(state).actions if isinstance(action, kinds)] == said


def drifted(*versions: Version, **fields: int) -> World:
    """Every ReplicaSet is to be repaired."""
    return world(*versions, sets=tuple(pods(each.number, drifted=True) for each in versions), **fields)


ORDER: dict[str, tuple[World, list[int]]] = {
    "what traffic goes back to, then what serves, then what served, then what is new": (
        drifted(archived(1), legacy(2), active(3), candidate(4), names_=2),
        [2, 3, 1, 4],
    ),
    "what a promotion moves to is new, and comes last": (
        drifted(legacy(1), active(2), candidate(3), names_=3),
        [2, 1, 3],
    ),
    "what a promotion moves to and served before waits for what serves": (
        drifted(active(1), legacy(2), names_=2),
        [1, 2],
    ),
}


@pytest.mark.parametrize("name", ORDER)
def test_what_traffic_needs_comes_first(name: str) -> None:
    state, numbers = ORDER[name]
    assert [each.number for each in decided(state).actions if isinstance(each, CreateReplicaSet)] == numbers


STRICT, SOFT = manual(anti_affinity=AntiAffinity()), manual(anti_affinity=AntiAffinity(50))
KEPT_OFF: dict[str, tuple[World, AntiAffinityTerm | None]] = {
    "a new version, strictly": (world(active(1), rising(2), spec=STRICT, sets=(pods(1),)), AntiAffinityTerm(digest(1))),
    "a new version, where possible": (
        world(active(1), rising(2), spec=SOFT, sets=(pods(1),)),
        AntiAffinityTerm(digest(1), 50),
    ),
    "not where it is not asked for": (world(active(1), rising(2), sets=(pods(1),)), None),
    "not the first version": (world(rising(1), spec=STRICT, sets=()), None),
    "not the live version itself": (world(active(1), spec=STRICT, sets=()), None),
    "not what traffic may go back to": (world(legacy(1), active(2), spec=STRICT, sets=(pods(2),)), None),
    "not by a repair": (world(active(1), rising(2), spec=STRICT, sets=(pods(1), pods(2, drifted=True))), None),
}


@pytest.mark.parametrize("name", KEPT_OFF)
def test_anti_affinity_keeps_new_pods_off_the_live_ones(name: str) -> None:
    state, term = KEPT_OFF[name]
    (action,) = [action for action in decided(state).actions if isinstance(action, CreateReplicaSet)]
    assert action.anti_affinity == term
    assert ("apart from" in str(action)) is (term is not None)


def test_a_tampered_snapshot_is_never_what_is_created() -> None:
    tampered = pods(1, ours=False, name="theirs", snapshot=Snapshot(digest(1), template("9").text))
    state = world(bare(active(1)), sets=(tampered,), desired=NOWHERE)
    assert not [each for each in decided(state).actions if isinstance(each, CreateReplicaSet)]
