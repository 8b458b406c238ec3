"""The port of the forge on all three: stand-ins for GitHub and GitLab, a real Gitea; one suite (forges.md §5)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.core.errors import Refused, Transient, WorldChanged
from gitops_bg.core.model.journal import PullState
from gitops_bg.forge.port import (
    CheckState,
    CheckStatus,
    ForgeDown,
    HeadMoved,
    MergeRefused,
    NoRight,
    NotAccepted,
    NotOnForge,
    ReviewVerdict,
    TokenRefused,
)
from tests.support.forges.worlds import BRANCH, PREFIX, PRIMARY, World, draft
from tests.support.waiting import eventually

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
MARKER = "<!-- gitops-bg: shop/web prod-eu -->"
CREATE = ("POST", r"/(pulls|merge_requests)$")


class TestOneForEachBranch:
    def test_it_is_opened_found_edited_and_opened_anew_where_it_was_closed(self, world: World):
        with pytest.raises((NotAccepted, NotOnForge)):
            world.forge().open(draft(branch="gitops-bg/promote/shop/nobody"))
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

        again = forge.open(draft(title="shop/web: 1.4.0 → 1.6.0", body="another"))
        assert again.number == opened.number
        (listed,) = forge.open_pulls(PREFIX)
        assert (listed.title, listed.body) == ("shop/web: 1.4.0 → 1.6.0", "another")

        forge.close(listed)
        second = forge.open(draft())
        assert second.number != opened.number
        assert [pull.number for pull in forge.open_pulls(PREFIX)] == [second.number]
        again = forge.open(draft(title="once more"))
        assert again.number == second.number

    def test_a_create_that_is_answered_with_502_is_not_repeated_and_is_found_where_it_worked(self, world: World):
        world.offer()
        world.gate.instead(*CREATE, b"<html>Bad Gateway</html>", 502)
        with pytest.raises(ForgeDown, match="502"):
            world.forge().open(draft())
        assert len(world.gate.writes()) == 1
        world.gate.after(*CREATE, b"<html>Bad Gateway</html>", 502)
        opened = world.forge().open(draft(labels=("promotion",)))
        (listed,) = world.forge().open_pulls(PREFIX)
        assert (opened.number, listed.number, listed.labels) == (1, 1, ("promotion",))
        assert len([path for path in world.gate.writes() if path.endswith(("/pulls", "/merge_requests"))]) == 2

    def test_every_page_is_read_and_one_that_did_not_change_is_not_sent_again(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ):
        forge = world.forge()
        if world.kind == "gitlab":
            monkeypatch.setattr("gitops_bg.forge.adapters.gitlab._PAGE", {"per_page": "2"})
        else:
            forge.page = {"limit" if world.kind == "gitea" else "per_page": "2"}  # type: ignore[attr-defined]
        branches = [f"{PREFIX}shop/app-{index:03}" for index in range(3)]
        world.offers(branches)
        for branch in branches:
            forge.open(draft(branch=branch))
        assert [pull.branch for pull in forge.open_pulls(PREFIX)] == branches
        assert [pull.branch for pull in forge.open_pulls(PREFIX)] == branches
        statuses = [reply.status for reply in world.gate.replies[-2:]]
        assert statuses == ([200, 200] if world.kind == "gitea" else [304, 304])


class TestEditing:
    def test_what_differs_is_changed_and_what_people_added_stays(self, world: World):
        """Main was renamed, too, or the agent follows another branch now."""
        world.git.push_all(["stable"])
        world.offer()
        forge = world.forge()
        wanted = draft(labels=("a",), reviewers=("ana",), assignees=("ben",))
        forge.open(wanted)
        (pull,) = forge.open_pulls(PREFIX)
        assert (pull.labels, pull.reviewers, pull.assignees) == (("a",), ("ana",), ("ben",))
        before = world.gate.writes()
        forge.edit(pull, wanted)
        assert world.gate.writes() == before, "nothing differs"

        forge.edit(pull, draft(labels=("a", "theirs"), base="stable"))
        (listed,) = forge.open_pulls(PREFIX)
        assert (listed.number, listed.base) == (pull.number, "stable")
        forge.edit(listed, draft(labels=("new",), base="stable"))
        (listed,) = forge.open_pulls(PREFIX)
        assert sorted(listed.labels) == ["a", "new", "theirs"]

    def test_reviews_are_asked_of_who_is_there_is_not_the_author_and_has_given_none(self, world: World):
        world.offer()
        with pytest.raises(Refused, match="nobody-at-all") as error:
            world.forge().open(draft(title="the title", labels=("a",), reviewers=("nobody-at-all",)))
        said = {"github": "only be requested from", "gitlab": "nobody has this name", "gitea": "not exist"}
        assert said[world.kind] in str(error.value)
        (listed,) = world.forge().open_pulls(PREFIX)
        assert (listed.title, listed.labels) == ("the title", ("a",)), "all else was done"

        pull = world.forge().open(draft(reviewers=("agent",)))
        assert world.forge().pull(pull.number).reviewers in ((), ("agent",))

        wanted = draft(reviewers=("ana",))
        pull = world.forge().open(wanted)
        world.approve(pull.number, "ana")
        (listed,) = world.forge().open_pulls(PREFIX)
        before = len([path for path in world.gate.writes() if "requested_reviewers" in path])
        world.forge().edit(listed, wanted)
        assert len([path for path in world.gate.writes() if "requested_reviewers" in path]) == before

    def test_one_comment_is_kept_and_edited_and_is_none_that_quotes_it(self, world: World):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.say(pull.number, "ana", f"> {MARKER} why?")
        forge.comment(pull, MARKER, "waiting")
        assert world.comments(pull.number) == [f"> {MARKER} why?", f"{MARKER}\nwaiting"]
        forge.comment(pull, MARKER, "open")
        writes = len(world.gate.writes())
        forge.comment(pull, MARKER, "open")
        assert world.comments(pull.number) == [f"> {MARKER} why?", f"{MARKER}\nopen"]
        assert len(world.gate.writes()) == writes


class TestStatuses:
    def test_each_state_is_written_and_read_again_and_the_same_again_is_no_error(self, world: World):
        head = world.offer()
        forge = world.forge()
        assert forge.reported(head, "gitops-bg/prod") is None
        for state in (CheckState.PENDING, CheckState.PENDING, CheckState.FAILURE, CheckState.SUCCESS):
            forge.report(CheckStatus(head, "gitops-bg/prod", state, f"it is {state}", "https://example.com"))
        assert world.statuses(head) == [("gitops-bg/prod", "success", "it is success")]
        pending = CheckStatus(head, "gitops-bg/prod", CheckState.PENDING, "soak until 12:00", "https://example.com/")
        failure = replace(pending, state=CheckState.FAILURE, description="on hold")
        for status in (pending, failure, replace(pending, context="gitops-bg/staging")):
            forge.report(status)
        assert forge.reported(head, "gitops-bg/prod") == failure
        assert forge.reported(head, "gitops-bg/staging") == replace(pending, context="gitops-bg/staging")
        assert forge.reported(head, "gitops-bg") is None
        assert forge.reported("0" * 40, "gitops-bg/prod") is None

        forge.report(CheckStatus(head, "gitops-bg/long", CheckState.PENDING, "soak until\n12:00 UTC " * 50))
        (words,) = (words for context, _, words in world.statuses(head) if context == "gitops-bg/long")
        assert len(words) == forge.limits.description, "long words are cut to what the forge takes"
        assert (words[-1], "\n" in words) == ("…", False)


class TestReviews:
    def test_an_approval_is_of_the_head_that_was_seen_whatever_is_pushed_later(self, world: World):
        head = world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.approve(pull.number, "ana")
        (review,) = forge.reviews(forge.pull(pull.number))
        assert (review.user.login, review.verdict, review.commit) == ("ana", ReviewVerdict.APPROVED, head)
        assert review.user.id
        assert (review.user.bot, review.stale) == (False, False)

        same = world.offer(message="web: promote, on a newer main")
        (review,) = forge.reviews(forge.pull(pull.number))
        assert (review.verdict, review.commit) == (ReviewVerdict.APPROVED, head)
        assert same != head
        moved = world.offer("version: 3\n")
        pull = forge.pull(pull.number)
        (review,) = forge.reviews(pull)
        assert pull.head == moved != head == review.commit

    def test_a_person_approves_what_they_saw_and_takes_it_back_under_their_own_account(self, world: World):
        head = world.offer()
        pull, ana = world.forge().open(draft()), world.forge("ana")
        if world.kind == "github":  # nobody logs in with an account there: it is no OpenID provider
            with pytest.raises(NotAccepted, match="approve it there"):
                ana.approve(pull, head)
            return
        ana.approve(pull, head)
        (review,) = ana.reviews(pull)
        assert (review.user.login, review.verdict, review.commit) == ("ana", ReviewVerdict.APPROVED, head)
        assert ana.withdraw_approval(pull)
        assert ana.reviews(pull) == ()
        assert not ana.withdraw_approval(pull)

    def test_the_last_word_of_each_person_counts_and_one_that_was_withdrawn_is_none(self, world: World):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        world.approve(pull.number, "ana")
        world.request_changes(pull.number, "ana")
        world.approve(pull.number, "ben")

        def verdicts() -> dict[str, ReviewVerdict]:
            return {review.user.login: review.verdict for review in forge.reviews(forge.pull(pull.number))}

        assert verdicts() == {"ana": ReviewVerdict.CHANGES_REQUESTED, "ben": ReviewVerdict.APPROVED}
        world.withdraw(pull.number, "ben")
        assert verdicts()["ben"] is ReviewVerdict.WITHDRAWN


class TestHowItEnds:
    def test_a_merge_leads_from_the_commit_of_main_to_who_did_it(self, world: World):
        """By each method, and by hand in Git; nothing else that is in main does, nor what is in an open one."""
        forge = world.forge()
        tip = world.git.fetch_main()
        assert forge.merged(tip) is None
        assert forge.merged("0" * 40) is None
        ways = ["merge", "squash", "rebase", *([] if world.kind == "github" else ["ff"])]
        for version, how in enumerate(ways, start=2):
            head = world.offer(f"version: {version}\n")
            number = forge.open(draft()).number
            assert forge.merged(head) is None
            world.merge(number, "ben", how)
            tip = world.git.fetch_main()
            assert (tip == head) == (how == "ff" or (how == "rebase" and world.kind == "gitea"))
            assert world.git.show("main", PRIMARY) == f"version: {version}"
            done = forge.merged(tip)
            assert done is not None
            assert (done.number, done.state, done.merge_commit) == (number, PullState.MERGED, tip)
            assert done.merged_by is not None
            assert done.merged_by.login == "ben"
            assert done.closed_by is None
            assert forge.open_pulls(PREFIX) == ()

        world.see_merges_by_hand()
        world.offer("version: 9\n")
        number = forge.open(draft()).number
        world.git.switch("main")
        tip = world.git.merge(BRANCH, "ben")
        world.git.push("main")
        eventually(lambda: forge.pull(number).state is PullState.MERGED, what="it is seen")
        done = forge.merged(tip)
        assert done is not None
        assert done.number == number

    def test_closed_means_no_and_says_who_until_it_is_open_again(self, world: World):
        world.offer()
        forge = world.forge()
        pull = forge.open(draft())
        number = pull.number
        world.close_pull(number, "ana")
        closed = forge.pull(number)
        assert (closed.state, closed.merged_by, closed.merge_commit) == (PullState.CLOSED, None, "")
        assert closed.closed_by is not None
        assert closed.closed_by.login == "ana"
        assert forge.open_pulls(PREFIX) == ()
        assert [pull.number for pull in forge.closed_pulls(PREFIX, LONG_AGO)] == [number]

        world.reopen(number, "ben")
        (again,) = forge.open_pulls(PREFIX)
        assert (again.number, again.state) == (number, PullState.OPEN)
        assert forge.pull(number).closed_by is None
        assert forge.closed_pulls(PREFIX, LONG_AGO) == ()

        forge.close(pull)
        forge.close(pull)
        assert forge.pull(number).state is PullState.CLOSED, "closing it twice is no error"
        (closed,) = forge.closed_pulls(PREFIX, LONG_AGO)
        assert forge.closed_pulls(PREFIX, closed.updated_at) == (closed,)
        assert forge.closed_pulls(PREFIX, closed.updated_at + timedelta(seconds=1)) == ()
        assert forge.closed_pulls("another/", LONG_AGO) == ()

        world.reopen(number, "ana")
        world.merge(number, "ben", "merge")
        forge.close(pull)
        assert forge.pull(number).state is PullState.MERGED, "nor is closing it after a merge"

    def test_the_branch_withdrawn_by_the_agent_closes_it(self, world: World):
        world.offer()
        forge = world.forge()
        number = forge.open(draft()).number
        world.git.delete(BRANCH)
        closed = eventually(lambda: next(iter(forge.closed_pulls(PREFIX, LONG_AGO)), None), what="it is closed")
        assert (closed.number, closed.branch, closed.state) == (number, BRANCH, PullState.CLOSED)

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
    def test_a_token_that_may_not_and_a_request_that_is_not_there_are_named(self, world: World):
        with pytest.raises(TokenRefused, match="token file") as error:
            world.forge("stranger").open_pulls(PREFIX)
        assert world.token("stranger") not in str(error.value)
        with pytest.raises(NotOnForge, match="request 99"):
            world.forge().pull(99)
        world.offer()
        number = world.forge().open(draft()).number
        reader = world.forge("reader")
        (pull,) = reader.open_pulls(PREFIX)
        assert pull.number == number
        with pytest.raises(NoRight, match=f"edit (pull|merge) request {number}"):
            reader.edit(pull, draft(title="another"))


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
