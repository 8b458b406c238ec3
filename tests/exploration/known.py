"""Promises that are known to be broken: kinds of those whose stories are files that are expected to fail."""

from tests.exploration.search import kind_of
from tests.exploration.story import stories


def known(seed: str) -> frozenset[str]:
    """Those of a seed; what two agents do to each other excuses nobody else."""
    told = [one for one in stories() if one.unmended and (one.story.seed != "two agents" or seed == "two agents")]
    return frozenset(kind_of(one.story.promise) for one in told)
