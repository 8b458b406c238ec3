"""An app in several clusters, an agent each, which meet in one repository only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.repo.settings import RepositorySettings
from tests.support.cluster.clusters import SandboxCluster
from tests.support.command_line import Cli
from tests.support.git.remote import GitRemote
from tests.support.scenario import App, scenario
from tests.support.waiting import eventually

HEAD = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Environments\nenvironments:\n"
DEV = "- {name: dev, clusters: [dev-1], autoPromotionEnabled: true}\n"


@dataclass
class Fleet:
    """The app `web` in each cluster, by the cluster's name."""

    remote: GitRemote
    apps: dict[str, App]
    folder: Path

    @property
    def first(self) -> App:
        """The app where its author pushes."""
        return next(iter(self.apps.values()))

    def look(self, times: int = 1) -> None:
        """Have each agent that runs look at Git, and do what is to be done, one after the other."""
        for _ in range(times):
            for app in self.apps.values():
                if app.scenario.agent is not None:
                    app.scenario.wake()
                    app.scenario.wait_idle()

    def until(self, is_so: Callable[[], object], what: str) -> None:
        """Let the agents look until something is so."""

        def looked() -> bool:
            self.look()
            return bool(is_so())

        eventually(looked, what=what)

    def wait_live(self, cluster: str, tag: str) -> None:
        """Wait until a tag is live in a cluster."""
        self.until(lambda: self.apps[cluster].live_tag() == tag, f"{tag} is live in {cluster}")

    def soak(self, cluster: str, seconds: float) -> None:
        """Let time go on in a cluster."""
        for _ in range(10):
            self.apps[cluster].scenario.advance(seconds / 10)
            self.apps[cluster].scenario.wait_idle()

    @property
    def tags(self) -> dict[str, str]:
        """What is live in each cluster."""
        return {name: app.live_tag() for name, app in self.apps.items()}

    def branch(self, environment: str) -> str:
        """The branch that asks for a release in an environment."""
        return f"gitops-bg/enter/{environment}/{self.first.scenario.namespace}/web"

    def revert_promotion(self, environment: str) -> None:
        """Revert the last promotion in an environment."""
        path = f"{self.first.folder}/{environment}/primary.yaml"
        commit = self.remote.run("log", "-1", "--format=%H", "main", "--", path, cwd=self.remote.bare).strip()
        self.first.revert(commit)

    def cli(self) -> Cli:
        """The command line of a person with a clone."""
        kubeconfig = self.first.scenario.cluster.kubeconfig
        return Cli(self.remote, kubeconfig, self.folder / "cli")


@contextmanager
def fleet_of(
    shared: SandboxCluster,
    folder: Path,
    clusters: tuple[str, ...],
    environments: str,
    at: tuple[GitRemote, dict[str, Any]] | None = None,
) -> Iterator[Fleet]:
    """Run an agent for each cluster, and publish v1. ``environments`` is the list of ``environments.yaml``; the app has
    a folder for each. ``at`` is a remote, with what agents are told of it.
    """
    with ExitStack() as stack:
        remote, told = at or (GitRemote(folder / "git"), {})
        known = told.get("repository") or RepositorySettings(url=remote.url, directory=folder, cluster=clusters[0])
        namespace, apps = shared.namespace(), dict[str, App]()
        for name in clusters:
            (folder / f"cluster-{name}").mkdir()
            cluster = stack.enter_context(SandboxCluster.run(folder / f"cluster-{name}"))
            cluster.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
            settings = told | {"repository": replace(known, directory=folder / name / "mirror", cluster=name)}
            made = scenario(cluster, folder / name, namespace=namespace, remote=remote, **settings)
            apps[name] = stack.enter_context(made).app()
        fleet = Fleet(remote, apps, folder)
        names = [line.split("name: ")[1].split(",")[0] for line in environments.splitlines() if "name: " in line]
        files: dict[str, str | None] = {"environments.yaml": HEAD + environments}
        files |= {
            f"{fleet.first.folder}/{each}/overlay.yaml": f"spec: {{replicas: {n}}}\n" for n, each in enumerate(names, 1)
        }
        fleet.first.scenario.publish("Environments", files)
        fleet.first.add("v1")
        for app in apps.values():
            app.scenario.start()
        yield fleet
