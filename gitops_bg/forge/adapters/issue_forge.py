"""Common to GitHub and Gitea: a pull request is an issue, with its comments, and has reviews with a state."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from gitops_bg.forge.adapters.rest_forge import RestForge, missing, people_and_teams
from gitops_bg.forge.adapters.shape import Shape
from gitops_bg.forge.port import Prefix, Pull, PullRequestDraft, PullState, User


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
