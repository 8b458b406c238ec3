"""What happens to an app or a group whose look failed: when it is looked at again, and what the status says.

It never raises, except where memory is exhausted: the worker goes on with the next app.
"""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime

from gitops_bg.agent.observability.logs import fields
from gitops_bg.agent.observability.metrics import Metrics
from gitops_bg.agent.runtime.boundaries import log_bug, quietly
from gitops_bg.cluster.api.errors import NamespaceClosed, NamespaceMissing
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.backoff import Backoff
from gitops_bg.core.errors import (
    PASSING,
    GitopsBgError,
    InternalError,
    InvalidInput,
    Refused,
    Transient,
)
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.status.alike import internal_error

LOGGER = logging.getLogger(__name__)

_SLOW = 30.0
"""Seconds before the next look after a refusal: a right, or a file, does not change by itself."""
_SOON, _SOON_AT_MOST = 1.0, 5.0
"""The same where live traffic is to move, at first and later: an API server that has just started refuses what it will
take a moment later, before it has read who has which rights, and nobody can tell the one refusal from the other.
"""
_AFTER_A_BUG = 1.0
"""Seconds before the first look after a bug, which will most likely occur again."""


class Failures:
    """Counts the failures of each; ``wake_later`` schedules the next look, ``clock`` gives UTC. ``moves_traffic`` tells
    whether its live traffic is to move.

    ``await_namespace`` has an app looked at once its namespace exists, and may be listed.
    """

    def __init__(
        self,
        cluster: Cluster,
        metrics: Metrics,
        backoff: Backoff[AppOrGroup],
        wake_later: Callable[[Iterable[AppOrGroup], float], None],
        clock: Callable[[], datetime],
        await_namespace: Callable[[AppOrGroup], None],
        moves_traffic: Callable[[AppOrGroup], bool],
    ) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._backoff = backoff
        self._wake_later = wake_later
        self._clock = clock
        self._await_namespace = await_namespace
        self._moves_traffic = moves_traffic
        self.apps: set[AppOrGroup] = set()

    def succeeded(self, app: AppOrGroup) -> None:
        """Note that a look succeeded."""
        self._backoff.succeeded(app)
        self.apps.discard(app)

    def failed(self, app: AppOrGroup, error: GitopsBgError) -> None:
        """Schedule the next look by who must act (DESIGN §10.1): soon, later, or when the file changes."""
        self.apps.add(app)
        seconds = self._seconds(app, error)
        self._wake_later([app], seconds)
        if isinstance(error, NamespaceMissing | NamespaceClosed):
            self._await_namespace(app)
        with quietly(f"telling that {app} failed", app):
            self._metrics.failed(app, error.reason)
            self._log(app, error, seconds)
            if isinstance(error, Refused | InvalidInput):
                self._cluster.record_event(app, error.reason, str(error), self._clock(), warning=True)
            if isinstance(error, InternalError):
                self._show(app, error)

    def _seconds(self, app: AppOrGroup, error: GitopsBgError) -> float:
        """How long to wait before the next look."""
        if isinstance(error, Refused) and self._moves_traffic(app):
            return min(_SOON_AT_MOST, self._backoff.failed(app, at_least=_SOON))
        return self._backoff.failed(app, at_least=_at_least(error))

    def _log(self, app: AppOrGroup, error: GitopsBgError, seconds: float) -> None:
        if isinstance(error, InternalError) and error.__cause__ is not None:
            log_bug(error, app)
        log = LOGGER.debug if isinstance(error, PASSING) else LOGGER.warning
        log("%s; again in %.1f s", error, seconds, extra=fields(app=app, reason=error.reason))

    def _show(self, app: AppOrGroup, error: InternalError) -> None:
        """Show a bug by a condition and, where it is new, an Event: there was no decision to show it."""
        if self._cluster.warn(app, internal_error(app, error), self._clock()):
            self._cluster.record_event(app, error.reason, str(error), self._clock(), warning=True)


def _at_least(error: GitopsBgError) -> float:
    """The minimum number of seconds before the next look, whatever the backoff says."""
    if isinstance(error, Refused | InvalidInput):
        return _SLOW
    if isinstance(error, InternalError):
        return _AFTER_A_BUG
    return (error.retry_after if isinstance(error, Transient) else None) or 0.0
