"""What a finished look at an app wants of the forge."""

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.agent.desired_pull import awaits_poll, desired_pull_of, has_left
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.core.environments.proven import EnvironmentInput
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.journal import AwaitsPoll, PollCount, PullRequest, PullState, offer_of, offer_of_branch
from gitops_bg.core.model.main import Knowledge
from gitops_bg.core.model.observed import PromotionBranch
from gitops_bg.core.model.policy_facts import PolicyInput
from gitops_bg.core.model.policy_rules import Approvals, Policy, Role, Separation
from gitops_bg.core.model.record import PendingMergeLookup
from gitops_bg.core.model.spec import PromoteVia, Suspension
from gitops_bg.core.model.statements import Cause, Hold, Override
from gitops_bg.core.model.version import Stage
from gitops_bg.core.world import World
from gitops_bg.forge.asking import Asks
from gitops_bg.forge.offer import Content, DesiredPull
from gitops_bg.forge.port import CheckState
from gitops_bg.forge.wanted import status_of
from gitops_bg.spec.app.load import AppConfig
from tests.core.simulation import APP, manual
from tests.core.worlds import EARLIER, NOW, active, candidate, digest, legacy, pods, primary, rising, version, world

HEAD = "a" * 40


def desired_pull(
    state: World,
    *,
    offers: int | None = 2,
    base: int = 1,
    commit: str = HEAD,
    here: bool | None = None,
    asks_for: str = "promoted",
    **git: Any,
) -> DesiredPull | None:
    """With the branch offering version ``offers``; None: there is no branch. Who names a cluster asks for something."""
    asks_for = "" if here is None else asks_for
    said = PromotionBranch("", digest(base), asks_for=asks_for, commit=commit, offered_here=here, asked_by="ada")
    branch = replace(said, digest=digest(offers)) if offers else None
    observed = replace(state.observed, git=replace(state.observed.git, promotion=branch, **git))
    config = AppConfig(APP, state.spec, {}, None, None)
    facts = Facts(APP, state.spec, state.desired, observed, state.record, config)
    decision = facts.decide(NOW)
    return desired_pull_of(facts, decision, NOW, "prod", "main")


def hold(cause: Cause) -> dict[str, Any]:
    return {"holds": (Hold(digest(2), "because", EARLIER, cause),)}


def test_an_offered_candidate_is_desired_with_all_that_its_text_needs() -> None:
    state = world(active(1), candidate(2))
    offer = desired_pull(state).offer
    assert (offer.app, offer.cluster, offer.base, offer.head) == (APP, "prod", "main", HEAD)
    assert offer.id == offer_of(candidate(2), state.spec)
    assert (offer.before.number, offer.to.number) == (1, 2)
    assert '"image":"web:2"' in offer.to.template
    assert [gate.open for gate in offer.gates if gate.kind == "approval"] == [False]
    assert (offer.refused, offer.goes_back) == ("", False)


def test_what_is_superseded_keeps_its_pull_request_and_says_not_to_merge_it() -> None:
    superseded, sets = version(2, Stage.CANDIDATE, retiring=True), (pods(1), pods(2), pods(3, available=0))
    state = world(active(1), superseded, rising(3), sets=sets, record={"offered": digest(2)})
    offer = desired_pull(state, pull=PullRequest(7, state=PullState.OPEN, seen_at=AwaitsPoll())).offer
    assert offer.to.number == 2
    assert offer.refused == "superseded by 3 (v3), which this will offer once it is ready"


@pytest.mark.parametrize("here", [None, True, False])
def test_of_what_another_cluster_offers_and_this_one_holds_only_the_status_says_no(here: bool | None) -> None:
    state = world(active(1), legacy(2), record=hold(Cause.ABORTED))
    found = desired_pull(state, here=here)
    assert (found.offer is None) is (here is True), "its own offer is about to be withdrawn"
    if found.offer is not None:
        assert (found.offer.only_status, found.offer.refused) == (True, "on hold: aborted: because")
        assert found.offer.content is (Content.OTHER if here is None else Content.OFFERED)
        assert status_of(found.offer).state is CheckState.FAILURE


def test_what_another_cluster_offers_and_a_newer_version_supersedes_says_not_to_merge_it() -> None:
    superseded, sets = version(2, Stage.CANDIDATE, retiring=True), (pods(1), pods(2), pods(3, available=0))
    state = world(active(1), superseded, rising(3), sets=sets)
    offer = desired_pull(state, here=False, pull=PullRequest(7, state=PullState.OPEN, seen_at=AwaitsPoll())).offer
    assert (offer.to.number, offer.refused.partition(" by ")[0]) == (2, "superseded")


SERVED = world(legacy(1), active(2), candidate(3), record={"offered": digest(3)})
"""v2 is live, v1 served before, and v3 is what the agent offers."""


@pytest.mark.parametrize(
    ("here", "only_status"),
    [
        (None, False),  # by hand
        (True, False),  # by `gitops-bg rollback`
        (False, True),  # by another cluster, which opens its pull request
    ],
)
def test_a_way_back_that_people_put_on_the_branch_is_offered_as_what_it_is(
    here: bool | None, only_status: bool
) -> None:
    offer = desired_pull(SERVED, offers=1, base=2, here=here, asks_for="rolled-back").offer
    assert (offer.content, offer.to.number, offer.before.number) == (Content.WAY_BACK, 1, 2)
    assert (offer.only_status, offer.merge, offer.gates, offer.asked_by) == (only_status, False, (), "ada")
    assert offer.id == offer_of_branch(digest(1), HEAD), "closing it answers no offer of the agent"
    assert status_of(offer).state is CheckState.SUCCESS


def test_a_way_back_is_offered_though_somebody_closed_what_the_target_asks_for() -> None:
    closed = (Hold(digest(3), "because", EARLIER, Cause.CLOSED),)
    state = world(legacy(1), active(2), version(3, Stage.CANDIDATE, retiring=True), record={"holds": closed}, wants=3)
    found = desired_pull(state, offers=1, base=2)
    assert (found.declined, found.offer.content) == (False, Content.WAY_BACK)


def test_a_way_back_that_carries_other_files_is_not_to_be_merged() -> None:
    policing = PolicyInput((Policy("calm"),), beside=("README.md",))
    state = replace(SERVED, desired=replace(SERVED.desired, policing=policing))
    assert status_of(desired_pull(state, offers=1, base=2).offer).state is CheckState.FAILURE


@pytest.mark.parametrize("offers", [1, 9])
def test_what_nobody_offers_is_said_to_be_that_and_nothing_is_opened_for_it(offers: int) -> None:
    """The app is suspended: the agent does not put the branch right."""
    state = replace(SERVED, spec=replace(SERVED.spec, suspend=Suspension("calm", "ada")))
    offer = desired_pull(state, offers=offers, base=7).offer
    assert (offer.content, offer.only_status, offer.merge) == (Content.OTHER, True, False)
    assert offer.id == offer_of_branch(digest(offers), HEAD)
    assert status_of(offer).state is CheckState.FAILURE


def test_a_branch_that_carries_other_files_is_not_to_be_merged() -> None:
    """Where a policy is for the app; branch protection that demands the status keeps them out of main."""
    state = world(active(1), candidate(2), spec=replace(manual(), merge_when_green=True))
    policing = PolicyInput((Policy("calm"),), beside=("README.md",))
    offer = desired_pull(replace(state, desired=replace(state.desired, policing=policing))).offer
    assert offer.refused == "its promotion branch carries other files: README.md"
    assert status_of(offer).state is CheckState.FAILURE
    assert not desired_pull(state).offer.refused


MAIN = "c" * 40
EYES = PolicyInput((Policy("eyes", (Approvals(),)),), mergers_asked=("d" * 40,))


@pytest.mark.parametrize(
    ("policing", "record", "asks"),
    [
        (None, {}, Asks()),
        (PolicyInput((Policy("calm"),)), {}, Asks()),
        (EYES, {}, Asks(reviews=True, mergers=("d" * 40,))),
        (PolicyInput((Policy("roles", (Separation((Role.AUTHOR, Role.MERGER)),)),)), {}, Asks()),
        (None, {"asked_merges": (PendingMergeLookup(MAIN, digest(2), NOW),)}, Asks(merges=(MAIN,))),
    ],
)
def test_people_are_asked_about_only_where_a_policy_does_or_a_promotion_has_come_true(policing, record, asks) -> None:
    state = world(active(1), candidate(2), record=record)
    assert desired_pull(replace(state, desired=replace(state.desired, policing=policing))).asks == asks


def test_an_app_that_has_nothing_to_promote_asks_nothing() -> None:
    state = world(active(1))
    assert desired_pull(replace(state, desired=replace(state.desired, policing=EYES)), offers=None).asks == Asks()


def test_what_waits_for_its_gates_asks_who_merged_it() -> None:
    state = world(active(1), candidate(2), desired={"primary": primary(2)})
    both = PolicyInput((Policy("roles", (Separation((Role.AUTHOR, Role.MERGER)),)),))
    for policing, reviews in ((EYES, True), (both, False)):
        asks = desired_pull(replace(state, desired=replace(state.desired, policing=policing)), offers=None).asks
        assert (asks.reviews, asks.promotion) == (reviews, state.desired.primary.changed_by.commit)


NOTHING_CONCLUDED = {
    "nobody has looked at main": world(
        active(1), candidate(2), desired={"target": Missing.UNSEEN, "primary": Missing.UNSEEN}
    ),
    "main was rewritten": world(active(1), candidate(2), desired={"history_rewritten": "f" * 40}),
}


@pytest.mark.parametrize("state", NOTHING_CONCLUDED.values(), ids=NOTHING_CONCLUDED.keys())
def test_when_nothing_is_desired(state: World) -> None:
    assert desired_pull(state) is None


UNSETTLED = {
    "the branch is about to be pushed": (world(active(1), candidate(2)), {"offers": None}),
    "it holds a version that is not wanted any more": (world(legacy(1), active(2), candidate(3)), {"offers": 1}),
    "nobody knows what it holds": (world(active(1), candidate(2)), {"offers": 9}),
    "its head is not known": (world(active(1), candidate(2)), {"commit": ""}),
    "it is by a person, of an app that is promoted by commits": (
        world(active(1), candidate(2), spec=replace(manual(), promote_via=PromoteVia.COMMIT)),
        {},
    ),
}


@pytest.mark.parametrize(("state", "branch"), UNSETTLED.values(), ids=UNSETTLED.keys())
def test_when_nothing_is_concluded_of_the_pull_request_that_is_there(state: World, branch: dict[str, Any]) -> None:
    desired = desired_pull(state, **branch)
    assert (desired.offer, desired.settled) == (None, False)


def test_with_no_branch_and_nothing_to_offer_nothing_is_to_be_open() -> None:
    assert desired_pull(world(active(1)), offers=None) == DesiredPull()


def test_what_main_names_is_offered_no_longer_though_its_branch_is_still_there() -> None:
    state = world(active(1), candidate(2), wants=2, names_=2)
    assert desired_pull(state) == DesiredPull()


def test_what_was_closed_keeps_its_pull_request() -> None:
    state = world(active(1), version(2, Stage.CANDIDATE, retiring=True), wants=2, record=hold(Cause.CLOSED))
    assert desired_pull(state).declined


def test_what_was_rolled_back_where_main_says_another_is_offered_as_the_way_back() -> None:
    override = Override(digest(2), digest(1), "5xx", "ada", EARLIER)
    state = world(active(1), legacy(2), wants=2, names_=2, record={"override": override, **hold(Cause.ROLLED_BACK)})
    offer = desired_pull(state, offers=1, base=2, main_refused="protected").offer
    assert (offer.goes_back, offer.to.number, offer.before.number, offer.gates) == (True, 1, 2, ())


def test_a_closing_waits_for_the_look_that_follows_it() -> None:
    state = world(active(1), candidate(2))
    pull = PullRequest(7, state=PullState.CLOSED, seen_at=AwaitsPoll((("a", 3),)))

    def waits(pull: PullRequest, seen: int) -> bool:
        observed = replace(state.observed, git=replace(state.observed.git, pull=pull))
        desired = replace(state.desired, looks=PollCount("a", seen, seen))
        return awaits_poll(
            Facts(APP, state.spec, desired, observed, state.record, AppConfig(APP, None, {}, None, None))
        )

    assert [waits(pull, seen) for seen in (3, 4)] == [True, False]
    assert not waits(replace(pull, seen_at=None), 3)
    assert not waits(replace(pull, state=PullState.OPEN), 3)


LEFT: dict[str, tuple[dict[str, Any], bool]] = {
    "it is in that environment": ({"environment": EnvironmentInput("prod")}, False),
    "its cluster is in another one": ({"environment": EnvironmentInput("staging")}, True),
    "main has it, and in none": ({}, True),
    "its folder has left main": ({"in_git": False, "whole": False}, True),
    "its folder cannot be read": ({"whole": False}, False),
    "main was not read yet": ({"primary": Missing.UNSEEN}, False),
    "main was rewritten": ({"knowledge": Knowledge.REWRITTEN}, False),
}


@pytest.mark.parametrize("case", LEFT)
def test_a_branch_that_asks_for_a_release_is_over_only_where_main_says_so(case: str) -> None:
    """What nobody can read now says nothing: an open pull request would be closed for it."""
    changes, wanted = LEFT[case]
    assert has_left(replace(world(active(1)).desired, **changes), "prod") is wanted
