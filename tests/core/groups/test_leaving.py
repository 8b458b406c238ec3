"""What becomes of a group whose folder left main: by its deletionPolicy, from outside to inside."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.group_engine import LeftGroup, decide_left
from gitops_bg.core.groups.model import GroupState, GroupVersion, VersionStage
from gitops_bg.core.groups.record import DeleteGroup, DeleteRoute, DeleteService, GroupAction, GroupRecord
from gitops_bg.core.model.actions import WithdrawPromotion
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.main import Main, MainRead
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import DeletionPolicy
from tests.core.groups.notation import NOW
from tests.core.groups.simulation import STORE

RECORD = GroupRecord(state=GroupState((GroupVersion("v1", VersionStage.ACTIVE, NOW),)), epoch="e")
ALL = LeftGroup(STORE, DeletionPolicy.DELETE, "", ("store",), ("auth", "cart"), ("auth-v1", "cart-v1"))
SERVES = "v1 serves on, with its Services and routes, and nothing of it moves any more"
ENDS = "it ends, as deletionPolicy: delete says"
TOLD_OF = replace(RECORD, orphaned=True)
"""The ledger has that it ends."""
GONE = DeleteGroup("store", "its folder left main with deletionPolicy: delete")

STEPS: dict[str, tuple[LeftGroup, tuple[GroupAction, ...], str]] = {
    "keep": (replace(ALL, policy=DeletionPolicy.KEEP), (), SERVES),
    "delete, and something speaks against it": (replace(ALL, kept="it is suspended"), (), f"{SERVES}: it is suspended"),
    "delete": (
        ALL,
        (DeleteRoute("store"),),
        f"{ENDS}: its routes and Services go",
    ),
    "the routes are gone": (
        replace(ALL, routes=()),
        (DeleteService("auth"), DeleteService("cart")),
        f"{ENDS}: its routes and Services go",
    ),
    "no request is led to its members": (
        replace(ALL, routes=(), services=()),
        (),
        f"{ENDS}: auth-v1, cart-v1 end with all they have",
    ),
    "no member is left": (
        replace(ALL, routes=(), services=(), members=()),
        (GONE,),
        f"{ENDS}: nothing of it is left",
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_a_group_whose_folder_left_main_ends_step_by_step_or_serves_on(case: str) -> None:
    left, actions, said = STEPS[case]
    decision = decide_left(left, TOLD_OF, NOW)
    assert decision.actions == actions
    assert decision.conditions[0].message == f"the folder of the group left main; {said}"
    assert decision.phase is (Phase.PROGRESSING if left.ends else Phase.DEGRADED)
    assert decision.record.state == RECORD.state, "the folder may come back"


@pytest.mark.parametrize("case", STEPS)
def test_nothing_of_a_group_ends_before_the_ledger_has_that_it_does(case: str) -> None:
    left, _, _ = STEPS[case]
    decision = decide_left(left, RECORD, NOW)
    assert decision.actions == (), "the agent may die now, and with the ReleaseGroup goes what waits in its record"
    first = f"{ENDS}: first the ledger gets what is to be told of it"
    assert not left.ends or decision.conditions[0].message == f"the folder of the group left main; {first}"
    read = replace(left, ledger_at=("e", decision.record.sequence))
    assert decide_left(read, decision.record, NOW).actions == STEPS[case][1]


TOLD: dict[str, tuple[LeftGroup, Event | None]] = {
    "keep": (replace(ALL, policy=DeletionPolicy.KEEP), Event.ORPHANED),
    "delete, and something speaks against it": (replace(ALL, kept="it is suspended"), None),
    "delete": (ALL, Event.DELETED),
    "it is to be another group": (replace(ALL, policy=DeletionPolicy.KEEP, successor="market"), None),
    "it is another group": (
        replace(ALL, policy=DeletionPolicy.KEEP, successor="market", taken_over=True),
        Event.DELETED,
    ),
    "delete, and it is another group": (
        replace(ALL, kept="main has its folders", successor="market", taken_over=True),
        Event.DELETED,
    ),
}


@pytest.mark.parametrize("case", TOLD)
def test_the_ledger_is_told_once_that_the_folder_left_or_that_the_group_ends(case: str) -> None:
    left, event = TOLD[case]
    left = replace(left, main=MainRead(Main("c" * 40)))
    record = decide_left(left, RECORD, NOW).record
    assert [(each.event, each.commit) for each in record.ledger] == ([(event, "c" * 40)] if event else [])
    assert decide_left(left, record, NOW).record == record
    read = replace(left, ledger_at=("e", record.sequence))
    assert decide_left(read, record, NOW).record.ledger == (), "Git has it"


def test_a_group_that_has_another_name_does_not_end_with_what_the_new_one_has() -> None:
    decision = decide_left(replace(ALL, successor="market", taken_over=True), RECORD, NOW)
    assert decision.actions == ()
    assert decision.conditions[0].message == "the folder of the group left main; it is the release group market now"
    (told,) = decision.record.ledger
    assert told.reason == "it is the release group market now"


@pytest.mark.parametrize("policy", DeletionPolicy)
def test_its_own_promotion_branch_goes_with_the_folder(policy: DeletionPolicy) -> None:
    left = replace(ALL, policy=policy)
    assert decide_left(left, RECORD, NOW).git == ()
    found = decide_left(replace(left, branch="b" * 40), RECORD, NOW).git
    assert [type(each) for each in found] == [WithdrawPromotion]


def test_of_a_group_that_never_told_anything_nothing_is_told() -> None:
    assert decide_left(ALL, replace(RECORD, epoch=""), NOW).record == replace(RECORD, epoch="")
