"""Alerts by apprise: what each chat gets, what counts as sent, and that the rules of outgoing calls hold."""

from __future__ import annotations

import doctest
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import requests
from apprise import Apprise

from gitops_bg import notify
from gitops_bg.agent.reconcile.background import alert_composer
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.hooks import Alert, Hook, HookCall, HookResponse, HookType, Severity
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import page_url
from gitops_bg.hooks import HookCaller
from gitops_bg.notify import SERVICES, Destination, sender
from gitops_bg.outbound.addresses import EVERYWHERE, ORDINARY, AddressRules
from gitops_bg.outbound.secrets import Secrets
from tests.support.cluster.pki import Authority
from tests.support.servers.hook_server import HookServer, hook_server

WEB, API = AppKey("shop", "web"), AppKey("shop", "api")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = "shop/web: v2 was aborted: 9 < 10 & falling"
ALERT = Alert(
    Severity.ERROR, TEXT, NOW, (("App", "shop/web"),), (("Pull request #7", "https://git.example.com/pulls/7"),)
)
COMMIT = "645138c7f91372dbaa319adbdd8db49bbecf95ee"
SECRETS: dict[tuple[str, str], dict[str, bytes]] = {}


@pytest.fixture
def server() -> Iterator[HookServer]:
    with hook_server() as running:
        yield running


@pytest.fixture(autouse=True)
def no_secrets() -> None:
    SECRETS.clear()


DASHBOARD = "https://bg.example.com"


def read_secret(namespace: str, name: str) -> dict[str, bytes]:
    if (namespace, name) not in SECRETS:
        raise Refused(f"there is no Secret {namespace}/{name}")
    return SECRETS[namespace, name]


def call(namespace: str = "", alert: Alert = ALERT, **more: Any) -> HookCall:
    provider = {"type": "apprise", "channel": "deployments", "username": "bot", "target": "t.yaml", **more}
    hook = Hook("team", HookType.ALERT, json.dumps(provider), namespace=namespace)
    return HookCall("1", "key-1", hook, "Failed", "v1:d763", alert=alert)


def answered(call: HookCall, addresses: AddressRules = EVERYWHERE) -> HookResponse:
    """What comes of one alert."""
    heard = threading.Event()
    composers = {HookType.ALERT: alert_composer("blue", commit_url, addresses, partial(page_url, DASHBOARD))}
    caller = HookCaller(read_secret, lambda _: heard.set(), lambda: NOW, composers)
    try:
        caller.update(WEB, [call])
        assert heard.wait(15)
        (called,) = caller.answers(WEB)
    finally:
        caller.stop()
    return called


def told(url: str, addresses: AddressRules = EVERYWHERE) -> HookResponse:
    """What comes of one alert to an address in a Secret."""
    SECRETS["shop", "phone"] = {"address": url.encode() + b"\n"}
    return answered(call(secret="phone"), addresses)


def commit_url(commit: str) -> str:
    return f"https://git.example.com/shop/config/commit/{commit}"


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
        "Target: t.yaml",
        "Cluster: blue",
        "Dashboard: https://bg.example.com/apps/shop/web",
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


def test_links_are_those_of_the_web_and_end_nowhere_too_early(server: HookServer) -> None:
    pull, bad = ("Pull request #7", "https://git.example.com/pulls/7?a=(|)&b"), ("Bad", "javascript:alert(1)")
    alert = Alert(Severity.INFO, TEXT, NOW, (("Commit", COMMIT),), (pull, bad))
    answered(call(alert=alert, address=address(server, "/hook")))
    assert server.asked[0].payload["message"].split("\n")[-2:] == [
        f"Commit 645138c7f9: {commit_url(COMMIT)}",
        "Pull request #7: https://git.example.com/pulls/7?a=%28%7C%29&b",
    ]


# --- the types of an AlertProvider ---

DISCORD = f"https://discord.com/api/webhooks/123456789012345678/{'x' * 68}"
FLOW = "/workflows/643e69f83c8944438d68119179a10a64/triggers/manual/paths/invoke"
TEAMS = f"https://prod-1.westeurope.logic.azure.com:443{FLOW}?api-version=2016-06-01&sig=KODuebWbDGYFr0z0eu"
SPACE = "https://chat.googleapis.com/v1/spaces/AAAA/messages"
SLACK = f"https://hooks.slack.com/services/T01234567/B01234567/{'x' * 24}"
ROCKET = "https://chat.example.com/hooks/5f8d/abcd"
SENT_TO = {
    "slack": (Destination("slack", SLACK, "on-call", "bot"), SLACK, {"channel": "#on-call", "username": "bot"}),
    "slack's bots": (
        Destination("slack", "", "on-call", "bot", "xoxb-1234-1234-abc124"),
        "https://slack.com/api/chat.postMessage",
        {"channel": "#on-call", "username": "bot"},
    ),
    "msteams": (Destination("msteams", TEAMS), TEAMS.partition("?")[0], {"type": "message"}),
    "discord": (Destination("discord", DISCORD), DISCORD, {}),
    "rocket": (Destination("rocket", ROCKET, "on-call"), ROCKET, {"channel": "#on-call"}),
    "gchat": (Destination("gchat", f"{SPACE}?key=k&token=t"), SPACE, {}),
    "apprise": (Destination("apprise", "ntfys://ntfy.example.com/x"), "https://ntfy.example.com", {"topic": "x"}),
}


@pytest.mark.parametrize("case", SENT_TO)
def test_every_type_gets_its_own_format_at_its_own_address(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    to, url, fields = SENT_TO[case]
    (asked,) = sent(to, Alert(Severity.ERROR, "shop/web: 🚀 grün 青 is live", NOW), monkeypatch)
    assert asked[0] == url
    assert asked[1].items() >= fields.items()
    assert "🚀 grün 青 is live" in json.dumps(asked[1], ensure_ascii=False)


@pytest.mark.parametrize("case", SENT_TO)
def test_what_an_author_wrote_calls_nobody(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [
        "@everyone",
        "@here",
        "@all",
        "@channel",
        "@grace",
        "<!channel>",
        "<users/7>",
        "<@&12>",
        "<at>ceo@example.com",
    ]
    leads = ["[Approve](https://evil.example)", "<https://evil.example|ok>"]
    (asked,) = sent(SENT_TO[case][0], Alert(Severity.INFO, " ".join(calls + leads), NOW), monkeypatch)
    said = json.dumps(asked[1], ensure_ascii=False)
    assert not [each for each in calls + leads if each in said]


def test_commands_addresses_and_links_stay_as_they_are() -> None:
    link = "https://git.example.com/shop/all-config/commit/1"
    whole = Alert(Severity.INFO, "gitops-bg retry shop/channel-api", NOW, (("Author", "Ada <all@example.com>"),))
    assert "\N{ZERO WIDTH SPACE}" not in notify.text_of(replace(whole, links=(("Commit 1", link),)))


CHANNELS = {
    ("slack", SLACK, "on-call"): "/#on-call",
    ("slack", SLACK, "@grace"): "/@grace",
    ("slack", SLACK, "C024BE91L"): "/+C024BE91L",
    ("slack", SLACK, "team-payments-production-deployments"): "/",
    ("slack", SLACK, "größe"): "/",
    ("rocket", ROCKET, "@grace"): "/@grace",
}


@pytest.mark.parametrize("case", CHANNELS, ids=lambda case: f"{case[0]} {case[2]}")
def test_a_channel_an_id_and_a_person_are_named_as_apprise_reads_them(case: tuple[str, str, str]) -> None:
    assert notify.url_of(Destination(*case)).endswith(CHANNELS[case])


@pytest.mark.parametrize(("type_", "address", "token"), [("slack", "", "xoxb-1-2-a"), ("rocket", ROCKET, "")])
def test_a_channel_that_cannot_be_named_is_told_at_once(type_: str, address: str, token: str) -> None:
    with pytest.raises(ValueError, match="no way to name the channel größe"):
        sender(Destination(type_, address, "größe", token=token), WEB, ALERT)


def test_an_address_of_another_chat_is_refused_at_once_with_what_to_write() -> None:
    called = answered(call(type="slack", address="https://mattermost.example.com/hooks/1"))
    assert called.status == 400
    assert "for another service: type: apprise" in called.text


def test_a_proxy_of_the_environment_is_permitted_and_an_address_behind_it_is_not(
    server: HookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("NO_PROXY", "")
    told("json://hooks.example/x", addresses=ORDINARY)
    assert [each.path for each in server.asked] == ["http://hooks.example/x"]
    refused = told("json://169.254.169.254/latest", addresses=ORDINARY)
    assert "169.254.169.254 is link-local" in refused.text
    assert len(server.asked) == 1


def sent(to: Destination, alert: Alert, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """The posts of apprise: their addresses and JSON."""
    posts: list[tuple[str, dict[str, Any]]] = []

    def post(_: object, method: str, url: str, *, data: Any, **more: Any) -> requests.Response:
        posts.append((url, json.loads(data)))
        response = requests.Response()
        response.status_code, response._content = 200, b'{"ok": true}' if "/api/" in url else b"ok"
        return response

    monkeypatch.setattr(requests.Session, "request", post)
    assert sender(to, WEB, alert)() == (200, "")
    return posts


@pytest.mark.parametrize(
    "to",
    [
        Destination("slack", "https://hooks.example.com/services/T0/B0/x"),
        Destination("discord", SLACK),
        Destination("msteams", "https://shop.webhook.office.com/webhookb2/1"),
        Destination("gchat", "http://chat.googleapis.com/v1/spaces/AAAA/messages?key=k&token=t"),
        Destination("rocket", "https://chat.example.com/"),
    ],
)
def test_an_address_that_is_none_of_the_chat_says_what_to_write_instead(to: Destination) -> None:
    with pytest.raises(ValueError, match=f"none of a webhook of {to.type}; for another service: type: apprise"):
        sender(to, WEB, ALERT)


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
    Apprise.instantiate("json://localhost")  # the first one loads all services
    server.hang("/hook")
    gate = Hook("gate", HookType.CONFIRM_PROMOTION, json.dumps({"url": server.url("/gate"), "timeout": 5.0}))
    heard = {WEB: threading.Event(), API: threading.Event()}
    composers = {HookType.ALERT: alert_composer("blue")}
    caller = HookCaller(read_secret, lambda subject: heard[subject].set(), lambda: NOW, composers)  # type: ignore[index]
    begun = time.monotonic()
    try:
        caller.update(WEB, [call(address=address(server, "/hook?rto=900&cto=900"))])
        caller.update(API, [HookCall("g", "g", gate, "", "")])
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
    called = told(url)
    assert called.status == 400
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


def test_the_address_of_the_secret_counts_before_that_of_the_file(server: HookServer) -> None:
    SECRETS["shop", "chat"] = {"address": address(server, "/secret").encode() + b"\n"}
    assert answered(call(secret="chat", address=address(server, "/file"))).status == 200
    assert [asked.path for asked in server.asked] == ["/secret"]


def test_the_secret_of_a_provider_with_a_namespace_is_read_there(server: HookServer) -> None:
    SECRETS["ops", "chat"] = {"address": address(server, "/ops").encode()}
    assert answered(call("ops", secret="chat")).status == 200


def test_a_secret_that_is_missing_or_empty_is_no_answer_and_says_which() -> None:
    assert answered(call(secret="chat")) == HookResponse("1", 0, NOW, "there is no Secret shop/chat")
    SECRETS["shop", "chat"] = {"adress": b"https://chat.test/"}
    assert answered(call(secret="chat")) == HookResponse("1", 0, NOW, "Secret shop/chat has no key address")


def test_a_token_of_slack_needs_no_address_and_is_nowhere_to_be_read() -> None:
    SECRETS["shop", "bot"] = {"token": b"xoxb-s3cr3t-1"}
    request = alert_composer("blue")(WEB, call(type="slack", secret="bot"), Secrets("shop", read_secret))
    assert request.send is not None
    assert "s3cr3t" not in repr(request)


def test_nothing_of_it_is_imported_before_it_is_used() -> None:
    code = "import gitops_bg.agent.agent, sys; print([name for name in sys.modules if name.startswith('apprise')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_examples_are_true() -> None:
    assert doctest.testmod(notify).failed == 0
