"""Flagger's alerts (flagger.md §3.7) against a real backend: who hears of what, and that nobody waits for a chat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.conformance.steps import set_ready
from tests.support.scenario import App, Scenario
from tests.support.servers.hook_server import HookServer, hook_server


@pytest.fixture
def chat() -> Iterator[HookServer]:
    """Takes everything until a test says otherwise."""
    with hook_server(private=True) as running:
        yield running


def provider(name: str, **spec: Any) -> dict[str, str]:
    """The file of an AlertProvider."""
    body = {
        "apiVersion": "flagger.app/v1beta1",
        "kind": "AlertProvider",
        "metadata": {"name": name},
        "spec": {"type": "apprise", **spec},
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
    return [asked.payload["message"] for asked in chat.asked_at(path)]


def wait_text(web: App, chat: HookServer, part: str, path: str = "/chat") -> dict[str, Any]:
    """The message that has this part."""
    web.wait(lambda: any(part in text for text in texts(chat, path)), f"{path} is told: {part}")
    return next(asked.payload for asked in chat.asked_at(path) if part in asked.payload["message"])


def test_flagger_alerts_tell_of_init_new_revision_and_success_with_their_fields(
    world: Scenario, chat: HookServer
) -> None:
    """TestScheduler_DeploymentAlerts: the address in a Secret, two alerts of one provider; each hears all three.

    In order, info, titled `name.namespace`; a new revision with version, digest, commit, author and target.
    """
    world.start()
    world.cluster.apply(secret(world.namespace, "chat", {"address": chat.chat("/chat")}))
    api = world.app("api")
    api.strategy["autoPromotionEnabled"] = True
    api.spec["analysis"] = {"alerts": [alert(name="slack-dev"), alert(name="slack-prod")]}
    world.publish("Add a provider", provider("chat", secretRef={"name": "chat"}))
    api.deploy("v1")
    api.push_image("v2")
    api.wait_live("v2")
    api.wait(lambda: len(chat.asked) >= 8, "both have heard all of it")

    assert {asked.payload["title"] for asked in chat.asked} == {f"api.{world.namespace}"}
    assert {asked.payload["type"] for asked in chat.asked} == {"info"}
    for part in ("v1 (", "is live, the first version", "new version v2 (", "is live"):
        assert len([text for text in texts(chat) if part in text]) >= 2
    lines = next(text for text in texts(chat) if "new version v2" in text).split("\n")
    commit = world.remote.run("log", "-1", "--format=%H", "--", f"{api.folder}/target.yaml")
    facts = {"Version": "v2 (v2)", "Digest": api.digest("v2"), "Commit": commit, "App": str(api.key)}
    facts["Target"] = f"{api.folder}/target.yaml"
    assert {f"{title}: {value}" for title, value in facts.items()} <= set(lines)
    assert [line for line in lines if line.startswith("Author: ") and line != "Author: "]
    shown = [api.object(), world.events(), api.ledger()]
    assert chat.chat("/chat") not in str(shown)


def test_flagger_alerts_are_filtered_by_severity(web: App, chat: HookServer) -> None:
    """A manual rollback is warn, an analysis that fails is error; info hears of all, warn of both, error of one."""
    files = {
        k: v for name in ("info", "warn", "error") for k, v in provider(name, address=chat.chat(f"/{name}")).items()
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

    assert failed["type"] == "failure"
    assert "9 of 9 checks failed" in failed["message"]
    assert f"`gitops-bg retry {web.key}` tries it again" in failed["message"]
    assert wait_text(web, chat, "went back", "/warn")["type"] == "warning"
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
    use(web, provider("chat", address=chat.chat("/chat")), alert("warn"))
    web.push_image("v2")
    waits = wait_text(web, chat, "waits for approval")["message"]
    assert "waits for approval: waiting for the promotion branch" in waits
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.strategy["webhooks"] = gates
    web.configure()
    web.push_image("v3")
    assert "`gitops-bg gate open" in wait_text(web, chat, "manual gate loud is closed")["message"]
    web.strategy["webhooks"] = gates[1:]
    web.configure()
    web.wait(lambda: web.condition("HooksPassed")["reason"] == "Refused", "the quiet gate is asked")
    web.scenario.wait_idle()
    assert len(texts(chat)) == 2


def test_flagger_alerts_tell_of_a_deadline_exceeded_before_promotion_and_of_a_failed_promotion(
    web: App, chat: HookServer
) -> None:
    """What Flagger does not send (#1663): pods that never come up, told as an error with the reason; once.

    All pods fail after the switch: live traffic goes back by itself, and an error says from what to what.
    """
    web.spec |= {"progressDeadlineSeconds": 30, "progressDeadlineAbort": True}
    use(web, provider("chat", address=chat.chat("/chat")), alert("error"), autoPromotionEnabled=True)
    web.push_image("bad")
    web.wait(lambda: "bad" in web.versions(), "the candidate is there")
    web.scenario.wait_idle()
    web.scenario.advance(31)
    assert "not available within 30 s" in wait_text(web, chat, "was aborted")["message"]
    wait_text(web, chat, "failed: ProgressDeadlineExceeded")
    assert len(texts(chat)) == 2
    assert web.live_tag() == "v1"

    web.push_image("v3")
    web.wait_live("v3")
    set_ready(web, "v3", False)
    web.wait(lambda: not web.versions()["v3"].available, "its pods fail")
    web.scenario.wait_idle()
    web.scenario.advance(31)
    web.wait_live("v1")
    back = wait_text(web, chat, "live traffic went back from v3")
    assert back["type"] == "failure"
    assert "pods available for 30 s after the switch" in back["message"]


def test_flagger_alerts_hold_up_nothing_while_a_chat_is_down(web: App, chat: HookServer) -> None:
    """One provider hangs, one refuses: the third hears all, traffic moves.

    Both are told in order when they answer again, also after a restart of the agent.
    """
    chat.hang("/hangs")
    chat.reply("/refuses", 404)
    names = ("chat", "hangs", "refuses")
    files = {k: v for name in names for k, v in provider(name, address=chat.chat(f"/{name}")).items()}
    use(web, files, *(alert(name=name, by=name) for name in names), autoPromotionEnabled=True)
    web.push_image("v2")
    web.wait_live("v2")
    web.push_image("v3")
    web.wait_live("v3")
    wait_text(web, chat, "v3 (")
    chat.answer_again("/hangs")
    chat.reply("/refuses", 200)
    chat.released.set()
    web.scenario.restart()
    for path in ("/hangs", "/refuses"):
        wait_text(web, chat, "v3 (", path)
        told = texts(chat, path)
        assert next(text for text in dict.fromkeys(told) if "is live" in text).find("v2 (") > 0


def test_flagger_alerts_of_the_repository_are_for_apps_without_alerts_of_their_own(web: App, chat: HookServer) -> None:
    """In gitops-bg.yaml, as Flagger's global notifier; alerts of an app override them.

    A broken app.yaml is an error with file and line, by the last good one and the provider of main, which was edited
    since; and it is told when it is good again.
    """
    settings = {
        "apiVersion": "gitops-bg.dev/v1alpha1",
        "kind": "Settings",
        "alerts": [alert(by="everybody")],
    }
    files = {**provider("everybody", address=chat.chat("/everybody")), **provider("own", address=chat.chat("/own"))}
    web.scenario.publish("Tell everybody", {**files, "gitops-bg.yaml": yaml.safe_dump(settings)})
    web.scenario.wait_idle()
    web.push_image("v2")
    wait_text(web, chat, "new version v2", "/everybody")
    web.spec["analysis"] = {"alerts": [alert(by="own")]}
    web.configure()
    web.scenario.wait_idle()
    heard = len(chat.asked_at("/everybody"))
    web.push_image("v3")
    wait_text(web, chat, "new version v3", "/own")
    web.scenario.wait_idle()
    assert len(chat.asked_at("/everybody")) == heard

    text = web.app_yaml()
    broken = {f"{web.folder}/app.yaml": text + "typo: true\n", **provider("own", address=chat.chat("/chat"))}
    web.scenario.publish("Break it", broken)
    assert f"{web.folder}/app.yaml:" in wait_text(web, chat, "its files are invalid")["message"]
    assert web.live_tag() == "v1"
    web.configure()
    wait_text(web, chat, "its files are valid again")


def secret(namespace: str, name: str, data: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": data,
    }
