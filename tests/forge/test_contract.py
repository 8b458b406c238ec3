"""The port of the forge on all three: stand-ins for GitHub and GitLab, a real Gitea; one suite (forges.md §5)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.core.errors import Refused, Transient, WorldChanged
from gitops_bg.forge.errors import (
    ForgeDown,
    HeadMoved,
    MergeRefused,
    NoRight,
    NotAccepted,
    NotFound,
    TokenRefused,
)
from gitops_bg.forge.port import CheckState, CheckStatus, PullState, Verdict
from tests.support.forges.worlds import BRANCH, PREFIX, PRIMARY, World, draft
from tests.support.waiting import eventually

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
MARKER = "<!-- gitops-bg: shop/web prod-eu -->"
CREATE = ("POST", r"/(pulls|merge_requests)$")


class TestOneForEachBranch:
    def test_it_is_opened_found_and_says_what_was_asked(self, world: World):
        head = world.offer()
        forge = world.forge()
        opened = forge.open(draft(labels=("promotion", "prod")))
        (listed,) = forge.open_pulls(PREFIX)
        assert listed.number == opened.number
        assert (listed.branch, listed.base, listed.head, listed.state) == (BRANCH, "main", head, PullState.OPEN)
        assert (listed.title, listed.body) == (draft().title, draft().body)
        assert sorted(listed.labels) == ["prod", "promotion"] == sorted(opened.labels)
        assert listed.author.login == "agent"
        assert listed.author.id
        assert listed.url.startswith("http")
        assert forge.open_pulls("another/") == ()

    def test_a_second_one_for_the_branch_is_the_first_one_edited(self, world: World):
        world.offer()
        forge = world.forge()
        first = forge.open(draft())
        again = forge.open(draft(title="shop/web: 1.4.0 → 1.6.0", body="another"))
        assert again.number == first.number
        (listed,) = forge.open_pulls(PREFIX)
        assert (listed.title, listed.body) == ("shop/web: 1.4.0 → 1.6.0", "another")

    def test_a_create_that_worked_but_was_answered_with_502_is_found_and_not_made_twice(self, world: World):
        world.offer()
        world.gate.after(*CREATE, b"<html>Bad Gateway</html>", 502)
        opened = world.forge().open(draft(labels=("promotion",)))
        (listed,) = world.forge().open_pulls(PREFIX)
        assert (listed.number, listed.labels) == (opened.number, ("promotion",))
        assert len([path for path in world.gate.writes() if path.endswith(("/pulls", "/merge_requests"))]) == 1

    def test_a_create_that_did_not_work_is_said_and_not_repeated(self, world: World):
        world.offer()
        world.gate.instead(*CREATE, b"<html>Bad Gateway</html>", 502)
        with pytest.raises(ForgeDown, match="502"):
            world.forge().open(draft())
        assert len(world.gate.writes()) == 1
        assert world.forge().open(draft()).number == 1

    def test_a_branch_that_is_not_there_is_refused_in_the_words_of_the_forge(self, world: World):
        with pytest.raises((NotAccepted, NotFound)):
            world.forge().open(draft(branch="gitops-bg/promote/shop/nobody"))

    def test_a_new_one_is_opened_where_the_one_before_was_closed(self, world: World):
        world.offer()
        forge = world.forge()
        first = forge.open(draft())
        forge.close(first)
        second = forge.open(draft())
        assert second.number != first.number
        assert [pull.number for pull in forge.open_pulls(PREFIX)] == [second.number]
        again = forge.open(draft(title="once more"))
        assert again.number == second.number

    def test_every_page_is_read_and_one_that_did_not_change_is_not_sent_again(self, world: World):
        real = world.kind == "gitea"
        forge = world.forge()
        if real:
            forge.page = {"limit": "2"}  # type: ignore[attr-defined]
        branches = [f"{PREFIX}shop/app-{index:03}" for index in range(3 if real else 104)]
        world.offers(branches)
        for branch in branches:
            forge.open(draft(branch=branch))
        assert [pull.branch for pull in forge.open_pulls(PREFIX)] == branches
        assert [pull.branch for pull in forge.open_pulls(PREFIX)] == branches
        assert [reply.status for reply in world.gate.replies[-2:]] == ([200, 200] if real else [304, 304])


class TestEditing:
    def test_nothing_is_asked_where_nothing_differs(self, world: World):
        world.offer()
        forge = world.forge()
        wanted = draft(labels=("a",), reviewers=("ana",), assignees=("ben",))
        forge.open(wanted)
        (pull,) = forge.open_pulls(PREFIX)
        assert (pull.labels, pull.reviewers, pull.assignees) == (("a",), ("ana",), ("ben",))
        before = world.gate.writes()
        forge.edit(pull, wanted)
        assert world.gate.writes() == before

    def test_another_base_is_taken_over(self, world: World):
        """Main was renamed, or the agent follows another branch now."""
        world.git.push_all(["stable"])
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        forge.edit(pull, draft(base="stable"))
        (listed,) = forge.open_pulls(PREFIX)
        assert (listed.number, listed.base) == (pull.number, "stable")

    def test_labels_that_people_put_on_it_stay(self, world: World):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft(labels=("ours",)))
        forge.edit(pull, draft(labels=("ours", "theirs")))
        (listed,) = forge.open_pulls(PREFIX)
        forge.edit(listed, draft(labels=("new",)))
        (listed,) = forge.open_pulls(PREFIX)
        assert sorted(listed.labels) == ["new", "ours", "theirs"]

    def test_who_reviewed_is_not_asked_again(self, world: World):
        world.offer()
        forge = world.forge()
        wanted = draft(reviewers=("ana",))
        pull = forge.open(wanted)
        world.approve(pull.number, "ana")
        (listed,) = world.forge().open_pulls(PREFIX)
        before = len([path for path in world.gate.writes() if "requested_reviewers" in path])
        world.forge().edit(listed, wanted)
        assert len([path for path in world.gate.writes() if "requested_reviewers" in path]) == before

    def test_a_reviewer_who_does_not_exist_is_an_error_after_all_else_was_done(self, world: World):
        world.offer()
        with pytest.raises(Refused, match="nobody-at-all") as error:
            world.forge().open(draft(title="the title", labels=("a",), reviewers=("nobody-at-all",)))
        said = {"github": "only be requested from", "gitlab": "nobody has this name", "gitea": "not exist"}
        assert said[world.kind] in str(error.value)
        (listed,) = world.forge().open_pulls(PREFIX)
        assert (listed.title, listed.labels) == ("the title", ("a",))

    def test_the_author_is_not_asked_for_a_review(self, world: World):
        world.offer()
        pull = world.forge().open(draft(reviewers=("agent",)))
        assert world.forge().pull(pull.number).reviewers in ((), ("agent",))

    def test_one_comment_is_kept_and_edited(self, world: World):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.say(pull.number, "ana", "is it ready?")
        forge.comment(pull, MARKER, "waiting")
        forge.comment(pull, MARKER, "open")
        writes = len(world.gate.writes())
        forge.comment(pull, MARKER, "open")
        assert world.comments(pull.number) == ["is it ready?", f"{MARKER}\nopen"]
        assert len(world.gate.writes()) == writes

    def test_a_comment_that_quotes_another_one_is_not_that_one(self, world: World):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.say(pull.number, "ana", f"> {MARKER} why?")
        forge.comment(pull, MARKER, "waiting")
        assert world.comments(pull.number) == [f"> {MARKER} why?", f"{MARKER}\nwaiting"]


class TestStatuses:
    def test_each_state_is_written_and_the_same_again_is_no_error(self, world: World):
        head = world.offer()
        forge = world.forge()
        for state in (CheckState.PENDING, CheckState.PENDING, CheckState.FAILURE, CheckState.SUCCESS):
            forge.report(CheckStatus(head, "gitops-bg/prod", state, f"it is {state}", "https://example.com"))
        assert world.statuses(head) == [("gitops-bg/prod", "success", "it is success")]

    def test_what_was_written_can_be_read_again(self, world: World):
        head = world.offer()
        forge = world.forge()
        assert forge.reported(head, "gitops-bg/prod") is None
        pending = CheckStatus(head, "gitops-bg/prod", CheckState.PENDING, "soak until 12:00", "https://example.com/")
        failure = replace(pending, state=CheckState.FAILURE, description="on hold")
        for status in (pending, failure, replace(pending, context="gitops-bg/staging")):
            forge.report(status)
        assert forge.reported(head, "gitops-bg/prod") == failure
        assert forge.reported(head, "gitops-bg/staging") == replace(pending, context="gitops-bg/staging")
        assert forge.reported(head, "gitops-bg") is None
        assert forge.reported("0" * 40, "gitops-bg/prod") is None

    def test_long_words_are_cut_to_what_the_forge_takes(self, world: World):
        head = world.offer()
        forge = world.forge()
        forge.report(CheckStatus(head, "gitops-bg/prod", CheckState.PENDING, "soak until\n12:00 UTC " * 50))
        ((_, _, words),) = world.statuses(head)
        assert len(words) == forge.limits.description
        assert (words[-1], "\n" in words) == ("…", False)


class TestReviews:
    def test_an_approval_names_the_head_that_was_seen_and_is_stale_after_another_push(self, world: World):
        head = world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.approve(pull.number, "ana")
        (review,) = forge.reviews(forge.pull(pull.number))
        assert (review.user.login, review.verdict, review.commit) == ("ana", Verdict.APPROVED, head)
        assert review.user.id
        assert (review.user.bot, review.stale) == (False, False)
        moved = world.offer("version: 3\n")
        pull = forge.pull(pull.number)
        (review,) = forge.reviews(pull)
        assert pull.head == moved != head == review.commit

    def test_the_same_content_pushed_again_leaves_the_approval_with_the_commit_that_was_seen(self, world: World):
        head = world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.approve(pull.number, "ana")
        moved = world.offer(message="web: promote, on a newer main")
        (review,) = forge.reviews(forge.pull(pull.number))
        assert (review.verdict, review.commit) == (Verdict.APPROVED, head)
        assert moved != head

    def test_the_last_word_of_each_person_counts(self, world: World):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.approve(pull.number, "ana")
        world.request_changes(pull.number, "ana")
        world.approve(pull.number, "ben")
        verdicts = {review.user.login: review.verdict for review in forge.reviews(forge.pull(pull.number))}
        assert verdicts == {"ana": Verdict.CHANGES_REQUESTED, "ben": Verdict.APPROVED}

    def test_an_approval_that_was_withdrawn_is_one_no_more(self, world: World):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.approve(pull.number, "ana")
        world.withdraw(pull.number, "ana")
        (review,) = forge.reviews(forge.pull(pull.number))
        assert review.verdict is Verdict.WITHDRAWN


class TestHowItEnds:
    @pytest.mark.parametrize("how", ["merge", "squash", "rebase", "ff"])
    def test_a_merge_leads_from_the_commit_of_main_to_who_did_it(self, world: World, how: str):
        if how == "ff" and world.kind == "github":
            pytest.skip("GitHub has no fast-forward merges")
        head = world.offer()
        forge = world.forge()
        number = forge.open(draft()).number
        world.merge(number, "ben", how)
        tip = world.git.fetch_main()
        assert (tip == head) == (how == "ff" or (how == "rebase" and world.kind == "gitea"))
        assert world.git.show("main", PRIMARY) == "version: 2"
        done = forge.merged(tip)
        assert done is not None
        assert (done.number, done.state, done.merge_commit) == (number, PullState.MERGED, tip)
        assert done.merged_by is not None
        assert done.merged_by.login == "ben"
        assert done.closed_by is None
        assert forge.open_pulls(PREFIX) == ()

    def test_a_merge_by_hand_in_git_is_seen_as_one(self, world: World):
        world.see_merges_by_hand()
        world.offer()
        forge = world.forge()
        number = forge.open(draft()).number
        world.git.switch("main")
        tip = world.git.merge(BRANCH, "ben")
        world.git.push("main")
        eventually(lambda: forge.pull(number).state is PullState.MERGED, what="it is seen")
        done = forge.merged(tip)
        assert done is not None
        assert done.number == number

    def test_a_commit_that_came_without_a_pull_request_has_none(self, world: World):
        tip = world.git.fetch_main()
        assert world.forge().merged(tip) is None
        assert world.forge().merged("0" * 40) is None

    def test_a_commit_of_an_open_one_has_not_got_to_main_by_it(self, world: World):
        head = world.offer()
        world.forge().open(draft())
        assert world.forge().merged(head) is None

    def test_closed_means_no_and_says_who(self, world: World):
        world.offer()
        forge = world.forge()
        number = forge.open(draft()).number
        world.close_pull(number, "ana")
        closed = forge.pull(number)
        assert (closed.state, closed.merged_by, closed.merge_commit) == (PullState.CLOSED, None, "")
        assert closed.closed_by is not None
        assert closed.closed_by.login == "ana"
        assert forge.open_pulls(PREFIX) == ()
        assert [pull.number for pull in forge.closed_pulls(PREFIX, LONG_AGO)] == [number]

    def test_reopened_is_open_again(self, world: World):
        world.offer()
        forge = world.forge()
        number = forge.open(draft()).number
        world.close_pull(number, "ana")
        world.reopen(number, "ben")
        (pull,) = forge.open_pulls(PREFIX)
        assert (pull.number, pull.state) == (number, PullState.OPEN)
        assert forge.pull(number).closed_by is None
        assert forge.closed_pulls(PREFIX, LONG_AGO) == ()

    def test_closing_twice_or_after_a_merge_is_no_error(self, world: World):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        forge.close(pull)
        forge.close(pull)
        assert forge.pull(pull.number).state is PullState.CLOSED
        world.reopen(pull.number, "ana")
        world.merge(pull.number, "ben", "merge")
        forge.close(pull)
        assert forge.pull(pull.number).state is PullState.MERGED

    def test_a_branch_deleted_on_merge_leaves_its_name(self, world: World):
        world.delete_on_merge()
        world.offer()
        forge = world.forge()
        number = forge.open(draft()).number
        pull = forge.open_pulls(PREFIX)[0]
        eventually(lambda: _merges(forge, pull), what="it is merged")
        done = forge.pull(number)
        assert (done.branch, done.state) == (BRANCH, PullState.MERGED)
        (listed,) = forge.closed_pulls(PREFIX, LONG_AGO)
        assert (listed.number, listed.branch, listed.state) == (number, BRANCH, PullState.MERGED)

    def test_the_branch_withdrawn_by_the_agent_closes_it(self, world: World):
        world.offer()
        forge = world.forge()
        number = forge.open(draft()).number
        world.git.delete(BRANCH)
        closed = eventually(lambda: next(iter(forge.closed_pulls(PREFIX, LONG_AGO)), None), what="it is closed")
        assert (closed.number, closed.branch, closed.state) == (number, BRANCH, PullState.CLOSED)

    def test_closed_ones_are_asked_for_since_a_time_only(self, world: World):
        world.offer()
        forge = world.forge()
        forge.close(forge.open(draft()))
        (closed,) = forge.closed_pulls(PREFIX, LONG_AGO)
        assert forge.closed_pulls(PREFIX, closed.updated_at) == (closed,)
        assert forge.closed_pulls(PREFIX, closed.updated_at + timedelta(seconds=1)) == ()
        assert forge.closed_pulls("another/", LONG_AGO) == ()


class TestMerging:
    def test_a_merge_commit_is_made_where_the_repository_allows_it(self, world: World):
        head = world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        _merge(forge, pull, head)
        done = forge.merged(world.git.fetch_main())
        assert done is not None
        assert done.number == pull.number
        assert done.merged_by is not None
        assert done.merged_by.login == "agent"
        assert world.git.show("main^2", PRIMARY) == "version: 2"

    def test_another_way_is_taken_where_only_that_is_allowed(self, world: World):
        world.allow("squash")
        head = world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        _merge(forge, pull, head)
        tip = world.git.fetch_main()
        assert tip != head
        assert world.git.show("main", PRIMARY) == "version: 2"
        done = forge.merged(tip)
        assert done is not None
        assert done.merge_commit == tip

    def test_a_head_that_moved_between_reading_and_merging_is_not_merged(self, world: World):
        head = world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.offer("version: 3\n")
        with pytest.raises(HeadMoved, match=head[:10]) as error:
            _merge(forge, pull, head)
        assert isinstance(error.value, WorldChanged)
        world.git.fetch_main()
        assert world.git.show("main", PRIMARY) == "version: 1"

    def test_what_protection_refuses_is_told_in_the_forge_s_words(self, world: World):
        words = {"github": "At least 1 approving review is required", "gitlab": "not_approved", "gitea": "approvals"}
        world.protect(words[world.kind])
        head = world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        with pytest.raises(MergeRefused, match=words[world.kind].replace("_", " ")) as error:
            _merge(forge, pull, head)
        assert error.value.words in str(error.value)
        assert forge.pull(pull.number).state is PullState.OPEN


class TestWhatGoesWrong:
    def test_a_token_that_nobody_gave_is_refused(self, world: World):
        with pytest.raises(TokenRefused, match="token file") as error:
            world.forge("stranger").open_pulls(PREFIX)
        assert world.token("stranger") not in str(error.value)

    def test_a_token_that_may_only_read_reads_and_is_told_what_it_may_not(self, world: World):
        world.offer()
        number = world.forge().open(draft()).number
        reader = world.forge("reader")
        (pull,) = reader.open_pulls(PREFIX)
        assert pull.number == number
        with pytest.raises(NoRight, match=f"edit (pull|merge) request {number}"):
            reader.edit(pull, draft(title="another"))

    def test_one_that_is_not_there_is_named(self, world: World):
        with pytest.raises(NotFound, match="request 99"):
            world.forge().pull(99)


def _merge(forge, pull, head) -> None:
    """Gitea looks at a new head in its own time, and says so."""
    eventually(lambda: _merges(forge, pull, head), what="it is merged")


def _merges(forge, pull, head: str = "") -> bool:
    try:
        forge.merge(pull, head or pull.head)
    except Transient as error:
        if isinstance(error, WorldChanged):
            raise
        return False
    return True
