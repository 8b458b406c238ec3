"""What somebody asks of a group is held to the stages of its versions before it is committed: a table."""

from __future__ import annotations

import pytest

from gitops_bg.core.groups.model import PromotionRejected
from gitops_bg.core.groups.requests import demand_promotable, demand_way_back
from tests.core.groups.simulation import STORE, World, store, version


def at(stages: str) -> World:
    """The store with these stages, reached by promotions and rollbacks."""
    world = store()
    ways = {
        "v1A v2C": ["v1"],
        "v1L v2A": ["v2"],
        "v1R v2L v3A": ["v2", "v3"],
        "v1R v2A v3C": ["v2", "v3", "v2"],
        "v1A v2C, v1 was rolled back to": ["v2", "v1"],
    }
    for name in ways[stages]:
        world.versions.setdefault(name, version(name, cart="/cart"))
        world.active = name
        world.settle()
    assert world.stages == stages.partition(",")[0]
    return world


NEW = "gitops-bg group new shop/store v{} --from v1"
PROMOTE = {
    "a candidate": ("v1A v2C", "v2", ""),
    "a folder that nobody has looked at yet": ("v1A v2C", "v7", ""),
    "what serves": ("v1L v2A", "v2", "v2 is active already"),
    "the version before": ("v1L v2A", "v1", "v1 is legacy: to go back to it, gitops-bg rollback shop/store --to v1"),
    "an archived one": ("v1R v2L v3A", "v1", f"v1 is archived: to have it again, {NEW.format(4)}"),
}


@pytest.mark.parametrize("row", PROMOTE)
def test_only_a_candidate_is_promoted(row: str) -> None:
    stages, name, said = PROMOTE[row]
    world = at(stages)
    _is(said, lambda: demand_promotable(STORE, world.desired(), world.record, name))


BACK = {
    "the version before": ("v1L v2A", "v1", "v1", ""),
    "what serves, while another one is asked for": ("v1A v2C", "v2", "v1", ""),
    "what serves, and is asked for": ("v1A v2C", "v1", "v1", ""),
    "a candidate that never served": (
        "v1A v2C",
        "v1",
        "v2",
        "v2 is candidate: there is no version to go back to, as two rollbacks in a row do not exist; "
        "to have v2: gitops-bg promote shop/store --to v2",
    ),
    "the version that was left": (
        "v1A v2C, v1 was rolled back to",
        "v1",
        "v2",
        "v2 is candidate: there is no version to go back to, as two rollbacks in a row do not exist; "
        "to have v2: gitops-bg promote shop/store --to v2",
    ),
    "an archived one": (
        "v1R v2L v3A",
        "v3",
        "v1",
        "v1 is archived: a rollback leads to v2 now: gitops-bg rollback shop/store --to v2; "
        f"to have it again, {NEW.format(4)}",
    ),
    "a second rollback in a row": (
        "v1R v2A v3C",
        "v2",
        "v1",
        "v1 is archived: there is no version to go back to, as two rollbacks in a row do not exist; "
        f"to have it again, {NEW.format(4)}",
    ),
}


@pytest.mark.parametrize("row", BACK)
def test_a_rollback_leads_to_what_served(row: str) -> None:
    stages, named, name, said = BACK[row]
    world = at(stages)
    world.active = named
    _is(said, lambda: demand_way_back(STORE, world.desired(), world.record, name))


def test_a_version_that_another_promotion_deleted_comes_back_by_a_change_of_its_folder() -> None:
    world = store()
    world.versions["v3"] = version("3", cart="/cart")
    world.settle()
    world.active = "v2"
    world.settle()
    said = "v3 was deleted when another version became active: change a file in its folder first"
    _is(said, lambda: demand_promotable(STORE, world.desired(), world.record, "v3"))
    world.versions["v3"] = version("3b", cart="/cart")
    _is("", lambda: demand_promotable(STORE, world.desired(), world.record, "v3"))


def test_a_new_folder_that_is_older_than_what_serves_is_no_candidate() -> None:
    world = World({"v2": version(cart="/cart")}, active="v2")
    world.settle()
    world.versions["v1"] = version(cart="/cart")
    said = f"v1 is older than v2, which is active: to have it again, {NEW.format(3)}"
    _is(said, lambda: demand_promotable(STORE, world.desired(), world.record, "v1"))


def test_of_a_group_that_nobody_has_looked_at_nothing_is_refused() -> None:
    world = store()
    _is("", lambda: demand_promotable(STORE, world.desired(), world.record, "v2"))
    _is("", lambda: demand_way_back(STORE, world.desired(), world.record, "v2"))


def _is(said: str, ask) -> None:
    if not said:
        ask()
        return
    with pytest.raises(PromotionRejected) as refused:
        ask()
    assert str(refused.value) == said
