"""The message to each chat, over real HTTP, field by field as documented; and to which hosts Secrets are sent."""

from __future__ import annotations

import doctest
import importlib
import json
import logging
import pkgutil
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import gitops_bg.notify
from gitops_bg.agent.reconcile.alert_composer import alert_composer
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.hooks import Alert, Hook, HookCall, HookResponse, HookType, Severity, answer_of
from gitops_bg.core.model.version import AppKey
from gitops_bg.hooks.caller import MOST_AT_ONCE, HookCaller
from gitops_bg.notify.message import Destination
from gitops_bg.notify.teams import teams
from gitops_bg.outbound.secrets import Secrets
from tests.support.servers.hook_server import HookServer, hook_server

WEB, API = AppKey("shop", "web"), AppKey("shop", "api")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = "shop/web: v2 (d763871d2b) was aborted: 9 < 10 & falling; `gitops-bg retry shop/web` tries it again"
ESCAPED = TEXT.replace("9 < 10 & falling", "9 &lt; 10 &amp; falling")
FACTS = (("App", "shop/web"), ("Version", "v2"))
SECRETS: dict[tuple[str, str], dict[str, bytes]] = {}


@pytest.fixture
def server() -> Iterator[HookServer]:
    with hook_server() as running:
        yield running


def read_secret(namespace: str, name: str) -> dict[str, bytes]:
    if (namespace, name) not in SECRETS:
        raise Refused(f"there is no Secret {namespace}/{name}")
    return SECRETS[namespace, name]


@pytest.fixture(autouse=True)
def no_secrets() -> None:
    SECRETS.clear()


def provider(type_: str, **more: Any) -> dict[str, Any]:
    return {"type": type_, "channel": "deployments", "username": "bot", "target": "apps/shop/web/target.yaml", **more}


def commit_url(commit: str) -> str:
    return f"https://git.example.com/shop/config/commit/{commit}"


COMMIT = "645138c7f91372dbaa319adbdd8db49bbecf95ee"
OF_COMMIT, PULL = (
    ("Commit 645138c7f9", commit_url(COMMIT)),
    ("Pull request #7", "https://git.example.com/pulls/7?a=(|)&b"),
)
SAFE = "https://git.example.com/pulls/7?a=%28%7C%29&b"
"""No part of an address may end the link in any chat."""


def linked(server: HookServer, type_: str) -> dict[str, Any]:
    """The message about a commit that is offered by a pull request."""
    alert = Alert(Severity.INFO, TEXT, NOW, (("Commit", COMMIT),), (PULL, ("Bad", "javascript:alert(1)")))
    assert told(type_, alert=alert, address=server.url("/hook")).status == 200
    return dict(server.asked[0].payload)


def told(
    type_: str, severity: Severity = Severity.ERROR, namespace: str = "", alert: Alert | None = None, **more: Any
) -> HookResponse:
    """What comes of one alert."""
    hook = Hook("team", HookType.ALERT, json.dumps(provider(type_, **more)), namespace=namespace)
    alert = alert or Alert(severity, TEXT, NOW, FACTS)
    call = HookCall("1", "key-1", hook, "Failed", "v1:d763", alert=alert)
    heard = threading.Event()
    composers = {HookType.ALERT: alert_composer("blue", commit_url)}
    caller = HookCaller(read_secret, lambda _: heard.set(), lambda: NOW, composers)
    try:
        caller.take(WEB, [call])
        assert heard.wait(10)
        (called,) = caller.answers(WEB)
    finally:
        caller.stop()
    return called


def sent(server: HookServer, type_: str, path: str = "/hook", severity: Severity = Severity.ERROR) -> dict[str, Any]:
    assert told(type_, severity, address=server.url(path)).status == 200
    (asked,) = server.asked
    assert asked.headers["Content-Type"] == "application/json"
    assert asked.headers["Idempotency-Key"] == "key-1"
    return asked.payload


def attachment(color: str, text: str) -> dict[str, Any]:
    facts = [*FACTS, ("Target", "apps/shop/web/target.yaml"), ("Cluster", "blue")]
    return {
        "color": color,
        "author_name": "web.shop",
        "fallback": TEXT,
        "text": text,
        "mrkdwn_in": ["text"],
        "fields": [{"title": title, "value": value, "short": False} for title, value in facts],
        "ts": int(NOW.timestamp()),
    }


HEAD = {"channel": "deployments", "username": "bot", "icon_emoji": ":rocket:"}


@pytest.mark.parametrize(
    ("severity", "color"), [(Severity.INFO, "good"), (Severity.WARN, "warning"), (Severity.ERROR, "danger")]
)
def test_slack_gets_an_attachment_in_the_color_of_the_severity(server, severity, color):
    assert sent(server, "slack", severity=severity) == {**HEAD, "attachments": [attachment(color, ESCAPED)]}


def test_discord_gets_slacks_format_at_its_own_address(server):
    assert sent(server, "discord", "/api/webhooks/1/t") == {**HEAD, "attachments": [attachment("danger", TEXT)]}
    assert server.asked[0].path == "/api/webhooks/1/t/slack"


def test_rocket_chat_gets_attachments_with_colors_in_hexadecimal(server):
    assert sent(server, "rocket") == {**HEAD, "attachments": [attachment("#FF0000", TEXT)]}


def test_teams_workflows_get_an_adaptive_card(server):
    payload = sent(server, "msteams")
    (card,) = payload.pop("attachments")
    assert payload == {"type": "message"}
    assert (card["contentType"], card["contentUrl"]) == ("application/vnd.microsoft.card.adaptive", None)
    content = card["content"]
    assert (content["type"], content["version"]) == ("AdaptiveCard", "1.4")
    assert content["$schema"] == "http://adaptivecards.io/schemas/adaptive-card.json"
    title, text, facts = content["body"]
    assert (title["text"], text["text"], text["color"]) == ("web.shop", TEXT, "attention")
    assert facts["type"] == "FactSet"
    assert facts["facts"][0] == {"title": "App", "value": "shop/web"}


def test_teams_connectors_get_flaggers_message_card():
    alert = Alert(Severity.ERROR, TEXT, NOW, FACTS)
    message = teams(WEB, alert, Destination("https://shop.webhook.office.com/webhookb2/1"))
    assert message.body == {
        "@type": "MessageCard",
        "@context": "http://schema.org/extensions",
        "themeColor": "FF0000",
        "summary": "web.shop",
        "sections": [
            {
                "activityTitle": TEXT,
                "activitySubtitle": "web.shop",
                "facts": [{"name": "App", "value": "shop/web"}, {"name": "Version", "value": "v2"}],
            }
        ],
    }


def test_google_chat_gets_a_card(server):
    ((card,),) = (sent(server, "gchat")["cardsV2"],)
    assert card["cardId"] == "web.shop"
    assert card["card"]["header"] == {"title": "gitops-bg", "subtitle": "web.shop"}
    text, app, *_ = card["card"]["sections"][0]["widgets"]
    assert text["textParagraph"]["text"].startswith('<font color="#FF0000"><b>ERROR</b></font> ')
    assert "9 &lt; 10 &amp; falling" in text["textParagraph"]["text"]
    assert app == {"decoratedText": {"topLabel": "App", "text": "shop/web", "wrapText": True}}


ODD = "🚀 grün 青 👩\u200d👩\u200d👧 \U0010fffd \u2028 \\ud83d\\ude80"


@pytest.mark.parametrize("type_", ["slack", "discord", "rocket", "msteams", "gchat"])
def test_any_letter_reaches_every_chat_as_it_is(server: HookServer, type_: str) -> None:
    alert = Alert(Severity.INFO, f"shop/web: {ODD}", NOW, (("Reason", ODD),))
    assert told(type_, alert=alert, address=server.url("/hook")).status == 200

    def texts(value: Any) -> Iterator[str]:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        yield from (value,) if isinstance(value, str) else (text for each in inner for text in texts(each))

    found = [text for text in texts(server.asked[0].payload) if "🚀" in text]
    escaped = ODD.replace("\\", "\\\\") if type_ == "msteams" else ODD
    assert len(found) >= 2
    assert [text for text in found if ODD not in text and escaped not in text] == []


# --- links ---


@pytest.mark.parametrize(
    ("type_", "links", "formatted"),
    [
        (
            "slack",
            f"<{commit_url(COMMIT)}|Commit 645138c7f9> · <{SAFE.replace('&', '&amp;')}|Pull request #7>",
            ["text", "fields"],
        ),
        ("discord", f"[Commit 645138c7f9]({commit_url(COMMIT)}) · [Pull request #7]({SAFE})", ["text", "fields"]),
        ("rocket", f"[Commit 645138c7f9]({commit_url(COMMIT)}) · [Pull request #7]({SAFE})", ["text", "fields"]),
    ],
)
def test_attachments_have_one_field_of_links(server: HookServer, type_: str, links: str, formatted: list[str]) -> None:
    (attachment,) = linked(server, type_)["attachments"]
    assert attachment["fields"][-1] == {"title": "Links", "value": links, "short": False}
    assert attachment["mrkdwn_in"] == formatted


def test_a_card_of_teams_has_buttons(server: HookServer) -> None:
    (card,) = linked(server, "msteams")["attachments"]
    assert card["content"]["actions"] == [
        {"type": "Action.OpenUrl", "title": OF_COMMIT[0], "url": OF_COMMIT[1]},
        {"type": "Action.OpenUrl", "title": PULL[0], "url": SAFE},
    ]


def test_a_message_card_has_actions() -> None:
    alert = Alert(Severity.ERROR, TEXT, NOW, links=(OF_COMMIT,))
    message = teams(WEB, alert, Destination("https://shop.webhook.office.com/webhookb2/1"))
    target = {"os": "default", "uri": OF_COMMIT[1]}
    assert message.body["potentialAction"] == [{"@type": "OpenUri", "name": OF_COMMIT[0], "targets": [target]}]


def test_a_card_of_google_chat_has_buttons(server: HookServer) -> None:
    (card,) = linked(server, "gchat")["cardsV2"]
    assert card["card"]["sections"][0]["widgets"][-1] == {
        "buttonList": {
            "buttons": [
                {"text": OF_COMMIT[0], "onClick": {"openLink": {"url": OF_COMMIT[1]}}},
                {"text": PULL[0], "onClick": {"openLink": {"url": SAFE}}},
            ]
        }
    }


# --- Slack's Web API ---


class TestSlackWithAToken:
    def test_the_token_is_sent_as_bearer_and_nowhere_else(self, server):
        SECRETS["shop", "bot"] = {"token": b"xoxb-s3cr3t\n", "address": server.url("/api").encode()}
        server.reply("/api", 200, '{"ok": true}')
        assert told("slack", secret="bot").status == 200
        (asked,) = server.asked
        assert asked.headers["Authorization"] == "Bearer xoxb-s3cr3t"
        assert "s3cr3t" not in str(asked.payload)

    @pytest.mark.parametrize(
        ("error", "meaning"),
        [("channel_not_found", "refused"), ("invalid_auth", "refused"), ("ratelimited", "unanswered")],
    )
    def test_a_200_that_says_no_is_none(self, server, error, meaning):
        SECRETS["shop", "bot"] = {"token": b"xoxb-s3cr3t", "address": server.url("/api").encode()}
        server.reply("/api", 200, json.dumps({"ok": False, "error": error}))
        called = told("slack", secret="bot")
        assert answer_of(called.status) == meaning
        assert error in called.text

    def test_a_webhook_that_says_ok_in_one_word_is_good(self, server):
        server.reply("/hook", 200, "ok")
        assert told("slack", address=server.url("/hook")).status == 200

    def test_without_an_address_it_goes_to_slack_itself(self):
        SECRETS["shop", "bot"] = {"token": b"xoxb-s3cr3t"}
        hook = Hook("team", HookType.ALERT, json.dumps(provider("slack", secret="bot")))
        call = HookCall("1", "key-1", hook, "", "", alert=Alert(Severity.INFO, TEXT, NOW))
        request = alert_composer("blue")(WEB, call, Secrets("shop", read_secret))
        assert request.url == "https://slack.com/api/chat.postMessage"
        assert ("Authorization", "Bearer xoxb-s3cr3t") in request.headers
        assert "s3cr3t" not in repr(request)

    def test_no_other_chat_gets_the_token(self, server):
        SECRETS["shop", "bot"] = {"token": b"xoxb-s3cr3t", "address": server.url("/hook").encode()}
        told("rocket", secret="bot")
        assert "Authorization" not in server.asked[0].headers


# --- Secrets and proxies ---


def test_the_address_of_the_secret_counts_before_that_of_the_file(server):
    SECRETS["shop", "chat"] = {"address": server.url("/secret").encode() + b"\n"}
    assert told("slack", secret="chat", address=server.url("/file")).status == 200
    assert [asked.path for asked in server.asked] == ["/secret"]


def test_the_secret_of_a_provider_with_a_namespace_is_read_there(server):
    SECRETS["ops", "chat"] = {"address": server.url("/ops").encode()}
    assert told("slack", namespace="ops", secret="chat").status == 200


def test_a_secret_that_is_missing_or_empty_is_no_answer_and_says_which():
    assert told("slack", secret="chat") == HookResponse("1", 0, NOW, "there is no Secret shop/chat")
    SECRETS["shop", "chat"] = {"adress": b"https://chat.test/"}
    assert told("slack", secret="chat") == HookResponse("1", 0, NOW, "Secret shop/chat has no key address")


@pytest.mark.parametrize("status", [200, 403, 500])
def test_the_address_is_nowhere_in_what_comes_back_nor_in_the_log(server, caplog, status):
    caplog.set_level(logging.DEBUG)
    SECRETS["shop", "chat"] = {"address": server.url("/services/T0/B0/s3cr3t-p4th").encode()}
    server.reply("/services/T0/B0/s3cr3t-p4th", status, "no such hook: services/T0/B0/s3cr3t-p4th")
    called = told("slack", secret="chat")
    assert (called.status, called.text) == (status, "no such hook: ***")
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("gitops_bg")]
    assert "s3cr3t" not in str(ours)


def test_a_provider_that_is_not_there_is_no_answer():
    called = told("slack", address="http://127.0.0.1:9/services/s3cr3t")
    assert called.status == 0
    assert "s3cr3t" not in called.text


def test_what_has_a_proxy_goes_through_it(server):
    assert told("slack", address="http://chat.invalid/hook", proxy=server.url("/")).status == 200
    (asked,) = server.asked
    assert (asked.path, asked.headers["Host"]) == ("http://chat.invalid/hook", "chat.invalid")


def test_a_chat_that_hangs_holds_up_no_hook(server):
    server.hang("/chat")
    hook = Hook("team", HookType.ALERT, json.dumps(provider("slack", address=server.url("/chat"))))
    alert = Alert(Severity.INFO, TEXT, NOW)
    messages = [HookCall(f"m{n}", f"m{n}", hook, "", "", alert=alert) for n in range(2 * MOST_AT_ONCE)]
    gate = Hook("gate", HookType.CONFIRM_PROMOTION, json.dumps({"url": server.url("/gate"), "timeout": 5.0}))
    heard = threading.Event()
    caller = HookCaller(read_secret, lambda _: heard.set(), lambda: NOW, {HookType.ALERT: alert_composer("blue")})
    try:
        caller.take(WEB, messages)
        caller.take(API, [HookCall("g", "g", gate, "", "")])
        assert heard.wait(8)
        assert [called.status for called in caller.answers(API)] == [200]
    finally:
        server.released.set()
        caller.stop()


def test_redirects_are_not_followed(server):
    server.reply("/hook", 302, "elsewhere")
    assert told("slack", address=server.url("/hook")).status == 302


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(gitops_bg.notify.__path__)])
def test_examples_are_true(name):
    assert doctest.testmod(importlib.import_module(f"gitops_bg.notify.{name}")).failed == 0
