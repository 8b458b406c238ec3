"""Promises that are known to be broken: from a seed, of a kind, each by a story that is a file and expected to fail.

Nothing is excused that no story tells of from that very seed; `test_story_ends_well` fails where one ends well.
"""

from tests.exploration.search import kind_of
from tests.exploration.story import stories


def known(seed: str) -> frozenset[str]:
    """The kinds that are known to be broken from a seed."""
    return frozenset(kind_of(one.story.promise) for one in stories() if one.unmended and one.story.seed == seed)
