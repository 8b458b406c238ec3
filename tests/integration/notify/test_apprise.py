"""Alerts by apprise, over real HTTP: what is sent, what counts as sent, and that the rules of outgoing calls hold."""

from __future__ import annotations

import doctest
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from apprise import Apprise

from gitops_bg.agent.reconcile.alert_composer import alert_composer
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.hooks import Alert, Hook, HookCall, HookResponse, HookType, Severity
from gitops_bg.core.model.version import AppKey
from gitops_bg.hooks.caller import HookCaller
from gitops_bg.notify import apprise_sender
from gitops_bg.notify.apprise_sender import SERVICES, require_usable
from gitops_bg.outbound.addresses import EVERYWHERE, ORDINARY, AddressRules
from tests.support.cluster.pki import Authority
from tests.support.servers.hook_server import HookServer, hook_server

WEB, API = AppKey("shop", "web"), AppKey("shop", "api")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = "shop/web: v2 was aborted: 9 < 10 & falling"
ALERT = Alert(
    Severity.ERROR, TEXT, NOW, (("App", "shop/web"),), (("Pull request #7", "https://git.example.com/pulls/7"),)
)
SECRETS: dict[str, bytes] = {}


@pytest.fixture
def server() -> Iterator[HookServer]:
    with hook_server() as running:
        yield running


def read_secret(namespace: str, name: str) -> dict[str, bytes]:
    if (namespace, name) != ("shop", "phone"):
        raise Refused(f"there is no Secret {namespace}/{name}")
    return SECRETS


def call(name: str = "phone") -> HookCall:
    hook = Hook("team", HookType.ALERT, json.dumps({"type": "apprise", "secret": name}))
    return HookCall("1", "key-1", hook, "Failed", "v1:d763", alert=ALERT)


def told(url: str, name: str = "phone", addresses: AddressRules = EVERYWHERE) -> HookResponse:
    """What comes of one alert."""
    SECRETS.clear()
    SECRETS["url"] = url.encode() + b"\n"
    heard = threading.Event()
    composers = {HookType.ALERT: alert_composer("blue", addresses=addresses)}
    caller = HookCaller(read_secret, lambda _: heard.set(), lambda: NOW, composers)
    try:
        caller.take(WEB, [call(name)])
        assert heard.wait(15)
        (called,) = caller.answers(WEB)
    finally:
        caller.stop()
    return called


def address(server: HookServer, path: str, scheme: str = "json") -> str:
    return f"{scheme}://127.0.0.1:{server.port}{path}"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_it_sends_nowhere_that_the_rules_for_addresses_refuse(host: str, server: HookServer) -> None:
    called = told(address(server, "/hook").replace("127.0.0.1", host), addresses=ORDINARY)
    assert called.status == 0
    assert "is this machine itself: --allow-address" in called.text
    assert server.asked == []


def test_a_name_that_leads_elsewhere_when_it_is_asked_again_leads_nowhere(
    server: HookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is checked is the address of the connection itself, however often a library asks for it."""
    answers, real = count(), socket.getaddrinfo

    def rebinding(host: Any, *rest: Any, **named: Any) -> Any:
        harmless = host == "rebinds.example" and next(answers) == 0
        return real("192.0.2.1" if harmless else "127.0.0.1", *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    socket.getaddrinfo("rebinds.example", server.port)
    called = told(address(server, "/hook").replace("127.0.0.1", "rebinds.example"), addresses=ORDINARY)
    assert "127.0.0.1 is this machine itself: --allow-address" in called.text
    assert server.asked == []


def test_a_service_gets_the_sentence_the_facts_and_the_links(server: HookServer) -> None:
    assert told(address(server, "/hook")).status == 200
    (asked,) = server.asked
    assert asked.path == "/hook"
    assert (asked.payload["title"], asked.payload["type"]) == ("web.shop", "failure")
    assert asked.payload["message"].split("\n") == [
        TEXT,
        "",
        "App: shop/web",
        "Cluster: blue",
        "Pull request #7: https://git.example.com/pulls/7",
    ]


@pytest.mark.parametrize(("status", "parameters"), [(500, ""), (404, ""), (500, "?optional=yes")])
def test_what_the_service_does_not_take_is_tried_again(server: HookServer, status: int, parameters: str) -> None:
    server.reply("/hook", status)
    called = told(address(server, f"/hook{parameters}"))
    assert called.status == 0
    assert str(status) in called.text
    assert len(server.asked) == 1


def test_one_attempt_is_one_request_whatever_the_url_asks_for(server: HookServer) -> None:
    server.reply("/hook", 500)
    told(address(server, "/hook?retry=3&wait=0"))
    assert len(server.asked) == 1


# --- the rules of outgoing calls ---


@pytest.mark.parametrize("asks", ["", "?redirect=yes"])
def test_redirects_are_not_followed(server: HookServer, asks: str) -> None:
    server.redirect("/hook", server.url("/elsewhere"))
    assert told(address(server, f"/hook{asks}")).status == 0
    assert not server.asked_at("/elsewhere")


@pytest.mark.parametrize("asks", ["", "?verify=no"])
def test_certificates_are_verified_whatever_the_url_says(tmp_path: Path, asks: str) -> None:
    with hook_server(Authority(tmp_path).server("chat", "127.0.0.1")) as server:
        called = told(address(server, f"/hook{asks}", "jsons"))
        assert called.status == 0
        assert not server.asked


def test_a_service_that_hangs_ends_in_time_and_holds_up_no_gate(server: HookServer) -> None:
    server.hang("/hook")
    SECRETS["url"] = address(server, "/hook?rto=900&cto=900").encode()
    gate = Hook("gate", HookType.CONFIRM_PROMOTION, json.dumps({"url": server.url("/gate"), "timeout": 5.0}))
    heard = {WEB: threading.Event(), API: threading.Event()}
    composers = {HookType.ALERT: alert_composer("blue")}
    caller = HookCaller(read_secret, lambda subject: heard[subject].set(), lambda: NOW, composers)  # type: ignore[index]
    begun = time.monotonic()
    try:
        caller.take(WEB, [call()])
        caller.take(API, [HookCall("g", "g", gate, "", "")])
        assert heard[API].wait(4)
        assert heard[WEB].wait(12)
        assert caller.answers(WEB)[0].status == 0
        assert time.monotonic() - begun < 9, "rto=900 is not ours"
    finally:
        server.released.set()
        caller.stop()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("dbus://", "it is to begin with one of"),
        ("syslog://daemon", "it is to begin with one of"),
        ("https://ntfy.example.com/x", "it is to begin with one of"),
        ("no url", "it is to begin with one of"),
        ("tgram://123:token/chat?template=/etc/passwd", "parameter template"),
        ("tgram://123:token/chat?x=1&Template=/etc/passwd", "parameter Template"),
        ("tgram://123:token/chat?te%6Dplate=/etc/passwd", "parameter template"),
        ("tgram://123:token/chat#x?template=/etc/passwd", "parameter template"),
        ("tgram://123:token/chat?x=1;template=/etc/passwd", "parameter template"),
        ("mailto://u:p@example.com?pgpkey=/etc/passwd", "parameter pgpkey"),
    ],
)
def test_a_url_that_would_reach_or_read_the_machine_is_not_used(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        require_usable(url)
    called = told(url)
    assert called.status == 0
    assert said in called.text


def test_every_service_that_is_used_exists() -> None:
    known: set[str] = set()
    for each in Apprise().details()["schemas"]:
        known |= {*(each["protocols"] or ()), *(each["secure_protocols"] or ())}
    assert known >= SERVICES


# --- Secrets ---


@pytest.mark.parametrize("path", ["/services/s3cr3t-p4th", "/hook?+X-Key=s3cr3t-p4th"])
def test_the_url_is_nowhere_in_what_comes_back(server: HookServer, path: str) -> None:
    server.reply(path.partition("?")[0], 500, "no such hook: s3cr3t-p4th")
    called = told(address(server, path).replace("json://", "json://bot:s3cr3t-word@"))
    assert called.status == 0
    assert "s3cr3t" not in called.text


def test_a_secret_without_url_says_so() -> None:
    assert told("json://x", "phone").status == 0
    SECRETS.clear()
    SECRETS["address"] = b"json://x"
    heard = threading.Event()
    caller = HookCaller(read_secret, lambda _: heard.set(), lambda: NOW, {HookType.ALERT: alert_composer("blue")})
    try:
        caller.take(WEB, [call()])
        assert heard.wait(15)
        assert caller.answers(WEB)[0].text == "Secret shop/phone has no key url"
    finally:
        caller.stop()


def test_nothing_of_it_is_imported_before_it_is_used() -> None:
    code = "import gitops_bg.agent.agent, sys; print([name for name in sys.modules if name.startswith('apprise')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_examples_are_true() -> None:
    assert doctest.testmod(apprise_sender).failed == 0
