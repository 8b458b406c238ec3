"""An abort needs no Git: versions in progress at the last reading of the target are put on hold."""

from dataclasses import replace

from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event
from tests.core.simulation import deployed, manual
from tests.core.stories import ask, coming


def test_a_candidate_is_aborted_though_the_target_cannot_be_read() -> None:
    world = coming()
    world.reachable = False
    world.seen = replace(world.desired(), target=Missing.UNSEEN, primary=Missing.UNSEEN)
    ask(world, OperatorCommand.ABORT)
    assert world.held == {"2"}
    assert Event.ABORTED in [entry.event for entry in world.record.ledger]
    assert world.live == "1"


def test_an_abort_with_nothing_on_its_way_holds_nothing() -> None:
    world = deployed(manual())
    world.reachable = False
    world.seen = replace(world.desired(), target=Missing.UNSEEN, primary=Missing.UNSEEN)
    ask(world, OperatorCommand.ABORT)
    assert world.held == set()
