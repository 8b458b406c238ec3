"""`activeMetadata` and `previewMetadata`: who carries which, and when it is written (argo-rollouts.md §1.1, §7)."""

from dataclasses import replace

import pytest

from gitops_bg.core.checks.ephemeral_metadata import metadata_for
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import NO_METADATA, PodMetadata
from gitops_bg.core.plan.ephemeral_metadata import sync_pod_metadata
from gitops_bg.core.plan.workloads import grow, manageable
from tests.core.simulation import deployed, manual, template
from tests.core.worlds import NOW, active, archived, candidate, digest, legacy, pods, rising, sentences, world

ACTIVE, PREVIEW = PodMetadata((("role", "active"),)), PodMetadata((("role", "preview"),))
SPEC = manual(active_metadata=ACTIVE, preview_metadata=PREVIEW)

ROLES = {
    "the live version": (world(active(1), spec=SPEC), 1, ACTIVE),
    "a candidate": (world(active(1), candidate(2), spec=SPEC), 2, PREVIEW),
    "one that comes up": (world(active(1), rising(2), spec=SPEC), 2, PREVIEW),
    "one that primary.yaml names already": (world(active(1), candidate(2), spec=SPEC, names_=2), 2, PREVIEW),
    "what is to serve first": (world(rising(1), spec=SPEC), 1, ACTIVE),
    "a superseded candidate": (world(active(1), candidate(2, retiring=True), candidate(3), spec=SPEC), 2, NO_METADATA),
    "the version that was left": (world(legacy(1), active(2), spec=SPEC), 1, NO_METADATA),
    "one that traffic goes back to, until it is there": (
        world(legacy(1), active(2), spec=SPEC, names_=1),
        1,
        NO_METADATA,
    ),
    "an archived version": (world(archived(1), active(2), spec=SPEC), 1, NO_METADATA),
}


@pytest.mark.parametrize("name", ROLES)
def test_metadata_goes_with_the_role(name):
    state, number, wanted = ROLES[name]
    version = state.record.numbered(number)
    assert version is not None
    assert metadata_for(state, version) == wanted


def dressed(number: int, metadata: PodMetadata, **changes):
    return pods(number, metadata=metadata, **changes)


SWITCH = Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW)
AFTER = world(legacy(1), active(2), spec=SPEC, sets=(dressed(1, ACTIVE), dressed(2, PREVIEW)))
WRITTEN = {
    "both ReplicaSets after a switch": (
        AFTER,
        [
            "repair the blue ReplicaSet of v1 ({1}) at 3: its pods get no metadata of a role",
            "repair the green ReplicaSet of v2 ({2}) at 3: its pods get role=active",
        ],
    ),
    "then the pods that are there": (
        world(active(1), spec=SPEC, sets=(dressed(1, ACTIVE, pods_outdated=True),)),
        ["give the pods of v1 ({1}) role=active"],
    ),
    "also those that are to lose what they carry": (
        world(active(1), sets=(dressed(1, NO_METADATA, pods_outdated=True),)),
        ["give the pods of v1 ({1}) no metadata of a role"],
    ),
    "nothing once all is as it should be": (world(active(1), spec=SPEC, sets=(dressed(1, ACTIVE),)), []),
    "nothing where nothing is asked for": (world(legacy(1), active(2)), []),
    "nothing while a switch is on its way": (
        world(active(1), candidate(2), spec=SPEC, record={"switch": SWITCH}, names_=2),
        [],
    ),
    "nothing while the app is suspended": (
        replace(AFTER, spec=replace(SPEC, suspend=Suspension("incident"))),
        [],
    ),
    "nothing for one that is somebody else's": (
        world(active(1), spec=SPEC, sets=(pods(1, ours=False, owner="Helm"),)),
        [],
    ),
    "one that is being scaled has to wait": (world(active(1), spec=SPEC, sets=(pods(1, 2),)), []),
    "so has one that is being repaired": (world(active(1), spec=SPEC, sets=(pods(1, drifted=True),)), []),
    "or whose minReadySeconds change": (world(active(1), spec=SPEC, sets=(pods(1, min_ready_seconds=9),)), []),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_writes(name):
    state, expected = WRITTEN[name]
    shorts = {str(n): digest(n)[3:13] for n in (1, 2)}
    expected = [line.replace("{1}", shorts["1"]).replace("{2}", shorts["2"]) for line in expected]
    assert [str(action) for action in sync_pod_metadata(state)] == expected


def test_new_pods_are_born_with_it():
    state = world(active(1), rising(2), spec=SPEC, sets=(dressed(1, ACTIVE),))
    (created, *_) = grow(state, manageable(state))
    assert created.metadata == PREVIEW


def test_what_serves_comes_back_with_it():
    """Services may select by it."""
    state = world(active(1), spec=SPEC, sets=())
    (created,) = grow(state, manageable(state))
    assert created.metadata == ACTIVE


def test_repair_gives_it_back():
    state = world(active(1), spec=SPEC, sets=(dressed(1, ACTIVE, drifted=True),))
    (repair,) = grow(state, manageable(state))
    assert repair.metadata == ACTIVE


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
