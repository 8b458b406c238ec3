"""What a decision shows, by type of condition, for tests of apps and of groups."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from gitops_bg.core.model.conditions import Condition


class Shown(NamedTuple):
    """What a condition says; equal to a tuple of the same."""

    status: bool | None
    reason: str
    message: str


ABSENT = Shown(None, "", "")
"""There is no such condition: nothing of its kind is wrong, or asked for."""


class Conditions(dict[str, Shown]):
    """What the conditions say, by type; ABSENT of those that there are not."""

    def __missing__(self, kind: str) -> Shown:
        return ABSENT


class Decided(Protocol):
    """A decision about an app or a group."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions."""
        ...


def shown(decision: Decided) -> Conditions:
    """What a decision shows; each type of condition once."""
    return shown_by(decision.conditions)


def shown_by(conditions: Iterable[Condition]) -> Conditions:
    """What conditions say; each type once."""
    each = list(conditions)
    made = Conditions({one.type: Shown(one.status, one.reason, one.message) for one in each})
    assert len(made) == len(each), f"a condition twice: {[one.type for one in each]}"
    return made
