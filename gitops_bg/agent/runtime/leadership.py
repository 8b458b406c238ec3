"""Whether this agent may work: it holds the Lease, and renewed it recently. Watching goes on without the Lease.

A frozen process thaws in the middle of its work. So every write first asks for the age of the last renewal, by a clock
that goes on while a process stands still; a write that slips through between question and write is stopped by the lock
of the record (decision 20).
"""

import logging
import threading
import time
from collections.abc import Callable

from gitops_bg.cluster.api.lease import Lease
from gitops_bg.core.errors import GitopsBgError, LostLeadership

LOGGER = logging.getLogger(__name__)


class Leadership:
    """Holds the lease, or tries to. ``lease`` None: no other agent is expected, and this one always leads.

    ``changed`` is called on this thread with whether the lease is held and by whom, whenever either changes.
    """

    def __init__(
        self, lease: Lease | None, changed: Callable[[bool, str], None], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._lease = lease
        self._changed = changed
        self._monotonic = monotonic
        self._renewed: float | None = None
        self._holding = False
        self._told = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    @property
    def holds(self) -> bool:
        """Whether this agent may work now."""
        if self._lease is None:
            return True
        renewed = self._renewed
        return renewed is not None and self._monotonic() - renewed < self._lease.settings.renew_deadline

    @property
    def holder(self) -> str:
        """The holder of the lease, as far as this agent knows; empty for nobody, or without a lease."""
        return self._lease.holder if self._lease else ""

    @property
    def alive(self) -> bool:
        """Whether the thread that renews the lease runs."""
        return self._lease is None or self._thread.is_alive()

    def require(self) -> None:
        """Check leadership before a write. Raises `LostLeadership`."""
        if not self.holds:
            raise LostLeadership("this agent does not hold its lease any more, or has not renewed it in time")

    def start(self) -> None:
        """Start to compete for the lease; returns at once."""
        if self._lease is not None:
            self._thread.start()

    def stop(self, timeout: float = 1.0) -> None:
        """Release the lease, if it is held, so that the next agent gets it at once. Call it when all work has ended."""
        self._stopped.set()
        if self._lease is None or not self._thread.is_alive():
            return
        self._thread.join(timeout)
        try:
            if self._renewed is not None and not self._thread.is_alive():
                self._lease.give_back()
        except GitopsBgError as error:
            LOGGER.warning("the lease was not given back: %s; another agent takes it when it is over", error)
        self._renewed = None

    def _run(self) -> None:
        assert self._lease is not None
        while not self._stopped.is_set():
            self._try(self._lease)
            self._report()
            self._stopped.wait(self._lease.settings.retry)

    def _try(self, lease: Lease) -> None:
        begun = self._monotonic()
        try:
            held = lease.attempt()
        except GitopsBgError as error:
            LOGGER.warning("the lease cannot be asked for: %s", error)
            return  # until the deadline, the last renewal counts
        self._renewed = begun if held else None

    def _report(self) -> None:
        """Report a change of leadership or holder."""
        if (self.holds, self.holder) == (self._holding, self._told):
            return
        before, self._holding, self._told = self._holding, self.holds, self.holder
        self._changed(self._holding, self.holder)
        name = f"{self._lease.settings.namespace}/{self._lease.settings.name}" if self._lease else ""
        if before == self._holding:
            LOGGER.info("standing by: %s holds the lease %s", self.holder or "nobody", name)
            return
        if self._holding:
            LOGGER.info("took the lease %s", name)
        else:
            LOGGER.warning("lost the lease %s to %s: standing by", name, self.holder or "nobody yet")
