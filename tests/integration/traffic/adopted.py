"""The way of a live app into the agent's hands and out of them, for tests in which people use it meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gitops_bg.core import names
from tests.integration.traffic.stage import Stage, stage
from tests.support import manifests
from tests.support.agent.mortality import Mortals
from tests.support.cluster.paths import collection, pods
from tests.support.waiting import eventually

DELAY = 300
"""``scaleDownDelaySeconds`` of the app."""
OLD = "v0"
"""The image of the live Deployment; ours is v1, so that answers tell who gave them."""


def live(on: Stage, replicas: int = 2, **labels: str) -> None:
    """A Deployment, with more labels, and a Service that serve, made by somebody who knows no agent."""
    made = manifests.deployment(on.world.namespace, replicas=replicas, tag=OLD, app="web", **labels)
    on.cluster.apply(made, manager="kubectl")
    on.cluster.apply(manifests.service(on.world.namespace, app="web"), manager="kubectl")
    eventually(lambda: len(on.cluster.ready_addresses(on.world.namespace, "web")) == replicas, what="it serves")


def deployment_size(on: Stage) -> int:
    found = on.cluster.get(f"{collection('apps/v1', 'Deployment', on.world.namespace)}/web")
    return int(found["spec"]["replicas"])


def adopt(on: Stage, scale_down: str) -> None:
    on.web.spec["adopt"] = {"deployment": "web", "scaleDown": scale_down}
    on.web.strategy["scaleDownDelaySeconds"] = DELAY
    on.web.add("v1", "Adopt web")


def hand_over(on: Stage) -> None:
    """The Service selects our pods, the record has understood it, and people are there."""
    on.web.wait(lambda: on.web.live_tag() == "v1" and on.web.record.adopted, "the Service is handed over")
    on.wait_used("v1")
    on.web.wait_told("deployed")


def pods_of_ours(on: Stage) -> int:
    found = on.cluster.list(pods(on.world.namespace), labelSelector=f"{names.APP}=web")
    return len([each for each in found if "deletionTimestamp" not in each["metadata"]])


def is_over(on: Stage) -> bool:
    found = on.world.live(names.PLURAL, "web") or {}
    conditions = (found.get("status") or {}).get("conditions") or []
    return any((each["type"], each["reason"]) == ("Adopting", "Adopted") for each in conditions)


def labels_of_pods(on: Stage) -> set[str]:
    return {pod["metadata"]["labels"]["app"] for pod in on.cluster.list(pods(on.world.namespace))}


def be_adopted(on: Stage, scale_down: str = "progressively") -> None:
    """An agent in good health adopts the app."""
    on.world.start()
    adopt(on, scale_down)
    hand_over(on)
    on.web.wait(lambda: is_over(on), "the adoption is over")


@contextmanager
def dying(
    folder: Path,
    fewest: int,
    prepare: Callable[[Stage], None] = lambda _: None,
    begin: Callable[[Stage], None] = live,
) -> Iterator[tuple[Stage, Mortals]]:
    """A stage on which something serves (`begin`), people who use it, and an agent that `prepare`s the story; then
    each agent dies after its first write, so that each write of the story is the last one of somebody, and whoever
    comes next knows what is in Git and in the cluster. No request of it may fail.

    More than ``fewest`` die.
    """
    with stage(folder) as on:
        begin(on)
        on.load.start()
        prepare(on)
        if on.world.agent is not None:
            on.world.wait_idle()
            on.world.stop()
        agents = Mortals(on.world, writes=1)
        yield on, agents
        assert not [each.failure for each in on.load.failures()], agents.done
        assert agents.deaths > fewest, agents.done
        on.world.stop()
