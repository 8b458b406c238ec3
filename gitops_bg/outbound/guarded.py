"""Connections of httpx that go only where `AddressRules` permit: a name is resolved once, and what was checked is used.

Were the name given to the connection, it would be resolved again: a server of names can answer differently then.
"""

import asyncio
import socket
from collections.abc import Iterable
from typing import Any, TypeVar

import httpcore
import httpx

from gitops_bg.outbound.addresses import AddressRules

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
        """As `GuardedBackend.connect_tcp`."""
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
    """The permitted addresses, each once, in the order of the resolver. Raises ``httpcore.ConnectError`` for none."""
    every = list(dict.fromkeys(str(each[4][0]) for each in found))
    permitted = [address for address in every if not rules.refusal(address)]
    if every and not permitted:
        refused = rules.refusal(every[0])
        raise httpcore.ConnectError(refused if host == every[0] else f"{host} leads to a refused address: {refused}")
    return permitted
