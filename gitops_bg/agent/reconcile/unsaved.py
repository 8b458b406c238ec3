"""What was noted of apps and is not saved yet (``core.model.decision``): the next save has it, or one a while later.

Later looks decide on the record with its notes. With the process they are lost, and taken again by the next one.
"""

from dataclasses import dataclass
from datetime import datetime

from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey


@dataclass(frozen=True, slots=True)
class _DeferredStatus:
    """A record with notes, the saved one that it follows, and when it is to be saved at the latest."""

    saved: Record
    record: Record
    until: datetime


class Unsaved:
    """The notes of all apps. Thread-safe as long as each app has one thread at a time."""

    def __init__(self) -> None:
        self._noted: dict[AppKey, _DeferredStatus] = {}
        self._hurries = False

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

    def may_wait(self, app: AppKey, saved: Record, record: Record, until: datetime, now: datetime) -> bool:
        """Whether the notes in ``record`` may wait, until then and no longer than those before; if so, keep them.

        ``saved`` is the live record.
        """
        noted = self._noted.get(app)
        until = min(until, noted.until) if noted else until
        if self._hurries or until <= now:
            return False
        self._noted[app] = _DeferredStatus(saved, record, until)
        return True

    def until(self, app: AppKey) -> datetime | None:
        """When the notes of an app are to be saved; None where it has none."""
        noted = self._noted.get(app)
        return noted.until if noted else None

    def hurry(self) -> frozenset[AppKey]:
        """From now on no note may wait; return the apps that have some."""
        self._hurries = True
        return frozenset(self._noted)

    def drop(self, app: AppKey) -> None:
        """Forget the notes of an app: they are saved, or the app is gone."""
        self._noted.pop(app, None)
