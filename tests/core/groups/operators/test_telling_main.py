"""What Git is to say of a group that went back by itself, in the order of an app: main, or where main refuses, the
branch; the branch goes once nothing asks for it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.group_engine import decide_group
from gitops_bg.core.groups.inputs import DesiredGroup, GroupBranch, ObservedGroup
from gitops_bg.core.groups.record import CommitActive, GroupGitAction
from gitops_bg.core.model.actions import WithdrawPromotion
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.main import Knowledge, MainRead, SourceVerification, UnverifiedCommit, VerificationFailure
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import Suspension
from tests.core.groups.simulation import World, store
from tests.core.groups.test_analysis import FAILED, ONCE
from tests.core.records import overriding

WHY = f"post-promotion analysis failed: {FAILED}"
COMMIT = CommitActive("v2", "v1", WHY)
OFFER = replace(COMMIT, offered=True)
MERGED, UNWANTED = WithdrawPromotion("main has it"), WithdrawPromotion("its version is not wanted any more")
NAME = "gitops-bg/promote-groups/shop/store"
OWN = GroupBranch(NAME, "c" * 40, "v1", is_own=True)
OLDER = replace(OWN, active="v0")
THEIRS = replace(OLDER, is_own=False, active="v7")
THE_SAME = replace(OWN, is_own=False)
OUTDATED = replace(OWN, is_outdated=True)
NOBODY_CAN_READ = GroupBranch(NAME, "c" * 40)
STALE = GroupBranch(NAME, "c" * 40, is_merged=True)
REFUSED, WAS_REFUSED = "main is protected", "main refused its commit"
HELD = SourceVerification(UnverifiedCommit("c" * 40, "eve", VerificationFailure.NOT_SIGNED))


def gone_back() -> World:
    world = store(after_it=ONCE)
    world.settle()
    world.active, world.takes_commits = "v2", False
    world.settle()
    world.finds[AnalysisStage.POST] = AnalysisPhase.FAILED
    world.settle()
    assert world.stages == "v1A v2C"
    return world


def seen_by(observed: ObservedGroup, **changes: object) -> ObservedGroup:
    """The same, where this is seen; ``main_refused`` is what Git shows."""
    if "main_refused" in changes:
        changes["git"] = replace(observed.git, main_refused=str(changes.pop("main_refused")))
    return replace(observed, **changes)  # type: ignore[arg-type]


def wanted(world: World, desired: DesiredGroup | None = None, **observed: object) -> tuple[GroupGitAction, ...]:
    """What the group wants of Git where this is seen."""
    seen = seen_by(replace(world.observed(), git=GitView(), branch=None), **observed)
    return decide_group(world.key, desired or world.desired(), seen, world.record, world.now).git


@pytest.mark.parametrize(
    ("branch", "refused", "found"),
    [
        (None, "", (COMMIT,)),
        (OWN, "", (COMMIT,)),
        (THEIRS, "", (COMMIT,)),
        (None, REFUSED, (OFFER,)),
        (OWN, REFUSED, ()),
        (THE_SAME, REFUSED, ()),
        (OUTDATED, REFUSED, (OFFER,)),
        (replace(THE_SAME, is_outdated=True), REFUSED, ()),
        (OLDER, REFUSED, (OFFER,)),
        (THEIRS, REFUSED, ()),
        (NOBODY_CAN_READ, REFUSED, ()),
        (STALE, "", (MERGED, COMMIT)),
        (STALE, REFUSED, (MERGED,)),
    ],
)
def test_a_way_back_is_committed_or_where_main_refuses_offered_once(
    branch: GroupBranch | None, refused: str, found: tuple[GroupGitAction, ...]
) -> None:
    assert wanted(gone_back(), branch=branch, main_refused=refused) == found


@pytest.mark.parametrize(
    ("branch", "found"),
    [(None, ()), (OWN, (UNWANTED,)), (THEIRS, ()), (THE_SAME, ()), (NOBODY_CAN_READ, ()), (STALE, (MERGED,))],
)
def test_of_a_group_that_wants_nothing_only_what_the_agent_offered_and_what_main_has_is_deleted(
    branch: GroupBranch | None, found: tuple[GroupGitAction, ...]
) -> None:
    world = store()
    world.settle()
    assert wanted(world, branch=branch) == found


def test_what_the_agent_offered_stays_while_the_group_is_suspended_or_has_a_mistake() -> None:
    world = store()
    world.settle()
    main = world.desired()
    assert main.spec is not None
    suspended = replace(main, spec=replace(main.spec, suspend=Suspension("a holiday")))
    broken = replace(main, problems=(Problem("group.yaml", "is no YAML"),))
    assert [wanted(world, each, branch=OWN) for each in (suspended, broken)] == [(), ()]


@pytest.mark.parametrize("seen", [GitView(unreachable="the remote is away"), GitView(verification=HELD)])
def test_nothing_is_written_while_the_newest_main_cannot_be_read(seen: GitView) -> None:
    assert wanted(gone_back(), git=seen) == ()


def test_nothing_is_written_to_a_main_that_does_not_count() -> None:
    world = gone_back()
    lost = replace(world.desired(), main=MainRead(knowledge=Knowledge.REWRITTEN, lost="c" * 40))
    assert wanted(world, lost, branch=OWN) == ()


def test_who_aborted_is_named() -> None:
    world = gone_back()
    override = world.record.override
    assert override is not None
    world.record = overriding(world.record, replace(override, by="ada"))
    assert wanted(world) == (replace(COMMIT, by="ada"),)


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (COMMIT, f"commit active: v1 in group.yaml to main: v2 was left: {WHY}"),
        (OFFER, f"offer active: v1 in group.yaml on the branch of the group: v2 was left: {WHY}"),
    ],
)
def test_each_action_says_itself(action: CommitActive, said: str) -> None:
    assert str(action) == said


@pytest.mark.parametrize(
    ("branch", "trouble"),
    [
        (None, REFUSED),
        (OWN, REFUSED),
        (THE_SAME, REFUSED),
        (STALE, REFUSED),
        (THEIRS, f"{REFUSED}; and {NAME} has what somebody else asked for: merge it, or delete it"),
        (NOBODY_CAN_READ, f"{REFUSED}; and nobody can read what {NAME} asks for: mend it, or delete it"),
    ],
)
def test_what_is_in_the_way_of_a_commit_is_said(branch: GroupBranch | None, trouble: str) -> None:
    assert ObservedGroup(git=GitView(main_refused=REFUSED), branch=branch).in_the_way("v1") == trouble
    assert ObservedGroup(branch=branch).in_the_way("v1") == ""


def said(world: World, **observed: object) -> tuple[str, str, list[str]]:
    """The condition Diverged where this is seen, and what the ledger is told of it."""
    seen = seen_by(world.observed(), **observed)
    decision = decide_group(world.key, world.desired(), seen, world.record, world.now)
    world.record = replace(decision.record, ledger=())
    (diverged,) = (each for each in decision.conditions if each.type == "Diverged")
    return (
        diverged.reason,
        diverged.message,
        [each.reason for each in decision.record.ledger if each.event is Event.DIVERGED],
    )


def untold() -> World:
    world = gone_back()
    assert world.record.override is not None
    world.record = overriding(replace(world.record, ledger=()), replace(world.record.override, diverged=False))
    return world


@pytest.mark.parametrize(
    ("branch", "instead"),
    [
        (None, "it is offered on the promotion branch"),
        (OWN, "it is offered on the promotion branch"),
        (THE_SAME, "it is offered on the promotion branch"),
        (STALE, "it is offered on the promotion branch once that is deleted: main has it"),
        (THEIRS, f"{NAME} has what somebody else asked for: merge it, or delete it"),
        (NOBODY_CAN_READ, f"nobody can read what {NAME} asks for: mend it, or delete it"),
    ],
)
def test_the_ledger_is_told_what_becomes_of_a_commit_that_main_refuses(
    branch: GroupBranch | None, instead: str
) -> None:
    told = said(untold(), main_refused=REFUSED, branch=branch)[2]
    assert told == [f"main refuses the commit ({REFUSED}); {instead}"]


def test_main_refuses_no_commit_of_a_version_whose_folder_left_it() -> None:
    world = untold()
    del world.versions["v1"]
    reason, _, told = said(world, main_refused=REFUSED)
    assert (reason, told) == ("FolderMissing", [])


def test_a_mistake_that_keeps_the_commit_from_being_made_is_said_and_is_no_refusal() -> None:
    world = untold()
    seen = {"main_refused": "", "branch": None, "unwritten": "group.yaml: names v3"}
    reason, message, told = said(world, **seen)
    assert (reason, told) == ("CommitPending", [])
    assert message.endswith("; set active: v1 in group.yaml, because the agent cannot: group.yaml: names v3")
    assert wanted(world, **seen) == (COMMIT,)


def test_that_main_refuses_is_said_until_it_is_over_also_while_the_agent_tries_again() -> None:
    world = gone_back()
    reasons = [said(world, branch=OWN, main_refused=refused)[0] for refused in (REFUSED, "", REFUSED)]
    assert reasons == ["MainRefusesCommit"] * 3
    again = said(world, branch=OWN, main_refused="")[1]
    assert again.endswith(
        f"; merge {NAME}, which sets active: v1 in group.yaml, because the agent cannot: {WAS_REFUSED}"
    )
