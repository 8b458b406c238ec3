"""What is GitLab's alone: approvals that name no commit, bots, one reviewer without a licence, why not merged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.core.errors import Refused, Transient
from gitops_bg.forge.port import CheckState, CheckStatus, MergeRefused, NotAccepted, ReviewVerdict, StillChecking
from tests.support.forges import worlds
from tests.support.forges.worlds import PREFIX, GitLabWorld, draft


@pytest.fixture
def world(tmp_path: Path) -> Iterator[GitLabWorld]:
    with worlds.world("gitlab", tmp_path / "world", lambda: pytest.fail("no Gitea is needed")) as made:
        assert isinstance(made, GitLabWorld)
        yield made


class TestApprovals:
    @pytest.mark.parametrize("tells_times", [True, False], ids=["approved_at", "by the notes of the system"])
    def test_one_is_of_the_version_that_was_the_newest_then(self, world: GitLabWorld, tells_times: bool):
        world.gitlab.tells_times = tells_times
        first = world.offer()
        forge = world.forge()
        number = forge.open(draft()).number
        world.approve(number, "ana")
        second = world.offer("version: 3\n")
        world.approve(number, "ben")
        third = world.offer("version: 4\n")
        reviews = {review.user.login: (review.commit, review.stale) for review in forge.reviews(forge.pull(number))}
        assert reviews == {"ana": (first, True), "ben": (second, True)}
        assert third not in (first, second)

    def test_one_without_a_time_is_of_the_oldest_version(self, world: GitLabWorld):
        """Unknown is not absent: it never counts for more than was there to be seen."""
        world.gitlab.tells_times = False
        first = world.offer()
        forge = world.forge()
        number = forge.open(draft()).number
        world.approve(number, "ana")
        pull = world.state.find(number)
        assert pull
        pull.comments.clear()
        world.offer("version: 3\n")
        (review,) = forge.reviews(forge.pull(number))
        assert (review.verdict, review.commit, review.stale) == (ReviewVerdict.APPROVED, first, True)

    def test_a_person_cannot_write_the_note_of_the_system(self, world: GitLabWorld):
        world.gitlab.tells_times = False
        first = world.offer()
        forge = world.forge()
        number = forge.open(draft()).number
        world.approve(number, "ana")
        world.offer("version: 3\n")
        world.say(number, "ana", "approved this merge request")
        (review,) = forge.reviews(forge.pull(number))
        assert review.commit == first

    def test_who_asks_for_changes_does_not_approve_any_more(self, world: GitLabWorld):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.approve(pull.number, "ana")
        reviewers = [
            {"user": {"id": 3, "username": "ana"}, "state": "requested_changes", "created_at": "2026-11-22T19:00:00Z"}
        ]
        world.gate.instead("GET", "/reviewers$", reviewers)
        (review,) = forge.reviews(pull)
        assert review.verdict is ReviewVerdict.CHANGES_REQUESTED

    def test_an_edition_without_approvals_has_none(self, world: GitLabWorld):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.approve(pull.number, "ana")
        world.gitlab.has_approvals = False
        world.gate.instead("GET", "/reviewers$", {"error": "404 Not Found"}, 404)
        assert forge.reviews(pull) == ()

    def test_who_is_a_bot_is_asked_once_for_each_account(self, world: GitLabWorld):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        for who in ("robot", "ana"):
            world.approve(pull.number, who)
        for _ in range(2):
            bots = {review.user.login: review.user.bot for review in forge.reviews(pull)}
            assert bots == {"robot": True, "ana": False}
        assert len([asked for asked in world.gate.asked if "/users/" in asked.path]) == 2

    def test_an_account_that_may_not_be_asked_for_is_judged_by_its_name(self, world: GitLabWorld):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        name = "project_7_bot_3f9c"
        world.state.accounts[name] = world.state.accounts["robot"].__class__(99, name)
        world.approve(pull.number, name)
        world.gate.instead("GET", "/users/", {"message": "403 Forbidden"}, 403)
        (review,) = forge.reviews(pull)
        assert review.user.bot


class TestPeople:
    def test_without_a_licence_one_reviewer_is_kept_and_nobody_is_asked_over_and_over(self, world: GitLabWorld):
        world.offer()
        forge = world.forge()
        wanted = draft(reviewers=("ana", "ben"), assignees=("ben", "cyd"))
        forge.open(wanted)
        (pull,) = forge.open_pulls(PREFIX)
        assert (pull.reviewers, pull.assignees) == (("ana",), ("ben",))
        before = world.gate.writes()
        forge.edit(pull, wanted)
        assert world.gate.writes() == before

    def test_a_group_cannot_be_a_reviewer_and_the_people_are_asked_all_the_same(self, world: GitLabWorld):
        world.offer()
        forge = world.forge()
        with pytest.raises(NotAccepted, match=r"group ops.*takes people only"):
            forge.open(draft(reviewers=("team:ops", "ana")))
        (pull,) = forge.open_pulls(PREFIX)
        assert pull.reviewers == ("ana",)

    def test_reviewers_whom_people_added_stay(self, world: GitLabWorld):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        there = world.state.find(pull.number)
        assert there
        there.reviewers = ["ben"]
        forge.edit(forge.pull(pull.number), draft(assignees=("ana",)))
        put = next(asked.json() for asked in reversed(world.gate.asked) if asked.method == "PUT")
        assert put == {
            "reviewer_ids": [world.state.accounts["ben"].id],
            "assignee_ids": [world.state.accounts["ana"].id],
        }


class TestMerging:
    def test_why_not_stands_in_the_merge_request(self, world: GitLabWorld):
        world.protect("ci_must_pass")
        head = world.offer()
        forge = world.forge()
        with pytest.raises(MergeRefused, match=r"Method Not Allowed \(ci must pass\)"):
            forge.merge(forge.open(draft()), head)

    @pytest.mark.parametrize("status", ["checking", "unchecked", "preparing"])
    def test_what_is_still_looked_at_is_something_passing(self, world: GitLabWorld, status: str):
        world.protect(status)
        head = world.offer()
        forge = world.forge()
        with pytest.raises(StillChecking) as error:
            forge.merge(forge.open(draft()), head)
        assert isinstance(error.value, Transient)

    def test_a_401_there_is_a_right_and_no_token(self, world: GitLabWorld):
        head = world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.gate.instead("PUT", "/merge$", {"message": "401 Unauthorized"}, 401)
        with pytest.raises(MergeRefused, match="may not merge into this branch") as error:
            forge.merge(pull, head)
        assert isinstance(error.value, Refused)

    def test_a_project_that_only_fast_forwards_does_so(self, world: GitLabWorld):
        world.allow("ff")
        head = world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        forge.merge(pull, head)
        assert world.git.fetch_main() == head
        done = forge.pull(pull.number)
        assert done.merge_commit == head


class TestStatuses:
    def test_another_refusal_than_that_of_the_same_state_is_an_error(self, world: GitLabWorld):
        head = world.offer()
        world.gate.instead("POST", "/statuses/", {"message": {"target_url": ["is blocked"]}}, 400)
        with pytest.raises(NotAccepted, match="is blocked"):
            world.forge().report(CheckStatus(head, "gitops-bg/prod", CheckState.PENDING, "x"))

    def test_a_status_that_runs_is_pending(self, world: GitLabWorld):
        said = [{"name": "gitops-bg/prod", "status": "running", "description": None, "target_url": None}]
        world.gate.instead("GET", "/statuses$", said)
        status = world.forge().reported("a" * 40, "gitops-bg/prod")
        assert status == CheckStatus("a" * 40, "gitops-bg/prod", CheckState.PENDING, "")


def test_a_fork_with_a_branch_of_our_name_is_none_of_ours(world: GitLabWorld):
    for source in (8, None):
        fork = {"iid": 1, "source_project_id": source, "target_project_id": 7}
        world.gate.instead("GET", "/merge_requests$", [fork])
        assert world.forge().open_pulls(PREFIX) == ()
