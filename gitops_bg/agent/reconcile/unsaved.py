"""What was noted of apps and is not saved yet (``core.status.notes``): it is saved with what is next, or after a while.

Later looks decide on the record with its notes. With the process they are lost, and taken again by the next one.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey

LONGEST = timedelta(minutes=1)
"""After this long, notes are saved by themselves: who reads the status sees them."""


@dataclass(slots=True)
class _Noted:
    """A record with notes, and the saved one that it follows."""

    saved: Record
    record: Record
    since: datetime


class Unsaved:
    """The notes of all apps. Thread-safe as long as each app has one thread at a time."""

    def __init__(self) -> None:
        self._noted: dict[AppKey, _Noted] = {}

    def record(self, app: AppKey, saved: Record) -> Record:
        """The record to decide on; ``saved`` is the live one. Notes on another record are dropped."""
        noted = self._noted.get(app)
        if noted is None:
            return saved
        if noted.saved == saved:
            return noted.record
        self.drop(app)
        return saved

    def saved(self, app: AppKey, record: Record) -> Record:
        """The live record that ``record`` follows."""
        noted = self._noted.get(app)
        return noted.saved if noted else record

    def may_wait(self, app: AppKey, now: datetime) -> bool:
        """Whether notes may wait longer."""
        noted = self._noted.get(app)
        return noted is None or now < noted.since + LONGEST

    def note(self, app: AppKey, saved: Record, record: Record, now: datetime) -> None:
        """Keep a record that was not saved."""
        noted = self._noted.get(app)
        self._noted[app] = _Noted(saved, record, noted.since if noted else now)

    def until(self, app: AppKey) -> datetime | None:
        """When the notes of an app are to be saved; None where it has none."""
        noted = self._noted.get(app)
        return noted.since + LONGEST if noted else None

    def drop(self, app: AppKey) -> None:
        """Forget the notes of an app: they are saved, or the app is gone."""
        self._noted.pop(app, None)
