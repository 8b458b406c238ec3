"""What happens after a failure: the loop goes on (decision 26), a bug is logged once in full, and an app or a group
whose look failed is looked at again, after a while or once its namespace is there, and says so in its status.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from gitops_bg.agent.logs import fields
from gitops_bg.cluster.api.errors import NamespaceClosed, NamespaceMissing, no_namespace
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.backoff import Backoff
from gitops_bg.core.errors import (
    PASSING,
    Exhausted,
    GitopsBgError,
    InternalError,
    InvalidInput,
    Refused,
    Transient,
    guarded,
)
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.names import promotion_branch
from gitops_bg.core.status.alike import internal_error

if TYPE_CHECKING:
    from gitops_bg.agent.metrics import Metrics

LOGGER = logging.getLogger(__name__)
_MOST_KNOWN = 1000


class KnownBugs:
    """The bugs already logged: the traceback of a bug is needed once, however often the bug occurs."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def is_news(self, error: InternalError) -> bool:
        """Return whether the bug occurs for the first time (in a long while)."""
        if str(error) in self._told:
            return False
        if len(self._told) >= _MOST_KNOWN:
            self._told.clear()
        self._told.add(str(error))
        return True


_KNOWN = KnownBugs()


def log_bug(error: GitopsBgError, app: AppOrGroup | None = None) -> None:
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
def quietly(what: str, app: AppOrGroup | None = None) -> Iterator[None]:
    """Log any error inside and go on: for work whose result nobody waits for."""
    try:
        with guarded(what):
            yield
    except InternalError as error:
        log_bug(error, app)
    except GitopsBgError as error:
        LOGGER.warning("%s: %s", what, error, extra=fields(app=app, reason=error.reason))


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
        metrics: "Metrics",
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
        """Return how long to wait before the next look."""
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
    """Return the minimum number of seconds before the next look, whatever the backoff says."""
    if isinstance(error, Refused | InvalidInput):
        return _SLOW
    if isinstance(error, InternalError):
        return _AFTER_A_BUG
    return (error.retry_after if isinstance(error, Transient) else None) or 0.0


LOOK_SECONDS = 5.0
"""Seconds between two looks."""


def log_missing(namespaces: Iterable[str], exists: Callable[[str], bool]) -> None:
    """Log each namespace that does not exist, or may not be looked for, with the command.

    Its apps wait; those of the others do not.
    """
    for name in namespaces:
        with quietly(f"looking for namespace {name}"):
            if not exists(name):
                LOGGER.warning("%s", no_namespace(name))


class AwaitedNamespaces:
    """``exists`` says whether apps of a namespace can go on, ``wake`` queues apps. Thread-safe."""

    def __init__(
        self,
        exists: Callable[[str], bool],
        wake: Callable[[Iterable[AppOrGroup]], None],
    ) -> None:
        self._exists = exists
        self._wake = wake
        self._lock = threading.Lock()
        self._waiting: dict[str, set[AppOrGroup]] = defaultdict(set)

    def wait_for(self, app: AppOrGroup) -> None:
        """Wake an app once its namespace is there."""
        with self._lock:
            self._waiting[app.namespace].add(app)

    def check(self) -> None:
        """Wake the apps whose namespaces are there now."""
        for namespace in sorted(self._waiting):
            try:
                if self._exists(namespace):
                    self._wake(self._forget(namespace))
            except Refused:  # without the right to look, its apps are retried by their backoff alone
                self._forget(namespace)
            except GitopsBgError:
                continue

    def _forget(self, namespace: str) -> list[AppOrGroup]:
        with self._lock:
            return sorted(self._waiting.pop(namespace, set()), key=promotion_branch)
