"""Who approved a merge request of GitLab, or requests changes, and which version they saw (forges.md §3, §4).

GitLab names no commit for an approval: it counts for the version that was the newest at its time, or, if no time is
known, for the oldest, so that an approval never covers content that its author could not see.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from gitops_bg.forge.adapters.api import Api
from gitops_bg.forge.adapters.rest_forge import NOBODY, last_words
from gitops_bg.forge.adapters.shape import Shape
from gitops_bg.forge.port import Pull, Review, ReviewVerdict, User

_PAGE = {"per_page": "100"}
_BOT = re.compile(r"(project|group)_\d+_bot(_\w+)?|service_account_\w+|ghost\d*|alert-bot|support-bot")
"""Account names of tokens and services, for servers that do not say who is a bot."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_OBJECTIONS = {"requested_changes": ReviewVerdict.CHANGES_REQUESTED, "unapproved": ReviewVerdict.WITHDRAWN}


def person(found: Shape) -> User:
    """Return a user of a list, where only the name shows who is a bot; a deleted account is null."""
    if not found:
        return NOBODY
    login = found["username"].text()
    return User(str(found["id"].number()), login, _BOT.fullmatch(login) is not None)


class Reviews:
    """The reviews of the merge requests of one project. ``path`` is that of the project."""

    def __init__(self, api: Api, path: str) -> None:
        self._api, self._path = api, path
        self._bots: dict[int, bool] = {}

    def of(self, pull: Pull) -> tuple[Review, ...]:
        """Return the last verdict of each person. A GitLab without approvals (403, 404) has none.

        A request for changes, which only the state of a reviewer shows, overrides an approval that still exists.
        """
        versions = _Versions.read(self._each(pull.number, "versions"), pull.head)
        objections = [
            versions.review(self._user(item["user"]), verdict, item["updated_at"], item["created_at"])
            for item in self._optional(pull.number, "reviewers")
            if (verdict := _OBJECTIONS.get(item["state"].text("")))
        ]
        return last_words([*self._approvals(pull.number, versions), *objections])

    def _approvals(self, number: int, versions: "_Versions") -> list[Review]:
        doing = f"read the approvals of merge request {number}"
        found = self._api.find(f"{self._path}/merge_requests/{number}/approvals", doing, also=(403,))
        approvals = list(found["approved_by"].items()) if found is not None else []
        times = self._times(number) if any(not item["approved_at"] for item in approvals) else {}
        users = [(self._user(item["user"]), item["approved_at"]) for item in approvals]
        return [versions.review(user, ReviewVerdict.APPROVED, at, times.get(user.id)) for user, at in users]

    def _times(self, number: int) -> dict[str, Shape]:
        """Return when each person last approved, from the system notes: older servers have it nowhere else."""
        notes = self._each(number, "notes", sort="asc", order_by="created_at")
        return {str(note["author"]["id"].number()): note["created_at"] for note in notes if _is_approval(note)}

    def _user(self, found: Shape) -> User:
        """Return the user of the account: unlike a list, it says who is a bot; requested once per user."""
        user = person(found)
        if not user.id:
            return user
        number = int(user.id)
        if number not in self._bots:
            account = self._api.find(f"/users/{number}", f"look at the account {user.login}", also=(403,))
            self._bots[number] = user.bot or (account is not None and account["bot"].flag())
        return User(user.id, user.login, self._bots[number])

    def _each(self, number: int, what: str, **query: str) -> Iterator[Shape]:
        doing = f"read the {what} of merge request {number}"
        return self._api.each(f"{self._path}/merge_requests/{number}/{what}", doing, **query, **_PAGE)

    def _optional(self, number: int, what: str) -> Iterator[Shape]:
        """Yield a list that older servers and smaller editions do not have."""
        doing = f"read the {what} of merge request {number}"
        found = self._api.find(f"{self._path}/merge_requests/{number}/{what}", doing, also=(403,))
        return found.items() if found is not None else iter(())


@dataclass(frozen=True, slots=True)
class _Versions:
    """The heads that a merge request had, oldest first, each with its time."""

    heads: tuple[tuple[datetime, str], ...]
    head: str

    @classmethod
    def read(cls, listed: Iterator[Shape], head: str) -> "_Versions":
        return cls(tuple(sorted((v["created_at"].time(), v["head_commit_sha"].text()) for v in listed)), head)

    def review(self, user: User, verdict: ReviewVerdict, *times: Shape | None) -> Review:
        """Return a review at the first known of these times."""
        known = next((time.time() for time in times if time), None)
        seen = [head for since, head in self.heads if known is not None and since <= known]
        commit = seen[-1] if seen else next((head for _, head in self.heads), "")
        return Review(user, verdict, known or _LONG_AGO, commit, stale=commit != self.head)


def _is_approval(note: Shape) -> bool:
    return note["system"].flag() and note["body"].text("").startswith("approved this merge request")
