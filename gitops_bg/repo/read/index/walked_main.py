"""Where main was between two looks of this process, and for which apps ``primary.yaml`` changed on the way.

Each look compares all that came since the one before. What is known from that need not be asked of git again, which
walks the whole way since an app's last promotion for it. Pure: it only remembers.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from gitops_bg.core.model.version import AppKey

_MOST = 1000
"""How many steps are remembered; what is older is asked of git."""


@dataclass(frozen=True, slots=True)
class Step:
    """The way between two heads of main, of which the later contains the earlier."""

    before: str
    head: str
    promoted: frozenset[AppKey]
    """The apps whose ``primary.yaml`` any commit in between changed."""


class WalkedMain:
    """The last steps, each beginning where the one before it ends."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque(maxlen=_MOST)

    def add(self, step: Step) -> None:
        """Add the newest step. A step that begins earlier replaces those since then: its reader could not use them."""
        while self._steps and self._steps[-1].head != step.before:
            self._steps.pop()
        self._steps.append(step)

    def forget(self) -> None:
        """Forget all: main went another way."""
        self._steps.clear()

    def steps(self, app: AppKey, since: str, head: str) -> list[Step] | None:
        """The steps between two commits in which an app was promoted, newest first.

        None where it is not known how main went from one to the other.
        """
        if since == head:
            return []
        found = []
        for step in self._before(head):
            if app in step.promoted:
                found.append(step)
            if step.before == since:
                return found
        return None

    def _before(self, head: str) -> Iterator[Step]:
        """The steps up to a head, newest first."""
        reached = False
        for step in reversed(self._steps):
            reached = reached or step.head == head
            if reached:
                yield step
