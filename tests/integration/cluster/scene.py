"""One app in a namespace of its own, seen through the code under test, on either cluster."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.model.actions import (
    ApplyApp,
    ApplyConfiguration,
    ApplyService,
    ClusterAction,
    CreateReplicaSet,
    DeleteReplicaSet,
    ScaleReplicaSet,
    SwitchTraffic,
)
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.desired import Target
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.observed import Observed
from gitops_bg.core.model.record import Record, SwitchKind
from gitops_bg.core.model.spec import AppSpec, Strategy
from gitops_bg.core.model.version import AppKey, Color, Snapshot, Source, short
from gitops_bg.core.names import configuration_name, replica_set_name, selector
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.manifests.configuration import Configuration, configuration_of
from tests.support.cluster.clusters import TestCluster
from tests.support.waiting import PATIENCE

BODY = {
    "target": "target.yaml",
    "strategy": {"blueGreen": {"activeService": "web", "previewService": "web-preview"}},
}


def snapshot(tag: str = "v1", **container: Any) -> Snapshot:
    """A pod template with one container; names of fields as in a manifest."""
    web = {"name": "web", "image": f"registry.example/web:{tag}", "ports": [{"name": "http", "containerPort": 8080}]}
    return snapshot_of({"metadata": {"labels": {"team": "shop"}}, "spec": {"containers": [{**web, **container}]}})


def config(app: AppKey, target: Snapshot | None = None, **services: Any) -> AppConfig:
    """What the folder of the app says; ``services`` are manifests by name."""
    strategy = Strategy(active_service="web", preview_service="web-preview")
    wanted = Target(target or snapshot(), 1, Source("c0ffee"))
    return AppConfig(app, AppSpec(app, strategy), BODY, wanted, None, services)


def create(of: Snapshot, replicas: int = 1, number: int = 1, **more: Any) -> CreateReplicaSet:
    return CreateReplicaSet(number=number, snapshot=of, color=Color.BLUE, replicas=replicas, **more)


def switch(to: Snapshot, expected: dict[str, str] | None = None, **more: Any) -> SwitchTraffic:
    defaults: dict[str, Any] = {"switch_kind": SwitchKind.PROMOTION, "needs_available": 1, "number": 1}
    pairs = tuple(sorted((expected or {}).items()))
    return SwitchTraffic(
        name="web", expected_selector=pairs, from_number=None, from_digest="", digest=to.digest, **(defaults | more)
    )


SETTINGS = configuration_of("ConfigMap", "settings", {"data": {"color": "blue"}, "binaryData": {"icon": "AP8="}})
PASSWORDS = configuration_of("Secret", "passwords", {"type": "shop/db", "stringData": {"db": "hunter2"}})


@dataclass
class Scene:
    """The app and the façade that watches it; `until` waits for the watch, never by sleeping."""

    cluster: TestCluster
    app: AppKey
    subject: Cluster
    changed: threading.Condition
    kubeconfig: Path
    """That of the code under test."""
    woken: list[AppKey] = field(default_factory=list)

    def do(self, *actions: ClusterAction, config: AppConfig | None = None) -> None:
        for action in actions:
            self.subject.carry_out(self.app, config or self.config, action)

    @property
    def config(self) -> AppConfig:
        return config(self.app)

    def copied(self, *configuration: Configuration) -> tuple[str, ...]:
        """Make the copies, as of what the target uses; their names."""
        config, names = (
            self.config_with(*configuration),
            [configuration_name(self.app, each.ref) for each in configuration],
        )
        for each, name in zip(configuration, names, strict=True):
            self.do(ApplyConfiguration(each.ref, name, 1), config=config)
        return tuple(names)

    def config_with(self, *configuration: Configuration) -> AppConfig:
        """The folder with ConfigMaps and Secrets that the target uses."""
        uses = snapshot_of(json.loads(snapshot().text), (each.ref for each in configuration))
        return replace(config(self.app, uses), configuration=configuration)

    def observe(self, config: AppConfig | None = None, record: Record | None = None) -> Observed:
        return self.subject.observe(self.app, config or self.config, record or Record())

    def until(
        self, predicate: Callable[[Observed], Any], timeout: float = PATIENCE, config: AppConfig | None = None
    ) -> Observed:
        """Wait until the app, as the caches show it, fulfils the predicate."""
        with self.changed:
            found = self.changed.wait_for(lambda: predicate(self.observe(config)), timeout)
        assert found, f"not within {timeout} s; last: {self.observe(config)}"
        return self.observe(config)

    def available(self, of: Snapshot, pods: int = 1) -> None:
        """Wait until the version has so many available pods."""
        self.until(lambda seen: any(each.snapshot == of and each.available >= pods for each in seen.replica_sets))

    def serve(self, of: Snapshot) -> None:
        """The app exists, and live traffic goes to this version."""
        self.do(ApplyApp(), create(of))
        self.available(of)
        self.do(switch(of, create=True))
        self.until(lambda seen: seen.active_service and seen.active_service.digest == short(of.digest))

    def serve_and_promote(self) -> None:
        """A version serves, another one takes over, the first goes, and the status is written by both ways."""
        one, two = snapshot("v1"), snapshot("v2")
        self.serve(one)
        self.do(create(two, number=2), ApplyService("preview", "web-preview", two.digest, "told to"))
        self.available(two)
        self.do(switch(two, self.selector(one), number=2), ScaleReplicaSet(one.digest, 1, 1, 0, "told to"))
        self.do(DeleteReplicaSet(replica_set_name(self.app, 1, one.digest), one.digest, "told to"))
        now = datetime.now(UTC)
        assert self.subject.warn(self.app, Condition("InternalError", True, "Bug", "a bug"), now)
        self.subject.save(self.app, Decision((), Record(epoch="e"), Phase.HEALTHY), now)

    def selector(self, of: Snapshot) -> dict[str, str]:
        return selector(self.app, of.digest)

    def live(self, kind: str, name: str) -> dict[str, Any]:
        group = {"services": "/api/v1", "replicasets": "/apis/apps/v1"}.get(kind, "/apis/gitops-bg.dev/v1alpha1")
        return self.cluster.get(f"{group}/namespaces/{self.app.namespace}/{kind}/{name}")


@contextmanager
def watching(
    cluster: TestCluster, namespace: str, *, kubeconfig: Path | None = None, impersonate: str = "", **options: Any
) -> Iterator[Scene]:
    """A scene whose caches are complete. ``kubeconfig`` is the agent's; without one it is that of the tests."""
    changed, woken = threading.Condition(), []

    def on_change(app: AppKey) -> None:
        with changed:
            woken.append(app)
            changed.notify_all()

    kubeconfig = kubeconfig or cluster.kubeconfig
    subject = Cluster.watching(Access(kubeconfig, impersonate=impersonate), on_change, [namespace], **options)
    subject.start()
    try:
        assert subject.caches.wait(20), subject.caches.troubles()
        yield Scene(cluster, AppKey(namespace, "web"), subject, changed, kubeconfig, woken)
    finally:
        subject.stop()
