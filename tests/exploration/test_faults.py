"""Exploration can fail: it catches each seeded fault, by a story that the engine without the fault passes."""

import pytest

from tests.exploration.faults import FAULTS, Fault, caught, told
from tests.exploration.search import replay
from tests.exploration.seeds import SEEDS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
@pytest.mark.slow
def test_fault_is_caught(fault: Fault):
    story = caught(fault)
    assert story is not None, f"nothing within {fault.depth} events of {fault.seed!r} notices it"
    seed = next(one for one in SEEDS if one.name == story.seed)
    replay(seed, story.events)


def test_no_story_is_told_of_a_fault_that_there_is_not():
    assert set(told()) <= {fault.name for fault in FAULTS}, "make faults"
