"""Every promise holds in every state within the bound, from every seed; and stories that were found stay mended."""

import pytest

from tests.exploration.known import known
from tests.exploration.search import explore, kind_of, replay
from tests.exploration.seeds import SEEDS, Seed
from tests.exploration.story import Told, stories, text
from tests.exploration.world import Violation

TOLD = tuple(stories())


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name.replace(" ", "-"))
def test_every_promise_holds(seed: Seed):
    done = explore(seed)
    print(done._replace(stories=()))
    new = [story for story in done.stories if kind_of(story.promise) not in known(seed.name)]
    assert not new, "\n\n".join(map(text, new))
    assert done.states >= seed.states, "fewer states than before: something cannot happen any more"


def test_there_are_at_least_a_dozen_seeds():
    assert len({seed.name for seed in SEEDS}) == len(SEEDS) >= 12


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(
            told,
            id=told.file,
            marks=[pytest.mark.xfail(reason=told.unmended, strict=True, raises=Violation)] if told.unmended else [],
        )
        for told in TOLD
    ],
)
def test_story_ends_well(told: Told):
    """A promise that was broken once, by the shortest way there was."""
    seed = next(one for one in SEEDS if one.name == told.story.seed)
    replay(seed, told.story.events)
