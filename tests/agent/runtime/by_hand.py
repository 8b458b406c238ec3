"""A time zone of a scheduler whose time a test sets."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from gitops_bg.agent.runtime.alarms import SteadyTime


class ByHand(SteadyTime):
    """Its time is what `now` says."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(now)
        self._now = now

    def fromutc(self, _moment: datetime, /) -> datetime:
        """Whatever the machine's clock says."""
        return self._now().replace(tzinfo=self)
