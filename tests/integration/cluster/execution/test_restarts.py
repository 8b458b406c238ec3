"""Evictions on live clusters: exactly the pod that was meant, and what a PodDisruptionBudget refuses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.core.errors import Transient, WorldChanged
from gitops_bg.core.model.actions import ApplyApp, EvictPod
from gitops_bg.core.model.observed import PodView
from gitops_bg.core.model.record import OperatorState, Record, Restart
from gitops_bg.core.model.version import Snapshot, short
from tests.integration.cluster.scene import Scene, create, snapshot
from tests.integration.test_two_clusters_evictions import budget, wait_status
from tests.support.waiting import eventually

BEGUN = Record(operator=OperatorState(restart=Restart(datetime(2026, 1, 1, tzinfo=UTC), 1, begun=True)))


@pytest.fixture
def one(scene: Scene) -> Snapshot:
    """A version with two available pods."""
    made = snapshot("v1")
    scene.do(ApplyApp(), create(made, replicas=2))
    scene.available(made, 2)
    return made


def pods_of(scene: Scene) -> tuple[PodView, ...]:
    seen = scene.observe(record=BEGUN).pods
    assert seen is not None
    return seen


def eviction(of: Snapshot, pod: PodView) -> EvictPod:
    return EvictPod(pod.name, pod.uid, of.digest, 1)


def test_pods_are_looked_at_only_while_a_restart_has_begun(scene: Scene, one: Snapshot) -> None:
    assert scene.observe().pods is None
    found = pods_of(scene)
    assert len(found) == 2
    now = datetime.now(UTC)
    for pod in found:
        assert pod.digest == short(one.digest)
        assert pod.ready_since is not None
        assert timedelta() <= pod.ready_since - pod.created_at <= now - pod.created_at < timedelta(minutes=5)
        assert not pod.leaving


def test_pod_is_evicted_and_a_new_one_takes_its_place(scene: Scene, one: Snapshot) -> None:
    gone, stays = pods_of(scene)
    scene.do(eviction(one, gone))
    assert all(pod.leaving for pod in pods_of(scene) if pod.uid == gone.uid)

    def replaced() -> bool:
        staying = {pod.uid for pod in pods_of(scene) if not pod.leaving}
        return len(staying) == 2 and gone.uid not in staying and stays.uid in staying

    eventually(replaced, what="a new pod beside the one that stays")
    scene.do(eviction(one, gone))


def test_another_pod_of_that_name_is_left_alone(scene: Scene, one: Snapshot) -> None:
    pod, _ = pods_of(scene)
    with pytest.raises(WorldChanged):
        scene.do(EvictPod(pod.name, "somebody-else", one.digest, 1))
    assert not any(each.leaving for each in pods_of(scene))


def test_refusal_of_a_budget_passes_by_itself(scene: Scene, one: Snapshot) -> None:
    labels = {"matchLabels": {"team": "shop"}}
    path = budget(scene.cluster, scene.app.namespace, minAvailable=2, selector=labels)
    wait_status(scene.cluster, path, disruptionsAllowed=0, currentHealthy=2)
    pod, _ = pods_of(scene)
    with pytest.raises(Transient, match=f"evict Pod .*{pod.name}: 429 .*violate the pod's disruption budget"):
        scene.do(eviction(one, pod))
    assert not any(each.leaving for each in pods_of(scene))


def test_pod_that_is_not_ready_says_so(scene: Scene, one: Snapshot) -> None:
    scene.cluster.set_ready(scene.app.namespace, scene.selector(one), False)
    eventually(lambda: all(pod.ready_since is None for pod in pods_of(scene)), what="both are unready")
