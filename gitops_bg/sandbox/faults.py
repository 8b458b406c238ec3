"""What goes wrong on demand: refusals, delays, lost connections, lost history. It must never act unasked.

Every fault names a verb and a resource (`*` is any) and may be limited to a number of requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock

from gitops_bg.sandbox.http.calls import Call
from gitops_bg.sandbox.http.errors import ApiError, forbidden
from gitops_bg.sandbox.objects.store import Backup, Store

Hook = Callable[[Call], None]


class ConnectionLost(Exception):
    """Raised in a hook: the connection ends without an answer."""


@dataclass(slots=True)
class _Fault:
    verb: str
    resource: str
    namespace: str | None
    status: int = 0
    seconds: float = 0.0
    message: str = ""
    retry_after: int | None = None
    remaining: int | None = None

    def meets(self, call: Call) -> bool:
        names = ("*", call.plural, call.resource)
        if self.verb not in ("*", call.verb) or self.resource not in names:
            return False
        return self.namespace in (None, call.namespace) and self.remaining != 0


@dataclass
class Faults:
    """The faults in force; `clear` ends all of them."""

    store: Store
    clock_ahead: float = 0.0
    """Seconds by which the Date of answers is ahead of the time; negative: behind."""
    _faults: list[_Fault] = field(default_factory=list)
    _before: list[Hook] = field(default_factory=list)
    _after: list[Hook] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)
    _closing: Event = field(default_factory=Event)
    _writes_left: int | None = None

    def open(self) -> None:
        """Let delays last."""
        self._closing.clear()

    def close(self) -> None:
        """Cut delays short: the sandbox is stopping."""
        self._closing.set()

    def refuse(
        self, verb: str, resource: str, namespace: str | None = None, status: int = 403, times: int | None = None
    ) -> None:
        """Refuse requests as RBAC (403) or any other status would; `resource` is plural or `plural/subresource`."""
        self._faults.append(_Fault(verb, resource, namespace, status, remaining=times))

    def fail(
        self, status: int = 500, times: int | None = None, verb: str = "*", resource: str = "*",
        retry_after: int | None = None,
    ) -> None:  # fmt: skip
        """Answer requests with an error; `retry_after` in seconds goes into the header, as with 429 and 503."""
        self._faults.append(_Fault(verb, resource, None, status, retry_after=retry_after, remaining=times))

    def delay(self, seconds: float, verb: str = "*", resource: str = "*", times: int | None = None) -> None:
        """Hold requests back for some seconds before they are handled."""
        self._faults.append(_Fault(verb, resource, None, seconds=seconds, remaining=times))

    def drop_watches(self) -> None:
        """End every open watch at once, as a restarting server does."""
        self.store.end_watches()

    def backup(self) -> Backup:
        """Save the cluster as it is, as `etcdctl snapshot save` does."""
        return self.store.backup()

    def restore(self, backup: Backup) -> None:
        """Restore the cluster to a backup, including its resourceVersions."""
        self.store.restore(backup)

    def expire_history(self) -> None:
        """Compact: resuming a watch or a paged list from an earlier version is answered with 410."""
        self.store.forget_history()

    def before(self, hook: Hook) -> None:
        """Call `hook` before each request is handled; it may raise ConnectionLost."""
        self._before.append(hook)

    def after(self, hook: Hook) -> None:
        """Call `hook` after each request was handled and before the answer is sent; it may raise ConnectionLost."""
        self._after.append(hook)

    def crash_after_write(self, number: int = 1) -> None:
        """Cut the client off for good after its `number`-th write from now: done, but never answered.

        With 0 it is cut off before its next write. `clear` lets it back in, like a restarted process.
        """
        self._writes_left = number

    def clear(self) -> None:
        """End all faults and hooks."""
        with self._lock:
            self._writes_left = None
            for faults in (self._faults, self._before, self._after):
                faults.clear()

    def meet(self, call: Call) -> None:
        """Let the faults happen to a request that is about to be handled."""
        if not (self._faults or self._before) and self._writes_left is None:
            return
        if self._writes_left is not None and self._writes_left <= 0 and (call.is_write or self._writes_left < 0):
            raise ConnectionLost
        for hook in list(self._before):
            hook(call)
        for fault in self._due(call):
            if fault.seconds:
                self._closing.wait(fault.seconds)
            if fault.status:
                raise _refusal(fault, call)

    def leave(self, call: Call) -> None:
        """Let the faults happen to a request that was handled."""
        for hook in list(self._after):
            hook(call)
        if self._writes_left is None or not call.is_write:
            return
        with self._lock:
            self._writes_left -= 1
            if self._writes_left == 0:
                self._writes_left = -1
                raise ConnectionLost

    def _due(self, call: Call) -> list[_Fault]:
        with self._lock:
            met = [fault for fault in self._faults if fault.meets(call)]
            for fault in met:
                if fault.remaining is not None:
                    fault.remaining -= 1
            return met


_REASONS = {
    401: ("Unauthorized", "Unauthorized"),
    409: ("Conflict", "the sandbox was told to refuse this"),
    410: ("Expired", "The resourceVersion for the provided watch is too old."),
    429: ("TooManyRequests", "Too many requests, please try again later."),
    500: ("InternalError", "Internal error occurred: the sandbox was told to fail"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "the server was unable to return a response in the time allotted"),
}


def _refusal(fault: _Fault, call: Call) -> ApiError:
    if fault.status == 403:
        why = f'User "sandbox" cannot {call.verb} resource "{call.resource}" in API group "{call.group}"'
        where = f' in the namespace "{call.namespace}"' if call.namespace else " at the cluster scope"
        resource = f"{call.plural}.{call.group}" if call.group else call.plural
        return forbidden(resource, call.name, why + where)
    reason, message = _REASONS.get(fault.status, ("", "the sandbox was told to fail"))
    details = {"retryAfterSeconds": fault.retry_after} if fault.retry_after is not None else None
    return ApiError(fault.status, reason, message, details)
