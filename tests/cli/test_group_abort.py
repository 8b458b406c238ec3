"""What an abort of a group says: what it has stopped, and nothing else; and not before requests are back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gitops_bg.cli.commands.operate.abort import abort_result
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.options.options import OutputOptions, PatienceOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.operator_requests import carry_out
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.requests import GroupAborting, aborting
from gitops_bg.core.model.observed import OperatorCommand, Request
from tests.core.groups.operators.test_holds import failed_before, judged, waiting
from tests.core.groups.simulation import STORE, World
from tests.core.worlds import NOW


def aborted(world: World, meanwhile: str = "") -> tuple[GroupAborting, GroupRecord]:
    """What was to be stopped, and what became of it; ``meanwhile``, main names a version."""
    planned = aborting(world.record, world.active)
    world.active = meanwhile or world.active
    world.ask_for(OperatorCommand.ABORT, about=planned.stops, live=planned.live)
    world.settle()
    return planned, world.record


@pytest.mark.parametrize(
    ("made", "live"), [(waiting, "live traffic stays with v1"), (judged, "live traffic went back to v1")]
)
def test_what_was_stopped_is_named_with_what_serves(made: Callable[[], World], live: str) -> None:
    found, said = abort_result(STORE, *aborted(made()))
    assert (found["stopped"], said) == (["v2"], f"{STORE}: aborted v2; {live}")


def test_what_main_has_taken_back_before_is_not_said_to_be_aborted() -> None:
    planned, after = aborted(waiting(), meanwhile="v1")
    with pytest.raises(CommandFailed, match="too late to abort v2; live traffic is with v1; see"):
        abort_result(STORE, planned, after)


def test_where_there_is_nothing_good_to_go_back_to_the_reason_is_said() -> None:
    """Nobody can see in the cluster whether somebody has mended its folder since."""
    planned, after = aborted(failed_before())
    with pytest.raises(CommandFailed, match=r"v2 failed before \(post-promotion analysis failed.*with v3; see"):
        abort_result(STORE, planned, after)


def test_it_is_not_done_as_long_as_requests_have_not_gone_back() -> None:
    world = judged()
    world.gone = {"cart-v1"}
    _, after = aborted(world)
    assert (world.stages, after.override is not None, after.transition) == ("v1L v2A", True, None)
    with pytest.raises(CommandFailed, match="not done within"):
        carry_out(Answered(after), _request(after), PatienceOptions(), Output(OutputOptions()))  # type: ignore[arg-type]


class Answered:
    """A live group whose agent has answered, where nothing more happens."""

    subject, act = STORE, None

    def __init__(self, record: GroupRecord) -> None:
        self.record = record

    def ask(self, request: Request) -> None:
        pass

    def is_lost(self, request: Request) -> bool:
        return False

    def wait(self, fulfilled: Callable[[GroupRecord], bool], seconds: float) -> bool:
        return fulfilled(self.record)


def _request(after: GroupRecord) -> Request:
    return Request(after.operator.request, OperatorCommand.ABORT, "ada", NOW)
