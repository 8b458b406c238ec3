"""A stand-in for GitHub: the documented answers of REST 2022-11-28 to what the adapter asks, over real branches."""

from __future__ import annotations

import re
from typing import Any

from tests.support.forges.state import Comment, PullRequest, Review, State, paged, stamp, tagged
from tests.support.servers.backend import Asked, Reply

_DOCS = "https://docs.github.com/rest"


def _no(status: int, message: str, **rest: Any) -> Reply:
    return Reply({"message": message, "documentation_url": _DOCS, "status": str(status), **rest}, status)


class GitHub:
    """Answers what is asked below ``/api/v3``."""

    def __init__(self, state: State) -> None:
        self.state = state
        repo = r"/api/v3/repos/shop/config"
        self._routes = [
            ("GET", rf"{repo}", self._repository),
            ("GET", rf"{repo}/pulls", self._pulls),
            ("POST", rf"{repo}/pulls", self._open),
            ("GET", rf"{repo}/pulls/(\d+)", self._pull),
            ("PATCH", rf"{repo}/pulls/(\d+)", self._edit),
            ("PUT", rf"{repo}/pulls/(\d+)/merge", self._merge),
            ("GET", rf"{repo}/pulls/(\d+)/reviews", self._reviews),
            ("POST", rf"{repo}/pulls/(\d+)/requested_reviewers", self._request),
            ("GET", rf"{repo}/issues/(\d+)", self._issue),
            ("PATCH", rf"{repo}/issues/(\d+)", self._edit_issue),
            ("POST", rf"{repo}/issues/(\d+)/labels", self._label),
            ("GET", rf"{repo}/issues/(\d+)/comments", self._comments),
            ("POST", rf"{repo}/issues/(\d+)/comments", self._comment),
            ("PATCH", rf"{repo}/issues/comments/(\d+)", self._edit_comment),
            ("GET", rf"{repo}/commits/(\w+)/pulls", self._of_commit),
            ("POST", rf"{repo}/statuses/(\w+)", self._status),
            ("GET", rf"{repo}/commits/(\w+)/statuses", self._statuses),
        ]

    def __call__(self, asked: Asked) -> Reply:
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        who = self.state.tokens.get(token)
        if scheme != "Bearer" or who is None:
            return _no(401, "Bad credentials")
        if asked.headers.get("x-github-api-version") != "2022-11-28":
            return _no(400, "the test wants the version of the API")
        if asked.method != "GET" and token == "reader-token":
            return _no(403, "Resource not accessible by personal access token")
        self.state.look()
        for method, path, handler in self._routes:
            if method == asked.method and (found := re.fullmatch(path, asked.path)):
                return handler(asked, who, *found.groups())
        return _no(404, "Not Found")

    def _repository(self, asked: Asked, who: str) -> Reply:
        names = {"merge": "allow_merge_commit", "squash": "allow_squash_merge", "rebase": "allow_rebase_merge"}
        return tagged(asked, {"full_name": "shop/config"} | {key: n in self.state.allowed for n, key in names.items()})

    def _pulls(self, asked: Asked, who: str) -> Reply:
        query = asked.query
        pulls = [p for p in self.state.pulls if query["state"] in ("all", "open" if p.state == "open" else "closed")]
        pulls = [p for p in pulls if query.get("head", f"shop:{p.branch}") == f"shop:{p.branch}"]
        pulls = [p for p in pulls if query.get("base", p.base) == p.base]
        pulls.sort(key=lambda p: p.updated if query.get("sort") == "updated" else p.created)
        if query.get("direction", "desc") == "desc":
            pulls.reverse()
        return paged(asked, [self._json(p) for p in pulls])

    def _open(self, asked: Asked, who: str) -> Reply:
        body = asked.json()
        branch, base = body["head"], body["base"]
        words = ""
        if not self.state.bare.head(branch):
            words = "head is invalid"
        elif any((p.branch, p.base, p.state) == (branch, base, "open") for p in self.state.pulls):
            words = f"A pull request already exists for shop:{branch}."
        elif self.state.bare.contains(base, self.state.bare.head(branch)):
            words = f"No commits between {base} and {branch}"
        if words:
            return _no(
                422, "Validation Failed", errors=[{"resource": "PullRequest", "code": "custom", "message": words}]
            )
        pull = self.state.open(branch, base, body["title"], body["body"], who)
        return Reply(self._json(pull, whole=True), 201)

    def _pull(self, asked: Asked, who: str, number: str) -> Reply:
        pull = self.state.find(int(number))
        return tagged(asked, self._json(pull, whole=True)) if pull else _no(404, "Not Found")

    def _edit(self, asked: Asked, who: str, number: str) -> Reply:
        pull = self._found(number)
        body = asked.json()
        if body.get("state") == "open" and pull.state == "closed" and not self.state.bare.head(pull.branch):
            return _no(
                422, "Validation Failed", errors=[{"message": "state cannot be changed. The branch was deleted."}]
            )
        for key in ("title", "body", "base"):
            setattr(pull, key, body.get(key, getattr(pull, key)))
        if body.get("state") == "closed" and pull.state == "open":
            pull.state, pull.closed_by = "closed", who
        if body.get("state") == "open" and pull.state == "closed":
            pull.state, pull.closed_by = "open", ""
        pull.updated = self.state.now()
        return Reply(self._json(pull, whole=True))

    def _merge(self, asked: Asked, who: str, number: str) -> Reply:
        pull, body = self._found(number), asked.json()
        method = body.get("merge_method", "merge")
        if pull.state != "open":
            return _no(405, "Pull Request is not mergeable")
        if body.get("sha", pull.head) != pull.head:
            return _no(409, "Head branch was modified. Review and try the merge again.")
        if pull.draft:
            return _no(405, "Pull Request is still a draft")
        if self.state.protection:
            return _no(405, self.state.protection)
        if method not in self.state.allowed:
            kind = {"merge": "Merge commits", "squash": "Squash merges", "rebase": "Rebase merges"}[method]
            return _no(405, f"{kind} are not allowed on this repository.")
        self.state.merge(pull, who, method)
        return Reply({"sha": pull.merge_commit, "merged": True, "message": "Pull Request successfully merged"})

    def _reviews(self, asked: Asked, who: str, number: str) -> Reply:
        pull = self._found(number)
        return paged(asked, [self._review(each) for each in pull.reviews])

    def _request(self, asked: Asked, who: str, number: str) -> Reply:
        pull, body = self._found(number), asked.json()
        for login in body.get("reviewers", []):
            if login == pull.author:
                return _no(422, "Review cannot be requested from pull request author.")
            if login not in self.state.accounts:
                return _no(422, "Reviews may only be requested from collaborators.")
        pull.reviewers += [login for login in body.get("reviewers", []) if login not in pull.reviewers]
        return Reply(self._json(pull), 201)

    def _issue(self, asked: Asked, who: str, number: str) -> Reply:
        pull = self._found(number)
        closed_by = pull.merged_by or pull.closed_by
        return tagged(asked, {"number": pull.number, "closed_by": self._user(closed_by) if closed_by else None})

    def _edit_issue(self, asked: Asked, who: str, number: str) -> Reply:
        pull = self._found(number)
        pull.assignees = [login for login in asked.json()["assignees"] if login in self.state.accounts]
        return Reply({"number": pull.number})

    def _label(self, asked: Asked, who: str, number: str) -> Reply:
        pull = self._found(number)
        pull.labels += [name for name in asked.json()["labels"] if name not in pull.labels]
        return Reply([{"name": name} for name in pull.labels])

    def _comments(self, asked: Asked, who: str, number: str) -> Reply:
        return paged(
            asked, [{"id": c.id, "body": c.body, "user": self._user(c.author)} for c in self._found(number).comments]
        )

    def _comment(self, asked: Asked, who: str, number: str) -> Reply:
        self.say(int(number), who, asked.json()["body"])
        return Reply({}, 201)

    def _edit_comment(self, asked: Asked, who: str, number: str) -> Reply:
        for comment in (c for pull in self.state.pulls for c in pull.comments if c.id == int(number)):
            if comment.author != who:
                return _no(403, "Must have admin rights to Repository.")
            comment.body = asked.json()["body"]
        return Reply({})

    def _of_commit(self, asked: Asked, who: str, commit: str) -> Reply:
        if not self.state.bare.knows(commit):
            return _no(422, f"No commit found for SHA: {commit}")
        pulls = [p for p in self.state.pulls if commit in (p.head, p.merge_commit)]
        return paged(asked, [self._json(p) for p in pulls])

    def _status(self, asked: Asked, who: str, commit: str) -> Reply:
        body = asked.json()
        if len(body["description"]) > 140:
            return _no(
                422, "Validation Failed", errors=[{"message": "description is too long (maximum is 140 characters)"}]
            )
        if not self.state.bare.knows(commit):
            return _no(422, f"No commit found for SHA: {commit}")
        body["id"] = self.state.id()
        self.state.statuses.append((commit, body))
        return Reply(body, 201)

    def _statuses(self, asked: Asked, who: str, commit: str) -> Reply:
        """The newest first."""
        if not self.state.bare.knows(commit):
            return _no(422, f"No commit found for SHA: {commit}")
        return paged(asked, [status for sha, status in reversed(self.state.statuses) if sha == commit])

    def say(self, number: int, who: str, body: str) -> None:
        self._found(str(number)).comments.append(Comment(self.state.id(), who, body, self.state.now()))

    def _found(self, number: str) -> PullRequest:
        pull = self.state.find(int(number))
        assert pull, number
        return pull

    def _user(self, login: str) -> dict[str, Any]:
        account = self.state.accounts[login]
        return {"login": login, "id": account.id, "type": "Bot" if account.bot else "User", "site_admin": False}

    def _review(self, review: Review) -> dict[str, Any]:
        return {
            "id": review.id,
            "user": self._user(review.author),
            "state": review.state,
            "commit_id": review.commit,
            "submitted_at": stamp(review.at),
        }

    def _json(self, pull: PullRequest, whole: bool = False) -> dict[str, Any]:
        """The list leaves out who merged (github/rest-api-description: `pull-request-simple`)."""
        merged = pull.state == "merged"
        full = {"merged": merged, "merged_by": self._user(pull.merged_by) if merged else None, "mergeable": True}
        return {
            "number": pull.number,
            "state": "open" if pull.state == "open" else "closed",
            "title": pull.title,
            "body": pull.body or None,
            "draft": pull.draft,
            "user": self._user(pull.author),
            "html_url": f"https://github.test/shop/config/pull/{pull.number}",
            "labels": [{"name": name} for name in pull.labels],
            "assignees": [self._user(login) for login in pull.assignees],
            "requested_reviewers": [self._user(login) for login in pull.reviewers],
            "requested_teams": [],
            "created_at": stamp(pull.created),
            "updated_at": stamp(pull.updated),
            "merged_at": stamp(pull.updated) if merged else None,
            "merge_commit_sha": pull.merge_commit or None,
            "head": {"ref": pull.branch, "sha": pull.head, "repo": {"full_name": "shop/config"}},
            "base": {"ref": pull.base, "sha": "", "repo": {"full_name": "shop/config"}},
            **(full if whole else {}),
        }
