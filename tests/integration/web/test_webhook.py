"""POST /webhook: only who knows the secret wakes the agent, at whatever size, speed and repetition."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import httpx
import pytest

from gitops_bg.web.app import application
from gitops_bg.web.receiver import LARGEST_BODY_BYTES
from gitops_bg.web.server import WebServer
from tests.integration.web.conftest import SECRET, FakeAgent, FakeTimer, connect, github, mac, until_closed

BODY = b'{"ref": "refs/heads/main"}'


@pytest.mark.parametrize(
    ("sender", "headers"),
    [
        ("github", {"X-Hub-Signature-256": f"sha256={mac(BODY)}"}),
        ("gitlab", {"X-Gitlab-Token": SECRET.decode()}),
        ("gitea", {"X-Gitea-Signature": mac(BODY)}),
        ("generic", {"X-Signature-256": f"sha256={mac(BODY)}"}),
    ],
)
def test_each_senders_signature_wakes(
    http: httpx.Client, agent: FakeAgent, sender: str, headers: dict[str, str]
) -> None:
    answer = http.post("/webhook", content=BODY, headers=headers)
    assert (answer.status_code, agent.wakes) == (202, [f"webhook from {sender}"])


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Hub-Signature-256": ""},
        {"X-Hub-Signature-256": "sha256="},
        {"X-Hub-Signature-256": f"sha256={mac(BODY)[:-1]}"},
        {"X-Hub-Signature-256": f"sha256={mac(BODY)}0"},
        {"X-Hub-Signature-256": mac(BODY)},
        {"X-Hub-Signature-256": f"sha1={mac(BODY)}"},
        {"X-Hub-Signature-256": f"sha256={mac(BODY, b'guessed')}"},
        {"X-Hub-Signature-256": f"sha256={mac(BODY + b' ')}"},
        {"X-Hub-Signature": f"sha256={mac(BODY)}"},
        {"X-Gitlab-Token": ""},
        {"X-Gitlab-Token": SECRET.decode()[:-1]},
        {"X-Gitlab-Token": SECRET.decode() + "x"},
        {"X-Gitlab-Token": mac(BODY)},
        {"X-Gitea-Signature": f"sha256={mac(BODY)}"},
        {"X-Gitea-Signature": mac(BODY, b"")},
        {"X-Signature-256": f"sha256={mac(b'')}"},
    ],
)
def test_a_wrong_absent_or_truncated_signature_wakes_nobody(
    http: httpx.Client, agent: FakeAgent, headers: dict[str, str]
) -> None:
    answer = http.post("/webhook", content=BODY, headers=headers)
    assert (answer.status_code, agent.wakes) == (401, [])


def test_a_signature_header_that_is_not_ascii_is_just_wrong(server: WebServer, agent: FakeAgent) -> None:
    with connect(server) as connection:
        connection.sendall(
            b"POST /webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n"
            b"X-Hub-Signature-256: sha256=\xe9\xff\r\n\r\n"
        )
        assert until_closed(connection).startswith(b"HTTP/1.1 401 ")
    assert agent.wakes == []


def test_a_right_header_does_not_make_up_for_a_wrong_one(http: httpx.Client, agent: FakeAgent) -> None:
    headers = github(BODY, b"guessed") | {"X-Gitlab-Token": SECRET.decode()}
    assert http.post("/webhook", content=BODY, headers=headers).status_code == 401
    assert agent.wakes == []


@pytest.mark.parametrize("secret", [None, b""])
def test_without_a_secret_nothing_is_accepted(http: httpx.Client, agent: FakeAgent, secret: bytes | None) -> None:
    agent.webhook_secret = secret
    for headers in ({}, github(BODY, b""), {"X-Gitlab-Token": ""}, {"X-Gitea-Signature": mac(BODY, b"")}):
        answer = http.post("/webhook", content=BODY, headers=headers)
        assert answer.status_code == 403
        assert "no webhook secret is configured" in answer.json()["message"]
    assert agent.wakes == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_only_post_is_answered(http: httpx.Client, agent: FakeAgent, method: str) -> None:
    answer = http.request(method, "/webhook", headers=github(b""))
    assert (answer.status_code, agent.wakes) == (405, [])


@pytest.mark.parametrize("body", [b"", b"\xff\x00 no JSON {", b"payload=%7B%7D", b'{"a":' * 1000])
def test_the_payload_is_never_parsed(http: httpx.Client, agent: FakeAgent, body: bytes) -> None:
    headers = github(body) | {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert http.post("/webhook", content=body, headers=headers).status_code == 202
    assert len(agent.wakes) == 1


def pieces(size: int) -> Iterator[bytes]:
    """A body sent in chunks, without a Content-Length."""
    for start in range(0, size, 10_000):
        yield b"x" * min(10_000, size - start)


@pytest.mark.parametrize("size", [1, LARGEST_BODY_BYTES])
def test_a_chunked_body_up_to_the_limit_is_accepted(http: httpx.Client, agent: FakeAgent, size: int) -> None:
    answer = http.post("/webhook", content=pieces(size), headers=github(b"x" * size))
    assert (answer.status_code, len(agent.wakes)) == (202, 1)


@pytest.mark.parametrize("size", [LARGEST_BODY_BYTES + 1, 10_000_000])
@pytest.mark.parametrize("chunked", [True, False])
def test_a_larger_body_is_refused_though_signed(http: httpx.Client, agent: FakeAgent, size: int, chunked: bool) -> None:
    body = b"x" * size
    answer = http.post("/webhook", content=pieces(size) if chunked else body, headers=github(body))
    assert (answer.status_code, agent.wakes) == (413, [])


def test_a_large_beginning_cannot_be_signed_alone(http: httpx.Client, agent: FakeAgent) -> None:
    body = b"x" * (LARGEST_BODY_BYTES + 10_000)
    assert http.post("/webhook", content=body, headers=github(body[:LARGEST_BODY_BYTES])).status_code == 413
    assert agent.wakes == []


def test_a_gigantic_declared_body_is_refused_before_it_is_sent(server: WebServer) -> None:
    with connect(server) as connection:
        connection.sendall(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000000\r\n\r\n")
        assert until_closed(connection).startswith(b"HTTP/1.1 413 ")


def test_a_body_without_end_is_cut_off(server: WebServer) -> None:
    chunks = (b"10000\r\n" + b"x" * 0x10000 + b"\r\n") * 1000
    with connect(server) as connection:
        connection.sendall(b"POST /webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
            connection.sendall(chunks)


def test_a_body_that_never_comes_is_given_up(agent: FakeAgent, timer: FakeTimer) -> None:
    with WebServer(application(agent, timer, read_seconds=0), port=0) as server, connect(server) as connection:
        connection.sendall(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
        assert until_closed(connection).startswith(b"HTTP/1.1 408 ")
    assert agent.wakes == []


def test_a_sender_that_hangs_up_wakes_nobody(server: WebServer, http: httpx.Client, agent: FakeAgent) -> None:
    with connect(server) as connection:
        connection.sendall(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
        connection.shutdown(socket.SHUT_WR)
        until_closed(connection)
    assert http.get("/healthz").status_code == 200
    assert agent.wakes == []


@pytest.mark.parametrize(
    ("header", "signed"),
    [
        ("X-GitHub-Delivery", github(BODY)),
        ("Idempotency-Key", {"X-Gitlab-Token": SECRET.decode()}),
        ("X-Gitea-Delivery", {"X-Gitea-Signature": mac(BODY)}),
        ("X-Delivery-Id", {"X-Signature-256": f"sha256={mac(BODY)}"}),
    ],
)
def test_a_replayed_delivery_wakes_once(
    http: httpx.Client, agent: FakeAgent, timer: FakeTimer, header: str, signed: dict[str, str]
) -> None:
    headers = signed | {header: "72d3162e"}
    codes = [http.post("/webhook", content=BODY, headers=headers).status_code for _ in range(3)]
    timer.fire()
    assert (codes, len(agent.wakes)) == ([202, 200, 200], 1)


def test_a_delivery_id_of_somebody_without_the_secret_blocks_nobody(http: httpx.Client, agent: FakeAgent) -> None:
    assert http.post("/webhook", content=BODY, headers=github(BODY, b"guessed", "1")).status_code == 401
    assert http.post("/webhook", content=BODY, headers=github(BODY, delivery="1")).status_code == 202
    assert len(agent.wakes) == 1


def test_the_same_body_without_a_delivery_id_is_a_new_call(
    http: httpx.Client, agent: FakeAgent, timer: FakeTimer
) -> None:
    for _ in range(2):
        assert http.post("/webhook", content=BODY, headers=github(BODY)).status_code == 202
        timer.fire()
    assert len(agent.wakes) == 2


def test_each_call_wakes_at_once_and_a_thousand_are_one_look_at_the_forge_now_and_one_after_the_quiet_time(
    http: httpx.Client, agent: FakeAgent, timer: FakeTimer
) -> None:
    codes = {
        http.post("/webhook", content=BODY, headers=github(BODY, delivery=str(number))).status_code
        for number in range(1000)
    }
    assert (codes, len(agent.wakes)) == ({202}, 1000)
    assert (len(agent.looks_at_forge), [seconds for seconds, _ in timer.waiting]) == (1, [1.0])
    timer.fire()
    assert len(agent.looks_at_forge) == 2
    timer.fire()
    assert (len(agent.wakes), len(agent.looks_at_forge), timer.waiting) == (1000, 2, [])


def test_a_call_on_a_kept_connection_is_answered_without_the_delay_of_nagle(
    http: httpx.Client, server: WebServer
) -> None:
    http.post("/webhook", content=BODY, headers=github(BODY))
    fastest = min(http.post("/webhook", content=BODY, headers=github(BODY)).elapsed for _ in range(20))
    assert fastest.total_seconds() < 0.03


def test_the_servers_own_timer_looks_at_the_forge_again_after_the_quiet_time() -> None:
    class Waiting(FakeAgent):
        def poll_forge(self, reason: str) -> None:
            super().poll_forge(reason)
            if len(self.looks_at_forge) == 2:
                woken.set()

    woken, agent = threading.Event(), Waiting()
    with WebServer(application(agent), port=0) as server, httpx.Client(trust_env=False) as http:
        for _ in range(5):
            http.post(f"{server.url}/webhook", content=BODY, headers=github(BODY))
        assert woken.wait(10)
    assert (len(agent.wakes), len(agent.looks_at_forge)) == (5, 2)


def test_nobody_without_the_secret_fills_the_log(
    http: httpx.Client, timer: FakeTimer, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(50):
        http.post("/webhook", content=BODY, headers=github(BODY, b"guessed"))
    timer.fire()
    assert caplog.text.count("refused a webhook") == 2


def test_answers_and_logs_show_neither_secret_nor_signature(
    http: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    answers = [http.post("/webhook", content=BODY, headers=headers) for headers in (github(BODY), github(BODY, b"no"))]
    shown = caplog.text + "".join(answer.text + str(answer.headers) for answer in answers)
    assert SECRET.decode() not in shown
    assert mac(BODY) not in shown
    assert "refused a webhook" in caplog.text
