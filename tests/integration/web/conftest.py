"""What the tests of the web share: an agent that remembers, a timer that waits for the test, a running server."""

from __future__ import annotations

import hashlib
import hmac
import socket
from collections.abc import Callable, Iterator

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gitops_bg.agent.groups.commands import GroupCommands
from gitops_bg.agent.metrics import Metrics
from gitops_bg.web.app import application
from gitops_bg.web.server import WebServer

SECRET = b"correct horse battery staple"


class FakeAgent:
    """An `AgentView` whose answers the test sets, and which remembers why it was woken."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.webhook_secret: bytes | None = SECRET
        self.api_token: bytes | None = None
        self.reasons_not_alive: list[str] = []
        self.reasons_not_ready: list[str] = []
        self.closed_namespaces: list[str] = []
        self.wakes: list[str] = []
        self.looks_at_forge: list[str] = []
        self.breaks = False

    @property
    def group_commands(self) -> GroupCommands:
        raise AssertionError("nobody may ask for anything here")

    def liveness_problems(self) -> list[str]:
        if self.breaks:
            raise RuntimeError("secret detail of a bug")
        return self.reasons_not_alive

    def readiness_problems(self) -> list[str]:
        return self.reasons_not_ready

    def unmanaged(self) -> list[str]:
        return self.closed_namespaces

    def wake(self, reason: str) -> None:
        self.wakes.append(reason)

    def poll_forge(self, reason: str) -> None:
        self.looks_at_forge.append(reason)


class FakeTimer:
    """A `Later` that fires when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def __call__(self, seconds: float, function: Callable[[], None]) -> None:
        self.waiting.append((seconds, function))

    def fire(self) -> None:
        due, self.waiting = self.waiting, []
        for _, function in due:
            function()


@pytest.fixture
def agent() -> FakeAgent:
    return FakeAgent()


@pytest.fixture
def timer() -> FakeTimer:
    return FakeTimer()


class Stage:
    """A server whose application each test replaces: stopping one takes 0.2 s."""

    def __init__(self) -> None:
        self.app: ASGIApp = PlainTextResponse("nobody is on the stage")
        self.server = WebServer(self.play, port=0)

    async def play(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    theatre = Stage()
    with theatre.server:
        yield theatre


@pytest.fixture
def server(stage: Stage, agent: FakeAgent, timer: FakeTimer) -> WebServer:
    """A server that shows `agent`; a test that stops it uses `own_server`."""
    stage.app = application(agent, timer)
    return stage.server


@pytest.fixture
def own_server(agent: FakeAgent, timer: FakeTimer) -> Iterator[WebServer]:
    """A server of the test's own."""
    with WebServer(application(agent, timer), port=0) as running:
        yield running


@pytest.fixture
def http(server: WebServer) -> Iterator[httpx.Client]:
    """A client of `server`, with connections that it keeps."""
    with client_of(server) as client:
        yield client


def client_of(server: WebServer) -> httpx.Client:
    """A client that goes straight there."""
    return httpx.Client(base_url=server.url, trust_env=False, timeout=10)


def mac(body: bytes, secret: bytes = SECRET) -> str:
    """The hex HMAC-SHA256 of a body."""
    return hmac.new(secret, body, hashlib.sha256).hexdigest()


def github(body: bytes, secret: bytes = SECRET, delivery: str = "") -> dict[str, str]:
    """The headers by which GitHub would sign a body."""
    return {"X-Hub-Signature-256": f"sha256={mac(body, secret)}"} | (
        {"X-GitHub-Delivery": delivery} if delivery else {}
    )


def connect(server: WebServer) -> socket.socket:
    """A plain connection, for requests no client library would send."""
    return socket.create_connection(server.address, timeout=10)


def until_closed(connection: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))
