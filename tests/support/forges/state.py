"""What a stand-in for a forge knows: accounts, tokens, pull requests. Each stand-in says it in its own format.

Branches are those of a real bare repository; the clock goes on a second with each look.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.support.forges.workspace import Bare
from tests.support.servers.backend import Asked, Reply


@dataclass(frozen=True)
class Account:
    id: int
    login: str
    bot: bool = False


@dataclass
class Comment:
    id: int
    author: str
    body: str
    at: datetime
    system: bool = False


@dataclass
class Review:
    id: int
    author: str
    state: str
    commit: str
    at: datetime


@dataclass
class PullRequest:
    number: int
    branch: str
    base: str
    title: str
    body: str
    author: str
    head: str
    created: datetime
    updated: datetime
    state: str = "open"
    labels: list[str] = field(default_factory=list)
    reviewers: list[str] = field(default_factory=list)
    assignees: list[str] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    versions: list[tuple[datetime, str]] = field(default_factory=list)
    closed_by: str = ""
    merged_by: str = ""
    merge_commit: str = ""
    how: str = ""
    draft: bool = False


class State:
    """One repository `shop/config` and its people."""

    owner, name = "shop", "config"

    def __init__(self, bare: Bare) -> None:
        self.bare = bare
        self.accounts = {
            login: Account(number, login, bot=login.endswith("bot"))
            for number, login in enumerate(("admin", "agent", "ana", "ben", "cyd", "robot"), 1)
        }
        self.tokens = {f"{login}-token": login for login in self.accounts} | {"reader-token": "agent"}
        self.pulls: list[PullRequest] = []
        self.statuses: list[tuple[str, dict[str, Any]]] = []
        self.allowed = ["merge", "squash", "rebase"]
        self.protection = ""
        """Why nothing may be merged; empty where it may."""
        self.delete_on_merge = False
        self._ids = 100
        self._seen: dict[str, str] = {}
        self._now = datetime(2026, 11, 22, 20, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now

    def id(self) -> int:
        self._ids += 1
        return self._ids

    def look(self) -> None:
        """Take in what was pushed, as a forge does after each push."""
        heads = self.bare.heads()
        if heads == self._seen:
            return
        self._seen = heads
        for pull in self.pulls:
            if pull.state == "open":
                self._look_at(pull, heads.get(pull.branch, ""))

    def _look_at(self, pull: PullRequest, head: str) -> None:
        if head and head != pull.head:
            pull.head, pull.updated = head, self.now()
            pull.versions.append((pull.updated, head))
        if self.bare.contains(pull.base, pull.head):
            self._merged(pull, "ben", self.bare.head(pull.base), "by hand")
        elif not head:
            pull.state, pull.closed_by, pull.updated = "closed", "agent", self.now()

    def find(self, number: int) -> PullRequest | None:
        return next((pull for pull in self.pulls if pull.number == number), None)

    def open(self, branch: str, base: str, title: str, body: str, author: str) -> PullRequest:
        now = self.now()
        head = self.bare.head(branch)
        pull = PullRequest(len(self.pulls) + 1, branch, base, title, body, author, head, now, now)
        pull.versions.append((now, head))
        self.pulls.append(pull)
        return pull

    def merge(self, pull: PullRequest, who: str, how: str) -> None:
        made = self.bare.merge(pull.base, pull.head, how, pull.title, who)
        self._merged(pull, who, made, how)
        if self.delete_on_merge:
            self.bare.delete(pull.branch)

    def _merged(self, pull: PullRequest, who: str, commit: str, how: str) -> None:
        pull.state, pull.merged_by, pull.merge_commit, pull.how = "merged", who, commit, how
        pull.updated = self.now()


Handler = Callable[..., Reply]


def paged(asked: Asked, items: list[Any], most: int = 100) -> Reply:
    """One page of a list, with `Link` and an ETag; the address in the links is another one, as behind a proxy."""
    size = min(int(asked.query.get("per_page", "30")), most)
    page = int(asked.query.get("page", "1"))
    chosen = items[(page - 1) * size : page * size]
    headers = {}
    if page * size < len(items):
        following = urlencode({**asked.query, "page": str(page + 1)})
        headers = {
            "Link": f'<https://forge.internal{asked.path}?{following}>; rel="next"',
            "X-Next-Page": str(page + 1),
        }
    return tagged(asked, chosen, headers)


def tagged(asked: Asked, data: Any, headers: dict[str, str] | None = None) -> Reply:
    """An answer with its ETag; 304 where the question has it already."""
    etag = f'W/"{hashlib.sha256(json.dumps(data).encode()).hexdigest()[:32]}"'
    if asked.headers.get("if-none-match") == etag:
        return Reply(b"", 304, {"ETag": etag})
    return Reply(data, 200, {"ETag": etag, "Content-Type": "application/json", **(headers or {})})


def stamp(at: datetime, milliseconds: bool = False) -> str:
    return at.isoformat(timespec="milliseconds" if milliseconds else "seconds").replace("+00:00", "Z")
