"""A promotion branch brings ``primary.yaml`` alone: what is shown while it does not, what waits, and until when."""

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.model.decision import Decision, GateKind
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.main import Knowledge
from gitops_bg.core.model.observed import PromotionBranch
from gitops_bg.core.model.policy_facts import PolicyInput
from gitops_bg.core.model.policy_rules import PoliciesThen, Policy
from gitops_bg.core.world import World
from tests.core.simulation import automatic
from tests.core.worlds import active, candidate, decided, digest, legacy, world

CALM = Policy("calm")
OTHERS = ("README.md", "apps/shop/api/primary.yaml")
CARRIES = "carries other files: README.md, apps/shop/api/primary.yaml"
ALONE = "revert it, and promote again by a commit that changes primary.yaml alone"


def offering(state: World, number: int | None = 2, *, beside: tuple[str, ...] = (), **policing: Any) -> World:
    """The app has a policy, and the branch offers a version; ``beside`` it there is more."""
    branch = PromotionBranch(digest(number), digest(1), commit="a" * 40) if number else None
    observed = replace(state.observed, git=replace(state.observed.git, promotion=branch))
    told = PolicyInput((CALM,), beside=beside, **policing)
    return replace(state, observed=observed, desired=replace(state.desired, policing=told))


def shut(decision: Decision) -> list[tuple[str, str]]:
    return [(gate.reason, gate.remedy) for gate in decision.gates if gate.kind == GateKind.POLICY and not gate.open]


def remembered(state: World) -> str:
    return decided(state).record.git.beside


def waiting(**record: Any) -> World:
    """Main names v2, which its branch offered together with other files when it was seen last."""
    return world(active(1), candidate(2), names_=2, record={"beside": digest(2), **record})


def test_a_branch_that_carries_more_is_a_shut_gate_with_what_to_do() -> None:
    decision = decided(offering(world(active(1), candidate(2)), beside=OTHERS))
    remedy = "take them out of the branch gitops-bg/promote/shop/web"
    assert shut(decision) == [(f"its promotion branch {CARRIES}", remedy)]
    assert decision.record.git.beside == digest(2)


@pytest.mark.parametrize("number", [None, 1, 9])
def test_a_branch_that_offers_another_version_says_nothing_of_this_one(number: int | None) -> None:
    assert not shut(decided(offering(world(active(1), candidate(2)), number, beside=OTHERS)))


def test_it_does_not_stop_the_agent_s_own_commit_which_is_alone() -> None:
    """Else whoever may push a branch could stop every promotion."""
    decision = decided(offering(world(active(1), candidate(2), spec=automatic()), beside=OTHERS))
    assert any("commit primary.yaml" in str(action) for action in decision.actions)


def test_a_promotion_that_brought_files_along_waits() -> None:
    then = PoliciesThen("c" * 40, beside=OTHERS)
    decision = decided(offering(world(active(1), candidate(2), names_=2), None, then=then))
    assert decision.record.routing.switch is None
    assert shut(decision) == [(f"cccccccccc promotes it and {CARRIES}", ALONE)]


def test_a_merge_that_leaves_no_trace_waits_too() -> None:
    """A squash or a rebase of a branch that was seen with other files."""
    then = PoliciesThen("c" * 40)
    decision = decided(offering(waiting(), None, then=then))
    assert decision.record.routing.switch is None
    assert shut(decision) == [("its promotion branch held other files when cccccccccc promoted it", ALONE)]
    told_once = decided(offering(waiting(), None, then=replace(then, beside=OTHERS)))
    assert len(shut(told_once)) == 1


def test_without_policies_nothing_is_said_and_nothing_waits() -> None:
    state = waiting()
    assert decided(state).record.routing.switch is not None
    assert not shut(decided(state))


def test_the_way_back_asks_nothing_of_it() -> None:
    then = PoliciesThen("c" * 40, beside=OTHERS)
    back = world(legacy(1), active(2), names_=1, wants=2, record={"beside": digest(1)})
    assert decided(offering(back, None, then=then)).record.routing.switch is not None


NAMED = {"names_": 2}
MEMORIES: dict[str, tuple[World, str]] = {
    "the branch carries more": (offering(world(active(1), candidate(2)), beside=OTHERS), digest(2)),
    "it carries nothing else": (offering(world(active(1), candidate(2))), ""),
    "somebody took them out again": (
        offering(world(active(1), candidate(2), record={"beside": digest(2)})),
        "",
    ),
    "the branch is gone, and main does not name it": (
        offering(world(active(1), candidate(2), record={"beside": digest(2)}), None),
        "",
    ),
    "main names it, and the branch is gone": (offering(waiting(), None), digest(2)),
    "main names it, and has all of the branch": (offering(waiting()), digest(2)),
    "main names it, and the branch is looked at for the first time": (
        offering(world(active(1), candidate(2), **NAMED), beside=OTHERS),
        "",
    ),
    "main names it, and another version is offered with other files": (
        offering(waiting(), 3, beside=OTHERS),
        digest(2),
    ),
    "it serves": (offering(world(legacy(1), active(2), record={"beside": digest(2)}), None), ""),
    "it was reverted": (offering(world(active(1), candidate(2), record={"beside": digest(2)}), None), ""),
    "no policy is for the app": (world(active(1), candidate(2), record={"beside": digest(2)}), digest(2)),
}


@pytest.mark.parametrize("name", MEMORIES)
def test_what_is_remembered_of_a_branch_until_that_is_over(name: str) -> None:
    state, kept = MEMORIES[name]
    assert remembered(state) == kept


def test_nothing_is_concluded_from_a_main_that_nobody_can_read() -> None:
    state = offering(waiting(), None)
    away = replace(state, observed=replace(state.observed, git=replace(state.observed.git, unreachable="away")))
    assert remembered(away) == digest(2)
    unread = replace(state, desired=replace(state.desired, primary=Missing.UNREADABLE))
    known = replace(unread, record=unread.record.with_part(replace(unread.record.git, named=(digest(2),))))
    assert remembered(known) == digest(2)
    older = replace(state, desired=replace(state.desired, knowledge=Knowledge.REWRITTEN))
    assert remembered(older) == digest(2)
