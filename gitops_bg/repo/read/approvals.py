"""Reads the branches of signed approvals: who would approve which version of an app or a group. Believes no signature.

A branch is a line of empty commits that people append to. Only its newest commits are read, by first parents, and none
beyond a merge: an approval hidden behind many commits, or beside the line, is not read. A withdrawn approval stays
withdrawn, even if somebody resets the branch (decision 34).
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from cachetools import LRUCache

from gitops_bg.core.groups.branches import AppOrGroup
from gitops_bg.core.model.policies.facts import CommitFacts
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, text
from gitops_bg.repo.layout import WITHDRAWN_PREFIX, approved_on, is_commit_id
from gitops_bg.repo.read.commits import CommitReader

APP, APPROVES, WITHDRAWS, MAIN = "Bg-App", "Bg-Approves", "Bg-Withdraws", "Bg-Main"
"""The trailers of an approval: its app; the digest, or the approval that is withdrawn; the main that its author saw."""
MOST = 50
"""How many commits of a branch are read."""
_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class Statement:
    """One commit of a branch of approvals, with its own claims."""

    commit: str
    at: datetime | None = None
    """Its committer's date."""
    app: str = ""
    """The app, or the group (`signed_name`)."""
    digest: str = ""
    """The version that it approves; empty if it withdraws an approval."""
    withdraws: str = ""
    """The commit of the approval that it withdraws."""
    main: str = ""
    """The commit of main that its author saw: it ties the approval to this repository."""
    content: str = ""
    """A digest of what its signature covers. Others can write the same signature in another way, for a commit with
    another id that is the same statement.
    """


class ApprovalBranches:
    """Reads the branches in their last fetched state."""

    def __init__(self, mirror: Mirror, commits: CommitReader) -> None:
        self._mirror = mirror
        self._commits = commits
        self._read: LRUCache[str, tuple[Statement, ...]] = LRUCache(_REMEMBERED)
        self._withdrawn: set[str] | None = None

    def tips(self) -> Mapping[AppOrGroup, str]:
        """Return the heads of all branches."""
        tracked = self._mirror.tracked().items()
        return {app: commit for name, commit in tracked if (app := approved_on(name)) is not None}

    def statements(self, tip: str) -> tuple[Statement, ...]:
        """Return the statements of the newest commits of a branch, newest first."""
        if tip not in self._read:
            self._read[tip] = tuple(self._statements(tip))
        return self._read[tip]

    def withdrawn(self) -> frozenset[str]:
        """Return the withdrawn approvals, as far as this mirror has seen them."""
        if self._withdrawn is None:
            found = self._mirror.local("for-each-ref", "--format=%(refname)", WITHDRAWN_PREFIX)
            self._withdrawn = {text(name).removeprefix(WITHDRAWN_PREFIX) for name in lines(found)}
        return frozenset(self._withdrawn)

    def remember_withdrawn(self, approval: str, by: str) -> None:
        """Remember for ever that the commit ``by`` withdraws an approval, which is named by its content."""
        if is_commit_id(approval) and approval not in self.withdrawn():
            self._mirror.local("update-ref", f"{WITHDRAWN_PREFIX}{approval}", by)
            assert self._withdrawn is not None
            self._withdrawn.add(approval)

    def _statements(self, tip: str) -> Iterator[Statement]:
        walk = ("rev-list", "--first-parent", "--parents", f"--max-count={MOST}", tip, "--")
        line: dict[str, list[str]] = {}
        for commit, *parents in (text(row).split(" ") for row in lines(self._mirror.local(*walk))):
            if len(parents) > 1:
                break
            line[commit] = parents
        facts = self._commits.facts(line)
        for commit, parents in line.items():
            if commit in facts:
                said = {name: (facts[commit].trailer(name) or ("",))[0] for name in (APP, APPROVES, WITHDRAWS, MAIN)}
                content = _content(facts[commit], parents)
                yield Statement(
                    commit, facts[commit].at, said[APP], said[APPROVES], said[WITHDRAWS], said[MAIN], content
                )


def _content(commit: CommitFacts, parents: Iterable[str]) -> str:
    """Return a digest of a commit without its signature."""
    said = (*parents, str(commit.author), str(commit.committer), str(commit.at), commit.message)
    return hashlib.sha256("\0".join(said).encode(errors="surrogateescape")).hexdigest()
