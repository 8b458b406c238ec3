"""What is known of a forge: the content of its lists, and our writes since. No I/O; one thread uses it.

Nothing here outlives the process: a new agent reads the forge, and finds its own texts by their hidden first lines,
the markers.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import field
from datetime import datetime
from urllib.parse import quote, unquote

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.journal import AwaitsPoll, PullState
from gitops_bg.core.model.version import PullSubject
from gitops_bg.core.names import promotion_branch
from gitops_bg.forge.port import CheckStatus, Pull

_LINE = re.compile(r"\s*<!-- gitops-bg( [^<>\n]*) -->")
_FIELD = re.compile(r" ([a-z]+)=([^ ]*)")
_SAFE = "/:@#+"


@dataclass(frozen=True, slots=True)
class Marker:
    """``offer`` is from ``core.model.journal.offer_of``; empty after the agent has withdrawn it."""

    app: str
    cluster: str
    offer: str
    text: str = ""
    """A hash of title and body as written."""
    people: str = ""
    """A hash of its requested reviewers and assignees."""

    def line(self) -> str:
        """Return the hidden line. No value can end it, or add another field.

        >>> marker_in(Marker("a --> b", "c d", "e").line()) == Marker("a --> b", "c d", "e")
        True
        """
        values = (("app", self.app), ("cluster", self.cluster), ("offer", self.offer))
        hashes = (("text", self.text), ("people", self.people))
        said = " ".join(f"{key}={_quoted(value)}" for key, value in (*values, *hashes))
        return f"<!-- gitops-bg {said} -->"


def comment_marker(app: str, cluster: str) -> str:
    """Return the hidden line that begins the one comment of a cluster.

    >>> comment_marker("shop/web", "prod --> eu")
    '<!-- gitops-bg: shop/web prod%20-%2D%3E%20eu -->'
    """
    return f"<!-- gitops-bg: {_quoted(app)} {_quoted(cluster)} -->"


def marker_in(body: str) -> Marker | None:
    """Return the marker at the beginning of a body; None without one: one further down is somebody's text."""
    found = _LINE.match(body)
    if found is None:
        return None
    said = {key: unquote(value) for key, value in _FIELD.findall(found[1])}
    if not {"app", "cluster", "offer"} <= said.keys():
        return None
    return Marker(said["app"], said["cluster"], said["offer"], said.get("text", ""), said.get("people", ""))


def without_marker(body: str) -> str:
    """Return the visible part of a body."""
    return _LINE.sub("", body, count=1).lstrip("\r\n") if _LINE.match(body) else body


def hashed(*parts: str) -> str:
    """Return a short hash of texts, in their order; it distinguishes them, and is no secret."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _quoted(value: str) -> str:
    """Escape ``--``: not every renderer accepts it inside a comment."""
    return quote(value, safe=_SAFE).replace("--", "-%2D")


@dataclass(frozen=True, slots=True)
class Ended:
    """A pull request that is no longer open, and the last look at main that had begun when that was seen."""

    pull: Pull
    seen_at: AwaitsPoll

    @property
    def offer(self) -> str:
        """What it last offered; empty where it does not say."""
        marker = marker_in(self.pull.body)
        return marker.offer if marker else ""


@dataclass(slots=True)
class ForgeKnowledge:
    """By branch, unless noted otherwise."""

    cluster: str = ""
    """The cluster of this agent."""
    base: str = ""
    """The branch that promotions are merged into: main; empty where that is not known."""
    branch_of: Callable[[PullSubject], str] = promotion_branch
    """The promotion branch of an app or a group."""
    listed_once: bool = False
    open: dict[str, Pull] = field(default_factory=dict)
    ended: dict[str, Ended] = field(default_factory=dict)
    """The last one that ended, as far as it was looked up."""
    asked: set[str] = field(default_factory=set)
    """Branches whose ended ones were looked up, or need not be: theirs was open in this process."""
    ours: set[tuple[int, str]] = field(default_factory=set)
    """Numbers and offers that the agent itself withdrew: closing them was no refusal by a person."""
    inherited: set[str] = field(default_factory=set)
    """Branches with one open before this process: another process may have written the status of their head."""
    statuses: dict[str, CheckStatus] = field(default_factory=dict)
    """Our last status on each commit."""
    written: dict[str, datetime] = field(default_factory=dict)
    """When the body was last written."""
    comments: dict[int, str] = field(default_factory=dict)
    """Our last comment on each open pull request, by its number."""

    def listed(self, pulls: Iterable[Pull]) -> dict[str, Pull]:
        """Take over a full list of the open ones. Return those that were open and are no longer in it.

        Of several for one branch the one into main counts: whoever opens another one, into another branch, takes
        neither its reviews nor its text away.
        """
        last = sorted(pulls, key=lambda each: (each.base == self.base, each.number))
        found = {pull.branch: pull for pull in last}
        found = {branch: pull for branch, pull in found.items() if not self._is_stale(pull)}
        gone = {branch: pull for branch, pull in self.open.items() if branch not in found}
        if not self.listed_once:
            self.inherited |= found.keys()
        self.open = gone | found
        numbers = {pull.number for pull in self.open.values()}
        self.comments = {number: said for number, said in self.comments.items() if number in numbers}
        for branch in found:
            self.ended.pop(branch, None)
            self.asked.add(branch)
        self.listed_once = True
        return gone

    def _is_stale(self, pull: Pull) -> bool:
        """Return whether a list is older than what was already seen of it: forges also answer from replicas."""
        known = self.ended.get(pull.branch)
        return known is not None and known.pull.number == pull.number and known.pull.updated_at > pull.updated_at

    def found(self, pull: Pull, seen_at: AwaitsPoll) -> None:
        """Note one that was read by its number, or is the last ended one of its branch."""
        self.asked.add(pull.branch)
        if pull.state is PullState.OPEN:
            self.open[pull.branch] = pull
            return
        self.open.pop(pull.branch, None)
        self.ended[pull.branch] = Ended(pull, seen_at)

    def none_ended(self, branches: Iterable[str]) -> None:
        """Note that these branches were looked up, and have no ended one that counts."""
        self.asked |= set(branches)

    def offer_changed(self, branch: str, before: str, now: str) -> None:
        """Note that the agent offers something else on a branch, or nothing: it withdrew the former offer itself."""
        pull = self.open.get(branch) or (self.ended[branch].pull if branch in self.ended else None)
        if before and before != now and pull is not None:
            self.ours.add((pull.number, before))
        if now and branch in self.open:
            self.ours.discard((self.open[branch].number, now))

    def is_no(self, branch: str, offer: str) -> bool:
        """Return whether somebody closed the pull request of this very offer."""
        ended = self.ended.get(branch)
        if ended is None or ended.pull.state is not PullState.CLOSED or not offer or ended.offer != offer:
            return False
        return (ended.pull.number, offer) not in self.ours

    def forget_statuses(self, heads: Set[str]) -> None:
        """Forget the statuses of all but these commits: the others are no longer the head of any branch."""
        self.statuses = {commit: status for commit, status in self.statuses.items() if commit in heads}

    def forget(self) -> None:
        """Forget everything: another agent may write from now on."""
        fresh = ForgeKnowledge()
        for name in ("listed_once", "open", "ended", "asked", "inherited", "statuses", "written", "comments"):
            setattr(self, name, getattr(fresh, name))


def by_branch(ended: Iterable[Pull], branches: Mapping[str, datetime]) -> dict[str, Pull]:
    """Return the last one of each of these branches."""
    found: dict[str, Pull] = {}
    for pull in sorted(ended, key=lambda each: each.number):
        if pull.branch in branches:
            found[pull.branch] = pull
    return found
