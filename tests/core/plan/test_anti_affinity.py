"""`antiAffinity`: which pods new pods avoid, and which pods it never delays."""

import pytest

from gitops_bg.core.model.actions import CreateReplicaSet
from gitops_bg.core.model.spec import AntiAffinity
from gitops_bg.core.model.version import AntiAffinityTerm
from tests.core.simulation import manual
from tests.core.worlds import active, decided, digest, legacy, pods, rising, world

STRICT, SOFT = manual(anti_affinity=AntiAffinity()), manual(anti_affinity=AntiAffinity(50))
KEPT_OFF = {
    "a new version, strictly": (world(active(1), rising(2), spec=STRICT, sets=(pods(1),)), AntiAffinityTerm(digest(1))),
    "a new version, where possible": (
        world(active(1), rising(2), spec=SOFT, sets=(pods(1),)),
        AntiAffinityTerm(digest(1), 50),
    ),
    "not where it is not asked for": (world(active(1), rising(2), sets=(pods(1),)), None),
    "not the first version": (world(rising(1), spec=STRICT, sets=()), None),
    "not the live version itself": (world(active(1), spec=STRICT, sets=()), None),
    "not what traffic may go back to": (world(legacy(1), active(2), spec=STRICT, sets=(pods(2),)), None),
    "not by a repair": (
        world(active(1), rising(2), spec=STRICT, sets=(pods(1), pods(2, drifted=True))),
        None,
    ),
}


@pytest.mark.parametrize("name", KEPT_OFF)
def test_new_pods_are_kept_off_the_live_ones(name):
    state, term = KEPT_OFF[name]
    (action,) = [action for action in decided(state).actions if isinstance(action, CreateReplicaSet)]
    assert action.anti_affinity == term
    assert ("apart from" in str(action)) is (term is not None)
