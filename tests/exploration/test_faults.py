"""Exploration is able to fail: each seeded fault is caught, by a story that the engine as it is lives through."""

import pytest

from tests.exploration.faults import FAULTS, Fault, caught
from tests.exploration.search import replay
from tests.exploration.seeds import SEEDS


def test_there_are_at_least_thirty_faults():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 30


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_fault_is_caught(fault: Fault):
    story = caught(fault)
    assert story is not None, f"nothing within {fault.depth} events of {fault.seed!r} notices it"
    seed = next(one for one in SEEDS if one.name == story.seed)
    replay(seed, story.events)
