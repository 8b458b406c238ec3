"""One repository on each forge, with its people: what the shared scenarios of `tests/forge` do and look at.

`agent` opens pull requests, `ana` and `ben` review, close and merge. `robot` is a bot where the forge knows bots.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitops_bg.forge.adapters.rest_forge import RestForge
from gitops_bg.forge.connect import ForgeEndpoint, connect
from gitops_bg.forge.port import PullRequestDraft
from tests.support.forges.gate import Gate, forwarded_to
from tests.support.forges.gitea import Gitea
from tests.support.forges.github import GitHub
from tests.support.forges.gitlab import GitLab
from tests.support.forges.state import PullRequest, Review, State
from tests.support.forges.workspace import Bare, Workspace
from tests.support.servers.backend import serving
from tests.support.waiting import eventually

BRANCH = "gitops-bg/promote/shop/web"
PREFIX = "gitops-bg/promote/"
PRIMARY = "apps/shop/web/primary.yaml"


class World(ABC):
    """A repository with a main and nothing more."""

    kind: str

    def __init__(self, folder: Path, url: str, gate: Gate, remote: str, push_to: str) -> None:
        self.folder, self.url, self.gate, self.remote = folder, url, gate, remote
        self.now: Callable[[], datetime] = lambda: datetime.now(UTC)
        self.git = Workspace(folder / "work", push_to)
        self.git.commit({PRIMARY: "version: 1\n"}, "first")
        self.git.push("main")
        self._connected: list[RestForge] = []

    def forge(self, token: str = "agent") -> RestForge:
        """The adapter, as somebody: `agent`, `reader` (may only read), `ana`, or a token that nobody gave."""
        file = self.folder / f"token-{token}"
        file.write_text(f"{self.token(token)}\n")
        settings = ForgeEndpoint(remote=self.remote, kind=self.kind, url=self.url, token_file=file, timeout_seconds=20)
        forge = connect(settings, lambda: self.now())  # noqa: PLW0108 - it may be set later
        self._connected.append(forge)
        return forge

    def close(self) -> None:
        for forge in self._connected:
            forge.close_connections()

    def offer(self, text: str = "version: 2\n", branch: str = BRANCH, message: str = "web: promote") -> str:
        """The agent's promotion branch on the main that was fetched last, pushed; its commit."""
        self.git.switch("main")
        self.git.switch(branch, new=True)
        commit = self.git.commit({PRIMARY: text}, message)
        self.git.push(branch)
        self.settled(branch, commit)
        return commit

    def offers(self, branches: list[str]) -> None:
        """Many branches with one content."""
        self.git.switch(branches[0], new=True)
        self.git.commit({PRIMARY: "version: 2\n"}, "all: promote")
        self.git.push_all(branches)

    @abstractmethod
    def see_merges_by_hand(self) -> None:
        """A setting of Gitea's; the others always do."""

    def settled(self, branch: str, commit: str) -> None:
        """Wait until the forge has seen a push; nothing to wait for where it looks itself."""
        del branch, commit

    @abstractmethod
    def token(self, who: str) -> str: ...

    @abstractmethod
    def approve(self, number: int, who: str) -> None: ...

    @abstractmethod
    def request_changes(self, number: int, who: str) -> None: ...

    @abstractmethod
    def withdraw(self, number: int, who: str) -> None:
        """Dismiss, or take back, what somebody said."""

    @abstractmethod
    def close_pull(self, number: int, who: str) -> None: ...

    @abstractmethod
    def reopen(self, number: int, who: str) -> None: ...

    @abstractmethod
    def mark_as_draft(self, number: int, who: str) -> None:
        """As the button of the forge does."""

    @abstractmethod
    def mark_as_ready(self, number: int, who: str) -> None: ...

    @abstractmethod
    def merge(self, number: int, who: str, how: str) -> None: ...

    @abstractmethod
    def comments(self, number: int) -> list[str]: ...

    @abstractmethod
    def say(self, number: int, who: str, text: str) -> None: ...

    @abstractmethod
    def statuses(self, commit: str) -> list[tuple[str, str, str]]:
        """Context, state, description; the newest of each context."""

    @abstractmethod
    def protect(self, why: str) -> None:
        """Nothing may be merged."""

    @abstractmethod
    def allow(self, *methods: str) -> None:
        """Only these ways of merging."""

    @abstractmethod
    def delete_on_merge(self) -> None: ...


class StandIn(World):
    """GitHub's and GitLab's."""

    def __init__(self, folder: Path, url: str, gate: Gate, state: State) -> None:
        self.state = state
        super().__init__(folder, url, gate, f"{url}/shop/config.git", str(state.bare.folder))

    def token(self, who: str) -> str:
        return f"{who}-token"

    def _say(self, number: int, who: str, state: str) -> None:
        self.state.look()
        pull = self._pull(number)
        if self.kind == "gitlab":
            pull.reviews = [review for review in pull.reviews if review.author != who]
        pull.reviews.append(Review(self.state.id(), who, state, pull.head, self.state.now()))
        pull.updated = self.state.now()

    def approve(self, number: int, who: str) -> None:
        self._say(number, who, "APPROVED")

    def request_changes(self, number: int, who: str) -> None:
        self._say(number, who, "CHANGES_REQUESTED")

    def withdraw(self, number: int, who: str) -> None:
        for review in self._pull(number).reviews:
            if review.author == who:
                review.state = "DISMISSED"

    def merge(self, number: int, who: str, how: str) -> None:
        self.state.look()
        self.state.merge(self._pull(number), who, how)

    def comments(self, number: int) -> list[str]:
        return [comment.body for comment in self._pull(number).comments if not comment.system]

    def statuses(self, commit: str) -> list[tuple[str, str, str]]:
        newest: dict[str, dict[str, Any]] = {}
        for sha, status in self.state.statuses:
            if sha == commit:
                newest[status.get("context") or status["name"]] = status
        states = {"failed": "failure"}
        return [(name, states.get(s["state"], s["state"]), s["description"]) for name, s in newest.items()]

    def protect(self, why: str) -> None:
        self.state.protection = why

    def allow(self, *methods: str) -> None:
        self.state.allowed = list(methods)

    def delete_on_merge(self) -> None:
        self.state.delete_on_merge = True

    def see_merges_by_hand(self) -> None:
        pass

    def _mark(self, number: int, *, draft: bool) -> None:
        pull = self._pull(number)
        if self.kind == "github":
            pull.draft = draft
        else:
            pull.title = f"Draft: {pull.title}" if draft else pull.title.removeprefix("Draft: ")
        pull.updated = self.state.now()

    def mark_as_draft(self, number: int, who: str) -> None:
        self._mark(number, draft=True)

    def mark_as_ready(self, number: int, who: str) -> None:
        self._mark(number, draft=False)

    def close_pull(self, number: int, who: str) -> None:
        pull = self._pull(number)
        pull.state, pull.closed_by, pull.updated = "closed", who, self.state.now()

    def reopen(self, number: int, who: str) -> None:
        pull = self._pull(number)
        pull.state, pull.closed_by, pull.updated = "open", "", self.state.now()

    def _pull(self, number: int) -> PullRequest:
        pull = self.state.find(number)
        assert pull
        return pull


class GitHubWorld(StandIn):
    kind = "github"

    def say(self, number: int, who: str, text: str) -> None:
        GitHub(self.state).say(number, who, text)


class GitLabWorld(StandIn):
    kind = "gitlab"
    gitlab: GitLab

    def say(self, number: int, who: str, text: str) -> None:
        GitHub(self.state).say(number, who, text)

    def approve(self, number: int, who: str) -> None:
        super().approve(number, who)
        self.gitlab.approved(number, who)

    def allow(self, *methods: str) -> None:
        super().allow(*methods)
        self.gitlab.squash_option = "always" if methods == ("squash",) else "default_off"


class GiteaWorld(World):
    """The real one."""

    kind = "gitea"

    def __init__(self, folder: Path, url: str, gate: Gate, gitea: Gitea, name: str) -> None:
        self.gitea, self.name = gitea, name
        self.repository_path = f"/repos/admin/{name}"
        self._tokens: dict[str, str] = {}
        super().__init__(folder, url, gate, f"{url}/admin/{name}.git", gitea.git_url(name, "agent"))

    def token(self, who: str) -> str:
        if who not in self._tokens:
            if who == "reader":
                self._tokens[who] = self.gitea.token("agent", "read:repository", "read:issue")
            elif who in ("agent", "ana"):
                more = () if who == "agent" else ("read:user",)  # What a login of people asks for.
                self._tokens[who] = self.gitea.token(who, "write:repository", "write:issue", *more)
            else:
                return "0" * 40
        return self._tokens[who]

    def see_merges_by_hand(self) -> None:
        settings = {"has_pull_requests": True, "allow_manual_merge": True, "autodetect_manual_merge": True}
        self._call("PATCH", "", settings)

    def settled(self, branch: str, commit: str) -> None:
        """A push to the branch of an open pull request is looked at by a queue."""
        eventually(lambda: self._heads(branch) <= {commit}, what=f"Gitea knows {commit} of {branch}")

    def _heads(self, branch: str) -> set[str]:
        listed = self._call("GET", "/pulls?state=open&limit=50")
        return {pull["head"]["sha"] for pull in listed if pull["head"]["ref"] == branch}

    def _call(self, method: str, path: str, body: Any = None, user: str = "admin", expect: tuple[int, ...] = ()) -> Any:
        return self.gitea.call(method, self.repository_path + path, body, user=user, expect=expect)

    def _review(self, number: int, who: str, event: str) -> None:
        head = self._call("GET", f"/pulls/{number}")["head"]["sha"]
        self._call("POST", f"/pulls/{number}/reviews", {"event": event, "commit_id": head, "body": event}, who)

    def approve(self, number: int, who: str) -> None:
        self._review(number, who, "APPROVED")

    def request_changes(self, number: int, who: str) -> None:
        self._review(number, who, "REQUEST_CHANGES")

    def withdraw(self, number: int, who: str) -> None:
        for review in self._call("GET", f"/pulls/{number}/reviews"):
            if review["user"]["login"] == who and review["state"] in ("APPROVED", "REQUEST_CHANGES"):
                self._call("POST", f"/pulls/{number}/reviews/{review['id']}/dismissals", {"message": "no"})

    def close_pull(self, number: int, who: str) -> None:
        self._call("PATCH", f"/pulls/{number}", {"state": "closed"}, who)

    def reopen(self, number: int, who: str) -> None:
        self._call("PATCH", f"/pulls/{number}", {"state": "open"}, who)

    def mark_as_draft(self, number: int, who: str) -> None:
        title = self._call("GET", f"/pulls/{number}")["title"]
        self._call("PATCH", f"/pulls/{number}", {"title": f"WIP: {title}"}, who)

    def mark_as_ready(self, number: int, who: str) -> None:
        title = self._call("GET", f"/pulls/{number}")["title"]
        self._call("PATCH", f"/pulls/{number}", {"title": title.removeprefix("WIP: ")}, who)

    def merge(self, number: int, who: str, how: str) -> None:
        do = {"ff": "fast-forward-only"}.get(how, how)
        self.gitea.merge(f"{self.repository_path}/pulls/{number}", do, who)

    def comments(self, number: int) -> list[str]:
        return [comment["body"] for comment in self._call("GET", f"/issues/{number}/comments")]

    def say(self, number: int, who: str, text: str) -> None:
        self._call("POST", f"/issues/{number}/comments", {"body": text}, who)

    def statuses(self, commit: str) -> list[tuple[str, str, str]]:
        found = self._call("GET", f"/commits/{commit}/status")["statuses"] or []
        return [(each["context"], each["status"], each["description"]) for each in found]

    def protect(self, why: str) -> None:
        self._call("POST", "/branch_protections", {"rule_name": "main", "required_approvals": 1})

    def allow(self, *methods: str) -> None:
        keys = {
            "merge": "allow_merge_commits",
            "squash": "allow_squash_merge",
            "rebase": "allow_rebase",
            "rebase-merge": "allow_rebase_explicit",
            "ff": "allow_fast_forward_only_merge",
        }
        style = {"ff": "fast-forward-only"}.get(methods[0], methods[0])
        allowed = {key: method in methods for method, key in keys.items()}
        self._call("PATCH", "", {**allowed, "has_pull_requests": True, "default_merge_style": style})

    def delete_on_merge(self) -> None:
        self._call("PATCH", "", {"has_pull_requests": True, "default_delete_branch_after_merge": True})


@contextmanager
def world(kind: str, folder: Path, gitea: Callable[[], Gitea]) -> Iterator[World]:
    """A repository of the test's own on a forge of this kind."""
    with serving() as backend:
        if kind == "gitea":
            server = gitea()
            gate = Gate(forwarded_to(server.url))
            backend.answer = gate
            made: World = GiteaWorld(folder, backend.url, gate, server, server.repository())
        else:
            state = State(Bare(folder / "bare.git"))
            inner = GitHub(state) if kind == "github" else GitLab(state)
            gate = Gate(inner)
            backend.answer = gate
            chosen = GitHubWorld if kind == "github" else GitLabWorld
            made = chosen(folder, backend.url, gate, state)
            if isinstance(made, GitLabWorld) and isinstance(inner, GitLab):
                made.gitlab = inner
        try:
            yield made
        finally:
            made.close()


def draft(**changed: Any) -> PullRequestDraft:
    """An offer's pull request."""
    return PullRequestDraft(
        **{"branch": BRANCH, "base": "main", "title": "shop/web: 1.4.0 → 1.5.0", "body": "<!-- x -->\nbody"} | changed
    )
