"""`activeMetadata` and `previewMetadata`: who carries which, and when it is written (argo-rollouts.md §1.1, §7)."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.actions import CreateReplicaSet, SyncPodMetadata
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import NO_METADATA, PodMetadata
from tests.core.simulation import deployed, manual, template
from tests.core.worlds import NOW, active, archived, candidate, decided, digest, legacy, pods, rising, sentences, world

OTHER = PodMetadata((("role", "other"),))
ACTIVE, PREVIEW = PodMetadata((("role", "active"),)), PodMetadata((("role", "preview"),))
SPEC = manual(active_metadata=ACTIVE, preview_metadata=PREVIEW)

ROLES = {
    "the live version": (world(active(1), spec=SPEC), 1, ACTIVE),
    "a candidate": (world(active(1), candidate(2), spec=SPEC), 2, PREVIEW),
    "one that comes up": (world(active(1), rising(2), spec=SPEC), 2, PREVIEW),
    "one that primary.yaml names already": (
        world(active(1), candidate(2), spec=SPEC, names_=2, sets=(pods(1), pods(2, 3, 0))),
        2,
        PREVIEW,
    ),
    "what is to serve first": (world(rising(1), spec=SPEC), 1, ACTIVE),
    "a superseded candidate": (world(active(1), candidate(2, retiring=True), candidate(3), spec=SPEC), 2, NO_METADATA),
    "the version that was left": (world(legacy(1), active(2), spec=SPEC), 1, NO_METADATA),
    "one that traffic goes back to, until it is there": (
        world(legacy(1), active(2), spec=SPEC, names_=1, sets=(pods(1, 3, 0), pods(2))),
        1,
        NO_METADATA,
    ),
    "an archived version": (world(archived(1), active(2), spec=SPEC), 1, NO_METADATA),
}


@pytest.mark.parametrize("name", ROLES)
def test_metadata_goes_with_the_role(name):
    state, number, wanted = ROLES[name]
    others = tuple(replace(each, metadata=OTHER) for each in state.observed.replica_sets)
    decision = decided(replace(state, observed=replace(state.observed, replica_sets=others)))
    given = [each for each in decision.actions if isinstance(each, CreateReplicaSet) and each.number == number]
    assert [each.metadata for each in given] == [wanted]


def dressed(number: int, metadata: PodMetadata, **changes):
    return pods(number, metadata=metadata, **changes)


SWITCH = Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW)
AFTER = world(legacy(1), active(2), spec=SPEC, sets=(dressed(1, ACTIVE), dressed(2, PREVIEW)))
WRITTEN = {
    "both ReplicaSets after a switch": (
        AFTER,
        [
            "repair the blue ReplicaSet of 1 (v1) at 3: its pods get no metadata of a role",
            "repair the green ReplicaSet of 2 (v2) at 3: its pods get role=active",
        ],
    ),
    "then the pods that are there": (
        world(active(1), spec=SPEC, sets=(dressed(1, ACTIVE, pods_outdated=True),)),
        ["give the pods of 1 (v1) role=active"],
    ),
    "also those that are to lose what they carry": (
        world(active(1), sets=(dressed(1, NO_METADATA, pods_outdated=True),)),
        ["give the pods of 1 (v1) no metadata of a role"],
    ),
    "nothing once all is as it should be": (world(active(1), spec=SPEC, sets=(dressed(1, ACTIVE),)), []),
    "nothing where nothing is asked for": (world(legacy(1), active(2)), []),
    "nothing while a switch is on its way": (
        world(active(1), candidate(2), spec=SPEC, record={"switch": SWITCH}, names_=2),
        [],
    ),
    "nothing while the app is suspended": (replace(AFTER, spec=replace(SPEC, suspend=Suspension("incident"))), []),
    "nothing for one that is somebody else's": (
        world(active(1), spec=SPEC, sets=(pods(1, ours=False, owner="Helm"),)),
        [],
    ),
    "one that is being scaled has to wait": (world(active(1), spec=SPEC, sets=(pods(1, 2),)), []),
    "one that is being repaired gets it with the repair": (
        world(active(1), spec=SPEC, sets=(pods(1, drifted=True),)),
        ["repair the blue ReplicaSet of 1 (v1) at 3"],
    ),
    "so has one whose minReadySeconds change": (
        world(active(1), spec=SPEC, sets=(pods(1, min_ready_seconds=9),)),
        ["repair the blue ReplicaSet of 1 (v1) at 3"],
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_writes(name):
    state, expected = WRITTEN[name]
    shorts = {str(n): digest(n)[3:13] for n in (1, 2)}
    expected = [line.replace("{1}", shorts["1"]).replace("{2}", shorts["2"]) for line in expected]
    written = [each for each in decided(state).actions if isinstance(each, CreateReplicaSet | SyncPodMetadata)]
    assert [str(action) for action in written] == expected


BORN = {
    "new pods": (world(active(1), rising(2), spec=SPEC, sets=(dressed(1, ACTIVE),)), PREVIEW),
    "what serves, and comes back: Services may select by it": (world(active(1), spec=SPEC, sets=()), ACTIVE),
    "what is repaired": (world(active(1), spec=SPEC, sets=(dressed(1, ACTIVE, drifted=True),)), ACTIVE),
}


@pytest.mark.parametrize("name", BORN)
def test_it_is_given_from_birth_to(name):
    state, metadata = BORN[name]
    (created,) = (each for each in decided(state).actions if isinstance(each, CreateReplicaSet))
    assert created.metadata == metadata


def test_it_comes_after_traffic_and_size_and_before_git():
    state = world(legacy(1), active(2), spec=SPEC, sets=(dressed(1, ACTIVE), pods(2, 4, metadata=ACTIVE)))
    said = sentences(state)
    assert [line.split()[0] for line in said] == ["scale", "repair"]


def test_life_of_a_promotion_and_of_an_edit():
    sim = deployed(SPEC)
    one, two = template("1").digest, template("2").digest
    assert sim.pods[one].worn == ACTIVE
    sim.push("2")
    sim.settle()
    assert (sim.pods[one].worn, sim.pods[two].worn) == (ACTIVE, PREVIEW)

    other = PodMetadata(annotations=(("team", "shop"),))
    sim.spec = replace(SPEC, strategy=replace(SPEC.strategy, preview_metadata=other))
    sim.settle()
    assert (sim.pods[one].worn, sim.pods[two].worn) == (ACTIVE, other)

    sim.merge()
    sim.settle()
    assert (sim.pods[one].worn, sim.pods[two].worn) == (NO_METADATA, ACTIVE)
    sim.revert_promotion()
    sim.settle()
    assert (sim.pods[one].worn, sim.pods[two].worn) == (ACTIVE, NO_METADATA)
    assert sim.step().actions == ()
