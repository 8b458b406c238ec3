"""The connection to the API server: one identity, its credentials, its counts, one retry, and the skew of the server's
clock.

It sends and receives bytes; `client` gives them meaning, a `transport` carries them. Whatever the media type, a body is
UTF-8 that JSON and YAML readers understand alike: the API server reads an apply as YAML. Retries belong to the caller
(pitfalls.md §1.2); the only hidden one follows a 401, with credentials read anew.

A request may act as a ServiceAccount of the namespace that it is about. Lists and watches are the agent's own: one
watch may be about many namespaces. So are the objects that it keeps for itself, its records, Events and Lease, which no
tenant has a say in.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode

import urllib3

from gitops_bg.cluster.api.access import IN_CLUSTER, SERVICE_ACCOUNT, Access
from gitops_bg.cluster.api.errors import Silent, border, refusal
from gitops_bg.cluster.api.kinds import APPS, EVENTS, LEASES, RELEASE_GROUPS
from gitops_bg.cluster.api.transport import Transport, plain_transport
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import json_for_yaml

TOLERATED = timedelta(seconds=5)
"""A smaller difference does not matter: a Date counts whole seconds, and NTP keeps clocks closer than this."""
_RESOLUTION = timedelta(seconds=1)


class Skew:
    """Observes every response, from any thread. ``clock`` gives UTC, by the clock that waits are measured with."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._least = timedelta()

    def now(self) -> datetime:
        """Return our time."""
        return self._clock()

    def observe(self, date: str | None, sent: datetime) -> None:
        """Note the Date header of a response that has just arrived, to a request ``sent`` at that time."""
        try:
            said = parsedate_to_datetime(date) if date else None
        except ValueError:
            return
        if said is not None and said.tzinfo is not None:
            self._least = least_skew(said, sent, self._clock())

    @property
    def seconds(self) -> float:
        """By how many seconds the server's clock is ahead at least (negative: behind), by its last response."""
        return self._least.total_seconds()

    @property
    def noteworthy(self) -> int:
        """The skew in whole seconds; 0 where it is tolerated."""
        return round(self.seconds) if abs(self._least) > TOLERATED else 0


def least_skew(said: datetime, sent: datetime, received: datetime) -> timedelta:
    """Return the smallest difference that explains a response: the server read its clock between ``sent`` and
    ``received``.

    >>> from datetime import UTC
    >>> at = lambda second: datetime(2026, 1, 1, 12, 0, second, tzinfo=UTC)
    >>> [least_skew(at(said), at(10), at(12)).total_seconds() for said in (30, 11, 5)]
    [18.0, 0.0, -4.0]
    """
    if said > received:
        return said - received
    return min(timedelta(), said + _RESOLUTION - sent)


_OWN = frozenset(kind.plural for kind in (APPS, RELEASE_GROUPS, EVENTS, LEASES))
_OUTSIDE = re.compile(r"/(?:(?!.*/namespaces/).*|api/v1/namespaces/[^/]+)")
"""Of no namespace, or a Namespace itself."""
_INSIDE = re.compile(
    r"/(?:api|apis/[^/]+)/[^/]+/namespaces/(?P<namespace>[^/]+)/(?P<plural>[^/]+)(?P<name>(?:/[^/]+)+)?"
)


def impersonation(account: str, method: str, path: str) -> dict[str, str]:
    """Return the headers by which a request acts as the ServiceAccount ``account`` of its namespace; none where it does
    not.

    >>> impersonation("apps", "PATCH", "/apis/apps/v1/namespaces/shop/replicasets/web-v1")
    {'Impersonate-User': 'system:serviceaccount:shop:apps'}
    >>> impersonation("apps", "GET", "/apis/apps/v1/namespaces/shop/replicasets")
    {}
    >>> impersonation("apps", "PUT", "/apis/gitops-bg.dev/v1alpha1/namespaces/shop/bluegreendeployments/web/status")
    {}

    Raises ``ValueError`` for a path that is about some namespace, nobody can tell how: the agent's own rights are no
    answer to that.

    https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
    """
    if not account or _OUTSIDE.fullmatch(path):
        return {}
    inside = _INSIDE.fullmatch(path)
    if inside is None:
        raise ValueError(f"whose rights {method} {path} needs cannot be told")
    if inside["plural"] in _OWN or (method == "GET" and not inside["name"]):
        return {}
    return {"Impersonate-User": f"system:serviceaccount:{inside['namespace']}:{account}"}


Count = Callable[[str, str, float], None]
"""Called for every request: its verb, the status code or `NO_ANSWER`, and the seconds until the response began."""
NO_ANSWER = "none"

_CREDENTIALS_SECONDS = 1.0  # the longest use of a replaced token; a 401 ends it at once


def own_namespace() -> str:
    """Return the namespace of the pod that this process runs in; empty outside of a cluster."""
    file = SERVICE_ACCOUNT / "namespace"
    return file.read_text().strip() if os.environ.get(IN_CLUSTER) and file.exists() else ""


def transport_of(access: Access) -> Transport:
    """Return what carries the requests of this identity. Raises `NoAccess`."""
    plain = plain_transport(access) if access.plain_first else None
    if plain is not None:
        return plain
    from gitops_bg.cluster.api.library_transport import LibraryTransport

    return LibraryTransport(access)


@dataclass(frozen=True, slots=True)
class Call:
    """One request: ``query`` without the parameters of every request; ``what`` names it in errors."""

    what: str
    """The first word is the verb."""
    method: str
    path: str
    query: Mapping[str, str]
    body: Any = None
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """An HTTP response, read to its end."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class Connection:
    """Sends requests as one identity. Thread-safe (pitfalls.md §1.2).

    ``may_send`` is called right before each request is sent, including the retry after a 401, and raises where it may
    not.
    """

    def __init__(
        self,
        access: Access,
        skew: Skew | None = None,
        count: Count = lambda *_: None,
        may_send: Callable[[Call], None] = lambda _: None,
    ) -> None:
        self._access = access
        self._count = count
        self._may_send = may_send
        self._skew = skew
        self._lock = threading.Lock()
        self._transport = transport_of(access)
        self._known: tuple[Transport | None, float, dict[str, str]] = (None, 0.0, {})
        self._asking: set[int] = set()

    def close(self) -> None:
        """Close every idle connection."""
        self._transport.close()

    def send(self, call: Call) -> ApiAnswer:
        """Send ``call`` and read the response, whatever its status. Raises `Transient` and `Refused`."""
        thread = threading.get_ident()
        self._asking.add(thread)
        try:
            with border(call.what):
                response = self._authorized(call, self._access.read_timeout)
                return ApiAnswer(response.status, response.headers, response.data)
        finally:
            self._asking.discard(thread)

    def is_asking(self, thread: int) -> bool:
        """Return whether a thread waits for an answer of the server, which ends by the timeouts of `Access`."""
        return thread in self._asking

    def open(self, call: Call, read_timeout: float) -> "Stream":
        """Send ``call`` and return the response as a stream of lines; refusals raise at once."""
        with border(call.what):
            response = self._authorized(call, read_timeout)
            if not 200 <= response.status < 300:
                raise refusal(call.what, response.status, response.headers, response.data, call.path)
            return Stream(call.what, response)

    def _authorized(self, call: Call, read_timeout: float) -> urllib3.HTTPResponse:
        transport = self._transport
        response = self._send(transport, call, read_timeout)
        if response.status != 401:
            return response
        _ = response.data
        return self._send(self._reconnect(transport), call, read_timeout)

    def _send(self, transport: Transport, call: Call, read_timeout: float) -> urllib3.HTTPResponse:
        headers = {"Accept": "application/json", "User-Agent": self._access.user_agent}
        headers |= self._credentials(transport) | impersonation(self._access.impersonate, call.method, call.path)
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        body = None if call.body is None else json_for_yaml(call.body).encode()
        query = f"?{urlencode(call.query)}" if call.query else ""
        self._may_send(call)
        sent = self._skew.now() if self._skew else None
        verb, code, started = call.what.partition(" ")[0], "", time.monotonic()
        try:
            timeouts = (self._access.connect_timeout, read_timeout)
            response = transport.request(call.method, transport.host + call.path + query, headers, body, timeouts)
            code = str(response.status)
        finally:
            self._count(verb, code or NO_ANSWER, time.monotonic() - started)
        if self._skew and sent:
            self._skew.observe(response.headers.get("Date"), sent)
        return response

    def _credentials(self, transport: Transport) -> dict[str, str]:
        """Return the headers with the identity; kept for a moment, because a transport may take its time for them."""
        known, until, headers = self._known
        if known is not transport or time.monotonic() >= until:
            headers = transport.credentials()
            self._known = (transport, time.monotonic() + _CREDENTIALS_SECONDS, headers)
        return headers

    def _reconnect(self, stale: Transport) -> Transport:
        """Return the transport with credentials read anew; built once, however many threads got the 401."""
        with self._lock:
            if self._transport is stale:
                self._transport = transport_of(self._access)
        return self._transport


class Stream:
    """The lines of a response without an end of its own (a watch)."""

    def __init__(self, what: str, response: urllib3.HTTPResponse) -> None:
        self._what = what
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        """Yield each complete line as it arrives; ends when the server ends the response. Raises `Transient`, and
        `Silent` where nothing came for too long.
        """
        pending = b""
        with border(self._what):
            try:
                for chunk in self._response.stream(None, decode_content=True):
                    *lines, pending = (pending + chunk).split(b"\n")
                    yield from (line for line in lines if line)
            except urllib3.exceptions.ReadTimeoutError as error:
                raise Silent(f"{self._what}: nothing came for too long") from error

    def stop(self) -> None:
        """Wake the reader from another thread; its iteration ends, with or without an error."""
        try:
            self._response.shutdown()
        except (OSError, RuntimeError, ValueError):
            return  # closed already

    def close(self) -> None:
        """Drop the connection: a response read halfway cannot be used again."""
        self._response.close()
