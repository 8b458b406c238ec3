"""Calls of hooks over real HTTP and TLS: payload, what comes back, deadlines, and that none waits for another."""

import base64
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from gitops_bg.core.errors import Refused
from gitops_bg.core.model.hooks import Hook, HookCall, HookResponse, HookType
from gitops_bg.core.model.version import AppKey
from gitops_bg.hooks import MOST_AT_ONCE, HookCaller
from tests.support.cluster.pki import Authority
from tests.support.servers.banner import speaking
from tests.support.servers.hook_server import HookServer, hook_server

WEB, API = AppKey("shop", "web"), AppKey("shop", "api")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Heard:
    """Waits for what a caller has heard."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.apps: list[AppKey] = []

    def __call__(self, app: AppKey) -> None:
        with self._changed:
            self.apps.append(app)
            self._changed.notify_all()

    def wait(self, count: int, seconds: float = 10.0) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.apps) >= count, seconds), f"heard of {self.apps} only"


def read_secret(namespace: str, name: str) -> dict[str, bytes]:
    if (namespace, name) != ("shop", "hooks"):
        raise Refused(f"there is no Secret {namespace}/{name}")
    return {"token": b"s3cr3t-t0ken\n", "user": b"ann", "encoded": b"p%C3%A4%2Fss", "both": b"ann:p%C3%A4%2Fss"}


@contextmanager
def calling() -> Iterator[tuple[HookCaller, Heard]]:
    heard = Heard()
    caller = HookCaller(read_secret, heard, lambda: NOW)
    try:
        yield caller, heard
    finally:
        caller.stop()


def call(url: str, id_: str = "1", type_: HookType = HookType.PRE_ROLLOUT, **request: Any) -> HookCall:
    hook = Hook("smoke", type_, json.dumps({"url": url, "timeout": 5.0, **request}))
    return HookCall(id_, f"key-{id_}", hook, "Progressing", "v1:3f9c")


def answer(one: HookCall, app: AppKey = WEB) -> HookResponse:
    """What comes of one call."""
    with calling() as (caller, heard):
        caller.update(app, [one])
        heard.wait(1)
        (called,) = caller.answers(app)
        return called


@pytest.fixture
def server() -> Iterator[HookServer]:
    with hook_server() as running:
        yield running


def test_the_payload_is_flaggers_and_nothing_else(server):
    answer(call(server.url("/hook"), metadata={"type": "bash", "cmd": "curl -s http://web-preview"}))
    (asked,) = server.asked
    assert asked.payload == {
        "name": "web",
        "namespace": "shop",
        "phase": "Progressing",
        "checksum": "v1:3f9c",
        "metadata": {"type": "bash", "cmd": "curl -s http://web-preview"},
    }
    assert asked.headers["Content-Type"] == "application/json"
    assert asked.headers["Idempotency-Key"] == "key-1"


@pytest.mark.parametrize("status", [200, 201, 202, 204, 403, 404, 500, 503])
def test_status_and_body_come_back_whatever_the_status(server, status):
    server.reply("/hook", status, f"said with {status}")
    called = answer(call(server.url("/hook")))
    assert called == HookResponse("1", status, NOW, "" if status == 204 else f"said with {status}")


def test_a_line_of_a_body_is_shown_and_no_more(server):
    server.reply("/hook", 500, "2 of 9\nchecks " + "x" * 1_000_000)
    text = answer(call(server.url("/hook"))).text
    assert text.startswith("2 of 9 checks xxx")
    assert len(text) == 100


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain", "not today", "not today"),
        ("text/html; charset=utf-8", "no_service", "no_service"),
        ("text/html", "<h1>ida: hunter2</h1>", ""),
        ("application/json", '{"message": "not today", "users": ["hunter2"]}', "not today"),
        ("application/json", '{"users": ["hunter2"]}', ""),
        ("application/json", '"hunter2"', ""),
        ("application/octet-stream", "hunter2", ""),
        ("text/csv", "ida,hunter2", ""),
        ("", "hunter2", ""),
    ],
)
@pytest.mark.parametrize("status", [200, 403])
def test_only_a_sentence_or_the_words_of_an_error_are_shown(server, kind, body, text, status):
    server.reply("/hook", status, body, kind)
    assert answer(call(server.url("/hook"))).text == text


def test_a_server_that_speaks_no_http_is_not_quoted():
    with speaking(b"-ERR hunter2\r\n\r\n") as url:
        called = answer(call(url))
    assert (called.status, called.text) == (0, "RemoteProtocolError: it answered what is no HTTP")


def test_a_body_does_no_harm_to_a_terminal(server):
    server.reply("/hook", 500, b"\x1b[31mred\x00\nline two \xff")
    assert answer(call(server.url("/hook"))).text == "\\x1b[31mred\\x00 line two \N{REPLACEMENT CHARACTER}"


def test_a_redirect_is_not_followed(server):
    server.reply("/hook", 302, "elsewhere")
    assert answer(call(server.url("/hook"))).status == 302
    assert len(server.asked) == 1


def test_a_backend_that_is_not_there_is_no_answer():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        called = answer(call(f"http://127.0.0.1:{unused.getsockname()[1]}/"))
    assert called.status == 0
    assert "Connect" in called.text


def test_a_backend_that_hangs_is_no_answer_when_its_time_is_up(server):
    server.hang("/hook")
    called = answer(call(server.url("/hook"), timeout=0.2))
    assert (called.status, called.text) == (0, "no answer within 0.2 s")


def test_a_backend_that_drips_byte_by_byte_does_not_get_more_time():
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n")
                try:
                    while True:
                        connection.sendall(b"x")
                        time.sleep(0.05)
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        called = answer(call(f"http://127.0.0.1:{listening.getsockname()[1]}/", timeout=0.5))
        thread.join(5)
    assert (called.status, called.text) == (0, "no answer within 0.5 s")


def test_one_with_many_that_hang_holds_up_no_other(server):
    server.hang("/slow")
    with calling() as (caller, heard):
        many = range(MOST_AT_ONCE + 1)
        caller.update(WEB, [call(server.url("/slow"), f"slow-{number}", timeout=30) for number in many])
        caller.update(API, [call(server.url("/quick"), "quick")])
        heard.wait(1)
        assert (heard.apps, caller.answers(WEB)) == ([API], ())


def test_a_call_under_way_is_not_begun_twice(server):
    server.hang("/hook")
    with calling() as (caller, heard):
        for _ in range(5):
            caller.update(WEB, [call(server.url("/hook"))])
        server.released.set()
        heard.wait(1)
        caller.update(WEB, [call(server.url("/hook"))])
        assert [called.status for called in caller.answers(WEB)] == [200]
    assert len(server.asked) == 1


def test_an_answer_stays_until_the_call_is_named_no_more(server):
    with calling() as (caller, heard):
        caller.update(WEB, [call(server.url("/hook"))])
        heard.wait(1)
        caller.update(WEB, [call(server.url("/hook"))])
        assert len(caller.answers(WEB)) == 1
        caller.update(WEB, [])
        assert caller.answers(WEB) == ()


def test_a_call_that_is_named_no_more_ends(server):
    server.hang("/hook")
    with calling() as (caller, heard):
        caller.update(WEB, [call(server.url("/hook"), timeout=30)])
        caller.update(WEB, [call(server.url("/other"), "2")])
        heard.wait(1)
        assert [called.id for called in caller.answers(WEB)] == ["2"]
        caller.update(WEB, [])
        assert caller.answers(WEB) == ()


def test_stopping_waits_for_no_backend(server):
    server.hang("/hook")
    with calling() as (caller, _):
        caller.update(WEB, [call(server.url("/hook"), timeout=300)])
        while not server.asked:
            time.sleep(0.01)
        started = time.monotonic()
        caller.stop()
        assert time.monotonic() - started < 2


class TestSecrets:
    def test_they_reach_the_backend_by_url_header_and_metadata(self, server):
        secret = "{{secret:hooks/token}}"
        asked = call(
            server.url(f"/hook?token={secret}"), headers={"Authorization": f"Bearer {secret}"}, metadata={"t": secret}
        )
        assert answer(asked).status == 200
        (got,) = server.asked
        assert got.path == "/hook?token=s3cr3t-t0ken"
        assert got.headers["Authorization"] == "Bearer s3cr3t-t0ken"
        assert got.payload["metadata"] == {"t": "s3cr3t-t0ken"}

    def test_they_are_nowhere_in_what_comes_back_nor_in_the_log(self, server, caplog):
        caplog.set_level(logging.DEBUG, logger="gitops_bg")
        server.reply("/hook", 401, "bad token s3cr3t-t0ken")
        called = answer(call(server.url("/hook"), headers={"Authorization": "{{secret:hooks/token}}"}))
        assert called.text == "bad token ***"
        assert "s3cr3t" not in caplog.text

    @pytest.mark.parametrize(
        ("login", "pair"),
        [
            ("ann:{{secret:hooks/token}}", "ann:s3cr3t-t0ken"),
            ("{{secret:hooks/user}}:{{secret:hooks/token}}", "ann:s3cr3t-t0ken"),
            ("ann:{{secret:hooks/encoded}}", "ann:pä/ss"),
            ("{{secret:hooks/both}}", "ann:pä/ss"),
        ],
    )
    def test_what_http_makes_of_the_user_and_the_password_of_a_url_is_hidden(self, server, login, pair):
        sent = base64.b64encode(pair.encode()).decode()
        server.reply("/hook", 401, f"neither {pair.removeprefix('ann:')} nor Basic {sent} is right")
        called = answer(call(server.url("/hook").replace("://", f"://{login}@")))
        assert server.asked[0].headers["Authorization"] == f"Basic {sent}"
        assert called.text == "neither *** nor Basic *** is right"

    @pytest.mark.parametrize("body", ["x" * 92 + "s3cr3t-t0ken", "s3cr3t-t0ken" * 9000])
    def test_they_are_hidden_also_where_a_body_is_cut(self, server, body):
        server.reply("/hook", 500, body)
        called = answer(call(server.url("/hook"), headers={"Authorization": "{{secret:hooks/token}}"}))
        assert "s3cr" not in called.text
        assert "***" in called.text

    def test_they_are_nowhere_in_what_went_wrong(self):
        called = answer(call("http://{{secret:hooks/token}}.invalid:99999/"))
        assert called.status == 0
        assert "s3cr3t" not in called.text

    def test_one_that_is_not_there_is_no_answer_and_says_which(self, server):
        called = answer(call(server.url("/hook"), headers={"Authorization": "{{secret:hooks/nope}}"}))
        assert (called.status, server.asked) == (0, [])
        assert "shop/hooks has no key nope" in called.text

    def test_those_of_another_namespace_cannot_be_named(self, server):
        called = answer(call(server.url("/hook"), metadata={"t": "{{secret:hooks/token}}"}), AppKey("other", "web"))
        assert called.status == 0
        assert "other/hooks" in called.text


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"))


class TestTls:
    def test_a_certificate_of_a_named_authority_is_trusted(self, authority):
        with hook_server(authority.server("hooks", "127.0.0.1")) as server:
            assert answer(call(server.url("/hook"), caCert=authority.certificate.read_text())).status == 200

    def test_any_other_is_no_answer(self, authority):
        with hook_server(authority.server("hooks", "127.0.0.1")) as server:
            called = answer(call(server.url("/hook")))
            assert (called.status, server.asked) == (0, [])
            assert "certificate" in called.text.lower()

    def test_disable_tls_asks_without_looking(self, authority):
        with hook_server(authority.server("hooks", "127.0.0.1")) as server:
            assert answer(call(server.url("/hook"), disableTLS=True)).status == 200

    def test_an_authority_that_is_none_is_said(self, authority):
        with hook_server(authority.server("hooks", "127.0.0.1")) as server:
            assert answer(call(server.url("/hook"), caCert="nonsense")).status == 0
