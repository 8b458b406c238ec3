"""Agents with different mains: of a group as of an app, one whose main is older than the record's decides nothing, and
a main that moved backwards moves nothing (`tests.core.engine.git.test_main`).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.group_engine import LeftGroup, decide_group, decide_left
from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.groups.record import GroupDecision, TransitionKind
from gitops_bg.core.model.analysis import LATEST, AnalysisPhase, AnalysisStage, MeasurementPlan, Metric
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.main import NO_MAIN, Knowledge, Main, MainRead
from tests.core.groups.simulation import STORE, World, store
from tests.core.shown import ABSENT, Shown, shown

OLD, NEW = "a" * 40, "b" * 40
LOST, OTHER = "e" * 40, "f" * 40
BLIND = [Knowledge.OLDER, Knowledge.REWRITTEN, Knowledge.UNKNOWN]
TRUSTED = [Knowledge.SAME, Knowledge.NEWER]
ONCE = MeasurementPlan((Metric("smoke", "web", f'{{"url": "http://cart-{LATEST}"}}', consecutive_error_limit=0),))


def _read(knowledge: Knowledge = Knowledge.SAME, at: Main = NO_MAIN, lost: str = "", *, lasts: bool = True) -> MainRead:
    return MainRead(at, knowledge, lost, lasts)


def _at_rest(**changes: object) -> World:
    """v2 serves, v1 is warm; the record knows of main so far."""
    world = store(main=_read(at=Main(NEW, 0, "t")), **changes)
    for active in ("v1", "v2"):
        world.active = active
        world.settle()
    assert world.stages == "v1L v2A"
    return world


def _condition(decision: GroupDecision) -> Shown:
    return shown(decision)["HistoryRewritten"]


@pytest.mark.parametrize("knowledge", TRUSTED)
def test_main_that_counts_moves_the_group(knowledge: Knowledge) -> None:
    world = _at_rest()
    world.active, world.main = "v1", _read(knowledge, Main(NEW, 0, "u"))
    world.settle()
    assert world.stages == "v1A v2C"


def test_an_older_main_decides_nothing_but_to_look_again() -> None:
    """Found: an agent whose clone still said `active: v1` rolled v2 back, against the one that had read v2."""
    world = _at_rest()
    world.active, world.main = "v1", _read(Knowledge.OLDER, Main(OLD, 0, "s"))
    decision = world.decide()
    assert (decision.actions, decision.record, decision.events) == ((), world.record, ())
    assert (decision.look_again, decision.silent) == (True, True)
    world.settle()
    assert world.stages == "v1L v2A"


@pytest.mark.parametrize("lost", ["", LOST])
@pytest.mark.parametrize("knowledge", [Knowledge.REWRITTEN, Knowledge.UNKNOWN])
def test_main_that_does_not_count_promotes_nothing_and_forgets_no_version(knowledge: Knowledge, lost: str) -> None:
    world = store(main=_read(at=Main(NEW, 0, "t")))
    world.settle()
    world.active, world.main = "v2", _read(knowledge, Main(OLD, 0, "s"), lost)
    del world.versions["v1"]
    world.settle()
    assert world.stages == "v1A v2C"
    assert world.record.main == Main(NEW, 0, "t")
    assert GateKind.HISTORY in {gate.kind for gate in world.decide().gates if not gate.open}


def test_a_rewritten_main_promotes_nothing_where_the_agent_goes_on_with_what_it_read() -> None:
    world = store(main=_read(at=Main(NEW, 0, "t")))
    world.settle()
    world.active, world.main = "v2", _read(Knowledge.SAME, Main(NEW, 0, "t"), LOST)
    decision = world.settle()
    assert (world.stages, decision.phase) == ("v1A v2C", Phase.DEGRADED)
    world.main = _read(Knowledge.NEWER, Main(OTHER, 1, "t"))
    world.settle()
    assert (world.stages, world.record.main) == ("v1L v2A", Main(OTHER, 1, "t"))


@pytest.mark.parametrize("lost", ["", LOST])
@pytest.mark.parametrize("knowledge", [Knowledge.SAME, Knowledge.REWRITTEN, Knowledge.UNKNOWN])
def test_a_verdict_that_leads_back_does_so_whatever_main_is(knowledge: Knowledge, lost: str) -> None:
    world = _at_rest(after_it=ONCE)
    world.finds[AnalysisStage.POST] = AnalysisPhase.FAILED
    world.main = _read(knowledge, Main(NEW, 0, "t"), lost)
    world.takes_commits = False
    world.settle()
    assert world.stages == "v1A v2C"
    assert world.record.moves[-1].kind is TransitionKind.ROLLBACK


def test_a_group_whose_folder_nobody_can_read_any_more_rests_and_says_why() -> None:
    world = _at_rest()
    main = _read(Knowledge.REWRITTEN, Main(OLD), LOST)
    decision = decide_group(STORE, DesiredGroup(None, main=main), world.observed(), world.record, world.now)
    assert (decision.actions, decision.record) == ((), replace(world.record, lost=LOST))
    assert (decision.phase, decision.silent) == (Phase.DEGRADED, False)
    said = _condition(decision)
    assert said.status is True
    assert "gitops-bg accept-history" in said.message


def test_where_main_was_not_read_and_no_folder_is_known_the_status_stays_as_it_is() -> None:
    world = _at_rest()
    unread = DesiredGroup(None, main=_read(Knowledge.UNKNOWN))
    decision = decide_group(STORE, unread, world.observed(), world.record, world.now)
    assert (decision.actions, decision.record, decision.silent) == ((), world.record, True)


# --- what the record knows of main ---

LEARNT = {
    "the folder changed": (_read(Knowledge.NEWER, Main(OTHER, 0, "u")), Main(OTHER, 0, "u")),
    "main moved for others only": (_read(Knowledge.NEWER, Main(OTHER, 0, "t")), Main(NEW, 0, "t")),
    "somebody accepted a rewritten history": (_read(Knowledge.NEWER, Main(OTHER, 1, "t")), Main(OTHER, 1, "t")),
    "main does not count": (_read(Knowledge.REWRITTEN, Main(OLD, 0, "u")), Main(NEW, 0, "t")),
    "main was not read": (_read(Knowledge.UNKNOWN), Main(NEW, 0, "t")),
}


@pytest.mark.parametrize("case", LEARNT)
def test_what_the_record_learns_of_main(case: str) -> None:
    world = _at_rest()
    world.main, after = LEARNT[case]
    assert world.decide().record.main == after


def test_what_the_record_decides_names_the_main() -> None:
    world = _at_rest()
    world.active, world.main = "v1", _read(Knowledge.NEWER, Main(OTHER, 0, "t"))
    assert world.decide().record.main == Main(OTHER, 0, "t")


def test_a_folder_that_left_main_is_known_to_have_left() -> None:
    """Else an agent whose main still has it would go on with it."""
    world = _at_rest()
    left = LeftGroup(STORE, main=_read(Knowledge.NEWER, Main(OTHER)))
    after = decide_left(left, world.record, world.now).record
    assert (after.main, after.orphaned, after.state) == (Main(OTHER), True, world.record.state)


# --- two agents, one of which sees more ---

TOLD = {
    "the first one names what is lost": (_read(Knowledge.REWRITTEN, lost=LOST), "", LOST),
    "also where it goes on with what it read": (_read(lost=LOST), "", LOST),
    "who lost something else has no other word for it": (_read(Knowledge.REWRITTEN, lost=OTHER), LOST, LOST),
    "a main that counts takes it back": (_read(), LOST, ""),
    "a main that does not count takes nothing back": (_read(Knowledge.REWRITTEN), LOST, LOST),
    "nor does one that nobody read": (_read(Knowledge.UNKNOWN), LOST, LOST),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_the_record_says_is_lost(case: str) -> None:
    world = _at_rest()
    main, before, lost = TOLD[case]
    world.main, world.record = replace(main, at=world.main.at), replace(world.record, lost=before)
    decision = world.decide()
    said = _condition(decision)
    assert (decision.record.lost, said != ABSENT) == (lost, bool(lost))
    assert lost[:10] in said.message


def test_who_knows_less_is_silent_until_the_record_itself_asks_for_something() -> None:
    world = _at_rest(after_it=ONCE)
    world.main = _read(Knowledge.REWRITTEN)
    assert world.decide().silent
    world.main = _read(Knowledge.REWRITTEN, lost=LOST)
    assert not world.decide().silent
    world.main, world.finds = _read(Knowledge.REWRITTEN), {AnalysisStage.POST: AnalysisPhase.FAILED}
    assert not world.decide().silent


def test_alerts_that_nobody_can_read_now_are_kept_and_make_no_news() -> None:
    """Else two agents would write the record in turns."""
    world = _at_rest()
    world.record = replace(world.record, alerted=("InvalidSpec/InvalidSpec",))
    world.main = _read(Knowledge.REWRITTEN)
    decision = world.decide()
    assert (decision.record, decision.silent) == (world.record, True)


def test_a_rewrite_is_told_to_the_ledger_once_it_lasts_and_so_is_its_end() -> None:
    world = _at_rest()
    before = len(world.written)
    for lost, lasts in ((LOST, False), (LOST, True), (LOST, True), ("", True)):
        world.main = replace(world.main, lost=lost, lasts=lasts)
        world.settle()
    assert [entry.event for entry in world.written[before:]] == ["history-rewritten", "history-accepted"]
