"""Telling Git that a group went back: one commit, unless somebody else has decided; what main refuses is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
import yaml

from gitops_bg.agent.groups.commits import CommitTrouble, GroupCommits
from gitops_bg.agent.observability.metrics import Metrics
from gitops_bg.core.errors import GitopsBgError, InvalidInput
from gitops_bg.core.groups.decision import CommitActive
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policies.facts import CommitFacts
from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.git.errors import BranchMoved, PushRefused, RemoteUnreachable
from gitops_bg.repo.write.edits import Edited
from tests.support.agent.group_commits import committing
from tests.support.waiting import eventually

STORE = GroupKey("shop", "store")
FREE = CommitTrouble()
BRANCH = "gitops-bg/promote-groups/shop/store"
PATH = "groups/shop/store/group.yaml"
BACK = CommitActive("v2", "v1", "post-promotion analysis failed: smoke")
Edit = Callable[[bytes], bytes]


class Main:
    """A main that takes edits, or refuses them."""

    def __init__(self) -> None:
        self.text = "# the store\nspec:\n  active: v2\n"
        self.error: GitopsBgError | None = None
        self.messages: list[str] = []
        self.tries = 0
        self.pushed = 0
        self.told: list[GroupKey] = []
        self.leads = True
        self.metrics = Metrics()
        self.branch = ""
        """What the branch of the group says; empty: there is none."""
        self.head = ""
        self.said = ""
        """The message of its commit."""
        self.closed: GitopsBgError | None = None
        """Why the branch takes nothing."""

    def commit_files(self, edits: Mapping[str, Edit], message: str) -> Edited:
        self.tries += 1
        if self.error is not None:
            raise self.error
        (edit,) = (edits[path] for path in edits if path == PATH)
        before, self.text = self.text, edit(self.text.encode()).decode()
        if self.text != before:
            self.messages.append(message)
        return Edited("c" * 40, changed=self.text != before)

    def offer_group(self, group: GroupKey, edits: Mapping[str, Edit], message: str, *, seen: str) -> Edited:
        if self.closed is not None:
            raise self.closed
        (edit,) = edits.values()
        text = edit(self.text.encode()).decode()
        if text in (self.text, self.branch):
            return Edited(self.head, changed=False, paths=frozenset(edits) if text == self.branch else frozenset())
        if self.head != seen:
            raise BranchMoved([BRANCH])
        self.put(text, message)
        return Edited(self.head, changed=True, paths=frozenset(edits))

    def put(self, text: str, message: str) -> None:
        """Somebody writes the branch of the group."""
        self.branch, self.said, self.head = text, message, f"{int(self.head or '0', 16) + 1:040x}"

    def group_branch_head(self, group: GroupKey) -> str:
        return self.head

    def commit_facts(self, commits: Iterable[str]) -> Mapping[str, CommitFacts]:
        return {each: CommitFacts(each, message=self.said) for each in commits if each == self.head}

    def withdraw_merged(self, _: GroupKey) -> None:
        if self.head and self.branch == self.text:
            self.branch = self.head = ""

    def withdraw(self, heads: Mapping[GroupKey, str]) -> None:
        if self.head and heads[STORE] != self.head:
            raise BranchMoved([BRANCH])
        self.branch = self.head = ""

    def note_push(self) -> None:
        self.pushed += 1

    @property
    def active(self) -> str:
        return str(yaml.safe_load(self.text)["spec"]["active"])


@pytest.fixture
def main() -> Main:
    return Main()


@pytest.fixture
def commits(main: Main) -> Iterator[GroupCommits]:
    as_repository: Any = main
    with committing(as_repository, main.note_push, main.told.append, lambda: main.leads, main.metrics) as made:
        yield made


def settle(commits: GroupCommits) -> None:
    eventually(lambda: commits.idle, what="nothing is due")


def test_one_commit_names_the_version_that_serves_and_says_why(main: Main, commits: GroupCommits) -> None:
    for _ in range(3):
        commits.submit(STORE, BACK)
        settle(commits)
    assert main.text == '# the store\nspec:\n  active: "v1"\n'
    assert main.messages == ["store: roll back to v1\n\nv2 was left: post-promotion analysis failed: smoke\n"]
    assert (main.tries, main.pushed, commits.trouble(STORE)) == (1, 1, FREE)


def test_its_commits_and_what_is_refused_are_counted_as_those_of_apps(main: Main, commits: GroupCommits) -> None:
    def counted(series: str, **labels: str) -> float | None:
        return main.metrics.registry.get_sample_value(f"gitops_bg_{series}", labels)

    main.error = PushRefused("main is protected")
    commits.submit(STORE, BACK)
    eventually(lambda: commits.trouble(STORE).branch == BRANCH, what="the branch has it")
    assert counted("git_commits_total", kind="offer") == 1
    assert counted("git_push_failures_total", kind="main", reason=PushRefused.reason)
    main.error = None
    eventually(lambda: main.active == "v1", what="main takes it")
    eventually(lambda: counted("git_commits_total", kind="main") == 1, what="it is counted")


@pytest.mark.parametrize("text", ["spec: {active: v3}\n", "spec: {active: v1}\n", "spec: [\n", "- 1\n", "spec: 1\n"])
def test_what_somebody_else_wrote_meanwhile_stays(main: Main, commits: GroupCommits, text: str) -> None:
    main.text = text
    commits.submit(STORE, BACK)
    eventually(lambda: main.pushed == 1, what="main is read again")
    assert (main.text, main.messages) == (text, [])


@pytest.mark.parametrize("text", ["spec: [\n", "spec: {active: v1}\n"])
def test_it_is_written_later_where_main_could_not_take_it_or_names_what_failed_again(
    main: Main, commits: GroupCommits, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("gitops_bg.agent.groups.commits._UNTIL_READ", timedelta(seconds=0.02))
    main.text = text
    commits.submit(STORE, BACK)
    eventually(lambda: main.pushed > 1, what="main is read again")
    main.text = "spec: {active: v2}\n"
    commits.submit(STORE, BACK)
    eventually(lambda: main.active == "v1", what="main takes it")


@pytest.mark.parametrize("error", [PushRefused("main is protected"), InvalidInput(Problem(PATH, "is shared"))])
def test_what_main_refuses_is_shown_and_tried_again(main: Main, commits: GroupCommits, error: GitopsBgError) -> None:
    main.error = error
    commits.submit(STORE, BACK)
    eventually(lambda: main.tries > 1, what="it is tried again")
    assert commits.trouble(STORE).reason == str(error)
    main.error = None
    eventually(lambda: main.active == "v1", what="main takes it")
    settle(commits)
    assert commits.trouble(STORE) == FREE


def test_what_main_refuses_is_on_a_branch_until_main_says_it(main: Main, commits: GroupCommits) -> None:
    main.error = PushRefused("main is protected")
    commits.submit(STORE, BACK)
    eventually(lambda: commits.trouble(STORE).branch == BRANCH, what="it is offered")
    assert yaml.safe_load(main.branch)["spec"]["active"] == "v1"
    main.text, main.error = main.branch, None  # somebody merges it
    commits.submit(STORE, None)
    commits.main_was_read({STORE})
    settle(commits)
    assert (main.branch, commits.trouble(STORE)) == ("", FREE)


def test_a_branch_that_nobody_wants_any_more_is_deleted_and_one_that_others_asked_for_stays(
    main: Main, commits: GroupCommits
) -> None:
    main.put("spec: {active: v7}", "store: promote v7")
    commits.main_was_read({STORE})
    settle(commits)
    assert main.branch, "somebody asked for it over HTTP"
    main.branch = main.head = ""  # They change their mind.
    main.error = PushRefused("main is protected")
    commits.submit(STORE, BACK)
    eventually(lambda: commits.trouble(STORE).branch == BRANCH, what="it is offered")
    commits.submit(STORE, None)
    settle(commits)
    assert main.branch == ""


def test_what_somebody_asked_for_is_not_replaced_and_said(main: Main, commits: GroupCommits) -> None:
    main.put("spec: {active: v7}", "store: promote v7")
    main.error = PushRefused("main is protected")
    commits.submit(STORE, BACK)
    eventually(lambda: main.tries > 2, what="it is tried again")
    said = f"main is protected; and {BRANCH} has what somebody else asked for: merge it, or delete it"
    assert (main.branch, commits.trouble(STORE)) == ("spec: {active: v7}", CommitTrouble(said))
    main.branch = main.head = ""  # They do.
    eventually(lambda: commits.trouble(STORE) == CommitTrouble("main is protected", BRANCH), what="it is offered")


def test_what_the_agent_offered_is_replaced_by_what_it_wants_now(main: Main, commits: GroupCommits) -> None:
    main.error = PushRefused("main is protected")
    commits.submit(STORE, BACK)
    eventually(lambda: commits.trouble(STORE).branch == BRANCH, what="it is offered")
    commits.submit(STORE, CommitActive("v2", "v0", "v1 is gone"))
    eventually(lambda: yaml.safe_load(main.branch)["spec"]["active"] == "v0", what="it takes its place")


@pytest.mark.parametrize(
    ("message", "stays"), [("", False), ("store: roll back to v1\n\nAsked for over HTTP.\n", True)]
)
def test_what_an_agent_offered_before_it_was_started_anew_is_withdrawn_and_what_others_asked_for_stays(
    main: Main, commits: GroupCommits, message: str, stays: bool
) -> None:
    own = "store: roll back to v1\n\nv2 was left: post-promotion analysis failed: smoke\n"
    main.put('# the store\nspec:\n  active: "v1"\n', message or own)
    main.error = PushRefused("main is protected")
    commits.submit(STORE, BACK)
    eventually(lambda: commits.trouble(STORE).branch == BRANCH, what="it is offered")
    commits.submit(STORE, None)
    settle(commits)
    assert bool(main.branch) is stays


def test_where_the_branch_is_refused_too_only_that_is_shown(main: Main, commits: GroupCommits) -> None:
    main.error, main.closed = PushRefused("main is protected"), PushRefused("all is protected")
    commits.submit(STORE, BACK)
    eventually(lambda: main.tries > 1, what="it is tried again")
    assert commits.trouble(STORE) == CommitTrouble("main is protected")


def test_a_remote_that_is_away_is_no_trouble_of_the_group(main: Main, commits: GroupCommits) -> None:
    main.error = RemoteUnreachable("the remote does not answer")
    commits.submit(STORE, BACK)
    eventually(lambda: main.tries > 1, what="it is tried again")
    assert (commits.trouble(STORE), main.told) == (FREE, [])


def test_what_the_group_wants_no_more_is_not_tried_again(main: Main, commits: GroupCommits) -> None:
    main.error = PushRefused("main is protected")
    commits.submit(STORE, BACK)
    eventually(lambda: bool(commits.trouble(STORE).reason), what="it is refused")
    commits.submit(STORE, None)
    settle(commits)
    main.error = None
    assert (main.active, commits.trouble(STORE)) == ("v2", FREE)


def test_a_group_that_left_main_is_not_tried_again(main: Main, commits: GroupCommits) -> None:
    main.error = PushRefused("main is protected")
    commits.submit(STORE, BACK)
    eventually(lambda: bool(commits.trouble(STORE).reason), what="it is refused")
    commits.main_was_read({STORE})
    commits.main_was_read(())
    main.error = None
    settle(commits)
    assert (main.active, commits.trouble(STORE)) == ("v2", FREE)


def test_an_agent_that_does_not_lead_commits_nothing(main: Main, commits: GroupCommits) -> None:
    main.leads = False
    commits.submit(STORE, BACK)
    settle(commits)
    assert (main.tries, main.active) == (0, "v2")


def test_a_bug_is_tried_again_and_ends_no_thread(main: Main, commits: GroupCommits) -> None:
    main.commit_files, taken = broken, main.commit_files  # type: ignore[method-assign]
    commits.submit(STORE, BACK)
    settle(commits)
    assert commits.alive
    main.commit_files = taken  # type: ignore[method-assign]
    eventually(lambda: main.active == "v1", what="it goes on")


def broken(*_: object) -> Edited:
    raise RecursionError("too deep")
