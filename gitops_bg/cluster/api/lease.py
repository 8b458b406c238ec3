"""One Lease (coordination.k8s.io/v1), held by one agent at a time: acquired, renewed, taken over, released.

Our own, because the client library's leader election leaks errors and goes on working (pitfalls.md §1.5). As in
client-go, no other machine's clock is trusted: a lease has expired when its record has not changed for its duration, by
the observer's own monotonic clock. Writes of a former holder that has not noticed yet are stopped by `Leadership` and
by the lock of each record (decision 20).
"""

import os
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import LEASES, OURS, Object
from gitops_bg.core import names
from gitops_bg.core.errors import WorldChanged


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
    """The identity of this process: its host and pid, and a unique part."""
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
    """The leases of agents as NAMESPACE/NAME, each with its holder, empty for nobody. Raises `Forbidden`."""
    found = client.list(LEASES, namespace, OURS)
    named = ((each["metadata"], each.get("spec") or {}) for each in found)
    return sorted((f"{meta['namespace']}/{meta['name']}", spec.get("holderIdentity") or "") for meta, spec in named)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
