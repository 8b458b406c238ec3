"""Hooks of a running agent against a real backend: each type, its refusal, its recovery, and an agent that dies."""

from collections.abc import Iterator
from typing import Any

import pytest

from gitops_bg.core.model.observed import OperatorCommand, Request
from tests.support.agent.mortality import Mortals
from tests.support.scenario import App
from tests.support.servers.hook_server import HookServer, hook_server


@pytest.fixture
def backend() -> Iterator[HookServer]:
    with hook_server(private=True) as running:
        yield running


def with_hooks(web: App, *webhooks: dict[str, Any], **strategy: Any) -> App:
    """The app with these hooks, promoted by itself unless told otherwise."""
    web.strategy |= {"autoPromotionEnabled": True, "webhooks": list(webhooks), **strategy}
    web.configure()
    web.scenario.wait_idle()
    return web


def hook(backend: HookServer, type_: str, **more: Any) -> dict[str, Any]:
    return {"name": type_, "type": type_, "url": backend.url(f"/{type_}"), **more}


def test_secret_of_a_header_reaches_the_backend_and_nobody_else(web: App, backend: HookServer) -> None:
    namespace = web.scenario.namespace
    web.scenario.cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "hooks", "namespace": namespace},
            "stringData": {"token": "s3cr3t-t0ken"},
        }
    )
    header = {"name": "Authorization", "valueFrom": {"secretKeyRef": {"name": "hooks", "key": "token"}}}
    backend.reply("/pre-rollout", 401, "who is s3cr3t-t0ken?")
    with_hooks(web, hook(backend, "pre-rollout", headers=[header]))

    web.push_image("v2")
    web.wait_phase("Held")
    web.wait_told("aborted")

    assert backend.asked_at("/pre-rollout")[0].headers["Authorization"] == "s3cr3t-t0ken"
    assert "who is ***?" in web.ledger()[-1]["Reason"]
    everything = [web.object(), web.scenario.events(), web.ledger()]
    assert "s3cr3t" not in str(everything)


def test_hook_that_hangs_holds_up_no_other_app_no_abort_and_no_rollback(web: App, backend: HookServer) -> None:
    backend.hang("/pre-rollout")
    with_hooks(web, hook(backend, "pre-rollout", timeout="5m"))
    other = web.scenario.app("api").deploy("v1")
    other.strategy["autoPromotionEnabled"] = True
    other.configure()
    web.push_image("v2")
    web.wait(lambda: backend.asked_at("/pre-rollout"), "the hook is called")

    other.push_image("v2")

    other.wait_live("v2")
    assert web.live_tag() == "v1"
    web.ask(Request("1", OperatorCommand.ABORT, "ada", web.scenario.clock(), "it hangs"))
    web.wait_phase("Held")

    with_hooks(web)
    web.push_image("v3")
    web.wait_live("v3")
    paths = ("confirm-promotion", "rollback", "post-rollout", "event")
    for path in paths:
        backend.hang(f"/{path}")
    with_hooks(web, *(hook(backend, name, timeout="5m") for name in ("pre-rollout", *paths)))
    web.ask(Request("2", OperatorCommand.ROLLBACK, "ada", web.scenario.clock(), "errors"))
    web.wait_live("v1")
    web.wait_primary("v1")


@pytest.mark.slow
def test_agent_that_dies_after_every_write_calls_a_hook_of_one_time_again_with_the_same_key_and_loses_none(
    web: App, backend: HookServer
) -> None:
    with_hooks(web, *(hook(backend, name) for name in ("confirm-rollout", "pre-rollout", "post-rollout")))
    web.scenario.stop()
    web.push_image("v2")
    mortals = Mortals(web.scenario, writes=1)

    mortals.until(lambda: web.live_tag() == "v2" and web.is_told(), "v2 is live")
    mortals.until(lambda: backend.asked_at("/post-rollout"), "the end is told")

    assert mortals.deaths > 0
    for path in ("/confirm-rollout", "/pre-rollout", "/post-rollout"):
        keys = {asked.key for asked in backend.asked_at(path)}
        assert len(keys) == 1, f"{path}: {keys}"


def test_agent_killed_while_it_calls_asks_again_after_its_restart(web: App, backend: HookServer) -> None:
    backend.hang("/pre-rollout")
    with_hooks(web, hook(backend, "pre-rollout", timeout="5m"))
    web.push_image("v2")
    web.wait(lambda: backend.asked_at("/pre-rollout"), "the hook is called")

    web.scenario.stop()
    backend.answer_again("/pre-rollout")
    web.scenario.start()

    web.wait_live("v2")
    first, *again = backend.asked_at("/pre-rollout")
    assert {asked.key for asked in again} == {first.key}


def test_condition_and_event_have_the_answer_of_a_refusal(web: App, backend: HookServer) -> None:
    backend.reply("/confirm-promotion", 409, "change freeze until Monday")
    with_hooks(web, hook(backend, "confirm-promotion"))
    web.push_image("v2")

    web.wait_condition("HooksPassed", "False")
    web.wait(lambda: web.condition("HooksPassed")["reason"] == "Refused", "the refusal is shown")

    condition = web.condition("HooksPassed")
    assert "refused (409): change freeze until Monday" in condition["message"]
    web.wait(lambda: [e for e in web.scenario.events() if e["reason"] == "HookRefused"], "an Event says it")
    (event,) = [event for event in web.scenario.events() if event["reason"] == "HookRefused"]
    assert event["type"] == "Warning"
    assert "change freeze until Monday" in event["message"]
