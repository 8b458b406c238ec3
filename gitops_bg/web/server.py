"""Runs the web application in a thread of its own: where it listens, how many connections it keeps and how long, a
reliable start and stop. Knows no paths.

It never blocks the agent: the thread is a daemon, and open connections do not delay the stop.
"""

import asyncio
import errno
import logging
import os
import socket
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from gitops_bg.agent.logs import fields
from gitops_bg.core.errors import InvalidInput, Refused
from gitops_bg.core.model.desired import Problem

# --- the address: ``HOST:PORT`` from a flag, and the bound socket or an error with a remedy ---


class CannotListen(Refused):
    """The process cannot listen on the address: it is in use, not ours, or not allowed."""

    reason = "CannotListen"


def parse_address(text: str, option: str = "--http") -> tuple[str, int]:
    """Parse ``127.0.0.1:8080``, ``:8080`` (all addresses) or ``[::1]:8080``; port 0 means any free one.

    Raises ``InvalidInput`` with a valid example.

    >>> parse_address("[::1]:8080")
    ('::1', 8080)
    """
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    plausible = colon and port.isascii() and port.isdigit() and int(port) <= 65535
    if not plausible or (":" in host and not bracketed):
        problem = Problem(option, f"{text!r} is not an address", remedy="write HOST:PORT, as in 127.0.0.1:8080")
        raise InvalidInput(problem)
    return (host[1:-1] if bracketed else host), int(port)


def listen(host: str, port: int, option: str = "--http") -> socket.socket:
    """Return a socket that listens there; an empty host means every address. Raises ``CannotListen``, which names the
    option.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise CannotListen(f"cannot listen on {format_address(host, port)}: {_why(error, option)}") from error
    # Connections inherit the option. For a foreign socket, asyncio does not know the protocol and sets nothing, and
    # Nagle's algorithm then delays every response on a kept connection by 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def format_address(host: str, port: int) -> str:
    """Return ``HOST:PORT``, with an IPv6 host in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _why(error: OSError, option: str) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"another process has this port; stop it, or choose another with {option}"
        case errno.EACCES:
            return f"ports below 1024 need more rights; choose another with {option}"
        case errno.EADDRNOTAVAIL:
            return f"this machine has no such address; choose another with {option}"
        case number:
            return os.strerror(number) if number and number > 0 else str(error)


# --- limits on connections, so that open ones block no others ---
# uvicorn keeps a connection without requests for ever, and answers 503 to everybody once there are many: 256 idle ones
# made the kubelet's probe fail, and so ended a healthy agent. Here each connection has a deadline, and above the limit
# the one that has waited longest is closed.

MOST = 256
"""The most connections; each is a file descriptor, of which a process may have 1,024 and needs some for its work."""
SECONDS_TO_ASK = 5.0
"""Seconds from the start of a connection, or from a response, to the end of the next request's headers."""
SECONDS_TO_ANSWER = 30.0
"""Seconds from there to the end of the response, including the body and a slow reader."""


class HttpConnection(H11Protocol):
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
            others = (each for each in self.connections if isinstance(each, HttpConnection) and each is not self)
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


# --- the server ---

Headers = Sequence[tuple[str, str]]
SECURITY_HEADERS: Headers = [
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
]
"""The headers of every response, including uvicorn's own to invalid requests."""

_GRACE_SECONDS = 0.3  # For requests under way at the stop; whole seconds would be too long.
_log = logging.getLogger(__name__)


class WebServer:
    """An ASGI application behind HTTP. ``start`` binds, so port 0 works; ``stop`` may be called at any time."""

    def __init__(
        self,
        app: ASGIApp,
        host: str = "127.0.0.1",
        port: int = 8080,
        headers: Headers = SECURITY_HEADERS,
        option: str = "--http",
    ) -> None:
        """``headers`` are of every response; none where the application sets its own. ``option`` gave the address."""
        self._app = app
        self._headers = headers
        self._address = (host, port)
        self._option = option
        self._socket: socket.socket | None = None
        self._uvicorn: _Uvicorn | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> tuple[str, int]:
        """The host and the real port; before ``start``, the requested ones."""
        return self._address

    @property
    def url(self) -> str:
        """The base URL, without a trailing slash."""
        host, port = self.address
        return f"http://{format_address(host or '127.0.0.1', port)}"

    def start(self, timeout_seconds: float = 10.0) -> None:
        """Bind, serve, and return once requests are answered.

        Raises ``CannotListen`` where the address is in use or not ours, ``RuntimeError`` where serving fails.
        """
        if self._thread is not None:
            raise RuntimeError("this web server was started before")
        self._socket = listen(*self._address, self._option)
        self._address = self._address[0], self._socket.getsockname()[1]
        self._uvicorn = _Uvicorn(_config(self._app, self._headers))
        self._thread = threading.Thread(target=self._serve, name="web", daemon=True)
        self._thread.start()
        if not (self._uvicorn.settled.wait(timeout_seconds) and self._uvicorn.started):
            self.stop()
            raise RuntimeError("the web server did not come up; the log says why")
        _log.info("listening on %s", self.url, extra=fields(url=self.url))

    def stop(self, timeout_seconds: float = 1.0) -> bool:
        """Close all connections and end the thread; False where it did not end in time. May be called again."""
        if self._thread is None or self._uvicorn is None:
            return True
        self._uvicorn.should_exit = True
        self._thread.join(timeout_seconds)
        if self._thread.is_alive():
            self._uvicorn.force_exit = True
            _log.warning("the web server did not stop within %g s; it ends with the process", timeout_seconds)
        return not self._thread.is_alive()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _serve(self) -> None:
        assert self._uvicorn is not None
        assert self._socket is not None
        try:
            self._uvicorn.run(sockets=[self._socket])
        except (Exception, SystemExit):
            _log.exception("the web server ended with an error")
        finally:
            self._socket.close()
            self._uvicorn.settled.set()


class _Uvicorn(uvicorn.Server):
    """uvicorn that reports when it serves."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()
        """Set once it serves, or never will."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.settled.set()


def _answering_when_cancelled(app: ASGIApp) -> ASGIApp:
    """Wrap ``app``, so that requests cut short by the stop end with 503; a stream of events just ends."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await app(scope, receive, sending)
        except asyncio.CancelledError:
            if begun:
                return
            await PlainTextResponse("the agent is stopping", 503, {"HttpConnection": "close"})(scope, receive, send)

    return wrapped


def _config(app: ASGIApp, headers: Headers) -> uvicorn.Config:
    """Return uvicorn's settings, without its logging, access log, WebSockets, proxy headers and slow shutdown."""
    return uvicorn.Config(
        _answering_when_cancelled(app),
        http=HttpConnection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        headers=list(headers),
        timeout_graceful_shutdown=_GRACE_SECONDS,  # type: ignore[arg-type]  # it goes to asyncio.wait_for
    )
