"""Where main was between two looks of this process, and which files by which it speaks to apps changed on the way.

Each look compares all that came since the one before. What is known from that need not be asked of git again, which
would walk the whole way since a file changed last. Pure: it only remembers.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitops_bg.spec.groups.layout import GROUPS_FOLDER

_MOST_STEPS, _MOST_CHANGES = 1000, 20_000
"""How many steps are remembered, and changes of a file in all of them; what is older is asked of git."""


@dataclass(frozen=True, slots=True)
class Step:
    """The way between two heads of main, of which the later contains the earlier."""

    before: str
    head: str
    changed: Mapping[str, tuple[str, ...]]
    """The files that changed, by path, and the commits of main's own line that changed them, newest first."""
    crowded: bool = False
    """Whether nothing is known of what changed below ``groups/`` (`repo.read.index.moved`)."""


class WalkedMain:
    """The last steps, each beginning where the one before it ends."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque()
        self._changes = 0

    def add(self, step: Step) -> None:
        """Add the newest step. A step that begins earlier replaces those since then: its reader could not use them."""
        while self._steps and self._steps[-1].head != step.before:
            self._changes -= len(self._steps.pop().changed)
        self._steps.append(step)
        self._changes += len(step.changed)
        while len(self._steps) > _MOST_STEPS or (self._changes > _MOST_CHANGES and len(self._steps) > 1):
            self._changes -= len(self._steps.popleft().changed)

    def forget(self) -> None:
        """Forget all: main went another way."""
        self._steps.clear()
        self._changes = 0

    def changes(self, path: str, head: str) -> tuple[list[str], str]:
        """The commits up to a head that changed a file, newest first, and the head before all of them: what came until
        then is not known here.
        """
        found, at = list[str](), head
        for step in self._before(head):
            if step.crowded and path.startswith(f"{GROUPS_FOLDER}/"):
                break
            found += step.changed.get(path, ())
            at = step.before
        return found, at

    def _before(self, head: str) -> Iterator[Step]:
        """The steps up to a head, newest first."""
        reached = False
        for step in reversed(self._steps):
            reached = reached or step.head == head
            if reached:
                yield step
