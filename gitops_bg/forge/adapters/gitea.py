"""Gitea, and Forgejo, which is a Gitea with another name: REST, v1 (forges.md §3)."""

from collections.abc import Iterator
from typing import ClassVar

from gitops_bg.core.model.journal import PullState
from gitops_bg.forge.adapters.api import Shape
from gitops_bg.forge.adapters.rest_forge import (
    NOBODY,
    IssueForge,
    PullDialect,
    check_status,
    described,
    last_words,
    missing,
    pull_in,
)
from gitops_bg.forge.port import (
    CheckState,
    CheckStatus,
    ForgeLimits,
    HeadMoved,
    MergeRefused,
    Pull,
    Review,
    ReviewVerdict,
    StillChecking,
    User,
)

HEADERS = (("Accept", "application/json"),)
_COLOR = "#0e8a16"
_METHODS = (
    ("merge", "allow_merge_commits"),
    ("rebase-merge", "allow_rebase_explicit"),
    ("squash", "allow_squash_merge"),
    ("rebase", "allow_rebase"),
    ("fast-forward-only", "allow_fast_forward_only_merge"),
)
"""In order of preference: a merge commit names who merged."""
_STATES = {CheckState.PENDING: "pending", CheckState.SUCCESS: "success", CheckState.FAILURE: "failure"}
_VERDICTS = {"APPROVED": ReviewVerdict.APPROVED, "REQUEST_CHANGES": ReviewVerdict.CHANGES_REQUESTED}


class Gitea(IssueForge):
    """One repository on Gitea."""

    page: ClassVar = {"limit": "50"}
    kind = "gitea"
    limits = ForgeLimits(body=65_536, description=255)

    def pull(self, number: int) -> Pull:
        """See `Forge.pull`. Only the timeline of its issue says who closed it."""
        found = self._api.get(f"{self._path}/pulls/{number}", f"look at pull request {number}")
        return pull_in(found, _DIALECT, self._closed_by(number) if _state(found) is PullState.CLOSED else None)

    def _closed_by(self, number: int) -> User | None:
        doing = f"see who closed pull request {number}"
        events = self._api.each(f"{self._path}/issues/{number}/timeline", doing, **self.page)
        closings = [_user(event["user"]) for event in events if event and event["type"].text() == "close"]
        return closings[-1] if closings else None

    def _labels_as_asked(self, names: list[str]) -> list[int]:
        """Return the ids of the labels, created if missing. Gitea would silently leave out an unknown name
        (measured).
        """
        known = {label["name"].text(): label["id"].number() for label in self._labels()}
        for name in missing(names, known):
            body = {"name": name, "color": _COLOR}
            made = self._api.write("POST", f"{self._path}/labels", f"make the label {name}", body)
            known[name] = made["id"].number()
        ids = {name.casefold(): number for name, number in known.items()}
        return [ids[name.casefold()] for name in names]

    def _labels(self) -> Iterator[Shape]:
        """Yield the owner's labels first, if that is an organization and the token may see it; the repository's
        override them.
        """
        found = self._api.find(f"/orgs/{self._owner}/labels", "list labels", also=(403,), **self.page)
        if found is not None:
            yield from found.items()
        yield from self._api.each(f"{self._path}/labels", "list labels", **self.page)

    def close(self, pull: Pull) -> None:
        """See `Forge.close`. Closing a merged pull request fails: 412."""
        doing = f"close pull request {pull.number}"
        path = f"{self._path}/pulls/{pull.number}"
        refusal = self._api.attempt("PATCH", path, doing, {"state": "closed"}, (412,))
        if refusal is not None and self.pull(pull.number).state is PullState.OPEN:
            raise MergeRefused(self._api.place, pull.number, refusal.words)

    def report(self, status: CheckStatus) -> None:
        """See `Forge.report`."""
        body = {
            "state": _STATES[status.state],
            "context": status.context,
            "description": described(status, self.limits),
            "target_url": status.url,
        }
        self._api.write("POST", f"{self._path}/statuses/{status.commit}", f"write status {status.context}", body)

    def reviews(self, pull: Pull) -> tuple[Review, ...]:
        """See `Forge.reviews`. Reviews by teams have no user, and are only requests."""
        return last_words(
            Review(_user(item["user"]), verdict, item["submitted_at"].time(), commit, stale)
            for item in self._reviews(pull.number)
            if item["user"] and (verdict := _verdict(item))
            for commit, stale in [(item["commit_id"].text(""), item["stale"].flag())]
        )

    def approve(self, pull: Pull, head: str) -> None:
        """See `RestForge.approve`."""
        body = {"event": "APPROVED", "commit_id": head}
        self._api.write(
            "POST", f"{self._path}/pulls/{pull.number}/reviews", f"approve pull request {pull.number}", body
        )

    def withdraw_approval(self, pull: Pull) -> bool:
        """See `RestForge.withdraw_approval`. People may delete their own reviews; to dismiss one is for admins."""
        doing = f"take back the approval of pull request {pull.number}"
        me = self._api.get("/user", "see whose token it is")["id"].number()
        own = [each for each in self._reviews(pull.number) if _verdict(each) and each["user"]["id"].number(0) == me]
        given = [each["id"].number() for each in own if _verdict(each) is ReviewVerdict.APPROVED]
        for number in given:
            self._api.attempt("DELETE", f"{self._path}/pulls/{pull.number}/reviews/{number}", doing, {}, ())
        return bool(given)

    def merged(self, commit: str) -> Pull | None:
        """See `Forge.merged`."""
        found = self._api.find(f"{self._path}/commits/{commit}/pull", f"find the pull request of commit {commit[:10]}")
        return pull_in(found, _DIALECT) if found is not None and _state(found) is PullState.MERGED else None

    def merge(self, pull: Pull, head: str) -> None:
        """See `Forge.merge`."""
        refused = "the repository allows no way of merging"
        for method in self._methods():
            doing = f"merge pull request {pull.number}"
            body = {"Do": method, "head_commit_id": head}
            refusal = self._api.attempt("POST", f"{self._path}/pulls/{pull.number}/merge", doing, body, (405, 409))
            if refusal is None:
                return
            refused = refusal.words
            if refusal.status == 409:
                raise HeadMoved(self._api.place, pull.number, head, refused)
            if "try again later" in refused.lower():
                self._api.get(f"{self._path}/pulls/{pull.number}", "view it")  # Else it may never look again itself.
                raise StillChecking(self._api.place, pull.number)
            if "merge style" not in refused.lower():
                break
        raise MergeRefused(self._api.place, pull.number, refused)

    def _methods(self) -> list[str]:
        repository = self._api.get(self._path, "see how it merges")
        return [method for method, key in _METHODS if repository[key].flag()]

    def _find(self, branch: str, base: str) -> Pull | None:
        """Search the list: a query by base and head returns the oldest, even if that is closed (measured)."""
        listed = self._list(state="open", sort="newest")
        return next((pull for pull in listed if (pull.branch, pull.base) == (branch, base)), None)

    def _open(self) -> Iterator[Pull]:
        return self._list(state="open", sort="oldest")

    def _closed(self) -> Iterator[Pull]:
        return self._list(state="closed", sort="recentupdate")

    def _read_status(self, found: Shape) -> CheckStatus:
        return check_status(found, "status", "context")

    def _read(self, found: Shape) -> Pull:
        return pull_in(found, _DIALECT)


def _verdict(review: Shape) -> ReviewVerdict | None:
    """Return the verdict; a dismissed review keeps its state."""
    verdict = _VERDICTS.get(review["state"].text())
    return ReviewVerdict.WITHDRAWN if verdict and review["dismissed"].flag() else verdict


def _state(found: Shape) -> PullState:
    if found["merged"].flag():
        return PullState.MERGED
    return PullState.OPEN if found["state"].text() == "open" else PullState.CLOSED


def _user(found: Shape) -> User:
    """Return an account: Gitea does not say who is a bot; a deleted account has an id below one."""
    return User(str(found["id"].number()), found["login"].text()) if found and found["id"].number() > 0 else NOBODY


def _list_or_none(found: Shape) -> Iterator[Shape]:
    """Yield the items of a list: Gitea returns null for an empty one."""
    return found.items() if found else iter(())


_DIALECT = PullDialect(
    branch="label",  # also the branch after its deletion; ``ref`` is ``refs/pull/…`` then (measured)
    teams="requested_reviewers_teams",
    team_name="name",
    state=_state,
    user=_user,
    items=_list_or_none,
)
