"""A table cannot build an impossible world."""

from dataclasses import replace

import pytest

from tests.core.worlds import active, candidate, legacy, pods, world

IMPOSSIBLE = {
    "more pods are available than there are": (
        lambda: world(active(1), sets=(pods(1, 3, 4),)),
        "has 4 available pods of 3",
    ),
    "it serves and never served": (lambda: world(active(1, activated_at=None)), "version 1 is active and never served"),
    "it left and never served": (lambda: world(legacy(1, activated_at=None), active(2)), "is legacy and never served"),
    "two serve": (lambda: world(active(1), active(2)), "two active versions"),
    "one number twice": (lambda: world(active(1), replace(candidate(2), number=1)), "two versions of one number"),
    "one digest twice": (
        lambda: world(active(1), replace(candidate(2), snapshot=active(1).snapshot)),
        "two versions of one digest",
    ),
    "no digest": (
        lambda: world(active(1), candidate(2, snapshot=replace(candidate(2).snapshot, digest=""))),
        "version 2 has no digest",
    ),
    "one name twice": (lambda: world(active(1), sets=(pods(1), pods(1))), "two ReplicaSets of one name"),
    "a number beyond the last": (lambda: world(active(2), record={"last_version": 1}), "the last version is 1"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_refused_where(name):
    made, why = IMPOSSIBLE[name]
    with pytest.raises(AssertionError, match=why):
        made()
