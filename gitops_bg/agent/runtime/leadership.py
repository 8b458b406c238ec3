"""Whether this agent may work: it holds the Lease (coordination.k8s.io/v1), and renewed it recently. Watching goes on
without the Lease.

A frozen process thaws in the middle of its work. So every write first asks for the age of the last renewal, by a clock
that goes on while a process stands still; a write that slips through between question and write is stopped by the lock
of the record (decision 20).

The client of the Lease is our own, because the library's leader election leaks errors and goes on working (pitfalls.md
§1.5). As in client-go, no other machine's clock is trusted: a lease has expired when its record has not changed for its
duration, by the observer's own monotonic clock.
"""

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import LEASES, OURS, Object
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, LostLeadership, WorldChanged


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """The name of the lease, and its durations in seconds; controller-runtime's by default."""

    namespace: str
    name: str
    duration: float = 15.0
    """How long after the last renewal another agent takes it over."""
    renew_deadline: float = 10.0
    """How long after its last renewal the holder stops working."""
    retry: float = 2.0
    """The interval of renewals and attempts."""


def identity() -> str:
    """Return the identity of this process: its host and pid, and a unique part."""
    return f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}"


class Lease:
    """One lease. Not thread-safe: one thread acquires and renews it. ``monotonic`` gives seconds that never go back."""

    def __init__(
        self, client: Client, settings: LeaseSettings, me: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.settings = settings
        self.me = me
        self.holder = ""
        """The holder, as far as is known; empty: nobody."""
        self._client = client
        self._monotonic = monotonic
        self._seen: tuple[Object | None, float] = (None, 0.0)

    def attempt(self) -> bool:
        """Acquire or renew the lease; return whether this process holds it now.

        Raises `Transient` and `Refused` where the server cannot be asked.
        """
        live = self._client.get(LEASES, self.settings.namespace, self.settings.name)
        spec = (live or {}).get("spec") or {}
        if spec != self._seen[0]:
            self._seen = (spec, self._monotonic())
        self.holder = spec.get("holderIdentity") or ""
        if self.holder not in ("", self.me) and not self._is_over(spec):
            return False
        try:
            self._write(live, self._held(spec))
        except WorldChanged:  # another agent was faster
            return False
        self.holder = self.me
        return True

    def give_back(self) -> None:
        """Release the lease, so that the next agent gets it at once. Raises as `attempt`."""
        live = self._client.get(LEASES, self.settings.namespace, self.settings.name)
        spec = (live or {}).get("spec") or {}
        if live is None or spec.get("holderIdentity") != self.me:
            return
        self._write(live, {**spec, "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _now()})
        self.holder = ""

    def _is_over(self, spec: Object) -> bool:
        duration = spec.get("leaseDurationSeconds") or self.settings.duration
        return self._monotonic() - self._seen[1] >= duration

    def _held(self, spec: Object) -> Object:
        mine = spec.get("holderIdentity") == self.me
        transitions = int(spec.get("leaseTransitions") or 0)
        return {
            "holderIdentity": self.me,
            "leaseDurationSeconds": max(1, round(self.settings.duration)),
            "acquireTime": spec.get("acquireTime") if mine else _now(),
            "renewTime": _now(),
            "leaseTransitions": transitions if mine or not spec else transitions + 1,
        }

    def _write(self, live: Object | None, spec: Object) -> None:
        metadata = {"namespace": self.settings.namespace, "name": self.settings.name}
        body: Object = {"apiVersion": LEASES.api_version, "kind": LEASES.name, "spec": spec}
        if live is None:
            labels = {names.MANAGED_BY: names.MANAGER}
            self._client.create(LEASES, {**body, "metadata": {**metadata, "labels": labels}})
        else:
            self._client.replace(LEASES, {**body, "metadata": live["metadata"]})


def holders(client: Client, namespace: str = "") -> list[tuple[str, str]]:
    """Return the leases of agents as NAMESPACE/NAME, each with its holder, empty for nobody. Raises `Forbidden`."""
    found = client.list(LEASES, namespace, OURS)
    named = ((each["metadata"], each.get("spec") or {}) for each in found)
    return sorted((f"{meta['namespace']}/{meta['name']}", spec.get("holderIdentity") or "") for meta, spec in named)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


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
