"""GitLab, on gitlab.com or self-managed: REST, v4 (forges.md §3). Its pull requests are called merge requests; who
approved one, or requests changes, and which version they saw, is in its notes and versions (forges.md §4).
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import quote

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.journal import PullState
from gitops_bg.forge.adapters.api import Api, Shape
from gitops_bg.forge.adapters.rest_forge import (
    NOBODY,
    RestForge,
    check_status,
    described,
    last_words,
    missing,
    people_and_teams,
)
from gitops_bg.forge.port import (
    CheckState,
    CheckStatus,
    ForgeLimits,
    HeadMoved,
    MergeRefused,
    NotAccepted,
    Prefix,
    Pull,
    PullRequestDraft,
    Review,
    ReviewVerdict,
    StillChecking,
    User,
)

_BOT = re.compile(r"(project|group)_\d+_bot(_\w+)?|service_account_\w+|ghost\d*|alert-bot|support-bot")
"""Account names of tokens and services, for servers that do not say who is a bot."""
HEADERS = (("Accept", "application/json"),)
_PAGE = {"per_page": "100"}
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


_STATES = {CheckState.PENDING: "pending", CheckState.SUCCESS: "success", CheckState.FAILURE: "failed"}
_PULL_STATES = {"merged": PullState.MERGED, "closed": PullState.CLOSED}
_CHECKING = ("unchecked", "checking", "preparing", "approvals_syncing", "cannot_be_merged_recheck")


class GitLab(RestForge):
    """One project on GitLab."""

    kind = "gitlab"
    limits = ForgeLimits(body=1_048_576, description=255)

    def __init__(self, api: Api, owner: str, name: str) -> None:
        super().__init__(api, owner, name)
        self._path = f"/projects/{quote(f'{owner}/{name}', safe='')}"
        self._reviews = Reviews(api, self._path)

    def open_pulls(self, prefix: Prefix) -> tuple[Pull, ...]:
        """See `Forge.open_pulls`."""
        listed = self._list(state="opened", order_by="created_at", sort="asc")
        return tuple(pull for pull in listed if pull.branch.startswith(prefix))

    def pull(self, number: int) -> Pull:
        """See `Forge.pull`."""
        return _pull(self._one(number))

    def _one(self, number: int) -> Shape:
        return self._api.get(self._mr(number), f"look at merge request {number}")

    def _mr(self, number: int) -> str:
        return f"{self._path}/merge_requests/{number}"

    def edit(self, pull: Pull, draft: PullRequestDraft) -> None:
        """See `Forge.edit`. Changes that fail on one wrong name come last."""
        wanted = {
            "title": (pull.title, self._title(pull, draft)),
            "description": (pull.body, draft.body),
            "target_branch": (pull.base, draft.base),
        }
        changed = {key: new for key, (old, new) in wanted.items() if old != new}
        if labels := missing(draft.labels, pull.labels):
            changed["add_labels"] = ",".join(labels)
        if changed:
            self._api.write("PUT", self._mr(pull.number), f"edit merge request {pull.number}", changed)
        self._edit_people(pull, draft)

    def _edit_people(self, pull: Pull, draft: PullRequestDraft) -> None:
        """Request each reviewer and assignee once: without a licence GitLab keeps only one of either."""
        reviewers = self._not_asked(pull.number, "review", missing(draft.reviewers, pull.reviewers))
        assignees = self._not_asked(pull.number, "assign", missing(draft.assignees, pull.assignees))
        if not reviewers and not assignees:
            return
        people, teams = people_and_teams(reviewers)
        doing = f"ask {', '.join((*people, *assignees))} about merge request {pull.number}"
        if people or assignees:
            there = self._one(pull.number)
            body = {
                "reviewer_ids": [*_ids(there["reviewers"]), *map(self._id_of, people)],
                "assignee_ids": [*_ids(there["assignees"]), *map(self._id_of, assignees)],
            }
            self._api.write("PUT", self._mr(pull.number), doing, body)
        self._asked(pull.number, "review", reviewers)
        self._asked(pull.number, "assign", assignees)
        if teams:
            words = "GitLab takes people only, no groups; name them, or use code owners"
            raise NotAccepted(self._api.place, f"ask the group {', '.join(teams)} for a review", words)

    def _id_of(self, login: str) -> int:
        found = [user["id"].number() for user in self._api.get("/users", "find a user", username=login).items()]
        if not found:
            raise NotAccepted(self._api.place, f"find the user {login}", "nobody has this name there")
        return found[0]

    def close(self, pull: Pull) -> None:
        """See `Forge.close`."""
        doing = f"close merge request {pull.number}"
        refusal = self._api.attempt("PUT", self._mr(pull.number), doing, {"state_event": "close"}, (400, 409, 422))
        if refusal is not None and self.pull(pull.number).state is PullState.OPEN:
            raise NotAccepted(self._api.place, doing, refusal.words)

    def report(self, status: CheckStatus) -> None:
        """See `Forge.report`. GitLab answers 400 to an unchanged state and changes nothing: the older text stays."""
        body = {
            "state": _STATES[status.state],
            "name": status.context,
            "description": described(status, self.limits),
            **({"target_url": status.url} if status.url else {}),
        }
        doing = f"write status {status.context}"
        refusal = self._api.attempt("POST", f"{self._path}/statuses/{status.commit}", doing, body, (400,))
        if refusal is not None and "cannot transition" not in refusal.words.lower():
            raise NotAccepted(self._api.place, doing, refusal.words)

    def reviews(self, pull: Pull) -> tuple[Review, ...]:
        """See `Forge.reviews`."""
        return self._reviews.of(pull)

    def approve(self, pull: Pull, head: str) -> None:
        """See `RestForge.approve`. GitLab refuses it (409) where the head is another one."""
        doing = f"approve merge request {pull.number}"
        self._api.write("POST", f"{self._path}/merge_requests/{pull.number}/approve", doing, {"sha": head})

    def withdraw_approval(self, pull: Pull) -> bool:
        """See `RestForge.withdraw_approval`. GitLab answers 404 where there is none."""
        doing = f"take back the approval of merge request {pull.number}"
        path = f"{self._path}/merge_requests/{pull.number}/unapprove"
        return self._api.attempt("POST", path, doing, {}, (404,)) is None

    def merged(self, commit: str) -> Pull | None:
        """See `Forge.merged`."""
        doing = f"find the merge request of commit {commit[:10]}"
        listed = self._api.find(f"{self._path}/repository/commits/{commit}/merge_requests", doing)
        found = [_pull(item) for item in listed.items()] if listed is not None else []
        merged = [pull for pull in found if pull.state is PullState.MERGED]
        merged.sort(key=lambda pull: pull.merge_commit != commit)
        return self.pull(merged[0].number) if merged else None

    def merge(self, pull: Pull, head: str) -> None:
        """See `Forge.merge`. The project has one merge method; squash is requested where the project requires it."""
        project = self._api.get(self._path, "see how it merges")
        body = {"sha": head, "squash": project["squash_option"].text("") == "always"}
        doing = f"merge merge request {pull.number}"
        judged = (401, 405, 406, 409, 422)
        refusal = self._api.attempt("PUT", f"{self._mr(pull.number)}/merge", doing, body, judged)
        if refusal is None:
            return
        if refusal.status == 409:
            raise HeadMoved(self._api.place, pull.number, head, refusal.words)
        raise self._why_not(pull.number, refusal.status, refusal.words)

    def _why_not(self, number: int, status: int, words: str) -> Refused | StillChecking:
        """Return why it was refused: GitLab's answer has only the text of the status (`405 Method Not Allowed`); the
        merge request has the reason.
        """
        why = self._one(number)["detailed_merge_status"].text("")
        if why in _CHECKING:
            return StillChecking(self._api.place, number)
        if status == 401:
            words = "the token's user may not merge into this branch"
        return MergeRefused(self._api.place, number, f"{words} ({why.replace('_', ' ')})" if why else words)

    def _create(self, draft: PullRequestDraft) -> Pull:
        body = {
            "source_branch": draft.branch,
            "target_branch": draft.base,
            "title": draft.title,
            "description": draft.body,
            "labels": ",".join(draft.labels),
        }
        doing = f"open a merge request for {draft.branch}"
        return _pull(self._api.write("POST", f"{self._path}/merge_requests", doing, body))

    def _find(self, branch: str, base: str) -> Pull | None:
        return next(self._list(state="opened", source_branch=branch, target_branch=base), None)

    def _closed(self) -> Iterator[Pull]:
        return self._list(state="all", order_by="updated_at", sort="desc")

    def _list(self, **query: str) -> Iterator[Pull]:
        """Yield the merge requests from this project: a branch of a fork may have the name of one of ours, but is not
        ours.
        """
        for item in self._api.each(f"{self._path}/merge_requests", "list merge requests", **query, **_PAGE):
            if item["target_project_id"].number() == item["source_project_id"].number(0):
                yield _pull(item)

    def _each(self, number: int, what: str, **query: str) -> Iterator[Shape]:
        doing = f"read the {what} of merge request {number}"
        return self._api.each(f"{self._mr(number)}/{what}", doing, **query, **_PAGE)

    def _statuses(self, commit: str, context: str) -> Iterator[Shape]:
        """Yield the newest status of each name."""
        path = f"{self._path}/repository/commits/{commit}/statuses"
        found = self._api.find(path, f"read status {context}", name=context)
        return found.items() if found is not None else iter(())

    def _read_status(self, found: Shape) -> CheckStatus:
        return check_status(found, "status", "name")

    def _comments(self, number: int) -> Iterator[Shape]:
        return self._each(number, "notes", sort="asc", order_by="created_at")

    def _edit_comment(self, number: int, comment: int, body: str) -> None:
        doing = f"edit the comment on merge request {number}"
        self._api.write("PUT", f"{self._mr(number)}/notes/{comment}", doing, {"body": body})

    def _add_comment(self, number: int, body: str) -> None:
        self._api.write("POST", f"{self._mr(number)}/notes", f"comment on merge request {number}", {"body": body})


def _ids(people: Shape) -> list[int]:
    return [person["id"].number() for person in people.items()]


def _pull(found: Shape) -> Pull:
    """Return the pull request: after a squash or fast-forward, the merge commit is empty, and another field has it
    (forges.md §3).
    """
    state = _PULL_STATES.get(found["state"].text(), PullState.OPEN)
    commits = [found[key].text("") for key in ("merge_commit_sha", "squash_commit_sha", "sha")]
    merger = found["merge_user"] or found["merged_by"]
    return Pull(
        number=found["iid"].number(),
        branch=found["source_branch"].text(),
        head=found["sha"].text(""),
        base=found["target_branch"].text(),
        state=state,
        title=found["title"].text(),
        body=found["description"].text(""),
        url=found["web_url"].text(),
        author=person(found["author"]),
        updated_at=found["updated_at"].time(),
        labels=tuple(label.text() for label in found["labels"].items()),
        reviewers=tuple(user["username"].text() for user in found["reviewers"].items()),
        assignees=tuple(user["username"].text() for user in found["assignees"].items()),
        closed_by=person(found["closed_by"]) if state is PullState.CLOSED and found["closed_by"] else None,
        merged_by=person(merger) if state is PullState.MERGED and merger else None,
        merge_commit=next(filter(None, commits), "") if state is PullState.MERGED else "",
        draft=found["draft"].flag(),
    )
