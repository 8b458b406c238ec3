"""Flagger's alerts (flagger.md §3.7) against a real backend: who hears of what, and that nobody waits for a chat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.conformance.steps import set_ready
from tests.support.scenario import App
from tests.support.servers.hook_server import HookServer, hook_server

TYPES = ("slack", "msteams", "discord", "rocket", "gchat")


@pytest.fixture
def chat() -> Iterator[HookServer]:
    """Takes everything until a test says otherwise."""
    with hook_server(private=True) as running:
        yield running


def provider(name: str, **spec: Any) -> dict[str, str]:
    """The file of an AlertProvider; Slack's unless `spec` says otherwise."""
    body = {
        "apiVersion": "flagger.app/v1beta1",
        "kind": "AlertProvider",
        "metadata": {"name": name},
        "spec": {"type": "slack", **spec},
    }
    return {f"alerts/{name}.yaml": yaml.safe_dump(body)}


def alert(severity: str = "info", name: str = "team", by: str = "chat") -> dict[str, Any]:
    return {"name": name, "severity": severity, "providerRef": {"name": by}}


def use(web: App, files: dict[str, str], *alerts: dict[str, Any], **strategy: Any) -> None:
    """Give the app alerts, and the repository their providers."""
    web.scenario.publish("Add alert providers", dict(files))
    web.strategy |= strategy
    web.spec["analysis"] = {"alerts": list(alerts)}
    web.configure()
    web.scenario.wait_idle()


def texts(chat: HookServer, path: str = "/chat") -> list[str]:
    return [asked.payload["attachments"][0]["text"] for asked in chat.asked_at(path)]


def wait_text(web: App, chat: HookServer, part: str, path: str = "/chat") -> dict[str, Any]:
    """The attachment whose text has this part."""
    web.wait(lambda: any(part in text for text in texts(chat, path)), f"{path} is told: {part}")
    found = (asked.payload["attachments"][0] for asked in chat.asked_at(path))
    return next(one for one in found if part in one["text"])


def test_flagger_alerts_tell_of_init_new_revision_and_success_with_their_fields(web: App, chat: HookServer) -> None:
    """TestScheduler_DeploymentAlerts: the address in a Secret, two alerts of one provider; each hears all three.

    In order, info, by author `name.namespace`; a new revision with version, digest, commit, author and target.
    """
    world = web.scenario
    world.cluster.apply(secret(world.namespace, "chat", {"address": chat.url("/chat")}))
    api = world.app("api")
    api.strategy["autoPromotionEnabled"] = True
    api.spec["analysis"] = {"alerts": [alert(name="slack-dev"), alert(name="slack-prod")]}
    world.publish("Add a provider", provider("chat", secretRef={"name": "chat"}, channel="deployments"))
    api.deploy("v1")
    api.push_image("v2")
    api.wait_live("v2")
    api.wait(lambda: len(chat.asked) >= 8, "both have heard all of it")

    author = f"api.{world.namespace}"
    told = [asked.payload["attachments"][0] for asked in chat.asked]
    assert {one["author_name"] for one in told} == {author}
    assert {one["color"] for one in told} == {"good"}
    parts = ("v1 (", "is live, the first version", "new version v2 (", "is live")
    for part in parts:
        assert len([one for one in told if part in one["text"]]) >= 2
    new = next(one for one in told if "new version v2" in one["text"])
    fields = {field["title"]: field["value"] for field in new["fields"]}
    commit = world.remote.run("log", "-1", "--format=%H", "--", f"{api.folder}/target.yaml")
    assert (fields["Version"], fields["Digest"], fields["Commit"]) == ("v2", api.digest("v2"), commit)
    assert (fields["App"], fields["Target"]) == (str(api.key), f"{api.folder}/target.yaml")
    assert fields["Author"]
    assert chat.asked[0].payload["channel"] == "deployments"
    shown = [api.object(), world.events(), api.ledger()]
    assert chat.url("/chat") not in str(shown)


def test_flagger_alerts_are_filtered_by_severity(web: App, chat: HookServer) -> None:
    """A manual rollback is warn, an analysis that fails is error; info hears of all, warn of both, error of one."""
    files = {
        k: v for name in ("info", "warn", "error") for k, v in provider(name, address=chat.url(f"/{name}")).items()
    }
    use(web, files, *(alert(severity, severity, by=severity) for severity in ("info", "warn", "error")))
    promotion = web.promote("v2")
    web.revert(promotion)
    web.wait_live("v1")
    wait_text(web, chat, "went back", "/warn")
    web.strategy["webhooks"] = [{"name": "smoke", "type": "pre-rollout", "url": chat.url("/smoke")}]
    web.configure()
    chat.reply("/smoke", 500, "9 of 9 checks failed")
    web.push_image("v3")
    failed = wait_text(web, chat, "was aborted", "/error")

    assert failed["color"] == "danger"
    assert "9 of 9 checks failed" in failed["text"]
    assert f"`gitops-bg retry {web.key}` tries it again" in failed["text"]
    assert wait_text(web, chat, "went back", "/warn")["color"] == "warning"
    assert all("went back" not in text for text in texts(chat, "/error"))
    assert all("new version" not in text for text in texts(chat, "/warn"))
    for part in ("new version v2", "went back", "was aborted"):
        wait_text(web, chat, part, "/info")


def test_flagger_alerts_wait_for_approval_is_a_warning_that_a_gate_may_mute(web: App, chat: HookServer) -> None:
    """A promotion that waits for its merge is told once; a closed gate with what opens it, unless muteAlert."""
    gates = [
        {"name": "loud", "type": "confirm-rollout"},
        {"name": "quiet", "type": "confirm-promotion", "muteAlert": True},
    ]
    use(web, provider("chat", address=chat.url("/chat")), alert("warn"))
    web.push_image("v2")
    assert "waits for approval: waiting for the promotion branch" in wait_text(web, chat, "waits for approval")["text"]
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.strategy["webhooks"] = gates
    web.configure()
    web.push_image("v3")
    assert "`gitops-bg gate open" in wait_text(web, chat, "manual gate loud is closed")["text"]
    web.strategy["webhooks"] = gates[1:]
    web.configure()
    web.wait(lambda: web.condition("HooksPassed")["reason"] == "Refused", "the quiet gate is asked")
    web.scenario.wait_idle()
    assert len(texts(chat)) == 2


def test_flagger_alerts_tell_of_a_deadline_exceeded_before_promotion(web: App, chat: HookServer) -> None:
    """What Flagger does not send (#1663): pods that never come up, told as an error with the reason; once."""
    web.spec |= {"progressDeadlineSeconds": 30, "progressDeadlineAbort": True}
    use(web, provider("chat", address=chat.url("/chat")), alert("error"), autoPromotionEnabled=True)
    web.push_image("bad")
    web.wait(lambda: "bad" in web.versions(), "the candidate is there")
    web.scenario.wait_idle()
    web.scenario.advance(31)
    assert "not available within 30 s" in wait_text(web, chat, "was aborted")["text"]
    wait_text(web, chat, "failed: ProgressDeadlineExceeded")
    assert len(texts(chat)) == 2
    assert web.live_tag() == "v1"


def test_flagger_alerts_tell_of_a_failed_promotion(web: App, chat: HookServer) -> None:
    """All pods fail after the switch: live traffic goes back by itself, and an error says from what to what."""
    web.spec["progressDeadlineSeconds"] = 30
    use(web, provider("chat", address=chat.url("/chat")), alert("error"), autoPromotionEnabled=True)
    web.push_image("v2")
    web.wait_live("v2")
    set_ready(web, "v2", False)
    web.wait(lambda: not web.versions()["v2"].available, "its pods fail")
    web.scenario.wait_idle()
    web.scenario.advance(31)
    web.wait_live("v1")
    back = wait_text(web, chat, "live traffic went back from v2")
    assert back["color"] == "danger"
    assert "pods available for 30 s after the switch" in back["text"]


def test_flagger_alerts_tell_of_a_broken_app_yaml_by_the_last_good_one(web: App, chat: HookServer) -> None:
    """An error with file and line, by the provider of main, which was edited since; and when it is good again."""
    use(web, provider("chat", address=chat.url("/old")), alert())
    text = web.app_yaml()
    broken = {f"{web.folder}/app.yaml": text + "typo: true\n", **provider("chat", address=chat.url("/chat"))}
    web.scenario.publish("Break it", broken)
    assert f"{web.folder}/app.yaml:" in wait_text(web, chat, "its files are invalid")["text"]
    assert web.live_tag() == "v1"
    web.configure()
    wait_text(web, chat, "its files are valid again")


def test_flagger_alerts_hold_up_nothing_while_a_chat_is_down(web: App, chat: HookServer) -> None:
    """One provider hangs, one refuses: the third hears all, traffic moves; the refusal is said once in the ledger.

    What hung is told in order when it answers again, also after a restart of the agent.
    """
    chat.hang("/hangs")
    chat.reply("/refuses", 404, "no_service")
    names = ("chat", "hangs", "refuses")
    files = {k: v for name in names for k, v in provider(name, address=chat.url(f"/{name}")).items()}
    use(web, files, *(alert(name=name, by=name) for name in names), autoPromotionEnabled=True)
    web.push_image("v2")
    web.wait_live("v2")
    web.push_image("v3")
    web.wait_live("v3")
    wait_text(web, chat, "v3 (")
    web.wait_told("hook-undelivered")
    reasons = [entry["Reason"] for entry in web.ledger() if entry["Event"] == "hook-undelivered"]
    assert reasons == ["alert refuses: refused (404): no_service"]
    chat.answer_again("/hangs")
    chat.released.set()
    web.scenario.restart()
    wait_text(web, chat, "v3 (", "/hangs")
    told = texts(chat, "/hangs")
    assert next(text for text in dict.fromkeys(told) if "is live" in text).find("v2 (") > 0


def test_flagger_alerts_of_every_type_reach_their_chat_in_its_format(web: App, chat: HookServer) -> None:
    """slack, msteams, discord, rocket, gchat: the five types of an AlertProvider, told of the same; defaults too.

    They are the repository's, in gitops-bg.yaml, as Flagger's global notifier; alerts of an app override them.
    """
    files = {k: v for kind in TYPES for k, v in provider(kind, type=kind, address=chat.url(f"/{kind}")).items()}
    settings = {
        "apiVersion": "gitops-bg.dev/v1alpha1",
        "kind": "Settings",
        "alerts": [alert(name=k, by=k) for k in TYPES],
    }
    web.scenario.publish("Tell everybody", {**files, "gitops-bg.yaml": yaml.safe_dump(settings)})
    web.scenario.wait_idle()
    web.push_image("v2")
    paths = [f"/{kind}" for kind in TYPES if kind != "discord"] + ["/discord/slack"]
    for path in paths:
        web.wait(lambda path=path: chat.asked_at(path), f"{path} is told")
    payloads = {path: chat.asked_at(path)[0].payload for path in paths}
    keys = {
        path: next(iter(payload.keys() - {"channel", "username", "icon_emoji"}), "")
        for path, payload in payloads.items()
    }
    assert {keys[path] for path in ("/slack", "/discord/slack", "/rocket")} == {"attachments"}
    assert payloads["/msteams"]["type"] == "message"
    assert keys["/gchat"] == "cardsV2"
    assert all("new version v2" in str(payload) for payload in payloads.values())
    web.spec["analysis"] = {"alerts": [alert(by="slack")]}
    web.configure()
    web.scenario.wait_idle()
    heard = len(chat.asked_at("/gchat"))
    web.push_image("v3")
    wait_text(web, chat, "new version v3", "/slack")
    web.scenario.wait_idle()
    assert len(chat.asked_at("/gchat")) == heard


def secret(namespace: str, name: str, data: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": data,
    }
