"""The server starts on a port one can know, says why it cannot, and stops at once whoever is connected."""

from __future__ import annotations

import socket
import threading
import time

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from gitops_bg.core.errors import InvalidInput
from gitops_bg.web.app import application
from gitops_bg.web.server import CannotListen, WebServer, listen, parse_address
from tests.integration.web.conftest import FakeAgent, client_of, connect, until_closed


def stop_seconds(server: WebServer) -> float:
    """How long a stop takes that must succeed."""
    before = time.monotonic()
    assert server.stop()
    return time.monotonic() - before


def web_threads() -> int:
    """How many servers run in this process."""
    return [thread.name for thread in threading.enumerate()].count("web")


def test_port_0_is_a_real_port_afterwards(server: WebServer) -> None:
    assert server.address[1] != 0
    assert httpx.get(f"{server.url}/healthz", trust_env=False).status_code == 200


def test_a_stop_with_nobody_on_the_line_is_quick_and_leaves_no_complaint(
    own_server: WebServer, caplog: pytest.LogCaptureFixture
) -> None:
    httpx.get(f"{own_server.url}/healthz", trust_env=False)
    assert stop_seconds(own_server) < 1
    assert caplog.messages == []


def test_a_busy_port_is_a_sentence_with_a_remedy(server: WebServer, agent: FakeAgent) -> None:
    second = WebServer(application(agent), port=server.address[1])
    with pytest.raises(
        CannotListen, match=rf"cannot listen on 127.0.0.1:{server.address[1]}: another process .* --http"
    ):
        second.start()
    assert second.stop()


def test_a_busy_port_names_the_option_that_gave_it(server: WebServer, agent: FakeAgent) -> None:
    second = WebServer(application(agent), port=server.address[1], option="--dashboard")
    with pytest.raises(CannotListen, match=r"choose another with --dashboard$"):
        second.start()


def test_an_address_of_somebody_else_is_a_sentence() -> None:
    with pytest.raises(CannotListen, match="this machine has no such address"):
        listen("192.0.2.1", 0)


def test_the_port_is_free_again_after_a_stop(agent: FakeAgent) -> None:
    with WebServer(application(agent), port=0) as first:
        httpx.get(f"{first.url}/healthz", trust_env=False)
        port = first.address[1]
    with WebServer(application(agent), port=port) as second:
        assert httpx.get(f"{second.url}/healthz", trust_env=False).status_code == 200


def test_two_servers_in_one_process_do_not_meet(agent: FakeAgent) -> None:
    other = FakeAgent()
    other.reasons_not_ready = ["Git was not seen yet"]
    with WebServer(application(agent), port=0) as one, WebServer(application(other), port=0) as two:
        codes = [httpx.get(f"{server.url}/readyz", trust_env=False).status_code for server in (one, two)]
    assert codes == [200, 503]


def test_it_stops_with_idle_keep_alive_connections(own_server: WebServer) -> None:
    with client_of(own_server) as http:
        assert http.get("/healthz").status_code == 200
        assert stop_seconds(own_server) < 1


def test_it_stops_with_silent_and_half_sent_connections(own_server: WebServer) -> None:
    with connect(own_server), connect(own_server) as half:
        half.sendall(b"GET /healthz HT")
        assert httpx.get(f"{own_server.url}/healthz", trust_env=False).status_code == 200
        assert stop_seconds(own_server) < 1


def test_it_stops_in_the_middle_of_a_body_and_says_so(own_server: WebServer) -> None:
    with connect(own_server) as connection:
        connection.sendall(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
        assert httpx.get(f"{own_server.url}/healthz", trust_env=False).status_code == 200
        assert stop_seconds(own_server) < 1
        assert until_closed(connection).startswith(b"HTTP/1.1 503 ")


def test_after_the_stop_nobody_is_answered_and_no_thread_is_left(own_server: WebServer) -> None:
    threads = web_threads()
    with client_of(own_server) as http:
        http.get("/healthz")
        own_server.stop()
        with pytest.raises(httpx.TransportError):
            http.get("/healthz")
    assert web_threads() == threads - 1


def test_stopping_is_harmless_before_the_start_and_twice(agent: FakeAgent) -> None:
    server = WebServer(application(agent), port=0)
    assert server.stop()
    server.start()
    assert server.stop()
    assert server.stop()


def test_a_server_that_does_not_come_up_says_so_and_frees_its_port(
    agent: FakeAgent, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise OSError("no more files")

    monkeypatch.setattr("uvicorn.Server.startup", broken)
    server = WebServer(application(agent), port=0)
    with pytest.raises(RuntimeError, match="did not come up"):
        server.start()
    listen(*server.address).close()
    assert "no more files" in caplog.text


def test_starting_twice_is_a_bug(server: WebServer) -> None:
    with pytest.raises(RuntimeError, match="started before"):
        server.start()


def test_an_answer_that_blocks_does_not_hold_up_the_stop(caplog: pytest.LogCaptureFixture) -> None:
    entered, release = threading.Event(), threading.Event()

    async def stuck(scope: Scope, receive: Receive, send: Send) -> None:
        entered.set()
        release.wait(10)

    server = WebServer(stuck, port=0)
    server.start()
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert entered.wait(10)
        assert not server.stop(timeout_seconds=0.01)
        release.set()
        assert server.stop(timeout_seconds=10)
    assert "did not stop within 0.01 s" in caplog.text


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        (":0", ("", 0)),
        ("[::1]:80", ("::1", 80)),
        ("localhost:1", ("localhost", 1)),
    ],
)
def test_addresses_are_understood(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "8080", "localhost", "localhost:", "localhost:http", "x:70000", "::1:80", "x:-1", "x:²"]
)
def test_what_is_no_address_is_an_error_with_a_remedy(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"write HOST:PORT, as in 127\.0\.0\.1:8080"):
        parse_address(text)


def test_ipv6_is_served(agent: FakeAgent) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with WebServer(application(agent), "::1", 0) as server:
        assert httpx.get(f"{server.url}/healthz", trust_env=False).status_code == 200
