"""ReplicaSets: which are created, repaired, scaled and deleted, in which order, and which are left alone."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import Snapshot, Version
from gitops_bg.core.plan.workloads import begins, by_priority, grow, manageable, shrink
from tests.core.simulation import manual, template
from tests.core.worlds import (
    NOW,
    active,
    archived,
    candidate,
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


def bare(version: Version) -> Version:
    return replace(version, snapshot=Snapshot(version.digest, ""))


def named(number: int) -> str:
    return f"v{number} ({short(digest(number))})"


GROWN = {
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
    "nothing is created without a snapshot": (
        world(bare(active(1)), sets=(), desired={"primary": Missing.ABSENT, "target": Missing.ABSENT}),
        [],
    ),
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
        world(
            bare(active(1)),
            sets=(pods(1, 1, drifted=True, snapshot=SNAPSHOTLESS),),
            desired={"primary": Missing.ABSENT, "target": Missing.ABSENT},
        ),
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
        [f"scale {named(1)} from 0 to 3: the archived version needs 3"],
    ),
    "suspended: nothing where traffic goes nowhere": (world(active(1), spec=SUSPENDED, sets=()), []),
    "suspended: what is to serve where nothing does": (
        world(legacy(1), rising(2), live=0, names_=1, spec=SUSPENDED, sets=()),
        [f"create the blue ReplicaSet of {named(1)} at 3"],
    ),
    "suspended: nothing where nothing serves, and is to": (world(rising(1), live=0, spec=SUSPENDED, sets=()), []),
    "suspended: nothing of what main promotes": (
        world(active(1), rising(2), names_=2, spec=SUSPENDED, sets=(pods(1),)),
        [],
    ),
}


@pytest.mark.parametrize("name", GROWN)
def test_grow(name):
    state, said = GROWN[name]
    assert [str(action) for action in grow(state, manageable(state))] == said


def numbers(*groups):
    return tuple(tuple(version.number for version in versions) for versions in groups)


PRIORITIES = {
    "what traffic goes back to, then what serves, then what served, then what is new": (
        world(archived(1), legacy(2), active(3), candidate(4), names_=2),
        ((2, 3), (1,), (4,)),
    ),
    "what a promotion moves to is new, and comes last": (
        world(legacy(1), active(2), candidate(3), names_=3),
        ((2,), (1,), (3,)),
    ),
    "what a promotion moves to and served before waits for what serves": (
        world(active(1), legacy(2), names_=2),
        ((1,), (2,), ()),
    ),
    "in a rebuilt cluster all is new": (world(legacy(1), rising(2), live=0, names_=1, sets=()), ((), (), (1, 2))),
}


@pytest.mark.parametrize("name", PRIORITIES)
def test_what_traffic_needs_grows_first(name):
    state, groups = PRIORITIES[name]
    assert numbers(*by_priority(state)) == groups


BEGINS = {
    "one without a ReplicaSet": (world(active(1), rising(2), sets=(pods(1),)), True),
    "one whose ReplicaSet is to grow": (world(active(1), rising(2), sets=(pods(1), pods(2, 0))), False),
    "one whose former ReplicaSet is going away": (
        world(active(1), rising(2), sets=(pods(1), pods(2, 0, deleting=True))),
        False,
    ),
}


@pytest.mark.parametrize("name", BEGINS)
def test_a_replica_set_is_created_now_for(name):
    state, begun = BEGINS[name]
    assert begins(state, state.record.numbered(2)) is begun


PENDING = Switch(digest(2), digest(1), SwitchKind.ROLLBACK, NOW)
SHRUNK = {
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
        [],
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


@pytest.mark.parametrize("name", SHRUNK)
def test_shrink(name):
    state, said = SHRUNK[name]
    assert [str(action) for action in shrink(state)] == said


def test_a_tampered_snapshot_is_never_what_is_created():
    tampered = pods(1, ours=False, name="theirs", snapshot=Snapshot(digest(1), template("9").text))
    state = world(bare(active(1)), sets=(tampered,), desired={"primary": Missing.ABSENT, "target": Missing.ABSENT})
    assert grow(state, manageable(state)) == ()
