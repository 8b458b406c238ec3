"""Two clusters of one environment share primary.yaml, and follow it one after the other; back they go together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gitops_bg.repo.settings import RepositorySettings
from tests.support.cluster.clusters import SandboxCluster
from tests.support.git.remote import GitRemote
from tests.support.scenario import App, scenario

ENVIRONMENTS = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: Environments
environments:
- name: prod
  clusters: [prod-eu, prod-us]
  autoPromotionEnabled: true
  waves: [[prod-eu], [prod-us]]
  between: 30m
"""


@pytest.fixture
def clusters(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[tuple[App, App]]:
    """The app in both clusters, v1 live there."""
    with ExitStack() as stack:
        remote, namespace, apps = GitRemote(tmp_path / "git"), sandbox_cluster.namespace(), list[App]()
        for name in ("prod-eu", "prod-us"):
            folder = tmp_path / f"cluster-{name}"
            folder.mkdir()
            cluster = stack.enter_context(SandboxCluster.run(folder))
            cluster.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
            settings = RepositorySettings(url=remote.url, directory=tmp_path / name / "mirror", cluster=name)
            made = scenario(cluster, tmp_path / name, namespace=namespace, remote=remote, repository=settings)
            apps.append(stack.enter_context(made).app())
        eu, us = apps
        eu.scenario.publish("In prod", {"environments.yaml": ENVIRONMENTS, f"{eu.folder}/prod/overlay.yaml": "{}\n"})
        eu.add("v1")
        for app in apps:
            app.scenario.start()
        for app in apps:
            wait_live(apps, app, "v1")
        yield eu, us


def look(apps: list[App]) -> None:
    for app in apps:
        app.scenario.wake()
        app.scenario.wait_idle()


def wait_live(apps: list[App], app: App, tag: str) -> None:
    def is_live() -> bool:
        look(apps)
        return app.live_tag() == tag

    app.wait(is_live, f"{tag} is live", 60)


def test_the_second_wave_follows_once_the_first_has_proven_the_version_and_both_go_back_at_once(
    clusters: tuple[App, App],
) -> None:
    eu, us = clusters
    both = [eu, us]
    eu.push_image("v2")
    wait_live(both, eu, "v2")
    for _ in range(3):
        look(both)
    assert us.live_tag() == "v1"
    waits = [each["reason"] for each in us.status["waits"] if each["gate"] == "wave"]
    assert len(waits) == 1
    assert waits[0].startswith("it is to serve, healthy for 30m, in the wave before: prod-eu")
    for _ in range(10):
        eu.scenario.advance(190)
        eu.scenario.wait_idle()
    wait_live(both, us, "v2")

    path = f"{eu.folder}/prod/primary.yaml"
    remote = eu.scenario.remote
    eu.revert(remote.run("log", "-1", "--format=%H", "main", "--", path, cwd=remote.bare).strip())
    wait_live(both, us, "v1")
    wait_live(both, eu, "v1")
