"""Namespaces that apps wait for: looked for every few seconds while one is missing, or closed to the agent, so that
its apps go on at once.

One question a namespace, however many apps it has; nothing is asked while none is missing. Never fails.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable

from gitops_bg.agent.runtime.boundaries import quietly
from gitops_bg.cluster.api.remedies import no_namespace
from gitops_bg.core.errors import GitopsBgError, Refused
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.names import promotion_branch

LOGGER = logging.getLogger(__name__)

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
