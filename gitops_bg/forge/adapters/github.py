"""GitHub, and GitHub Enterprise Server: REST, version 2022-11-28 (forges.md §3)."""

import re
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
    User,
)

HEADERS = (("Accept", "application/vnd.github+json"), ("X-GitHub-Api-Version", "2022-11-28"))
_METHODS = (("merge", "allow_merge_commit"), ("squash", "allow_squash_merge"), ("rebase", "allow_rebase_merge"))
"""In order of preference: a merge commit names who merged."""
_METHOD_REFUSED = re.compile(r"(merge commits|squash merges|rebase merges) are not allowed", re.IGNORECASE)
_STATES = {CheckState.PENDING: "pending", CheckState.SUCCESS: "success", CheckState.FAILURE: "failure"}
_VERDICTS = {
    "APPROVED": ReviewVerdict.APPROVED,
    "CHANGES_REQUESTED": ReviewVerdict.CHANGES_REQUESTED,
    "DISMISSED": ReviewVerdict.WITHDRAWN,
}


class GitHub(IssueForge):
    """One repository on GitHub."""

    page: ClassVar = {"per_page": "100"}
    kind = "github"
    limits = ForgeLimits(body=65_536, description=140)

    def pull(self, number: int) -> Pull:
        """See `Forge.pull`. Only the issue behind it says who closed it."""
        found = self._api.get(f"{self._path}/pulls/{number}", f"look at pull request {number}")
        closed_by = None
        if _state(found) is PullState.CLOSED:
            issue = self._api.get(f"{self._path}/issues/{number}", f"see who closed pull request {number}")
            closed_by = _user(issue["closed_by"]) if issue["closed_by"] else None
        return pull_in(found, _DIALECT, closed_by)

    def close(self, pull: Pull) -> None:
        """See `Forge.close`."""
        doing = f"close pull request {pull.number}"
        self._api.write("PATCH", f"{self._path}/pulls/{pull.number}", doing, {"state": "closed"})

    def report(self, status: CheckStatus) -> None:
        """See `Forge.report`."""
        body = {
            "state": _STATES[status.state],
            "context": status.context,
            "description": described(status, self.limits),
            **({"target_url": status.url} if status.url else {}),
        }
        self._api.write("POST", f"{self._path}/statuses/{status.commit}", f"write status {status.context}", body)

    def reviews(self, pull: Pull) -> tuple[Review, ...]:
        """See `Forge.reviews`. A comment after an approval does not take it back (forges.md §3)."""
        return last_words(
            Review(_user(item["user"]), verdict, item["submitted_at"].time(), commit, commit != pull.head)
            for item in self._reviews(pull.number)
            if item["user"] and (verdict := _VERDICTS.get(item["state"].text()))
            for commit in [item["commit_id"].text("")]
        )

    def merged(self, commit: str) -> Pull | None:
        """See `Forge.merged`. The list also has pull requests that only contain the commit."""
        doing = f"find the pull request of commit {commit[:10]}"
        listed = self._api.find(f"{self._path}/commits/{commit}/pulls", doing)
        found = [pull_in(item, _DIALECT) for item in listed.items()] if listed is not None else []
        merged = [pull for pull in found if pull.state is PullState.MERGED]
        merged.sort(key=lambda pull: pull.merge_commit != commit)
        return self.pull(merged[0].number) if merged else None

    def merge(self, pull: Pull, head: str) -> None:
        """See `Forge.merge`. A protected branch may refuse a method that the repository allows; then try
        the next one.
        """
        refused = "the repository allows no way of merging that is known"
        for method in self._methods():
            doing = f"merge pull request {pull.number}"
            body = {"sha": head, "merge_method": method}
            refusal = self._api.attempt("PUT", f"{self._path}/pulls/{pull.number}/merge", doing, body, (405, 409))
            if refusal is None:
                return
            refused = refusal.words
            if refusal.status == 409 or "was modified" in refused:
                raise HeadMoved(self._api.place, pull.number, head, refused)
            if not _METHOD_REFUSED.search(refused):
                break
        raise MergeRefused(self._api.place, pull.number, refused)

    def _methods(self) -> list[str]:
        """Return the methods that the repository allows; all, if the token may not read that."""
        repository = self._api.get(self._path, "see how it merges")
        return [method for method, key in _METHODS if repository[key].flag(True)]

    def _find(self, branch: str, base: str) -> Pull | None:
        found = [p for p in self._list(state="open", head=f"{self._owner}:{branch}", base=base) if p.branch == branch]
        return found[0] if found else None

    def _open(self) -> Iterator[Pull]:
        """List the oldest first: a new one changes only the last page, the others answer 304."""
        return self._list(state="open", sort="created", direction="asc")

    def _closed(self) -> Iterator[Pull]:
        return self._list(state="closed", sort="updated", direction="desc")

    def _read(self, found: Shape) -> Pull:
        return pull_in(found, _DIALECT)

    def _read_status(self, found: Shape) -> CheckStatus:
        return check_status(found, "state", "context")

    def _labels_as_asked(self, names: list[str]) -> list[str]:
        return names


def _state(found: Shape) -> PullState:
    if found["merged_at"]:
        return PullState.MERGED
    return PullState.OPEN if found["state"].text() == "open" else PullState.CLOSED


def _user(found: Shape) -> User:
    """Return the account, nobody where it was deleted and is null."""
    if not found:
        return NOBODY
    login = found["login"].text()
    return User(str(found["id"].number()), login, found["type"].text("") == "Bot" or login.endswith("[bot]"))


_DIALECT = PullDialect(
    branch="ref", teams="requested_teams", team_name="slug", state=_state, user=_user, items=Shape.items
)
