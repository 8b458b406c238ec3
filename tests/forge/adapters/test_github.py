"""What is GitHub's alone: what reviews mean there, forks, accounts that are gone, why something does not merge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.journal import PullState
from gitops_bg.forge.port import (
    CheckState,
    CheckStatus,
    ForgeDown,
    HeadMoved,
    MergeRefused,
    NoRight,
    ReviewVerdict,
    User,
)
from tests.support.forges import worlds
from tests.support.forges.state import Review
from tests.support.forges.worlds import BRANCH, PREFIX, GitHubWorld, draft

A_PULL = {
    "number": 7,
    "state": "open",
    "title": "x",
    "body": None,
    "user": None,
    "html_url": "https://github.test/7",
    "labels": [],
    "assignees": [],
    "requested_reviewers": [],
    "requested_teams": [{"slug": "ops"}],
    "updated_at": "2026-11-22T20:00:00Z",
    "merged_at": None,
    "merge_commit_sha": "f" * 40,
    "head": {"ref": BRANCH, "sha": "a" * 40, "repo": {"full_name": "Shop/Config"}},
    "base": {"ref": "main"},
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[GitHubWorld]:
    with worlds.world("github", tmp_path / "world", lambda: pytest.fail("no Gitea is needed")) as made:
        assert isinstance(made, GitHubWorld)
        yield made


def review(world: GitHubWorld, who: str, state: str, number: int = 1) -> None:
    pull = world.state.find(number)
    assert pull
    pull.reviews.append(Review(world.state.id(), who, state, pull.head, world.state.now()))


class TestReviews:
    def test_a_comment_after_an_approval_does_not_take_it_back(self, world: GitHubWorld):
        world.offer()
        pull = world.forge().open(draft())
        for state in ("APPROVED", "COMMENTED", "PENDING"):
            review(world, "ana", state)
        (only,) = world.forge().reviews(pull)
        assert only.verdict is ReviewVerdict.APPROVED

    def test_an_approval_after_a_dismissed_one_counts(self, world: GitHubWorld):
        world.offer()
        pull = world.forge().open(draft())
        for state in ("DISMISSED", "APPROVED"):
            review(world, "ana", state)
        (only,) = world.forge().reviews(pull)
        assert only.verdict is ReviewVerdict.APPROVED

    def test_apps_are_bots(self, world: GitHubWorld):
        world.offer()
        pull = world.forge().open(draft())
        world.state.accounts["renovate[bot]"] = replace(world.state.accounts["robot"], login="renovate[bot]", bot=True)
        review(world, "renovate[bot]", "APPROVED")
        (only,) = world.forge().reviews(pull)
        assert only.user == User("6", "renovate[bot]", bot=True)

    def test_more_than_one_page_of_them_is_read(self, world: GitHubWorld):
        world.offer()
        pull = world.forge().open(draft())
        for _ in range(100):
            review(world, "ben", "CHANGES_REQUESTED")
        review(world, "ben", "APPROVED")
        (only,) = world.forge().reviews(pull)
        assert only.verdict is ReviewVerdict.APPROVED

    def test_one_of_an_account_that_is_gone_is_nobodys(self, world: GitHubWorld):
        world.offer()
        pull = world.forge().open(draft())
        gone = {"id": 1, "user": None, "state": "APPROVED", "commit_id": "a", "submitted_at": "2026-11-22T20:00:00Z"}
        world.gate.instead("GET", "/reviews", [gone])
        assert world.forge().reviews(pull) == ()


class TestLists:
    def test_what_is_open_has_no_merge_commit_and_whatever_may_be_missing_is_empty(self, world: GitHubWorld):
        """GitHub makes a merge commit for the try, before anybody merges."""
        world.gate.instead("GET", "/pulls", [A_PULL])
        (pull,) = world.forge().open_pulls(PREFIX)
        assert (pull.body, pull.author.login, pull.merge_commit) == ("", "ghost", "")
        assert pull.reviewers == ("team:ops",)
        assert pull.state is PullState.OPEN

    @pytest.mark.parametrize("repo", [None, {"full_name": "mallory/config"}])
    def test_a_fork_with_a_branch_of_our_name_is_none_of_ours(self, world: GitHubWorld, repo: object):
        head = {"ref": BRANCH, "sha": "a" * 40, "repo": repo}
        world.gate.instead("GET", "/pulls", [{**A_PULL, "head": head}])
        assert world.forge().open_pulls(PREFIX) == ()


class TestMerging:
    def test_the_next_way_is_tried_where_main_s_protection_refuses_one(self, world: GitHubWorld):
        """The repository allows merge commits, and the branch wants a linear history."""
        head = world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.gate.instead("PUT", "/merge", {"message": "Merge commits are not allowed on this repository."}, 405)
        forge.merge(pull, head)
        assert [asked.json()["merge_method"] for asked in world.gate.asked if asked.method == "PUT"] == [
            "merge",
            "squash",
        ]
        assert forge.pull(pull.number).state is PullState.MERGED

    def test_a_merge_queue_refuses_in_its_own_words_once(self, world: GitHubWorld):
        world.protect("Changes must be made through the merge queue")
        head = world.offer()
        forge = world.forge()
        with pytest.raises(MergeRefused, match="through the merge queue"):
            forge.merge(forge.open(draft()), head)
        assert len([asked for asked in world.gate.asked if asked.method == "PUT"]) == 1

    def test_a_base_that_moved_meanwhile_is_looked_at_again(self, world: GitHubWorld):
        head = world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        words = {"message": "Base branch was modified. Review and try the merge again."}
        world.gate.instead("PUT", "/merge", words, 405)
        with pytest.raises(HeadMoved) as error:
            forge.merge(pull, head)
        assert isinstance(error.value, WorldChanged)

    def test_a_repository_that_allows_nothing_that_is_known_is_said(self, world: GitHubWorld):
        world.allow("none")
        head = world.offer()
        forge = world.forge()
        with pytest.raises(MergeRefused, match="allows no way of merging"):
            forge.merge(forge.open(draft()), head)

    def test_a_merge_whose_answer_was_lost_is_not_repeated(self, world: GitHubWorld):
        head = world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.gate.after("PUT", "/merge", b"<html>502</html>", 502)
        with pytest.raises(ForgeDown):
            forge.merge(pull, head)
        assert len([asked for asked in world.gate.asked if asked.method == "PUT"]) == 1
        assert forge.pull(pull.number).state is PullState.MERGED


def test_a_repository_that_was_renamed_is_read_where_it_is_now(world: GitHubWorld):
    world.gate.instead(
        "GET", "/repos/shop/config/pulls$", b"", 301, Location=f"{world.url}/api/v3/repositories/7/pulls"
    )
    world.gate.instead("GET", "/repositories/7/pulls$", [A_PULL])
    assert [pull.number for pull in world.forge().open_pulls(PREFIX)] == [7]


def test_what_remains_of_the_limit_is_known(world: GitHubWorld):
    world.gate.instead("GET", "/pulls", [], x_ratelimit_remaining="4711", x_ratelimit_reset="1795377690")
    forge = world.forge()
    forge.open_pulls(PREFIX)
    assert forge.rate().remaining == 4711


def test_a_403_without_any_sign_of_a_limit_is_a_right_that_is_missing(world: GitHubWorld):
    world.gate.instead("POST", "/statuses", {"message": "Resource not accessible by integration"}, 403)
    with pytest.raises(NoRight, match=r"write status gitops-bg/prod.*not accessible by integration"):
        world.forge().report(CheckStatus("a" * 40, "gitops-bg/prod", CheckState.PENDING, "x"))


def test_closed_ones_are_read_page_by_page_only_as_far_as_needed(world: GitHubWorld):
    branches = [f"{PREFIX}shop/app-{index:03}" for index in range(101)]
    world.offers(branches)
    for branch in branches:
        pull = world.state.open(branch, "main", "x", "", "agent")
        pull.state, pull.closed_by = "closed", "ana"
    newest = max(pull.updated for pull in world.state.pulls)
    assert len(world.forge().closed_pulls(PREFIX, newest - timedelta(seconds=1))) == 2
    assert len(world.gate.asked) == 1
    assert len(world.forge().closed_pulls(PREFIX, newest - timedelta(days=1))) == 101
