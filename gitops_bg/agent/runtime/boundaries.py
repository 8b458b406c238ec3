"""Boundaries for bugs: what is caught at the boundary of an app, a poll, a batch or a timer is logged once, in full.

The loop goes on (decision 26). Nothing here decides what is retried, or when.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from gitops_bg.agent.observability.logs import fields
from gitops_bg.core.errors import Exhausted, GitopsBgError, InternalError, guarded
from gitops_bg.core.model.version import Subject

LOGGER = logging.getLogger(__name__)
_MOST_KNOWN = 1000


class KnownBugs:
    """The bugs already logged: the traceback of a bug is needed once, however often the bug occurs."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def is_news(self, error: InternalError) -> bool:
        """Whether the bug occurs for the first time (in a long while)."""
        if str(error) in self._told:
            return False
        if len(self._told) >= _MOST_KNOWN:
            self._told.clear()
        self._told.add(str(error))
        return True


_KNOWN = KnownBugs()


def log_bug(error: GitopsBgError, app: Subject | None = None) -> None:
    """Log a bug: with its traceback the first time, at DEBUG afterwards. Any other error is none, and is not logged."""
    if not isinstance(error, InternalError):
        return
    if isinstance(error, Exhausted):
        LOGGER.warning("%s", error, extra=fields(app=app, reason=error.reason))
    elif _KNOWN.is_news(error):
        LOGGER.error("%s", error, exc_info=error.__cause__, extra=fields(app=app, reason=error.reason))
    else:
        LOGGER.debug("%s, once more", error, extra=fields(app=app, reason=error.reason))


@contextmanager
def quietly(what: str, app: Subject | None = None) -> Iterator[None]:
    """Log any error inside and go on: for work whose result nobody waits for."""
    try:
        with guarded(what):
            yield
    except InternalError as error:
        log_bug(error, app)
    except GitopsBgError as error:
        LOGGER.warning("%s: %s", what, error, extra=fields(app=app, reason=error.reason))
