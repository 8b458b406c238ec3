"""The same answers without caches, for commands that run once; and the caches' own behaviour on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core import names
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.actions import ApplyApp, SwitchTraffic
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig
from tests.integration.cluster.scene import Scene, config, create, snapshot, switch, watching
from tests.support.cluster.clusters import TestCluster

ONE, TWO = snapshot("v1"), snapshot("v2")


@pytest.fixture
def once(scene: Scene) -> Iterator[Cluster]:
    made = Cluster.live(Access(scene.cluster.kubeconfig), [scene.app.namespace])
    yield made
    made.client.close()


def test_live_and_cached_see_the_same(scene: Scene, once: Cluster) -> None:
    scene.serve(ONE)
    scene.until(lambda seen: seen.active_service and seen.active_service.ready_endpoints == 1)
    assert once.observe(scene.app, scene.config, Record()) == scene.observe()
    assert once.apps() == [scene.app]
    assert once.manifest(scene.app) == scene.subject.manifest(scene.app)


def test_live_can_act(scene: Scene, once: Cluster) -> None:
    scene.serve(ONE)
    scene.do(create(TWO, number=2))
    scene.available(TWO)
    action: SwitchTraffic = switch(TWO, scene.selector(ONE), number=2)
    once.carry_out(scene.app, scene.config, action)
    scene.until(lambda seen: seen.active_service and seen.active_service.digest in TWO.digest)


def test_asking_for_an_app_that_is_not_there_is_a_clear_no(scene: Scene, once: Cluster) -> None:
    from datetime import UTC, datetime

    with pytest.raises(Refused, match="does not exist in this cluster"):
        once.reconcile(scene.app, datetime.now(UTC))


def test_a_long_name_is_told_by_its_full_name(scene: Scene) -> None:
    app = AppKey(scene.app.namespace, "w" * 70)
    scene.subject.carry_out(app, config(app), ApplyApp())
    scene.subject.carry_out(app, config(app), create(ONE))
    with scene.changed:
        assert scene.changed.wait_for(lambda: app in scene.woken, 10)
    assert all(names.app_label(app) != woken.name for woken in scene.woken)
    assert len(scene.subject.observe(app, config(app), Record()).replica_sets) == 1


def test_each_namespace_is_watched(served: TestCluster, namespace: str) -> None:
    other = served.namespace()
    with watching(served, namespace) as here, watching(served, other) as there:
        here.do(ApplyApp())
        there.do(ApplyApp())
        assert here.subject.apps() == [here.app]
        assert there.subject.apps() == [there.app]
        assert here.subject.alive
        assert here.subject.caches.troubles() == []


def test_many_threads_get_their_own_answers(scene: Scene) -> None:
    """Eight workers on one client (pitfalls.md §1.2): no answer is crossed, no connection is thrown away."""
    apps = [AppKey(scene.app.namespace, f"app-{number}") for number in range(8)]

    def work(app: AppKey) -> list[bool]:
        asked = AppConfig(app, scene.config.spec, scene.config.body, None, None)
        scene.subject.carry_out(app, asked, ApplyApp())
        for number in range(1, 4):
            scene.subject.carry_out(app, asked, create(snapshot(f"{app.name}-v{number}"), replicas=0, number=number))
        seen = scene.subject.observe(app, asked, Record())
        return [each.snapshot.text.count(app.name) == 1 for each in seen.replica_sets]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, apps)) == [[True] * 3] * 8
