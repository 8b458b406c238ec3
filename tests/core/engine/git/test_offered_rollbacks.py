"""A rollback that a person offers on the promotion branch stays there until somebody merges or deletes it."""

from tests.core.simulation import Simulation, manual, template


def _promoted() -> Simulation:
    """v2 is live, v1 is warm, v3 waits for its promotion to be merged."""
    world = Simulation(manual())
    world.push("1")
    world.settle()
    for tag in ("2", "3"):
        world.push(tag)
        world.settle()
        if tag == "2":
            world.merge()
            world.settle()
    assert world.branch == "3"
    return world


def _offer(world: Simulation, tag: str) -> None:
    world.branch, world.branch_base = tag, template("2").digest


def test_an_offered_rollback_is_neither_withdrawn_nor_replaced_by_the_candidate() -> None:
    world = _promoted()
    _offer(world, "1")
    world.settle()
    assert world.branch == "1"


def test_an_offered_rollback_that_is_merged_moves_traffic_back_and_the_branch_goes() -> None:
    world = _promoted()
    _offer(world, "1")
    world.settle()
    world.merge()
    world.settle()
    assert world.record.routing.traffic == template("1").digest
    assert world.branch != "1"


def test_an_offer_of_a_version_that_was_rolled_back_is_withdrawn() -> None:
    world = _promoted()
    world.revert_promotion()
    world.settle()
    world.branch, world.branch_base = "2", template("1").digest
    world.settle()
    assert world.branch != "2"
