"""How many pods each version is to have, and how many must be available before traffic moves."""

import pytest

from gitops_bg.core.checks.sizes import needed_to_switch, wanted_size
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.statements import Hold, Override
from tests.core.simulation import manual
from tests.core.worlds import NOW, active, archived, candidate, digest, legacy, pods, rising, target, world

ONE_POD = manual(preview_replica_count=1)


def broken(record, *sets):
    """An app whose target cannot be read."""
    return world(active(1), sets=sets, desired={"target": Missing.ABSENT}, record=record)


WANTED = {
    "the live version: what the target asks for": (world(active(1), desired={"target": target(1, 5)}), 1, 5),
    "the live version, where the target is broken: what it asked for last": (
        world(active(1), desired={"target": Missing.ABSENT}, record={"replicas": 4}),
        1,
        4,
    ),
    "the live version of an app at 0": (world(active(1), desired={"target": target(1, 0)}), 1, 0),
    "a candidate: full": (world(active(1), rising(2), sets=(pods(1),)), 2, 3),
    "a candidate with previewReplicaCount": (world(active(1), rising(2), spec=ONE_POD, sets=(pods(1),)), 2, 1),
    "a candidate that was full once stays full": (world(active(1), candidate(2), spec=ONE_POD), 2, 3),
    "a candidate never has more than full": (
        world(active(1), candidate(2), spec=ONE_POD, sets=(pods(1), pods(2, 9))),
        2,
        3,
    ),
    "what primary.yaml names: full": (world(active(1), candidate(2), spec=ONE_POD, names_=2, sets=()), 2, 3),
    "what primary.yaml names: no fewer than serve now": (
        world(active(1), candidate(2), names_=2, sets=(pods(1, 8), pods(2))),
        2,
        8,
    ),
    "an old version that traffic returns to: today's load": (
        world(legacy(1), active(2), names_=1, sets=(pods(1, 1), pods(2, 6))),
        1,
        6,
    ),
    "an old version that an override returns to": (
        world(
            legacy(1), active(2), record={"override": Override(digest(2), digest(1), "", "", NOW)}, sets=(pods(2, 6),)
        ),
        1,
        6,
    ),
    "a warm version: full, to go back to": (world(legacy(1), active(2), sets=(pods(1, 1), pods(2))), 1, 3),
    "a warm version that nothing makes leave: full": (world(legacy(1, retiring=False), active(2), sets=()), 1, 3),
    "a warm version, where the target asks for more: more, too": (
        world(legacy(1), active(2), desired={"target": target(2, 5)}),
        1,
        5,
    ),
    "a warm version, where the target asks for less: not before live traffic has less": (
        world(legacy(1), active(2), desired={"target": target(2, 1)}),
        1,
        3,
    ),
    "a warm version, where live traffic has less: less, too": (
        world(legacy(1), active(2), sets=(pods(1), pods(2, 1)), desired={"target": target(2, 1)}),
        1,
        1,
    ),
    "a warm version does not follow what somebody scaled live traffic up to": (
        world(legacy(1), active(2), sets=(pods(1), pods(2, 50))),
        1,
        3,
    ),
    "live traffic, while a candidate waits for its gates: what the target asks for": (
        world(active(1), candidate(2), desired={"target": target(2, 5)}),
        1,
        5,
    ),
    "live traffic, while the target is on hold: what the target asks for": (
        world(
            active(1),
            candidate(2, retiring=True),
            desired={"target": target(2, 5)},
            record={"holds": (Hold(digest(2), "5xx", NOW),)},
        ),
        1,
        5,
    ),
    "a superseded candidate keeps what it has": (
        world(active(1), candidate(2, retiring=True), rising(3), sets=(pods(1), pods(2, 1))),
        2,
        1,
    ),
    "an archived version: none": (world(archived(1), active(2)), 1, 0),
    "an archived version that primary.yaml names: full": (world(archived(1), active(2), names_=1), 1, 3),
}


@pytest.mark.parametrize("name", WANTED)
def test_wanted_size(name):
    state, number, size = WANTED[name]
    assert wanted_size(state, state.record.numbered(number)) == size


NEEDED = {
    "forward: all": (world(active(1), candidate(2), names_=2), 3),
    "forward: all, also when none serve": (world(active(1), candidate(2), names_=2, sets=(pods(1, 3, 0), pods(2))), 3),
    "forward: no fewer than serve": (world(active(1), candidate(2), names_=2, sets=(pods(1, 7), pods(2))), 7),
    "forward, at 0 replicas: one, for 0 of 0 pods prove nothing": (
        world(active(1), candidate(2), names_=2, sets=(), desired={"target": target(2, 0)}),
        1,
    ),
    "first, at 0 replicas: one": (world(candidate(1), names_=1, sets=(), desired={"target": target(1, 0)}), 1),
    "first: all": (world(candidate(1), names_=1), 3),
    "back: as many as serve": (world(legacy(1), active(2), names_=1, sets=(pods(1), pods(2, 3, 2))), 2),
    "back, from one that serves nobody: one is enough": (
        world(legacy(1), active(2), names_=1, sets=(pods(1), pods(2, 3, 0))),
        1,
    ),
    "back, at 0 replicas: none": (
        world(legacy(1), active(2), names_=1, sets=(), desired={"target": target(2, 0)}),
        0,
    ),
}


@pytest.mark.parametrize("name", NEEDED)
def test_needed_to_switch(name):
    state, needed = NEEDED[name]
    assert needed_to_switch(state, state.incoming or state.record.versions[-1]) == needed


FULL = {
    "the target's": (world(active(1), desired={"target": target(1, 7)}), 7),
    "that of the last good target": (broken({"replicas": 7}), 7),
    "0, where the last good target said so": (broken({"replicas": 0}), 0),
    "the largest that is there, where no target was ever seen": (
        broken({"replicas": None}, pods(1, 4), pods(2, 2), pods(3, 9, ours=False)),
        4,
    ),
    "1, where nothing is there": (broken({"replicas": None}), 1),
}


@pytest.mark.parametrize("name", FULL)
def test_full_size(name):
    state, size = FULL[name]
    assert state.full_size == size
