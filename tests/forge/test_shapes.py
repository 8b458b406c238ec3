"""Answers of any shape: every call of every adapter ends in an answer or in an error of the forge, never in a bug."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.journal import PullState
from gitops_bg.forge.adapters.api import Api, Shape
from gitops_bg.forge.adapters.gitea import Gitea
from gitops_bg.forge.adapters.github import GitHub
from gitops_bg.forge.adapters.gitlab import GitLab
from gitops_bg.forge.adapters.rest_forge import RestForge
from gitops_bg.forge.port import CheckState, CheckStatus, Nonsense, Pull, PullRequestDraft, User
from gitops_bg.outbound.http import HttpAnswer

NOW = datetime(2026, 11, 22, 20, tzinfo=UTC)
PLACE = "https://forge.test/api"
ANA = {"id": 3, "login": "ana", "username": "ana", "type": "User", "bot": False}
EVERYTHING: dict[str, Any] = {
    "id": 1,
    "number": 7,
    "iid": 7,
    "state": "closed",
    "status": "pending",
    "merged": True,
    "merged_at": "2026-11-22T19:00:00Z",
    "title": "t",
    "body": "<!-- marker -->",
    "description": "d",
    "html_url": "https://forge.test/7",
    "web_url": "https://forge.test/7",
    "target_url": "",
    "context": "gitops-bg/prod",
    "user": ANA,
    "author": ANA,
    "merged_by": ANA,
    "merge_user": ANA,
    "closed_by": ANA,
    "labels": [{"id": 1, "name": "a"}],
    "reviewers": [ANA],
    "assignees": [ANA],
    "requested_reviewers": [ANA],
    "requested_teams": [{"slug": "ops"}],
    "requested_reviewers_teams": [{"name": "ops"}],
    "approved_by": [{"user": ANA, "approved_at": "2026-11-22T19:00:00Z"}],
    "head": {"ref": "b", "label": "b", "sha": "a" * 40, "repo": {"full_name": "shop/config"}},
    "base": {"ref": "main"},
    "source_branch": "b",
    "target_branch": "main",
    "source_project_id": 7,
    "target_project_id": 7,
    "sha": "a" * 40,
    "merge_commit_sha": "c" * 40,
    "squash_commit_sha": None,
    "commit_id": "a" * 40,
    "head_commit_sha": "a" * 40,
    "stale": False,
    "dismissed": False,
    "system": True,
    "type": "close",
    "name": "gitops-bg/prod",
    "color": "000000",
    "submitted_at": "2026-11-22T19:00:00Z",
    "created_at": "2026-11-22T19:00:00Z",
    "updated_at": "2026-11-22T19:00:00Z",
    "allow_merge_commit": True,
    "allow_merge_commits": True,
    "squash_option": "always",
    "detailed_merge_status": "mergeable",
}
"""An object that has the fields of every object of every forge."""
PULL = Pull(7, "b", "a" * 40, "main", PullState.OPEN, "x", "x", "", User("3", "ana"), NOW)
DRAFT = PullRequestDraft("b", "main", "t", "b", ("new",), ("ben",), ("cyd",))
STATUS = CheckStatus("a" * 40, "gitops-bg/prod", CheckState.PENDING, "x")
CALLS: dict[str, Callable[[RestForge], object]] = {
    "open_pulls": lambda forge: forge.open_pulls(""),
    "closed_pulls": lambda forge: forge.closed_pulls("", NOW.replace(year=2020)),
    "pull": lambda forge: forge.pull(7),
    "open": lambda forge: forge.open(DRAFT),
    "edit": lambda forge: forge.edit(PULL, DRAFT),
    "close": lambda forge: forge.close(PULL),
    "report": lambda forge: forge.report(STATUS),
    "reported": lambda forge: forge.reported("a" * 40, "gitops-bg/prod"),
    "comment": lambda forge: forge.comment(PULL, "<!-- marker -->", "text"),
    "reviews": lambda forge: forge.reviews(PULL),
    "merged": lambda forge: forge.merged("c" * 40),
    "merge": lambda forge: forge.merge(PULL, "a" * 40),
}


class Saying:
    """A client of a forge that gives one object, or a list of it, whatever it is asked."""

    place = PLACE

    def __init__(self, item: Any, status: int = 200) -> None:
        self._item, self._status = item, status

    def ask(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None) -> HttpAnswer:
        lists = ("s", "/timeline", "/installation")
        item = self._item
        if "/reviews" in path and isinstance(item, dict) and item.get("state") == "closed":
            item = {**item, "state": "APPROVED"}
        data = [item] if method == "GET" and path.endswith(lists) and "/approvals" not in path else item
        return HttpAnswer(PLACE + path, self._status, json.dumps(data).encode())

    def pages(self, path: str, query: Mapping[str, str]) -> Iterator[HttpAnswer]:
        yield self.ask("GET", f"{path}s")

    def close(self) -> None: ...


def forges(item: Any, status: int = 200) -> list[RestForge]:
    """GitLab's labels are texts."""
    usual = isinstance(item, dict) and item.get("labels") == EVERYTHING["labels"]
    of_gitlab = {**item, "labels": ["a"]} if usual else item
    answers = ((GitHub, item), (GitLab, of_gitlab), (Gitea, item))
    return [kind(Api(Saying(each, status), lambda: NOW), "shop", "config") for kind, each in answers]  # type: ignore


def spots(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from spots(item, (*path, key))


def changed(path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    made = copy.deepcopy(EVERYTHING)
    at: Any = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = junk
    return made


JUNK = st.sampled_from(
    [None, "", "x", "\ud800", -1, 10**30, 1.5, True, [], [None], {}, {"id": None}, [[]], "9999-99-99"]
)


def test_the_object_that_is_changed_is_one_that_every_adapter_reads():
    for forge in forges(EVERYTHING):
        for name, call in CALLS.items():
            assert call(forge) != (), name


@pytest.mark.parametrize("call", CALLS)
@settings(max_examples=200)
@given(st.sampled_from(list(spots(EVERYTHING))), JUNK, st.sampled_from([200, 200, 201, 403, 404, 405, 409, 422, 500]))
def test_any_change_of_an_answer_is_read_or_is_an_error_of_the_forge(
    call: str, spot: tuple[Any, ...], junk: Any, status: int
):
    for forge in forges(changed(spot, junk), status):
        with contextlib.suppress(GitopsBgError):
            CALLS[call](forge)


class TestShape:
    def test_what_is_odd_is_named_by_its_way_and_place(self):
        shape = Shape({"pulls": [{"head": {"sha": 7}}]}, PLACE)
        (pull,) = shape["pulls"].items()
        with pytest.raises(Nonsense, match=r"forge\.test/api .*pulls\[0\]\.head\.sha is of type int, where a text"):
            pull["head"]["sha"].text()
        with pytest.raises(Nonsense, match=r"pulls\[0\]\.base\.ref is missing"):
            pull["base"]["ref"].text()

    @pytest.mark.parametrize("text", ["", "now", "2026-11-22", "2026-11-22T20:00:00", "2026-99-22T20:00:00Z"])
    def test_a_time_has_a_zone(self, text: str):
        with pytest.raises(Nonsense, match="a time with its zone"):
            Shape({"at": text}, PLACE)["at"].time()

    @pytest.mark.parametrize(
        "text", ["2026-11-22T20:00:00Z", "2026-11-22T21:00:00.000+01:00", "2026-11-22T20:00:00+00:00"]
    )
    def test_a_time_is_in_utc(self, text: str):
        assert Shape({"at": text}, PLACE)["at"].time() == NOW

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            ({"message": "no", "documentation_url": "https://docs"}, "no"),
            ({"message": "Validation Failed", "errors": [{"message": "too long"}]}, "Validation Failed; too long"),
            ({"message": {"base": ["is missing", "is bad"]}}, "is missing; is bad"),
            ({"message": ["there is one: !7"]}, "there is one: !7"),
            ({"error": "insufficient_scope", "error_description": "more"}, "insufficient_scope; more"),
            ({"errors": [{"resource": "Label", "code": "missing"}]}, "missing"),
            ([], ""),
            (7, ""),
        ],
    )
    def test_the_words_of_a_forge_are_found_in_each_form(self, answer: Any, words: str):
        assert Shape(answer, PLACE).words() == words
