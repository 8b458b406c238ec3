"""A stand-in for GitLab: the documented answers of REST v4 to what the adapter asks, over real branches."""

from __future__ import annotations

import re
from typing import Any

from tests.support.forges.state import Comment, PullRequest, Review, State, paged, stamp, tagged
from tests.support.servers.backend import Asked, Reply

_PROJECT = 7


def _no(status: int, message: Any) -> Reply:
    return Reply({"message": message}, status)


def _is_draft(pull: PullRequest) -> bool:
    """GitLab's mark is in the title."""
    return pull.title.lower().startswith(("draft:", "[draft]", "(draft)"))


class GitLab:
    """Answers what is asked below ``/api/v4``."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.squash_option = "default_off"
        self.has_approvals = True
        self.tells_times = True
        """Whether approvals have ``approved_at``, as from 17.9 on."""
        project = "/api/v4/projects/shop%2Fconfig"
        mr = rf"{project}/merge_requests"
        self._routes = [
            ("GET", project, self._project),
            ("GET", mr, self._list),
            ("POST", mr, self._open),
            ("GET", rf"{mr}/(\d+)", self._one),
            ("PUT", rf"{mr}/(\d+)", self._edit),
            ("PUT", rf"{mr}/(\d+)/merge", self._merge),
            ("GET", rf"{mr}/(\d+)/approvals", self._approvals),
            ("POST", rf"{mr}/(\d+)/approve", self._approve),
            ("POST", rf"{mr}/(\d+)/unapprove", self._unapprove),
            ("GET", rf"{mr}/(\d+)/reviewers", self._reviewers),
            ("GET", rf"{mr}/(\d+)/versions", self._versions),
            ("GET", rf"{mr}/(\d+)/notes", self._notes),
            ("POST", rf"{mr}/(\d+)/notes", self._note),
            ("PUT", rf"{mr}/(\d+)/notes/(\d+)", self._edit_note),
            ("GET", rf"{project}/repository/commits/(\w+)/merge_requests", self._of_commit),
            ("POST", rf"{project}/statuses/(\w+)", self._status),
            ("GET", rf"{project}/repository/commits/(\w+)/statuses", self._statuses),
            ("GET", "/api/v4/users", self._users),
            ("GET", r"/api/v4/users/(\d+)", self._account),
        ]

    def __call__(self, asked: Asked) -> Reply:
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        who = self.state.tokens.get(token)
        if scheme != "Bearer" or who is None:
            return _no(401, "401 Unauthorized")
        if asked.method != "GET" and token == "reader-token":
            words = "The request requires higher privileges than provided by the access token."
            return Reply({"error": "insufficient_scope", "error_description": words, "scope": "api"}, 403)
        self.state.look()
        path = asked.target.partition("?")[0]
        for method, pattern, handler in self._routes:
            if method == asked.method and (found := re.fullmatch(pattern, path)):
                return handler(asked, who, *found.groups())
        return Reply({"error": "404 Not Found"}, 404)

    def _project(self, asked: Asked, who: str) -> Reply:
        methods = {"merge": "merge", "rebase": "rebase_merge", "ff": "ff"}
        allowed = next((methods[name] for name in self.state.allowed if name in methods), "merge")
        return tagged(asked, {"id": _PROJECT, "merge_method": allowed, "squash_option": self.squash_option})

    def _list(self, asked: Asked, who: str) -> Reply:
        query = asked.query
        states = {"opened": ("open",), "closed": ("closed",), "merged": ("merged",)}
        wanted = states.get(query.get("state", "all"), ("open", "closed", "merged"))
        pulls = [p for p in self.state.pulls if p.state in wanted]
        pulls = [p for p in pulls if query.get("source_branch", p.branch) == p.branch]
        pulls = [p for p in pulls if query.get("target_branch", p.base) == p.base]
        pulls.sort(key=lambda p: p.updated if query.get("order_by") == "updated_at" else p.created)
        if query.get("sort", "desc") == "desc":
            pulls.reverse()
        return paged(asked, [self._json(p) for p in pulls])

    def _open(self, asked: Asked, who: str) -> Reply:
        body = asked.json()
        branch, base = body["source_branch"], body["target_branch"]
        there = [p for p in self.state.pulls if (p.branch, p.base, p.state) == (branch, base, "open")]
        if there:
            return _no(409, [f"Another open merge request already exists for this source branch: !{there[0].number}"])
        if not self.state.bare.head(branch):
            return _no(400, {"source_branch": ["does not exist"]})
        pull = self.state.open(branch, base, body["title"], body["description"], who)
        pull.labels = list(filter(None, body["labels"].split(",")))
        return Reply(self._json(pull), 201)

    def _one(self, asked: Asked, who: str, number: str) -> Reply:
        pull = self.state.find(int(number))
        return tagged(asked, self._json(pull)) if pull else _no(404, "404 Not found")

    def _edit(self, asked: Asked, who: str, number: str) -> Reply:
        pull, body = self._found(number), asked.json()
        for key, field in (("title", "title"), ("description", "body"), ("target_branch", "base")):
            setattr(pull, field, body.get(key, getattr(pull, field)))
        pull.labels += [name for name in body.get("add_labels", "").split(",") if name and name not in pull.labels]
        logins = {account.id: login for login, account in self.state.accounts.items()}
        if "reviewer_ids" in body:
            pull.reviewers = [logins[number] for number in body["reviewer_ids"]][:1]
        if "assignee_ids" in body:
            pull.assignees = [logins[number] for number in body["assignee_ids"]][:1]
        if body.get("state_event") == "close" and pull.state == "open":
            pull.state, pull.closed_by = "closed", who
        if body.get("state_event") == "reopen" and pull.state == "closed":
            pull.state, pull.closed_by = "open", ""
        pull.updated = self.state.now()
        return Reply(self._json(pull))

    def _merge(self, asked: Asked, who: str, number: str) -> Reply:
        pull, body = self._found(number), asked.json()
        if self.state.protection or pull.state != "open" or _is_draft(pull):
            return _no(405, "405 Method Not Allowed")
        if body.get("sha", pull.head) != pull.head:
            return _no(409, f"SHA does not match HEAD of source branch: {pull.head}")
        how = next((each for each in self.state.allowed if each != "squash"), "merge")
        if body.get("squash"):
            how = "squash"
        self.state.merge(pull, who, how)
        return Reply(self._json(pull))

    def _approvals(self, asked: Asked, who: str, number: str) -> Reply:
        if not self.has_approvals:
            return _no(403, "403 Forbidden")
        given = []
        for review in self._found(number).reviews:
            if review.state == "APPROVED":
                times = {"approved_at": stamp(review.at, True)} if self.tells_times else {}
                given.append({"user": self._user(review.author), **times})
        return tagged(asked, {"iid": int(number), "approved_by": given})

    def _approve(self, asked: Asked, who: str, number: str) -> Reply:
        """https://docs.gitlab.com/api/merge_request_approvals/: 409 for another ``sha`` than that of the head."""
        pull = self._found(number)
        if asked.json().get("sha", pull.head) != pull.head:
            return _no(409, f"SHA does not match HEAD of source branch: {pull.head}")
        pull.reviews.append(Review(self.state.id(), who, "APPROVED", pull.head, self.state.now()))
        return self._approvals(asked, who, number)

    def _unapprove(self, asked: Asked, who: str, number: str) -> Reply:
        pull = self._found(number)
        kept = [review for review in pull.reviews if review.author != who]
        if len(kept) == len(pull.reviews):
            return _no(404, "404 Not found")
        pull.reviews[:] = kept
        return self._approvals(asked, who, number)

    def _reviewers(self, asked: Asked, who: str, number: str) -> Reply:
        pull = self._found(number)
        states = {"CHANGES_REQUESTED": "requested_changes", "DISMISSED": "unapproved", "APPROVED": "approved"}
        reviewed = [
            {"user": self._user(r.author), "state": states[r.state], "created_at": stamp(r.at, True)}
            for r in pull.reviews
        ]
        asked_for = [
            {"user": self._user(login), "state": "unreviewed", "created_at": stamp(pull.created, True)}
            for login in pull.reviewers
        ]
        return tagged(asked, reviewed + asked_for)

    def _versions(self, asked: Asked, who: str, number: str) -> Reply:
        versions = self._found(number).versions
        listed = [
            {"id": i, "head_commit_sha": head, "created_at": stamp(at, True)} for i, (at, head) in enumerate(versions)
        ]
        return paged(asked, listed[::-1])

    def _notes(self, asked: Asked, who: str, number: str) -> Reply:
        pull = self._found(number)
        notes = [
            {
                "id": c.id,
                "body": c.body,
                "author": self._user(c.author),
                "system": c.system,
                "created_at": stamp(c.at, True),
            }
            for c in pull.comments
        ]
        return paged(asked, notes if asked.query.get("sort") == "asc" else notes[::-1])

    def _note(self, asked: Asked, who: str, number: str) -> Reply:
        self._found(number).comments.append(Comment(self.state.id(), who, asked.json()["body"], self.state.now()))
        return Reply({}, 201)

    def _edit_note(self, asked: Asked, who: str, number: str, note: str) -> Reply:
        for comment in self._found(number).comments:
            if comment.id == int(note):
                comment.body = asked.json()["body"]
        return Reply({})

    def _of_commit(self, asked: Asked, who: str, commit: str) -> Reply:
        if not self.state.bare.knows(commit):
            return _no(404, "404 Commit Not Found")
        return paged(asked, [self._json(p) for p in self.state.pulls if commit in (p.head, p.merge_commit)])

    def _status(self, asked: Asked, who: str, commit: str) -> Reply:
        body = asked.json()
        before = [old["state"] for sha, old in self.state.statuses if (sha, old["name"]) == (commit, body["name"])]
        if before and before[-1] == body["state"]:
            words = f"Cannot transition status via :enqueue from :{body['state']} (Reason(s): Status cannot transition)"
            return _no(400, words)
        if len(body["description"]) > 255:
            return _no(400, {"description": ["is too long (maximum is 255 characters)"]})
        self.state.statuses.append((commit, body))
        return Reply(body, 201)

    def _statuses(self, asked: Asked, who: str, commit: str) -> Reply:
        if not self.state.bare.knows(commit):
            return _no(404, "404 Commit Not Found")
        newest = {s["name"]: {**s, "status": s["state"], "sha": sha} for sha, s in self.state.statuses if sha == commit}
        return paged(asked, [s for name, s in newest.items() if name == asked.query.get("name", name)])

    def _users(self, asked: Asked, who: str) -> Reply:
        return paged(asked, [self._user(login) for login in self.state.accounts if login == asked.query["username"]])

    def _account(self, asked: Asked, who: str, number: str) -> Reply:
        for account in self.state.accounts.values():
            if account.id == int(number):
                return tagged(asked, {**self._user(account.login), "bot": account.bot})
        return _no(404, "404 User Not Found")

    def approved(self, number: int, who: str) -> None:
        """The note that the system writes when somebody approves."""
        words = "approved this merge request"
        self._found(str(number)).comments.append(Comment(self.state.id(), who, words, self.state.now(), system=True))

    def _found(self, number: str) -> PullRequest:
        pull = self.state.find(int(number))
        assert pull, number
        return pull

    def _user(self, login: str) -> dict[str, Any]:
        return {"id": self.state.accounts[login].id, "username": login, "name": login.title(), "state": "active"}

    def _json(self, pull: PullRequest) -> dict[str, Any]:
        """After a squash ``merge_commit_sha`` is null, after a fast-forward both are (GitLab's API docs, of 17)."""
        squashed = pull.merge_commit if pull.how == "squash" else None
        merged_by = self._user(pull.merged_by) if pull.state == "merged" else None
        return {
            "iid": pull.number,
            "state": {"open": "opened"}.get(pull.state, pull.state),
            "title": pull.title,
            "draft": _is_draft(pull),
            "description": pull.body or None,
            "source_branch": pull.branch,
            "target_branch": pull.base,
            "source_project_id": _PROJECT,
            "target_project_id": _PROJECT,
            "author": self._user(pull.author),
            "web_url": f"https://gitlab.test/shop/config/-/merge_requests/{pull.number}",
            "labels": pull.labels,
            "reviewers": [self._user(login) for login in pull.reviewers],
            "assignees": [self._user(login) for login in pull.assignees],
            "created_at": stamp(pull.created, True),
            "updated_at": stamp(pull.updated, True),
            "sha": pull.head,
            "merge_commit_sha": pull.merge_commit if pull.how in ("merge", "rebase", "by hand") else None,
            "squash_commit_sha": squashed,
            "merge_user": merged_by,
            "merged_by": merged_by,
            "closed_by": self._user(pull.closed_by) if pull.closed_by else None,
            "detailed_merge_status": self.state.protection or "mergeable",
        }
