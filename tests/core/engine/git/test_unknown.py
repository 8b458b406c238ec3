"""Unknown is not absent: an unreadable file, a main that was not looked at, an unknown size (decision 17)."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.auxiliary import Autoscaler
from gitops_bg.core.model.desired import Desired, LedgerMemory, Missing, Problem
from gitops_bg.core.model.journal import PollCount, Targeted
from gitops_bg.core.model.main import Knowledge
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import ServicePorts
from tests.core.simulation import COPY, automatic, deployed, manual
from tests.core.worlds import (
    active,
    candidate,
    decided,
    digest,
    journal,
    legacy,
    pods,
    primary,
    rising,
    sentences,
    source,
    target,
    world,
)


@pytest.mark.parametrize("missing", Missing)
def test_none_of_the_three_is_a_file(missing: Missing) -> None:
    assert not missing


NAMED = {Missing.ABSENT: 1, Missing.UNREADABLE: 2, Missing.UNSEEN: 2}
"""v1 serves; primary.yaml named v2 when it was read last."""


@pytest.mark.parametrize("missing", Missing)
def test_traffic_is_to_go_where_primary_yaml_said_last_unless_main_has_none(missing: Missing) -> None:
    state = world(active(1), rising(2), names_=2, desired={"primary": missing})
    assert state.desired_digest == digest(NAMED[missing])


@pytest.mark.parametrize("missing", Missing)
def test_a_primary_that_is_removed_unreadable_or_unseen_moves_no_traffic_forward(missing: Missing) -> None:
    problems = (Problem("primary.yaml", "broken"),) if missing is Missing.UNREADABLE else ()
    state = world(active(1), candidate(2), names_=2, desired={"primary": missing, "problems": problems})
    assert decided(state).record.routing.switch is None


@pytest.mark.parametrize("missing", [Missing.UNREADABLE, Missing.UNSEEN])
def test_the_way_back_that_primary_yaml_named_last_goes_on(missing: Missing) -> None:
    state = world(legacy(1), active(2), names_=1, desired={"primary": missing, "target": missing})
    switch = decided(state).record.routing.switch
    assert switch.switch_kind is SwitchKind.ROLLBACK
    assert (switch.commit, switch.by, switch.reason) == ("", "", "primary.yaml named it when it was read last")


@pytest.mark.parametrize("missing", [Missing.UNREADABLE, Missing.UNSEEN])
def test_what_primary_yaml_says_and_nobody_could_read_is_not_written_anew(missing: Missing) -> None:
    state = world(candidate(1), desired={"primary": missing}, record={"primary": ""})
    assert not any(line.startswith("commit") for line in sentences(state))


def test_a_promotion_that_is_aborted_while_nobody_looks_at_git_does_not_go_on_with_the_next_push() -> None:
    """Found so: the abort made no override; the next push lifted its hold, and main still named it."""
    sim = deployed(manual())
    sim.bad_tags.add("2")
    sim.push("2")
    sim.settle()
    sim.set_primary("2")
    sim.step()
    sim.unseen, sim.reachable = True, False
    sim.ask(OperatorCommand.ABORT)
    sim.settle()
    assert (sim.live, sim.held) == ("1", {"2"})
    sim.unseen, sim.reachable = False, True
    sim.push("3")
    sim.bad_tags.clear()
    sim.settle()
    assert (sim.live, sim.primary) == ("1", "1")


def test_nothing_begins_before_somebody_has_looked_at_git() -> None:
    sim = deployed(automatic())
    sim.unseen = True
    sim.push("2")
    assert sim.step().actions == ()
    gates = {gate.reason for gate in sim.decide().gates}
    assert gates <= {"nobody has looked at main yet"}


# --- sizes ---


def test_a_size_that_nobody_knows_is_not_0() -> None:
    """Found so: after a crash between creating and scaling a ReplicaSet, traffic moved to it at 0 pods."""
    unknown = {"replicas": None}
    desired = {"target": Missing.UNREADABLE}
    created = (pods(1, 0), pods(2, 0))
    state = world(active(1), candidate(2), names_=2, sets=created, desired=desired, record=unknown)
    assert (state.known_size, state.full_size) == (None, 1)
    assert decided(state).record.routing.switch is None


def test_a_size_of_0_that_is_asked_for_is_0() -> None:
    state = world(active(1), desired={"target": Missing.UNREADABLE}, record={"replicas": 0})
    assert (state.known_size, state.full_size) == (0, 0)


def test_a_first_version_does_not_serve_from_a_replica_set_that_nobody_scaled() -> None:
    state = world(rising(1), names_=1, sets=(pods(1, 0),), desired={"target": Missing.UNREADABLE})
    state = state.with_part(replace(state.record.last_read, replicas=None))
    assert decided(state).record.routing.switch is None
    assert any("to 1" in line for line in sentences(state)), "it is scaled first"


def test_a_main_that_nobody_may_act_on_says_nothing_and_its_silence_says_nothing_either() -> None:
    """Nothing has left Git, nothing is broken, nothing was taken back: only the commit is kept, to be shown."""
    said = Desired(
        "c" * 40,
        target(1),
        primary(1),
        problems=(Problem("target.yaml", "broken"),),
        in_git=False,
        memory=LedgerMemory(),
        auxiliary_objects=(COPY,),
        autoscaler=Autoscaler(COPY, 2, 8),
        ports=(ServicePorts("web", "[]"),),
        journal=journal(targeted=((source(1), Targeted()),)),
        looks=PollCount("agent", 3, 3),
        knowledge=Knowledge.UNKNOWN,
    )
    assert said.unread() == Desired("c" * 40, Missing.UNSEEN, Missing.UNSEEN, whole=False, knowledge=Knowledge.UNKNOWN)
