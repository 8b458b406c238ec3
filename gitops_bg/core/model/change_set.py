"""What the executor did of a decision: a change set, which Events, metrics, logs and `rollback --offline` all read.

The words are those of Flux's ``ssa.ChangeSet``. Values only: the executor fills it, and nothing decides by it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from gitops_bg.core.model.drift import Drift


class Change(StrEnum):
    """What a write did to one object."""

    CREATED = "created"
    CONFIGURED = "configured"
    """The object existed, and the write changed it."""
    UNCHANGED = "unchanged"
    """The server reports that the write changed nothing."""
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class ChangeSetEntry:
    """One object that was written to."""

    kind: str
    namespace: str
    name: str
    change: Change
    drift: Drift | None = None
    """What somebody else had changed, where the write repaired that."""

    @property
    def subject(self) -> str:
        """Which object, as Flux writes it.

        >>> ChangeSetEntry("Service", "shop", "web", Change.CONFIGURED).subject
        'Service/shop/web'
        """
        return f"{self.kind}/{self.namespace}/{self.name}"

    def __str__(self) -> str:
        return f"{self.subject} {self.change}" + (f": {self.drift}" if self.drift else "")


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The result of one action: the objects it wrote to, in order, or why it was refused."""

    action: object
    """What was to be done of an app (`core.model.actions`), or of a release group (`core.groups.decision`)."""
    entries: tuple[ChangeSetEntry, ...] = ()
    refused: str = ""
    """Why, in one sentence: missing rights, somebody else's object, an invalid one. Empty where it was carried out."""

    @property
    def drifts(self) -> tuple[Drift, ...]:
        """What the action repaired."""
        return tuple(entry.drift for entry in self.entries if entry.drift)

    def __str__(self) -> str:
        if self.refused:
            return f"{self.action}: {self.refused}"
        return "; ".join(dict.fromkeys(map(str, (self.action, *self.drifts))))


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The results of the actions that were tried, in order; an action that is not here was not tried to the end."""

    results: tuple[ActionResult, ...] = ()

    @property
    def entries(self) -> tuple[ChangeSetEntry, ...]:
        """Every object that was written to."""
        return tuple(entry for result in self.results for entry in result.entries)

    @property
    def refused(self) -> tuple[ActionResult, ...]:
        """The actions that were refused."""
        return tuple(result for result in self.results if result.refused)

    @property
    def carried_out(self) -> tuple[ActionResult, ...]:
        """The actions that were carried out."""
        return tuple(result for result in self.results if not result.refused)

    def __iter__(self) -> Iterator[ActionResult]:
        return iter(self.results)


NOTHING = ChangeSet()
"""No action was tried."""
