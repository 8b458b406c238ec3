"""Where main was between two looks of this process, and for which apps ``primary.yaml`` changed on the way.

Each look compares all that came since the one before. What is known from that need not be asked of git again, which
walks the whole way since an app's last promotion for it. Pure: it only remembers.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gitops_bg.core.model.version import AppKey

_MOST_STEPS, _MOST_CHANGES = 1000, 20_000
"""How many steps are remembered, and changes of an app in all of them; what is older is asked of git."""


@dataclass(frozen=True, slots=True)
class Step:
    """The way between two heads of main, of which the later contains the earlier."""

    before: str
    head: str
    promoted: Mapping[AppKey, tuple[str, ...]]
    """The apps whose ``primary.yaml`` was changed, and by which commits in between, newest first."""


class WalkedMain:
    """The last steps, each beginning where the one before it ends."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque()
        self._changes = 0

    def add(self, step: Step) -> None:
        """Add the newest step. A step that begins earlier replaces those since then: its reader could not use them."""
        while self._steps and self._steps[-1].head != step.before:
            self._changes -= len(self._steps.pop().promoted)
        self._steps.append(step)
        self._changes += len(step.promoted)
        while len(self._steps) > _MOST_STEPS or (self._changes > _MOST_CHANGES and len(self._steps) > 1):
            self._changes -= len(self._steps.popleft().promoted)

    def forget(self) -> None:
        """Forget all: main went another way."""
        self._steps.clear()
        self._changes = 0

    def changes(
        self, app: AppKey, since: str, head: str, follows: Callable[[str, str], bool] = lambda *_: False
    ) -> list[str] | None:
        """The commits between two that changed the app's ``primary.yaml``, newest first.

        ``since`` is a head, or the only commit that changed that file in its step, if it ``follows`` the head before
        (the first argument): one of a branch may lack what came into main meanwhile. None where it is not known how
        main went from one to the other.
        """
        found: list[str] = []
        for step in self._before(head):
            if step.head == since:
                return found
            of_app = step.promoted.get(app, ())
            if since in of_app:
                return found if of_app == (since,) and follows(step.before, since) else None
            found += of_app
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
