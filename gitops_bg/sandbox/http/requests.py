"""The log of requests served, so that a test can say "nothing was written". It must refuse nothing."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from threading import Lock

from gitops_bg.sandbox.http.calls import Call


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One request and its answer; `status` 0 means that the connection was cut instead."""

    verb: str
    resource: str
    namespace: str
    name: str
    path: str
    user_agent: str
    is_write: bool
    status: int


class Requests:
    """The last requests, newest at the end, and counters of all."""

    def __init__(self, keep: int = 100_000) -> None:
        self._log: deque[ServedRequest] = deque(maxlen=keep)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()

    def log(self, call: Call, status: int) -> None:
        """Add a request to the log."""
        agent = call.headers.get("user-agent", "")
        entry = ServedRequest(
            call.verb, call.resource, call.namespace, call.name, call.path, agent, call.is_write, status
        )
        with self._lock:
            self._log.append(entry)
            self._counts[call.verb, call.resource] += 1

    def all(self) -> list[ServedRequest]:
        """Return the requests since the last `clear`, oldest first."""
        with self._lock:
            return list(self._log)

    def writes(self) -> list[ServedRequest]:
        """Return the requests that were to change something (dry runs are not)."""
        return [entry for entry in self.all() if entry.is_write]

    def count(self, verb: str | None = None, resource: str | None = None) -> int:
        """Return how many requests there were of this verb and resource (None: any)."""
        with self._lock:
            return sum(
                number
                for (own_verb, own_resource), number in self._counts.items()
                if verb in (None, own_verb) and resource in (None, own_resource)
            )

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._log.clear()
            self._counts.clear()
