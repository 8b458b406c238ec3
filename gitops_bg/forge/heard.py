"""What a forge is asked about people, and its answers: reviews, and who merged commits into main. Plain values.

Nothing is judged here: only code with access to Git knows who is who and what a commit promotes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gitops_bg.forge.port import Pull, Review


@dataclass(frozen=True, slots=True)
class Asks:
    """What an app asks about people; nothing, unless a policy asks or a promotion was just carried out."""

    reviews: bool = False
    """Whether to read the reviews of the pull request of its promotion branch."""
    promotion: str = ""
    """The commit of main that promotes what traffic waits for: the reviews of its pull request count."""
    mergers: tuple[str, ...] = ()
    """Commits for which to ask who merged them."""
    merges: tuple[str, ...] = ()
    """Commits for which to ask who merged them, and for the reviews of their pull requests."""

    def __bool__(self) -> bool:
        return self.reviews or bool(self.commits)

    @property
    def commits(self) -> tuple[str, ...]:
        """All commits that it asks about."""
        return tuple(dict.fromkeys(filter(None, (self.promotion, *self.mergers, *self.merges))))


NO_ASKS = Asks()


@dataclass(frozen=True, slots=True)
class Merged:
    """How a commit got into main; without a pull request: by none that the forge knows."""

    pull: Pull | None = None
    reviews: tuple[Review, ...] | None = None
    """None: not read."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The forge's last answers about one app."""

    kind: str
    """The forge's key of ``forge:`` in people.yaml."""
    at: datetime
    """When it answered, or confirmed that nothing changed since."""
    pull: Pull | None = None
    """The pull request of these reviews; None where there is none."""
    reviews: tuple[Review, ...] | None = None
    """None: not read."""
    merged: Mapping[str, Merged] = field(default_factory=dict)
    """By commit, as far as they were answered."""
    ours: frozenset[str] = frozenset()
    """The ids of the accounts with which this process opened pull requests: the agent's own."""

    def says_the_same(self, other: "Heard | None") -> bool:
        """Return whether both have the same answers about people, whenever given, whatever the pull request's text."""
        return other is not None and self._said() == other._said()

    def _said(self) -> tuple[object, ...]:
        pull = (self.pull.number, self.pull.head, self.pull.author) if self.pull else None
        return pull, self.reviews, self.merged, self.ours
