"""What the dashboard says of a merge as a person is what the forge did, also where it cannot be asked afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest

from gitops_bg.agent.operate.personal_forge import MergedPull, PersonalForge
from gitops_bg.core.model.journal import PullState
from gitops_bg.forge.adapters.rest_forge import RestForge
from gitops_bg.forge.port import ForgeDown, Pull, User

HEAD = "ab" * 20
NOW = datetime(2026, 12, 1, tzinfo=UTC)
URL = "https://forge/1"
PULL = Pull(1, "ask", HEAD, "main", PullState.OPEN, "t", "", URL, User("1", "ben"), NOW)


class Forge:
    """A forge with one pull request. ``breaks`` says after which call the connection breaks."""

    def __init__(self, *breaks: str) -> None:
        self.pull_now = PULL
        self.breaks = breaks

    def open_pulls(self, _branch: str) -> tuple[Pull, ...]:
        return (self.pull_now,)

    def merge(self, _pull: Pull, _head: str) -> None:
        if "before" in self.breaks:
            raise ForgeDown("no connection")
        self.pull_now = replace(PULL, state=PullState.MERGED, merge_commit="cd" * 20)
        if "merge" in self.breaks:
            raise ForgeDown("no answer in time")

    def pull(self, _number: int) -> Pull:
        if "read" in self.breaks:
            raise ForgeDown("no answer in time")
        return self.pull_now

    def close_connections(self) -> None:
        """Nothing is open."""


def merge(*breaks: str) -> MergedPull:
    connect = cast(Callable[[], RestForge], lambda: Forge(*breaks))
    return PersonalForge(connect, "main").merge("ask", HEAD, "t", "")


def test_a_merge_whose_result_cannot_be_read_is_a_merge() -> None:
    assert merge("read") == MergedPull(URL, "")


def test_a_merge_without_an_answer_is_one_where_the_pull_request_says_so() -> None:
    assert merge("merge") == MergedPull(URL, "cd" * 20)


@pytest.mark.parametrize("breaks", [("before",), ("before", "read"), ("merge", "read")])
def test_of_which_nobody_knows_that_it_is_a_merge_is_none(breaks: tuple[str, ...]) -> None:
    with pytest.raises(ForgeDown):
        merge(*breaks)
