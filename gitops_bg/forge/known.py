"""What is known of a forge: what its lists showed, and what was written since. No I/O; one thread uses it.

Nothing here outlives the process: an agent that starts reads the forge, and finds what it wrote in the hidden lines.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime

from gitops_bg.core.model.looks import Awaited
from gitops_bg.forge.marker import marker_in
from gitops_bg.forge.port import CheckStatus, Pull, PullState


@dataclass(frozen=True, slots=True)
class Ended:
    """A pull request that is not open any more, and the last look at main that had begun when that was seen."""

    pull: Pull
    seen_at: Awaited

    @property
    def offer(self) -> str:
        """What it offered to the end; empty where it does not say."""
        marker = marker_in(self.pull.body)
        return marker.offer if marker else ""


@dataclass(slots=True)
class Known:
    """By branch, where nothing else is said."""

    cluster: str = ""
    """Whose agent this is."""
    listed_once: bool = False
    open: dict[str, Pull] = field(default_factory=dict)
    ended: dict[str, Ended] = field(default_factory=dict)
    """The last one that ended, as far as somebody asked."""
    asked: set[str] = field(default_factory=set)
    """Those whose ended ones were asked for, or cannot be: it was open in this process."""
    ours: set[tuple[int, str]] = field(default_factory=set)
    """Numbers and offers that the agent itself withdrew: that they are closed is nobody's no."""
    inherited: set[str] = field(default_factory=set)
    """Those that were open before this process: somebody may have written the status of their head."""
    statuses: dict[str, CheckStatus] = field(default_factory=dict)
    """The last one of ours on each commit."""
    written: dict[str, datetime] = field(default_factory=dict)
    """When the body was written last."""
    comments: dict[str, str] = field(default_factory=dict)

    def listed(self, pulls: Iterable[Pull]) -> dict[str, Pull]:
        """Take over a whole list of the open ones. Returns those that were open and are not in it any more."""
        found = {pull.branch: pull for pull in sorted(pulls, key=lambda each: each.number)}
        found = {branch: pull for branch, pull in found.items() if not self._is_stale(pull)}
        gone = {branch: pull for branch, pull in self.open.items() if branch not in found}
        if not self.listed_once:
            self.inherited |= found.keys()
        self.open = gone | found
        for branch in found:
            self.ended.pop(branch, None)
            self.asked.add(branch)
        self.listed_once = True
        return gone

    def _is_stale(self, pull: Pull) -> bool:
        """Whether a list is older than what was seen of it: forges answer from replicas, too."""
        known = self.ended.get(pull.branch)
        return known is not None and known.pull.number == pull.number and known.pull.updated_at > pull.updated_at

    def found(self, pull: Pull, seen_at: Awaited) -> None:
        """One was asked for by its number, or is the last of its branch that ended."""
        self.asked.add(pull.branch)
        if pull.state is PullState.OPEN:
            self.open[pull.branch] = pull
            return
        self.open.pop(pull.branch, None)
        self.ended[pull.branch] = Ended(pull, seen_at)

    def none_ended(self, branches: Iterable[str]) -> None:
        """They were asked for, and there are none that count."""
        self.asked |= set(branches)

    def offer_changed(self, branch: str, before: str, now: str) -> None:
        """The agent offers something else on a branch, or nothing: what it offered before, it took back itself."""
        pull = self.open.get(branch) or (self.ended[branch].pull if branch in self.ended else None)
        if before and before != now and pull is not None:
            self.ours.add((pull.number, before))
        if now and branch in self.open:
            self.ours.discard((self.open[branch].number, now))

    def is_no(self, branch: str, offer: str) -> bool:
        """Whether somebody closed the pull request of this very offer."""
        ended = self.ended.get(branch)
        if ended is None or ended.pull.state is not PullState.CLOSED or not offer or ended.offer != offer:
            return False
        return (ended.pull.number, offer) not in self.ours

    def forget_statuses(self, heads: Set[str]) -> None:
        """All but those of these commits: the others are nobody's head any more."""
        self.statuses = {commit: status for commit, status in self.statuses.items() if commit in heads}

    def forget(self) -> None:
        """Another agent may write from now on: all is to be read again."""
        fresh = Known()
        for name in ("listed_once", "open", "ended", "asked", "inherited", "statuses", "written", "comments"):
            setattr(self, name, getattr(fresh, name))


def by_branch(ended: Iterable[Pull], branches: Mapping[str, datetime]) -> dict[str, Pull]:
    """The last one of each of these branches."""
    found: dict[str, Pull] = {}
    for pull in sorted(ended, key=lambda each: each.number):
        if pull.branch in branches:
            found[pull.branch] = pull
    return found
