"""What failed on a forge, when it is tried again, and what users are told of it. No I/O."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from gitops_bg.core.errors import GitopsBgError, Refused
from gitops_bg.forge.errors import NotFound
from gitops_bg.forge.plan import Kind

LOGGER = logging.getLogger(__name__)

FIRST_RETRY, LONGEST_RETRY = 5.0, 900.0
"""Seconds until the next attempt; they double each time."""
REFUSED_RETRY = 60.0
"""The first wait after a refusal; what is not found may have been made only a moment ago."""
FAILURES_TOLD = 3
"""After how many consecutive failures a passing error is reported; a refusal is reported at once."""


@dataclass(slots=True)
class _Failure:
    error: GitopsBgError
    count: int
    until: datetime


class Failures:
    """Failures by key: the whole forge (empty), a kind of write, one write, or one question."""

    def __init__(self) -> None:
        self._known: dict[str, _Failure] = {}

    def failed(self, key: str, error: GitopsBgError, now: datetime) -> bool:
        """Count a failure; return whether to report it: the first one, or another reason."""
        before = self._known.get(key)
        count = before.count + 1 if before else 1
        first = REFUSED_RETRY if isinstance(error, Refused) and not isinstance(error, NotFound) else FIRST_RETRY
        seconds = min(LONGEST_RETRY, first * 2 ** min(count - 1, 20))
        seconds = max(seconds, getattr(error, "retry_after", None) or 0.0)
        self._known[key] = _Failure(error, count, now + timedelta(seconds=seconds))
        return before is None or before.error.reason != error.reason

    def over(self, key: str) -> None:
        """Forget the failure: it succeeded."""
        if self._known.pop(key, None) and not key:
            LOGGER.info("the forge answers again")

    def until(self, key: str, now: datetime) -> datetime | None:
        """Return when to try again; None: now."""
        known = self._known.get(key)
        return known.until if known and known.until > now else None

    def troubles(self) -> dict[str, str]:
        """Return what users are told: by branch, and under the empty name for the whole forge."""
        told = {key: str(each.error) for key, each in self._known.items() if _is_worth_telling(each)}
        of_all = told.get("") or next((said for key, said in told.items() if key in Kind.__members__), "")
        found = {"": of_all} if of_all else {}
        for key, said in told.items():
            _, space, branch = key.partition(" ")
            if space:
                found[branch] = said
        return found


def _is_worth_telling(failure: _Failure) -> bool:
    return isinstance(failure.error, Refused) or failure.count >= FAILURES_TOLD
