"""Where to listen: ``HOST:PORT`` from a flag, and the bound socket or an error that says what to do."""

import errno
import os
import socket

from gitops_bg.core.errors import InvalidInput, Refused
from gitops_bg.core.model.desired import Problem


class CannotListen(Refused):
    """The address cannot be listened on: it is taken, not ours, or not allowed."""

    reason = "CannotListen"


def parse_address(text: str) -> tuple[str, int]:
    """The host and port of ``127.0.0.1:8080``, ``:8080`` (all addresses) or ``[::1]:8080``; port 0 is any free one.

    Raises ``InvalidInput`` with what would be right.

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
    """A socket that listens there; an empty host is every address. Raises ``CannotListen``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise CannotListen(f"cannot listen on {format_address(host, port)}: {_why(error)}") from error
    # Connections inherit it. Of a socket it did not make, asyncio does not know the protocol and sets nothing, and
    # Nagle's algorithm then delays every answer on a kept connection by 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def format_address(host: str, port: int) -> str:
    """``HOST:PORT``, an IPv6 host in brackets."""
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
