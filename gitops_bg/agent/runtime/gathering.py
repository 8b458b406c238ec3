"""When a batch is due that gathers what many want to write. Knows nothing of what is written; its caller has the lock.

What somebody waits for is due soon; what is only history, a while later; and each batch has all that waits. Where the
last batch was of many, more follow: then both gather for longer, and history is left out of a batch until it is due
itself. So a thousand apps that promote themselves share a few pushes, and an app that is alone waits for none.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

SOON = timedelta(milliseconds=20)
"""How long what somebody waits for gathers."""
HISTORY = timedelta(milliseconds=500)
"""How long history gathers: nobody waits for it."""
CROWD = 4
"""After a batch of so many, more are expected."""
LASTS = timedelta(seconds=2)
"""For how long they are."""
SOON_IN_A_CROWD, HISTORY_IN_A_CROWD = timedelta(milliseconds=400), timedelta(seconds=2)
"""How long each of the two gathers then."""


@dataclass(slots=True)
class Gathering:
    """The times of the next batch."""

    _due: datetime | None = None
    _history_due: datetime | None = None
    _crowd_until: datetime | None = None

    def add(self, now: datetime, *, urgent: bool, history: bool) -> None:
        """Somebody wants something written: what is ``urgent``, ``history``, or both."""
        crowded = self._is_crowded(now)
        if urgent:
            self.by(now + (SOON_IN_A_CROWD if crowded else SOON))
        if history:
            later = now + (HISTORY_IN_A_CROWD if crowded else HISTORY)
            self._history_due = min(self._history_due or later, later)

    def by(self, moment: datetime) -> None:
        """Have a batch due at a moment, at the latest."""
        self._due = min(self._due or moment, moment)

    def at_once(self, now: datetime) -> None:
        """Have a batch due now, with all that waits."""
        self._due = self._history_due = now

    def is_due(self, now: datetime) -> bool:
        """Whether it is time for a batch."""
        return any(each is not None and each <= now for each in (self._due, self._history_due))

    def patience(self, now: datetime) -> float | None:
        """The seconds until a batch is due; None where nobody waits for one."""
        known = [each for each in (self._due, self._history_due) if each is not None]
        return max(0.0, (min(known) - now).total_seconds()) if known else None

    def begin(self, now: datetime) -> bool:
        """Begin a batch; return whether history is in it: in a crowd, only once it is due itself."""
        self._due = None
        if self._is_crowded(now) and self._history_due is not None and self._history_due > now:
            return False
        self._history_due = None
        return True

    def wrote(self, many: int, now: datetime) -> None:
        """A batch of so many was written."""
        self._crowd_until = now + LASTS if many >= CROWD else None

    def _is_crowded(self, now: datetime) -> bool:
        return self._crowd_until is not None and now < self._crowd_until

    def drop(self) -> None:
        """Nothing waits any more."""
        self._due = self._history_due = None
