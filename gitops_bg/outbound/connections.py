"""Connections that go only where `AddressRules` permit, of httpx, and of libraries that connect by themselves.

What is checked is the address that is connected to: a server of names can answer differently a second time.
"""

import asyncio
import functools
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import field
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies_environment

import httpcore
import httpx

from gitops_bg.core.dataclass import dataclass
from gitops_bg.outbound.addresses import AddressRules, is_address

# --- of httpx: a name is resolved once, and what was checked is used ---

_C = TypeVar("_C", httpx.Client, httpx.AsyncClient)
_Options = Iterable[Any] | None


class GuardedBackend(httpcore.NetworkBackend):
    """Connects to permitted addresses."""

    def __init__(self, rules: AddressRules) -> None:
        self._rules = rules
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: _Options = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first permitted address of a host that takes it. Raises ``httpcore.ConnectError``."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        failed: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in _permitted(self._rules, host, found):
            try:
                return self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed


class AsyncGuardedBackend(httpcore.AsyncNetworkBackend):
    """The same in an event loop."""

    def __init__(self, rules: AddressRules) -> None:
        self._rules = rules
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: _Options = None,
    ) -> httpcore.AsyncNetworkStream:
        """Do as `GuardedBackend.connect_tcp`."""
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        failed: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in _permitted(self._rules, host, found):
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed


def guarded(client: _C, rules: AddressRules) -> _C:
    """Have a client connect by the rules. A proxy of the operator (``HTTPS_PROXY``) has rules of its own."""
    backend = AsyncGuardedBackend(rules) if isinstance(client, httpx.AsyncClient) else GuardedBackend(rules)
    transport: Any = client._transport
    transport._pool._network_backend = backend  # httpx has no argument for it
    return client


def _permitted(rules: AddressRules, host: str, found: Iterable[tuple[Any, ...]]) -> list[str]:
    """Return the permitted addresses, each once, in the order of the resolver. Raises ``httpcore.ConnectError`` for
    none.
    """
    every = list(dict.fromkeys(str(each[4][0]) for each in found))
    permitted = [address for address in every if not rules.refusal(address)]
    if every and not permitted:
        refused = rules.refusal(every[0])
        raise httpcore.ConnectError(refused if host == every[0] else f"{host} leads to a refused address: {refused}")
    return permitted


# --- of libraries that resolve names by themselves ---
# Python tells a hook of every connection with the very address that it goes to, so no second answer of a server of
# names can lead elsewhere (https://docs.python.org/3/library/audit_events.html, ``socket.connect``). No library is
# loaded for that.

_guard: ContextVar["_Guard | None"] = ContextVar("_guard", default=None)


@dataclass(frozen=True, slots=True)
class _Guard:
    rules: AddressRules
    proxies: frozenset[tuple[str, int]]
    refused: list[str] = field(default_factory=list)


class NotPermitted(ConnectionRefusedError):
    """The rules permit no connection to an address."""


@contextmanager
def permitted_connections(rules: AddressRules) -> Iterator[list[str]]:
    """Let this context, and the threads that it is handed on to, connect only where ``rules`` permit.

    A proxy of the environment is the operator's, and always permitted. Elsewhere a connection raises `NotPermitted`.
    Yields the list of what was refused, with the reasons: a library may keep them to itself.
    """
    _install()
    guard = _Guard(rules, _proxies())
    token = _guard.set(guard)
    try:
        yield guard.refused
    finally:
        _guard.reset(token)


def _proxies() -> frozenset[tuple[str, int]]:
    """Return addresses and ports of the proxies that the environment names; of one whose name nobody knows, none."""
    found: set[tuple[str, int]] = set()
    for url in {url for scheme, url in getproxies_environment().items() if scheme != "no"}:
        with suppress(OSError, ValueError):
            proxy = urlsplit(url if "://" in url else f"http://{url}")
            port = proxy.port or (443 if proxy.scheme == "https" else 80)
            for _, _, _, _, address in socket.getaddrinfo(proxy.hostname, port, type=socket.SOCK_STREAM):
                found.add((str(address[0]), port))
    return frozenset(found)


@functools.cache
def _install() -> None:
    """Install the hook, which stays as long as the process: it costs other calls one comparison."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "socket.connect" or (guard := _guard.get()) is None:
        return
    address = arguments[1]
    # What is no address of the internet is a file of this machine, or stranger.
    internet = isinstance(address, tuple) and is_address(str(address[0]))
    if internet and (str(address[0]), address[1]) in guard.proxies:
        return
    refused = guard.rules.refusal(str(address[0])) if internet else f"{address!r} is no address of another machine"
    if refused:
        guard.refused.append(refused)
        raise NotPermitted(refused)
