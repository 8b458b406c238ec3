"""Runs the web application in a thread of its own, with a reliable start and stop. Knows no paths.

It never blocks the agent: the thread is a daemon, and open connections do not delay the stop.
"""

import asyncio
import logging
import socket
import threading
from types import TracebackType
from typing import Self

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gitops_bg.agent.observability.logs import fields
from gitops_bg.web.address import format_address, listen
from gitops_bg.web.connections import Connection

SECURITY_HEADERS = [
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

    def __init__(self, app: ASGIApp, host: str = "127.0.0.1", port: int = 8080) -> None:
        self._app = app
        self._address = (host, port)
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
        self._socket = listen(*self._address)
        self._address = self._address[0], self._socket.getsockname()[1]
        self._uvicorn = _Uvicorn(_config(self._app))
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
    """Wrap ``app``, so that requests cut short by the stop end with 503; no response of ours is streamed."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            await PlainTextResponse("the agent is stopping", 503, {"Connection": "close"})(scope, receive, send)

    return wrapped


def _config(app: ASGIApp) -> uvicorn.Config:
    """uvicorn without its logging, access log, WebSockets, proxy headers and slow shutdown."""
    return uvicorn.Config(
        _answering_when_cancelled(app),
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        headers=SECURITY_HEADERS,
        timeout_graceful_shutdown=_GRACE_SECONDS,  # type: ignore[arg-type]  # it goes to asyncio.wait_for
    )
