"""However many clients connect to the web server, and however slow they are: probes are answered, the agent
continues.
"""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event

import httpx
import pytest

from gitops_bg.web import server as web_server
from gitops_bg.web.app import application, application_of_probes
from gitops_bg.web.server import MOST, WebServer
from tests.attacks.conftest import Siege
from tests.integration.web.conftest import FakeAgent

SOME = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
BODY = b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc"


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer(application(FakeAgent()), port=0) as running:
        yield running


def probe(server: WebServer, seconds: float = 5.0) -> float:
    """What the kubelet does, with a new connection; how long it took."""
    begun = time.monotonic()
    assert httpx.get(f"{server.url}/healthz", trust_env=False, timeout=seconds).status_code == 200
    return time.monotonic() - begun


@pytest.mark.parametrize("said", [b"", b"GET /hea", SOME, BODY], ids=["nothing", "a word", "headers", "a body"])
def test_many_connections_that_wait_do_not_hold_up_a_probe(said: bytes, server: WebServer) -> None:
    with ExitStack() as stack:
        for _ in range(MOST + 50):
            stack.enter_context(_connection(server, said))
        assert probe(server) < 5
        assert probe(server) < 5


def test_connection_that_never_asks_is_closed(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "SECONDS_TO_ASK", 0.2)
    for said in (b"", SOME):
        with _connection(server, said) as silent:
            assert _ends(silent)


def test_request_that_comes_byte_by_byte_has_one_deadline(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "SECONDS_TO_ASK", 0.5)
    begun = time.monotonic()
    with _connection(server, SOME) as slow:
        while time.monotonic() - begun < 20 and _takes(slow, b"a"):
            time.sleep(0.02)
    assert time.monotonic() - begun < 15


def test_second_request_of_a_connection_has_a_deadline_too(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with _connection(server, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") as kept:
        assert _answer(kept).startswith(b"HTTP/1.1 200")
        monkeypatch.setattr(web_server, "SECONDS_TO_ASK", 0.2)
        kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert _answer(kept).startswith(b"HTTP/1.1 200")
        kept.sendall(SOME)
        assert _ends(kept)


def _answer(kept: socket.socket) -> bytes:
    """One whole answer of the probe: its head and its body may come apart."""
    said = b""
    while not said.endswith(b"}"):
        more = kept.recv(65536)
        assert more, said
        said += more
    return said


POST = b"POST /webhook HTTP/1.1\r\nHost: x\r\n"
ODD = {
    "no HTTP": b"\x16\x03\x01\x00\xff\x01" + bytes(200),
    "headers without an end": b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * 100_000,
    "many headers": b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 20_000 + b"\r\n",
    "two lengths": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a length that is no number": POST + b"Content-Length: -1\r\n\r\n",
    "a length of a hundred digits": POST + b"Content-Length: " + b"9" * 100 + b"\r\n\r\n",
    "a path of control characters": b"GET /%00%0a%e2%80%a8 HTTP/1.1\r\nHost: x\r\n\r\n",
    "a method nobody knows": b"\x01\x02 / HTTP/1.1\r\n\r\n",
    "an upgrade": b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    "a signature that is no text": POST + b"X-Hub-Signature-256: \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    "a delivery that is no text": POST
    + b"X-Gitlab-Token: correct horse battery staple\r\nIdempotency-Key: \xed\xa0\x80\r\nContent-Length: 2\r\n\r\n{]",
}


def test_odd_requests_are_answered_or_cut_off(server: WebServer) -> None:
    with ExitStack() as stack:
        asked = {kind: stack.enter_context(_connection(server, said)) for kind, said in ODD.items()}
        for kind, odd in asked.items():
            assert _ends(odd), kind
    assert probe(server) < 5


def test_agent_goes_on_while_its_web_server_is_held_open(siege: Siege) -> None:
    agent = siege.world.agent
    assert agent is not None
    with WebServer(application(agent), port=0) as server, ExitStack() as stack:
        for _ in range(MOST + 50):
            stack.enter_context(_connection(server, SOME))
        assert probe(server) < 5
        siege.bystander_goes_on()
        assert probe(server) < 5


def test_probes_have_a_listener_that_no_other_client_can_hold_up() -> None:
    """Their server has its own thread, too: whatever the other one does, the kubelet is answered."""
    agent = FakeAgent()
    busy, free = Event(), Event()

    def never_ends() -> list[str]:
        busy.set()
        assert free.wait(60)
        return []

    with WebServer(application_of_probes(agent), port=0) as probes, WebServer(application(agent), port=0) as server:
        held = FakeAgent()
        held.readiness_problems = never_ends  # type: ignore[method-assign]
        with WebServer(application(held), port=0) as stuck, ExitStack() as stack:
            for _ in range(MOST + 50):
                stack.enter_context(_connection(server, SOME))
            stack.enter_context(_connection(stuck, b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"))
            assert busy.wait(10)
            assert probe(probes, seconds=5) < 1
            free.set()
        assert httpx.get(f"{probes.url}/metrics", trust_env=False).status_code == 404


def test_no_more_file_descriptors_are_held_than_a_process_may_have() -> None:
    """The usual limit of a process is 1,024."""
    assert min(1024, resource.getrlimit(resource.RLIMIT_NOFILE)[0]) / 2 > MOST


def _connection(server: WebServer, said: bytes) -> socket.socket:
    made = socket.create_connection(server.address, timeout=10)
    made.sendall(said)
    return made


def _takes(connection: socket.socket, said: bytes) -> bool:
    try:
        connection.sendall(said)
    except OSError:
        return False
    return True


def _ends(connection: socket.socket) -> bool:
    """Whether the server ends the connection within ten seconds."""
    connection.settimeout(10)
    return _read_all(connection)


def _read_all(connection: socket.socket) -> bool:
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        return True
    return True
