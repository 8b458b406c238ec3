"""Options of sockets by which the kernel notices a dead peer within 30 s, also where nobody sends anything."""

import socket

from urllib3.connection import HTTPConnection

_IDLE, _BETWEEN, _PROBES = 10, 5, 3
"""Seconds of silence until the first probe, seconds between two, and how many may be lost: 25 s in all."""
_UNANSWERED = 25_000
"""Milliseconds that what was sent may stay unacknowledged; the kernel sends no probes meanwhile."""


def keepalive_options() -> list[tuple[int, int, int]]:
    """Return the options, those of urllib3 included, as far as this platform has them.

    The library's `keep_alive` has other times: those of client-go, which notice it after 165 s.
    """
    wanted = {"TCP_KEEPIDLE": _IDLE, "TCP_KEEPINTVL": _BETWEEN, "TCP_KEEPCNT": _PROBES, "TCP_USER_TIMEOUT": _UNANSWERED}
    found = [(getattr(socket, name), value) for name, value in wanted.items() if hasattr(socket, name)]
    kept = [(socket.IPPROTO_TCP, option, value) for option, value in found]
    return [*HTTPConnection.default_socket_options, (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *kept]
