"""Flagger's webhooks (flagger.md §3.4) against a real backend: each type, its refusal, its recovery."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.steps import retry
from tests.support.scenario import App
from tests.support.servers.hook_server import HookServer, hook_server


@pytest.fixture
def backend() -> Iterator[HookServer]:
    """Says yes to everything until a test says otherwise."""
    with hook_server(private=True) as running:
        yield running


def use(web: App, *hooks: dict[str, Any], **strategy: Any) -> None:
    """Give the app hooks; it is promoted by itself, unless `strategy` says otherwise."""
    web.strategy |= {"autoPromotionEnabled": True, **strategy, "webhooks": list(hooks)}
    web.configure()
    web.scenario.wait_idle()


def hook(backend: HookServer, type_: str, name: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name or type_, "type": type_, "url": backend.url(f"/{name or type_}"), "interval": 1, **more}


def size(web: App, tag: str) -> int | None:
    version = web.versions().get(tag)
    return version.replicas if version else None


def wait_asked(web: App, backend: HookServer, path: str, times: int = 1) -> None:
    web.wait(lambda: len(backend.asked_at(path)) >= times, f"{path} is asked {times} times")


def test_flagger_hook_pre_rollout_flagger_webhooks_refusals_count_against_the_limit_and_abort(
    web: App, backend: HookServer
) -> None:
    """failureLimit 1, Flagger's threshold 2: the second refusal aborts and holds; a retry that is accepted is live.

    The payload has name, namespace, phase, checksum (the digest), metadata as written; nothing else. With retries: 1
    two 500s abort, with 1 s between them, and one call more than Flagger's default makes.
    """
    backend.reply("/pre-rollout", 500, "smoke test failed")
    metadata = {"type": "bash", "cmd": "true"}
    use(web, hook(backend, "pre-rollout", failureLimit=1, timeout="5s", metadata=metadata))
    web.push_image("v2")
    web.wait_phase("Held")
    web.wait_told("aborted")
    assert len(backend.asked_at("/pre-rollout")) == 2
    assert backend.asked[0].payload == {
        "name": "web",
        "namespace": web.key.namespace,
        "phase": "Progressing",
        "checksum": web.digest("v2"),
        "metadata": metadata,
    }
    assert "smoke test failed" in web.ledger()[-1]["Reason"]
    assert web.live_tag() == "v1"
    backend.reply("/pre-rollout", 200)
    retry(web, "v2")
    web.wait_live("v2")
    web.wait_told("promoted")
    assert len(backend.asked_at("/pre-rollout")) == 3, "one that is accepted is asked once"

    backend.reply("/pre-rollout", 500, "exit code 1")
    use(web, hook(backend, "pre-rollout", retries=1))
    asked = len(backend.asked_at("/pre-rollout"))
    web.push_image("v3")
    web.wait_phase("Held")
    assert len(backend.asked_at("/pre-rollout")) == asked + 2
    assert web.live_tag() == "v2"


def test_flagger_hook_rollout_is_called_for_each_iteration_and_refusals_reach_the_threshold(
    web: App, backend: HookServer
) -> None:
    """Flagger's analysis with 3 iterations: 3 calls with phase Progressing, then the promotion. threshold 2: the second
    refusal aborts; the primary keeps serving.
    """
    web.spec["analysis"] = {"interval": "1s", "iterations": 3, "webhooks": [hook(backend, "rollout")]}
    use(web)
    web.push_image("v2")
    web.wait_live("v2")
    web.wait_told("promoted")
    assert backend.phases("/rollout") == ["Progressing"] * 3

    backend.reply("/rollout", 500, "error rate 12 %")
    web.spec["analysis"] = {"interval": "1s", "iterations": 9, "threshold": 2, "webhooks": [hook(backend, "rollout")]}
    use(web)
    web.push_image("v3")
    web.wait_phase("Held")
    assert len(backend.asked_at("/rollout")) == 3 + 2
    assert web.live_tag() == "v2"


def test_flagger_hook_confirm_rollout_flagger_hook_confirm_promotion_gate_the_start_the_commit_and_traffic(
    web: App, backend: HookServer
) -> None:
    """The first, refused, is asked again each interval, phase Waiting; the candidate stays at 0 until it is accepted.

    The second, refused: AwaitingPromotion, main unchanged. Accepted: twice, for the commit and for the traffic, as
    Flagger's.
    """
    backend.reply("/confirm-rollout", 403, "not today")
    backend.reply("/confirm-promotion", 403, "change freeze")
    use(web, hook(backend, "confirm-rollout"), hook(backend, "confirm-promotion"))
    web.push_image("v2")
    wait_asked(web, backend, "/confirm-rollout", 3)
    web.wait_phase("Waiting")
    assert size(web, "v2") == 0
    assert set(backend.phases("/confirm-rollout")) == {"Waiting"}
    backend.reply("/confirm-rollout", 200)

    wait_asked(web, backend, "/confirm-promotion", 2)
    web.wait_phase("AwaitingPromotion")
    assert web.primary_digest() == web.digest("v1")
    assert "change freeze" in web.condition("HooksPassed")["message"]
    backend.reply("/confirm-promotion", 200)
    web.wait_live("v2")
    assert backend.phases("/confirm-promotion")[-1] == "Promoting"


def test_flagger_hook_rollback_acts_at_once_also_while_pods_are_unready(web: App, backend: HookServer) -> None:
    """Refusals change nothing; a 200 aborts and holds a candidate whose image never runs, long before its deadline."""
    backend.reply("/rollback", 403)
    use(web, hook(backend, "rollback"))
    web.push_image("bad")
    wait_asked(web, backend, "/rollback", 2)
    assert web.record.holds == ()
    backend.reply("/rollback", 200, "somebody pulled the cord")
    web.wait_phase("Held")
    web.wait_told("aborted")
    assert "somebody pulled the cord" in web.ledger()[-1]["Reason"]
    assert web.live_tag() == "v1"


def test_flagger_hook_post_rollout_flagger_hook_event_every_one_is_called_after_success_and_failure(
    web: App, backend: HookServer
) -> None:
    """Succeeded, then Failed; the second hook hears of both though the first refuses.

    Candidate, promoted and every change of phase, in order, with eventMessage, eventType, timestamp in ms.
    """
    backend.reply("/first", 500)
    told = [hook(backend, "post-rollout", "first"), hook(backend, "post-rollout", "second"), hook(backend, "event")]
    use(web, *told)
    web.push_image("v2")
    wait_asked(web, backend, "/second", 1)

    def messages() -> list[str]:
        return [asked.payload["metadata"]["eventMessage"] for asked in backend.asked_at("/event")]

    web.wait(lambda: any(message.endswith("→ Healthy") for message in messages()), "the end is told")
    heads = [message.partition(":")[0] for message in messages()]
    assert heads.index("candidate v2 (v2)") < heads.index("promoted v2 (v2)")
    metadata = backend.asked_at("/event")[0].payload["metadata"]
    assert metadata.keys() == {"eventMessage", "eventType", "timestamp"}
    assert metadata["eventType"] == "Normal"
    assert abs(int(metadata["timestamp"]) / 1000 - web.scenario.clock().timestamp()) < 300

    backend.reply("/pre-rollout", 500)
    use(web, *told, hook(backend, "pre-rollout"))
    web.push_image("v3")
    wait_asked(web, backend, "/second", 2)
    wait_asked(web, backend, "/first", 2)
    assert backend.phases("/second") == ["Succeeded", "Failed"]
    assert backend.phases("/first") == ["Succeeded", "Failed"]


def test_flagger_gates_closed_are_opened_by_hand_and_survive_a_restart(web: App, cli: Any) -> None:
    """Both confirm gates without url, closed by default: opened one after the other; after a restart still open."""
    use(web, {"name": "start", "type": "confirm-rollout"}, {"name": "release", "type": "confirm-promotion"})
    web.push_image("v2")
    web.wait_phase("Waiting")
    web.wait(lambda: size(web, "v2") == 0, "the candidate is there, at 0")
    cli("gate", "open", str(web.key), "start", "-r", "reviewed")
    web.wait_phase("AwaitingPromotion")
    assert web.live_tag() == "v1"
    cli("gate", "open", str(web.key), "release", "-r", "tested")
    web.wait_live("v2")
    web.wait_told("gate-opened", times=2)
    web.scenario.restart()
    web.push_image("v3")
    web.wait_live("v3")


def test_flagger_beat_l_hooks_are_asynchronous_their_output_is_kept_and_204_is_good(
    web: App, backend: HookServer
) -> None:
    """A hook that hangs holds up no other app; the body of a 500 is in condition, Event and ledger; 204 promotes."""
    backend.hang("/pre-rollout")
    use(web, hook(backend, "pre-rollout", timeout="5m"))
    web.push_image("v2")
    wait_asked(web, backend, "/pre-rollout")
    other = web.scenario.app("api").deploy("v1")
    assert other.live_tag() == "v1"

    backend.answer_again("/pre-rollout")
    backend.reply("/pre-rollout", 500, "3 of 9 checks failed")
    backend.released.set()
    web.wait_phase("Held")
    web.wait_told("aborted")
    assert "3 of 9 checks failed" in web.ledger()[-1]["Reason"]
    assert "3 of 9 checks failed" in web.condition("HooksPassed")["message"]
    web.wait(lambda: "3 of 9 checks failed" in str(web.scenario.events()), "an Event has the output")

    backend.reply("/pre-rollout", 204)
    web.push_image("v3")
    web.wait_live("v3")
