"""L11 to L13: bad specs, conflicts and refusals stop one app for a while, never the agent.

Reference bgd-controller.md §3.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gitops_bg.core import names
from gitops_bg.core.errors import Refused, Transient
from tests.support.cluster.paths import collection
from tests.support.scenario import App, Scenario


def test_L11_pod_spec_that_cannot_be_is_a_condition_with_file_and_field(world: Scenario) -> None:
    world.start()
    web = world.app()
    specs: dict[str, Any] = {"no-container": {"containers": []}, "no-image": {"containers": [{"name": "web"}]}}
    every = [world.app(name) for name in (*specs, "no-spec")]
    for broken in every:
        broken.template = {"spec": specs.get(broken.name, {})}
        broken.add("v1")
    web.deploy("v1")

    for broken in every:
        invalid = broken.wait_condition("InvalidSpec")
        assert f"{broken.folder}/target.yaml:" in invalid["message"]
        assert "spec.template.spec" in invalid["message"]
        assert broken.phase() == "Invalid"
        assert not broken.versions()
        broken.wait_told("invalid")


def test_L11_object_that_does_not_fit_the_schema_is_refused_by_the_server(world: Scenario) -> None:
    body = {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "metadata": {"name": "web", "namespace": world.namespace},
        "spec": {"strategy": {"blueGreen": {"activeService": "Not_A_Name"}}},
    }

    status, answer = world.cluster.request("POST", collection(names.API_VERSION, names.KIND, world.namespace), body)

    assert status == 422
    assert "activeService" in answer["message"]


def test_L12_conflicts_with_other_writers_are_decided_again_at_once(web: App) -> None:
    """Somebody writes to the object between the agent's look and each of its first writes."""
    path = f"{collection(names.API_VERSION, names.KIND, web.key.namespace)}/web"
    conflicts = []

    def interfere(number: int) -> None:
        conflicts.append(number)
        web.scenario.cluster.patch(path, {"metadata": {"annotations": {"example.com/touched": str(number)}}})

    with _before_each(web, "save_status", interfere, times=5):
        web.promote("v2")

    assert len(conflicts) == 5
    assert web.ledger_events().count("promoted") == 1
    assert web.scenario.agent is not None
    assert not web.scenario.agent.liveness_problems()


def test_L13_error_of_one_app_is_tried_again_and_stops_neither_the_agent_nor_the_others(web: App) -> None:
    world = web.scenario
    other = world.app("other").deploy("v1")
    assert world.agent is not None
    errors = (Transient("the server is busy"), Refused("422: not like this"))
    for live, tag, error in zip(("v1", "v2"), ("v2", "v3"), errors, strict=True):
        failed: list[int] = []

        def fail(number: int, failed: list[int] = failed, error: Exception = error) -> None:
            failed.append(number)
            raise error

        with _before_each(web, "apply", fail, times=3, only=f"{web.name}-{tag}-"):
            web.push_image(tag)
            web.wait(lambda failed=failed: failed, "the write failed")
            other.promote(tag)
            assert world.agent.liveness_problems() == []
            assert web.live_tag() == live

            def is_tried_again(failed: list[int] = failed) -> bool:
                assert world.agent is not None
                world.agent.wake_all([web.key])
                return len(failed) == 3

            web.wait(is_tried_again, "it was tried again")
        web.promote(tag)


def test_L13_refusal_is_a_condition_with_the_servers_words_until_it_is_over(web: App) -> None:
    world = web.scenario
    web.template = {"metadata": {"labels": {"app": "web", "team": "not a label"}}}
    web.push_image("v2")

    refused = web.wait_condition("Refused")

    assert "not a label" in refused["message"]
    assert web.phase() == "Degraded"
    assert web.live_tag() == "v1"
    web.wait_told("candidate", times=2)
    web.wait(lambda: any(event["reason"] == "Refused" for event in world.events()), "an Event says it too")

    web.template = {}
    web.push_image("v3")
    web.wait_condition("Refused", "Absent")
    web.wait_offered("v3")


@contextmanager
def _before_each(web: App, verb: str, do: Callable[[int], None], *, times: int, only: str = "") -> Iterator[None]:
    """Have something happen before each of the agent's next writes of a verb."""
    agent = web.scenario.agent
    assert agent is not None
    client: Any = agent.cluster.client
    write, numbers = getattr(client, verb), iter(range(times))

    def wrapped(kind: Any, body: Any, *arguments: Any, **named: Any) -> Any:
        name = body["metadata"]["name"] if isinstance(body, dict) else arguments[0]
        meant = name.startswith(only or web.name) and kind.name != "Event"
        number = next(numbers, None) if meant else None
        if number is not None:
            do(number)
        return write(kind, body, *arguments, **named)

    setattr(client, verb, wrapped)
    yield
    setattr(client, verb, write)
