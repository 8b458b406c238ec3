"""How one identity sends bytes to one API server: what `connection` needs of whoever does it. Decides nothing."""

from collections.abc import Mapping
from typing import Protocol

import urllib3

Timeouts = tuple[float, float]
"""Seconds to connect, and seconds of silence until the response has begun."""


class Transport(Protocol):
    """One identity at one API server. Thread-safe. Errors are those of the library behind it, for `errors.border`."""

    @property
    def host(self) -> str:
        """The address of the API server, with scheme and port."""

    def credentials(self) -> dict[str, str]:
        """The headers with the identity; empty where a certificate says who it is."""

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeouts: Timeouts
    ) -> urllib3.HTTPResponse:
        """Send one request, once; the response is not read yet."""

    def close(self) -> None:
        """Close every idle connection."""
