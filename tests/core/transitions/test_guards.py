"""Guards that `decide` never needs today, because a step before has seen to it."""

from gitops_bg.core.model.record import Cause, Override, Switch, SwitchKind
from gitops_bg.core.plan.services import switch_traffic
from gitops_bg.core.transitions.git.decisions import override
from tests.core.worlds import NOW, active, digest, legacy, world


def test_an_override_to_where_git_and_traffic_are_is_none_and_ends_the_one_that_led_away() -> None:
    led_away = Override(digest(1), digest(2), "5xx", "ada", NOW)
    for record in ({}, {"override": led_away}):
        state = world(active(1), legacy(2), names_=1, record=record)
        after = override(state, state.record.numbered(1), cause=Cause.ABORTED, reason="", by="")
        assert after.record.routing.override is None


def test_a_switch_to_a_version_that_nobody_knows_is_no_write() -> None:
    switch = Switch(digest(1), digest(9), SwitchKind.PROMOTION, NOW)
    assert switch_traffic(world(active(1), record={"switch": switch})) == ()
