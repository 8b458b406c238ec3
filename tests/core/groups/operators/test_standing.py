"""What the ledger is told of a group's standing, each change once, as of an app; and who asked for a move."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.group_engine import decide_group
from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.journal import NO_JOURNAL, Entry, GroupNamed, Journal, SuspensionChanged
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import Source
from tests.core.groups.simulation import World, store
from tests.core.groups.test_analysis import FAILED, ONCE

ADA = Source("a" * 40, author="Ada <ada@example.com>", subject="It is over")
SUSPENDED_BY_ADA = Journal((Entry(ADA, SuspensionChanged()),))
BROKEN = (Problem("groups/shop/store/group.yaml", "is no YAML"),)
UNTIL = timedelta(hours=1)


def settled(**changes: object) -> World:
    world = store(**changes)
    world.settle()
    world.record = replace(world.record, ledger=())
    return world


def told(world: World, desired: DesiredGroup, **observed: object) -> list[LedgerEntry]:
    """What the ledger is told where main says this: once, for the next pass tells nothing more."""
    seen, entries = replace(world.observed(), **observed), list[LedgerEntry]()  # type: ignore[arg-type]
    for _ in range(2):
        decision = decide_group(world.key, desired, seen, world.record, world.now)
        entries += decision.record.ledger
        world.record = replace(decision.record, ledger=())
    return entries


def suspended(world: World, until: timedelta | None = None, by: str = "") -> DesiredGroup:
    main = world.desired()
    assert main.spec is not None
    suspension = Suspension("incident 12", by, world.now + until if until is not None else None)
    return replace(main, spec=replace(main.spec, suspend=suspension), journal=SUSPENDED_BY_ADA)


@pytest.mark.parametrize(("by", "who"), [("eve", "eve"), ("", ADA.author)])
def test_a_suspension_and_its_end_are_told_with_who_asked_and_why(by: str, who: str) -> None:
    world = settled()
    (begun,) = told(world, suspended(world, by=by))
    assert (begun.event, begun.commit, begun.by, begun.reason) == (Event.SUSPENDED, ADA.commit, who, "incident 12")
    (ended,) = told(world, replace(world.desired(), journal=SUSPENDED_BY_ADA))
    assert (ended.event, ended.commit, ended.by, ended.reason) == (Event.RESUMED, ADA.commit, ADA.author, ADA.subject)


def test_a_suspension_that_ends_by_itself_is_nobodys_commit() -> None:
    world = settled()
    main = suspended(world, UNTIL)
    told(world, main)
    (ended,) = told(world.after(3601), main)
    assert (ended.event, ended.commit, ended.by) == (Event.RESUMED, "", "")
    assert ended.reason.startswith("it was suspended until 20")


def test_files_that_break_and_are_mended_are_told() -> None:
    world = settled()
    (broken,) = told(world, replace(world.desired(), problems=BROKEN, is_last_valid=True))
    assert (broken.event, broken.reason) == (Event.INVALID, str(BROKEN[0]))
    (mended,) = told(world, world.desired())
    assert (mended.event, mended.reason) == (Event.VALID, "")


def test_a_folder_that_is_back_is_told() -> None:
    world = settled()
    world.record = replace(world.record, orphaned=True)
    (back,) = told(world, world.desired())
    assert (back.event, back.reason) == (Event.ADOPTED, "the group's folder is back in main")


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("v1", "group.yaml follows live traffic again"),
        ("v3", "group.yaml asks for v3; v1 serves until its gates are open"),
    ],
)
def test_a_way_back_that_main_refuses_is_told_and_that_it_is_answered(named: str, reason: str) -> None:
    world = settled(after_it=ONCE, takes_commits=False)
    world.active = "v2"
    world.settle()
    world.finds[AnalysisStage.POST] = AnalysisPhase.FAILED
    world.settle()
    assert world.record.override is not None
    assert (world.stages, world.events.count("diverged")) == ("v1A v2C", 1)
    world.record = replace(world.record, ledger=())
    assert told(world, world.desired()) == []
    world.versions["v3"], world.active = world.versions["v2"], named
    found = [each for each in told(world, world.desired()) if each.event is not Event.CANDIDATE]
    lifted = (Event.HOLD_LIFTED, f"main asks for {named}, with what {named}/ says now")
    assert [(each.event, each.reason) for each in found] == [(Event.CONVERGED, reason), lifted]


def moved(world: World, promotion: Source | None) -> LedgerEntry:
    """The entry of the move that main asks for now."""
    told = Journal((Entry(promotion, GroupNamed(world.active)),)) if promotion is not None else NO_JOURNAL
    for _ in range(20):
        desired = replace(world.desired(), journal=told)
        decision = decide_group(world.key, desired, world.observed(), world.record, world.now)
        world.record = decision.record
        for action in decision.actions:
            world._carry_out(action)
    return next(each for each in world.record.ledger if each.event in (Event.PROMOTED, Event.ROLLED_BACK))


@pytest.mark.parametrize(("asked", "by"), [(ADA, ADA.author), (None, "")])
def test_a_move_that_main_asks_for_names_the_commit_that_asked_and_its_author(asked: Source | None, by: str) -> None:
    world = settled()
    world.active = "v2"
    entry = moved(world, promotion=asked)
    assert (entry.event, entry.by, entry.to_version) == (Event.PROMOTED, by, 2)
    if asked is not None:
        assert entry.commit == asked.commit


def test_a_way_back_that_nobody_asked_for_names_nobody() -> None:
    world = settled(after_it=ONCE)
    world.active = "v2"
    world.settle()
    world.finds[AnalysisStage.POST] = AnalysisPhase.FAILED
    entry = moved(world, promotion=ADA)
    assert (entry.event, entry.by, entry.commit) == (Event.ROLLED_BACK, "", "")
    assert entry.reason.startswith(f"post-promotion analysis failed: {FAILED}")


def test_that_no_pod_answers_at_the_moment_of_a_step_is_said_and_stops_nothing() -> None:
    world = settled()
    world.active = "v2"
    while world.record.transition is None:
        world.record = world.decide().record
    said = "Service shop/cart-v2 has no pod that answers, and cart-v1 has"
    seen = replace(world.observed(), without_pods=said)
    found = decide_group(world.key, world.desired(), seen, world.record, world.now)
    assert said in found.conditions[0].message
    assert ("RoutesAccepted", "NoPods", said) in {(each.type, each.reason, each.message) for each in found.conditions}
    assert found.actions == world.decide().actions
