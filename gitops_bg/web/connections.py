"""Limits on connections: how long one may wait, and how many there may be, so that open ones block no others.

uvicorn keeps a connection without requests for ever, and answers 503 to everybody once there are many: 256 idle ones
made the kubelet's probe fail, and so ended a healthy agent. Here each connection has a deadline, and above the limit
the one that has waited longest is closed.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 256
"""The most connections; each is a file descriptor, of which a process may have 1,024 and needs some for its work."""
SECONDS_TO_ASK = 5.0
"""Seconds from the start of a connection, or from a response, to the end of the next request's headers."""
SECONDS_TO_ANSWER = 30.0
"""Seconds from there to the end of the response, including the body and a slow reader."""


class Connection(H11Protocol):
    """uvicorn's connection, with deadlines, and with a limit that keeps room for new ones."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._answering: object = None
        self.waiting_since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection; above the limit, close the one that has waited longest."""
        super().connection_made(transport)
        self._wait(SECONDS_TO_ASK)
        if len(self.connections) > MOST:
            others = (each for each in self.connections if isinstance(each, Connection) and each is not self)
            oldest = min(others, key=lambda each: (each.asks, each.waiting_since), default=None)
            if oldest is not None:
                oldest.cut_off()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the closed connection."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Process input; once a request's headers are complete, its response has a deadline."""
        super().handle_events()
        if self.asks and self._answering is not self.cycle:
            self._answering = self.cycle
            self._wait(SECONDS_TO_ANSWER)

    def on_response_complete(self) -> None:
        """Give the next request a deadline, after a response was sent."""
        self._wait(SECONDS_TO_ASK)
        super().on_response_complete()

    @property
    def asks(self) -> bool:
        """Whether a request has arrived that has no complete response yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def cut_off(self) -> None:
        """Close the connection at once, whatever is under way."""
        if self.transport is not None:
            self.transport.abort()

    def _wait(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self.waiting_since = self.loop.time()
        self._deadline = self.loop.call_later(seconds, self.cut_off)
