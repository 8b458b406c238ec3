"""Common to the adapters: look before creating again, one comment, the last verdict of each person. And common to
GitHub and Gitea (`IssueForge`): a pull request is an issue there, with its comments, and has reviews with a state.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import ClassVar, TypeVar

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.journal import PullState
from gitops_bg.forge.adapters.api import Api, Shape
from gitops_bg.forge.port import (
    CheckState,
    CheckStatus,
    ForgeDown,
    ForgeLimits,
    Nonsense,
    NotAccepted,
    Prefix,
    Pull,
    PullRequestDraft,
    Review,
    User,
)
from gitops_bg.outbound.rest import Rate

TEAM = "team:"
_MOST_ASKED = 10_000
"""How many requests for a review or an assignment are remembered."""
NOBODY = User("", "ghost")
"""The user of a deleted account."""
_CHECK_STATES = {
    "pending": CheckState.PENDING,
    "running": CheckState.PENDING,
    "success": CheckState.SUCCESS,
}
"""The states of all forges; every other one (`failed`, `error`, `warning`, …) is a failure."""
T = TypeVar("T")


class RestForge(ABC):
    """One repository on one forge. Implements the parts of `forge.port.Forge` that are the same for all forges."""

    limits: ForgeLimits
    kind: str

    def __init__(self, api: Api, owner: str, name: str) -> None:
        self._api = api
        self._owner, self._name = owner, name
        self._people_asked: OrderedDict[tuple[int, str, str], None] = OrderedDict()

    def rate(self) -> Rate:
        """Return what the forge last said about its rate limit."""
        return self._api.rate

    def close_connections(self) -> None:
        """Close the connections, at the end of the thread."""
        self._api.close()

    def open(self, draft: PullRequestDraft) -> Pull:
        """See `Forge.open`. A create without a clear answer may have worked: look for its result (forges.md §5)."""
        pull = self._created(draft)
        self.edit(pull, draft)
        labels = tuple(dict.fromkeys((*pull.labels, *draft.labels)))
        return replace(pull, title=pull.titled(draft.title), body=draft.body, base=draft.base, labels=labels)

    def _title(self, pull: Pull, draft: PullRequestDraft) -> str:
        """Return the title to write. Look before another one is: people may have marked it as a draft meanwhile."""
        return pull.title if pull.title == draft.title else self.pull(pull.number).titled(draft.title)

    def _created(self, draft: PullRequestDraft) -> Pull:
        try:
            return self._create(draft)
        except (NotAccepted, ForgeDown, Nonsense) as error:
            found = self._search_for(draft)
            if found is None:
                raise error from None
            return found

    def _search_for(self, draft: PullRequestDraft) -> Pull | None:
        """Return None also if the search fails: the error of the create says more."""
        try:
            return self._find(draft.branch, draft.base)
        except (ForgeDown, Nonsense):
            return None

    def comment(self, pull: Pull, marker: str, body: str) -> None:
        """See `Forge.comment`. A comment that only quotes the marker is somebody else's."""
        wanted = f"{marker}\n{body}"
        for comment in self._comments(pull.number):
            text = comment["body"].text("").strip()
            if text.startswith(marker):
                if text != wanted.strip():
                    self._edit_comment(pull.number, comment["id"].number(), wanted)
                return
        self._add_comment(pull.number, wanted)

    def reported(self, commit: str, context: str) -> CheckStatus | None:
        """See `Forge.reported`. Of several with one context, the newest comes first."""
        for status in self._statuses(commit, context):
            said = self._read_status(status)
            if said.context == context:
                return replace(said, commit=commit)
        return None

    def closed_pulls(self, prefix: Prefix, since: datetime) -> tuple[Pull, ...]:
        """See `Forge.closed_pulls`."""
        recent = until(lambda pull: pull.updated_at < since, self._closed())
        return tuple(pull for pull in recent if pull.branch.startswith(prefix) and pull.state is not PullState.OPEN)

    def _not_asked(self, number: int, to: str, names: list[str]) -> list[str]:
        """Return those whom this process has not asked yet: a person, or the forge, may have removed the others on
        purpose.
        """
        return [name for name in names if (number, to, name) not in self._people_asked]

    def _asked(self, number: int, to: str, names: Iterable[str]) -> None:
        for name in names:
            self._people_asked[number, to, name] = None
        while len(self._people_asked) > _MOST_ASKED:
            self._people_asked.popitem(last=False)

    @abstractmethod
    def open_pulls(self, prefix: Prefix) -> tuple[Pull, ...]:
        """See `Forge.open_pulls`."""

    @abstractmethod
    def pull(self, number: int) -> Pull:
        """See `Forge.pull`."""

    @abstractmethod
    def close(self, pull: Pull) -> None:
        """See `Forge.close`."""

    @abstractmethod
    def report(self, status: CheckStatus) -> None:
        """See `Forge.report`."""

    @abstractmethod
    def reviews(self, pull: Pull) -> tuple[Review, ...]:
        """See `Forge.reviews`."""

    @abstractmethod
    def merged(self, commit: str) -> Pull | None:
        """See `Forge.merged`."""

    @abstractmethod
    def merge(self, pull: Pull, head: str) -> None:
        """See `Forge.merge`."""

    def approve(self, pull: Pull, head: str) -> None:
        """Approve it at ``head``, as whose token it is. Only where people log in with accounts of the forge; raises
        `NotAccepted` where that cannot be.
        """
        doing = f"approve pull request {pull.number} at {head[:10]}"
        raise NotAccepted(self._api.place, doing, "nobody logs in here with an account of it: approve it there")

    def withdraw_approval(self, pull: Pull) -> bool:
        """Take the approval of whose token it is back; return whether there was one."""
        raise NotAccepted(self._api.place, f"take back the approval of pull request {pull.number}", "do it there")

    @abstractmethod
    def edit(self, pull: Pull, draft: PullRequestDraft) -> None:
        """See `Forge.edit`."""

    @abstractmethod
    def _create(self, draft: PullRequestDraft) -> Pull:
        """Create a pull request, with title and body."""

    @abstractmethod
    def _find(self, branch: str, base: str) -> Pull | None:
        """Return the open pull request of a branch."""

    @abstractmethod
    def _closed(self) -> Iterator[Pull]:
        """Yield the pull requests that are not open, the last updated first."""

    @abstractmethod
    def _statuses(self, commit: str, context: str) -> Iterable[Shape]:
        """Return the statuses of a commit, newest first; none for an unknown commit."""

    @abstractmethod
    def _read_status(self, found: Shape) -> CheckStatus: ...

    @abstractmethod
    def _comments(self, number: int) -> Iterator[Shape]:
        """Yield all comments, oldest first."""

    @abstractmethod
    def _edit_comment(self, number: int, comment: int, body: str) -> None: ...

    @abstractmethod
    def _add_comment(self, number: int, body: str) -> None: ...


def cut(text: str, most: int) -> str:
    """Cut a text to at most this many characters.

    >>> cut("soak until 12:00", 8)
    'soak un…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def until(ends: Callable[[T], bool], items: Iterable[T]) -> Iterator[T]:
    """Yield the items before the first for which this holds; request no more of them."""
    for item in items:
        if ends(item):
            return
        yield item


def missing(wanted: Iterable[str], there: Iterable[str]) -> list[str]:
    """Return the wanted names that are missing; case does not matter (forges do not distinguish `Ana` from `ana`)."""
    have = {name.casefold() for name in there}
    return [name for name in dict.fromkeys(wanted) if name.casefold() not in have]


def people_and_teams(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the logins, and the names of teams.

    >>> people_and_teams(["ana", "team:ops"])
    (['ana'], ['ops'])
    """
    chosen = list(names)
    people = [name for name in chosen if not name.startswith(TEAM)]
    return people, [name.removeprefix(TEAM) for name in chosen if name.startswith(TEAM)]


def last_words(reviews: Iterable[Review]) -> tuple[Review, ...]:
    """Return the last review with a verdict of each person; the reviews come in their order."""
    last: dict[str, Review] = {}
    for review in reviews:
        last.pop(review.user.id, None)
        last[review.user.id] = review
    return tuple(last.values())


def check_status(found: Shape, state: str, context: str) -> CheckStatus:
    """Return a status of an answer; ``state`` and ``context`` are the names of these fields."""
    said = _CHECK_STATES.get(found[state].text(), CheckState.FAILURE)
    return CheckStatus("", found[context].text(), said, found["description"].text(""), found["target_url"].text(""))


def described(status: CheckStatus, limits: ForgeLimits) -> str:
    """Return the description of a status, cut to the forge's limit."""
    return cut(" ".join(status.description.split()), limits.description)


@dataclass(frozen=True, slots=True)
class PullDialect:
    """Where the two use different names for the same fields."""

    branch: str
    """The field of a head that names its branch."""
    teams: str
    """The field with the teams that were asked for a review."""
    team_name: str
    """The field with the name of a team."""
    state: Callable[[Shape], PullState]
    user: Callable[[Shape], User]
    items: Callable[[Shape], Iterator[Shape]]
    """The items of a list."""


def pull_in(found: Shape, dialect: PullDialect, closed_by: User | None = None) -> Pull:
    """Return the pull request of an answer."""
    state, items = dialect.state(found), dialect.items
    people = [user["login"].text() for user in items(found["requested_reviewers"])]
    teams = [f"team:{team[dialect.team_name].text()}" for team in items(found[dialect.teams])]
    return Pull(
        number=found["number"].number(),
        branch=found["head"][dialect.branch].text(),
        head=found["head"]["sha"].text(),
        base=found["base"]["ref"].text(),
        state=state,
        title=found["title"].text(),
        body=found["body"].text(""),
        url=found["html_url"].text(),
        author=dialect.user(found["user"]),
        updated_at=found["updated_at"].time(),
        labels=tuple(label["name"].text() for label in items(found["labels"])),
        reviewers=(*people, *teams),
        assignees=tuple(user["login"].text() for user in items(found["assignees"])),
        closed_by=closed_by,
        merged_by=dialect.user(found["merged_by"]) if found["merged_by"] else None,
        merge_commit=found["merge_commit_sha"].text("") if state is PullState.MERGED else "",
        draft=found["draft"].flag(),
    )


class IssueForge(RestForge):
    """One repository on such a forge."""

    page: ClassVar[dict[str, str]]
    """The query for the largest page."""

    @property
    def _path(self) -> str:
        return f"/repos/{self._owner}/{self._name}"

    def open_pulls(self, prefix: Prefix) -> tuple[Pull, ...]:
        """See `Forge.open_pulls`."""
        return tuple(pull for pull in self._open() if pull.branch.startswith(prefix))

    def edit(self, pull: Pull, draft: PullRequestDraft) -> None:
        """See `Forge.edit`. Changes that fail on one wrong name come last."""
        number = pull.number
        title = self._title(pull, draft)
        wanted = {"title": (pull.title, title), "body": (pull.body, draft.body), "base": (pull.base, draft.base)}
        if changed := {key: new for key, (old, new) in wanted.items() if old != new}:
            self._api.write("PATCH", f"{self._path}/pulls/{number}", f"edit pull request {number}", changed)
        if labels := missing(draft.labels, pull.labels):
            body = {"labels": self._labels_as_asked(labels)}
            self._api.write("POST", f"{self._path}/issues/{number}/labels", f"label pull request {number}", body)
        if assignees := self._not_asked(number, "assign", missing(draft.assignees, pull.assignees)):
            body = {"assignees": [*pull.assignees, *assignees]}
            doing = f"assign pull request {number} to {', '.join(assignees)}"
            self._api.write("PATCH", f"{self._path}/issues/{number}", doing, body)
            self._asked(number, "assign", assignees)
        wanted_reviewers = missing(draft.reviewers, (*pull.reviewers, pull.author.login))
        if reviewers := self._not_asked(number, "review", wanted_reviewers):
            self._ask_for_reviews(pull, reviewers)
            self._asked(number, "review", reviewers)

    def _ask_for_reviews(self, pull: Pull, reviewers: list[str]) -> None:
        """Ask only new reviewers: after a review, GitHub removes its author from the list of those asked."""
        reviewers = missing(reviewers, (review["user"]["login"].text("") for review in self._reviews(pull.number)))
        people, teams = people_and_teams(reviewers)
        if reviewers:
            doing = f"ask {', '.join(reviewers)} to review pull request {pull.number}"
            body = {"reviewers": people, "team_reviewers": teams}
            self._api.write("POST", f"{self._path}/pulls/{pull.number}/requested_reviewers", doing, body)

    @abstractmethod
    def _open(self) -> Iterator[Pull]: ...

    @abstractmethod
    def _read(self, found: Shape) -> Pull: ...

    @abstractmethod
    def _labels_as_asked(self, names: list[str]) -> list[str] | list[int]:
        """Return how a request names these labels; create them first if the forge requires that."""

    def _create(self, draft: PullRequestDraft) -> Pull:
        body = {"title": draft.title, "head": draft.branch, "base": draft.base, "body": draft.body}
        doing = f"open a pull request for {draft.branch}"
        return self._read(self._api.write("POST", f"{self._path}/pulls", doing, body))

    def _list(self, **query: str) -> Iterator[Pull]:
        """Yield the pull requests from this repository: a branch of a fork may have the name of one of ours, but is not
        ours.
        """
        ours = f"{self._owner}/{self._name}".casefold()
        for item in self._api.each(f"{self._path}/pulls", "list pull requests", **query, **self.page):
            head = item["head"]
            head["sha"].text()
            if head["repo"]["full_name"].text("").casefold() == ours:
                yield self._read(item)

    def _reviews(self, number: int) -> Iterator[Shape]:
        doing = f"read the reviews of pull request {number}"
        return self._api.each(f"{self._path}/pulls/{number}/reviews", doing, **self.page)

    def _statuses(self, commit: str, context: str) -> list[Shape]:
        """Read the newest page only: after a hundred statuses of others, ours is written once more.

        Sort by id: Gitea returns those of one second in any order (measured).
        """
        found = self._api.find(f"{self._path}/commits/{commit}/statuses", f"read status {context}", (), **self.page)
        items = list(found.items()) if found is not None else []
        return sorted(items, key=lambda status: status["id"].number(), reverse=True)

    def _comments(self, number: int) -> Iterator[Shape]:
        doing = f"read the comments of pull request {number}"
        return self._api.each(f"{self._path}/issues/{number}/comments", doing, **self.page)

    def _edit_comment(self, number: int, comment: int, body: str) -> None:
        doing = f"edit the comment on pull request {number}"
        self._api.write("PATCH", f"{self._path}/issues/comments/{comment}", doing, {"body": body})

    def _add_comment(self, number: int, body: str) -> None:
        doing = f"comment on pull request {number}"
        self._api.write("POST", f"{self._path}/issues/{number}/comments", doing, {"body": body})
