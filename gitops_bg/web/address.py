"""The address to listen on: ``HOST:PORT`` from a flag, and the bound socket or an error with a remedy."""

import errno
import os
import socket

from gitops_bg.core.errors import InvalidInput, Refused
from gitops_bg.core.model.desired import Problem


class CannotListen(Refused):
    """The process cannot listen on the address: it is in use, not ours, or not allowed."""

    reason = "CannotListen"


def parse_address(text: str) -> tuple[str, int]:
    """Parse ``127.0.0.1:8080``, ``:8080`` (all addresses) or ``[::1]:8080``; port 0 means any free one.

    Raises ``InvalidInput`` with a valid example.

    >>> parse_address("[::1]:8080")
    ('::1', 8080)
    """
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    plausible = colon and port.isascii() and port.isdigit() and int(port) <= 65535
    if not plausible or (":" in host and not bracketed):
        problem = Problem("--http", f"{text!r} is not an address", remedy="write HOST:PORT, as in 127.0.0.1:8080")
        raise InvalidInput(problem)
    return (host[1:-1] if bracketed else host), int(port)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; an empty host means every address. Raises ``CannotListen``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise CannotListen(f"cannot listen on {format_address(host, port)}: {_why(error)}") from error
    # Connections inherit the option. For a foreign socket, asyncio does not know the protocol and sets nothing, and
    # Nagle's algorithm then delays every response on a kept connection by 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def format_address(host: str, port: int) -> str:
    """``HOST:PORT``, with an IPv6 host in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _why(error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return "another process has this port; stop it, or choose another with --http"
        case errno.EACCES:
            return "ports below 1024 need more rights; choose another with --http"
        case errno.EADDRNOTAVAIL:
            return "this machine has no such address; choose another with --http"
        case number:
            return os.strerror(number) if number and number > 0 else str(error)
