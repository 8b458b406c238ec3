"""Connections of libraries that resolve names by themselves: each goes only where `AddressRules` permit.

Python tells a hook of every connection with the very address that it goes to, so no second answer of a server of names
can lead elsewhere (https://docs.python.org/3/library/audit_events.html, ``socket.connect``). Loads no library itself.
"""

import functools
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment

from gitops_bg.outbound.addresses import AddressRules, is_address

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
    """Addresses and ports of the proxies that the environment names; of one whose name nobody knows, none."""
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
    """A hook stays for as long as the process: it costs other calls one comparison."""
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
