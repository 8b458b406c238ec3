"""An app in several clusters, an agent each, which meet in one repository only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.core.dataclass import dataclass
from gitops_bg.repo.settings import STATE_PREFIX, RepositorySettings
from tests.support.agent.expenses import expenses_of
from tests.support.cluster.clusters import SandboxCluster, TestCluster
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

    @property
    def last(self) -> str:
        """The cluster of the last environment."""
        return list(self.apps)[-1]

    def rest(self) -> None:
        """Have each agent see what the others wrote, and save what is only noted."""
        self.look(2)
        for app in self.apps.values():
            app.scenario.settle()
        self.look(2)

    def followed(self, cluster: str) -> set[str]:
        """The clusters whose ledgers the agent of a cluster asks for."""
        agent = self.apps[cluster].scenario.agent
        assert agent is not None
        return {each.removeprefix(STATE_PREFIX) for each in agent.repository.mirror.former}

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
    shared: TestCluster,
    folder: Path,
    clusters: tuple[str, ...],
    environments: str,
    at: tuple[GitRemote, dict[str, Any]] | None = None,
    run: Callable[[Path], AbstractContextManager[TestCluster]] = SandboxCluster.run,
) -> Iterator[Fleet]:
    """Run an agent for each cluster, and publish v1. ``environments`` is the list of ``environments.yaml``; the app has
    a folder for each. ``at`` is a remote, with what agents are told of it; ``run`` makes a cluster in a folder of its
    own.
    """
    with ExitStack() as stack:
        remote, told = at or (GitRemote(folder / "git"), {})
        known = told.get("repository") or RepositorySettings(url=remote.url, directory=folder, cluster=clusters[0])
        namespace, apps = shared.namespace(), dict[str, App]()
        for name in clusters:
            (folder / f"cluster-{name}").mkdir()
            cluster = stack.enter_context(run(folder / f"cluster-{name}"))
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


# --- what it costs ---


def chain(length: int) -> tuple[tuple[str, ...], str]:
    """So many environments, a cluster each: names of the clusters, and the list of `environments.yaml`."""
    numbers = range(1, length + 1)
    lines = (f"- {{name: e-{each}, clusters: [c-{each}], autoPromotionEnabled: true}}\n" for each in numbers)
    return tuple(f"c-{each}" for each in numbers), "".join(lines)


def tick_of(fleet: Fleet, cluster: str) -> list[str]:
    """What the agent of a cluster asks git and the API server when it looks, and nothing has changed."""
    return list(_asked(fleet, cluster, lambda: True).elements())


def travel_of(fleet: Fleet, tag: str) -> dict[str, Counter[str]]:
    """Push a tag, and let one agent after the other bring it live, while those further on look at what was written;
    return how often each asked git and the API server for what.

    Left out is what depends on how busy the machine is: how often Git is asked whether there is more, how many changes
    of the record are saved together, and a list of other people's Services, which is asked for once in a while.
    """
    fleet.first.push_image(tag)
    costs = dict[str, Counter[str]]()
    for place, (cluster, app) in enumerate(fleet.apps.items()):
        asked = _asked(fleet, cluster, lambda app=app: app.live_tag() == tag)  # type: ignore[misc]
        varies = {"git ls-remote", "api GET services", f"api PATCH bluegreendeployments/{app.name}/status"}
        costs[cluster] = Counter({what: times for what, times in asked.items() if what not in varies})
        for other in list(fleet.apps.values())[place + 2 :]:  # not the next one, which begins with that
            other.scenario.wake()
            other.scenario.wait_idle()
    return costs


def _asked(fleet: Fleet, cluster: str, is_done: Callable[[], bool]) -> Counter[str]:
    app = fleet.apps[cluster]
    with pytest.MonkeyPatch.context() as patched, expenses_of(fleet.folder / cluster, patched) as counted:
        app.scenario.wake()
        app.scenario.wait_idle()
        app.wait(is_done, f"{cluster} is done")
        app.scenario.wait_idle()
    return Counter(str(each) for each in counted.all)
