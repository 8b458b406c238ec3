"""What people are told before they merge the branch of a group: what moves, and what stands before it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.groups.forecast import Proposal, proposal_of
from gitops_bg.core.groups.inputs import DesiredGroup, GroupBranch, ObservedGroup
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage, MeasurementPlan, Metric
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.spec import Retry, Suspension
from tests.core.groups.simulation import STORE, World, store, version
from tests.core.groups.test_policies import asked, frozen

PLAN = MeasurementPlan((Metric("smoke", "web", "{}", consecutive_error_limit=0),))


def proposed(world: World, active: str = "", **changes: object) -> Proposal:
    """What a branch proposes that names a version, or says something else."""
    main = world.desired()
    assert main.spec is not None
    merged = replace(main, spec=replace(main.spec, active=active or main.spec.active))
    merged = replace(merged, **changes)  # type: ignore[arg-type]
    return proposal_of(STORE, main, merged, world.observed(), world.decide().record, world.now)


def settled(**given: object) -> World:
    world = store(**given)  # type: ignore[arg-type]
    world.settle()
    return world


def shut(found: Proposal) -> list[str]:
    return [gate.kind for gate in found.gates if not gate.open]


def test_a_promotion_is_proposed_with_who_answers_then() -> None:
    found = proposed(settled(), "v2")
    assert (found.change, found.promotes, found.goes_back, found.is_back) == ("v1 → v2", True, False, False)
    assert [(each.name, each.before, each.after) for each in found.forecast.followers] == [
        ("cart", "cart-v1", "cart-v2")
    ]
    assert (shut(found), found.refused, found.later, found.deleted) == ([], "", False, ())
    assert {gate.kind for gate in found.gates} == {"availability", "endpoints"}


def test_a_way_back_is_proposed_and_waits_for_no_policy() -> None:
    world = settled()
    world.active = "v2"
    world.settle()
    world.suspend, world.policing = Suspension("a holiday"), {"cart-v1": asked(frozen())}
    found = proposed(world, "v1")
    assert (found.change, found.promotes, found.goes_back, found.is_back) == ("back to v1", False, True, False)
    assert (shut(found), found.refused) == ([], "")


def test_where_requests_went_back_already_main_is_to_say_so() -> None:
    world = settled(after_it=PLAN)
    world.finds[AnalysisStage.POST] = AnalysisPhase.FAILED
    world.takes_commits = False
    world.active = "v2"
    world.settle()
    assert world.stages == "v1A v2C"
    found = proposed(world, "v1")
    assert (found.change, found.is_back, found.goes_back, found.gates) == ("back to v1", True, True, ())
    assert (found.live, found.named, found.version) == ("v1", "v2", "v1")


def test_a_retry_is_proposed_without_the_hold_that_it_lifts() -> None:
    """Else the check of its pull request would wait for what only its merge brings."""
    world = settled(before=PLAN)
    world.active, world.finds = "v2", {AnalysisStage.PRE: AnalysisPhase.FAILED}
    world.settle()
    assert shut(proposed(world)) == ["hold"]
    spec = world.desired().spec
    assert spec is not None
    found = proposed(world, spec=replace(spec, retry=Retry("v2-1", 1, "ada", world.record.sequence)))
    assert (shut(found), found.change, found.promotes) == ([], "v1 → v2", True)
    older = proposed(world, spec=replace(spec, retry=Retry("v2-1", 1, "ada", world.record.sequence - 1)))
    assert shut(older) == ["hold"], "its author did not know of it"


def test_folders_that_are_removed_are_named_and_nothing_moves() -> None:
    world = settled()
    world.versions["v10"] = version(cart="/cart")
    world.versions["v3"] = version(cart="/cart")
    world.settle()
    left = {name: each for name, each in world.versions.items() if name not in ("v3", "v10")}
    found = proposed(world, versions=left)
    assert (found.change, found.deleted) == ("delete v10, v3", ("v10", "v3"))
    assert (found.goes_back, found.promotes, found.gates) == (False, False, ())
    assert proposed(world).change == "another group.yaml"


def test_what_the_group_would_reject_is_not_to_be_merged() -> None:
    world = settled()
    found = proposed(world, "v9")
    assert (found.refused, found.change) == ("the group has no version v9", "v1 → v9")
    world.versions["v3"] = version(cart="/cart")
    world.settle()
    world.active = "v2"
    world.settle()
    assert "v3" in proposed(world, "v3").refused
    unread = proposed(world, spec=None, problems=(Problem("group.yaml", "is no YAML", 3),))
    assert (unread.refused, unread.version, unread.live, unread.named) == ("group.yaml:3: is no YAML", "", "v2", "v2")
    assert unread.change == "a group.yaml that nobody can read"
    assert proposed(world, spec=None).refused == "nobody can read what it would say"


BEFORE_IT = {
    "a policy": ({"policing": {"cart-v2": asked(frozen())}}, ["policy"]),
    "a suspension": ({"suspend": Suspension("a holiday")}, ["suspension"]),
    "pods": ({"ill": {"cart-v2"}}, ["availability"]),
    "a mistake in main": ({"templates": (Problem("analysis/a.yaml", "is no YAML"),)}, ["spec"]),
    "no analysis, which begins after the merge": ({"before": PLAN}, []),
}


@pytest.mark.parametrize("row", BEFORE_IT)
def test_what_can_be_open_before_the_merge_stands_before_it(row: str) -> None:
    """The status of a branch that waits for what begins with its merge would keep it from being merged."""
    given, kinds = BEFORE_IT[row]
    world = settled()
    for name, value in given.items():  # type: ignore[attr-defined]
        setattr(world, name, value)
    found = proposed(world, "v2")
    assert shut(found) == kinds
    assert found.later is ("before" in given)


def test_what_is_on_its_way_is_not_what_the_branch_asks_for() -> None:
    world = settled()
    world.active, world.accepts = "v2", None
    world.step()
    assert world.record.transition is not None
    found = proposed(world, "v1")
    assert (found.forecast.ahead, found.is_back, found.change) == (None, True, "back to v1")
    assert proposed(world).change == "v1 → v2"


PULL = PullRequest(7, "https://forge/7")


@pytest.mark.parametrize(
    ("pull", "branch", "found"),
    [
        (PULL, "b", "https://forge/7"),
        (replace(PULL, state=PullState.CLOSED), "b", "b"),
        (None, "b", "b"),
        (PULL, "", ""),
        (None, "", ""),
    ],
)
def test_people_are_to_merge_the_pull_request_or_else_the_branch(
    pull: PullRequest | None, branch: str, found: str
) -> None:
    observed = ObservedGroup(git=GitView(pull=pull), branch=GroupBranch(branch, "c", "v1") if branch else None)
    assert (observed.to_merge("v1"), observed.to_merge("v2")) == (found, "")


def test_without_a_main_that_can_be_read_nothing_is_named() -> None:
    world = settled()
    main = DesiredGroup(None)
    merged = world.desired()
    found = proposal_of(STORE, main, merged, world.observed(), world.decide().record, world.now)
    assert (found.named, found.deleted) == ("", ())
