"""Notices looks that hang: their apps and groups say so, and other threads take over the rest of the queue.

All that a look waits for has a deadline of its own, so this is for what nobody thought of.
"""

import logging
from collections.abc import Callable

from gitops_bg.agent.observability.logs import fields
from gitops_bg.agent.runtime.background_thread import BackgroundThread
from gitops_bg.agent.runtime.boundaries import quietly
from gitops_bg.agent.runtime.workers import Workers
from gitops_bg.core.errors import TookTooLong
from gitops_bg.core.model.version import AppOrGroup

LOGGER = logging.getLogger(__name__)

LONGEST = 120.0
"""Seconds after which a look hangs: many requests to a slow API server may take as long."""
EVERY = 5.0


class HangingPasses(BackgroundThread):
    """``tell`` shows an app that its look hangs; it may take as long as a request."""

    def __init__(
        self,
        workers: Workers,
        tell: Callable[[AppOrGroup, TookTooLong], None],
        crashed: Callable[[BaseException], None],
    ) -> None:
        super().__init__("hanging-looks", crashed)
        self._workers = workers
        self._tell = tell

    def _run(self) -> None:
        while self._waited():
            for app, stack in self._workers.replace_hanging(LONGEST):
                LOGGER.error(
                    "a look at %s hangs here:\n%s", app, stack, extra=fields(app=app, reason=TookTooLong.reason)
                )
                with quietly(f"telling that a look at {app} hangs", app):
                    said = f"a look at {app} has lasted for {LONGEST:g} s; the log says where it hangs"
                    self._tell(app, TookTooLong(said))

    def _waited(self) -> bool:
        """Wait for the time of the next look; False once the thread shall end."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, EVERY)
            return not self._stopping
