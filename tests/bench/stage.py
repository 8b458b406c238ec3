"""Everything of one measurement: a remote, a cluster, thousands of converged apps, and an agent of one's choice."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from gitops_bg.core import names
from gitops_bg.repo.settings import AGENT
from tests.bench.agent_process import CLUSTER
from tests.bench.apps import FIRST, MODELS, BenchApp, make_apps
from tests.bench.channel import Child
from tests.bench.remote import BenchRemote
from tests.bench.resources import cpu_seconds
from tests.bench.stamping import Stamp
from tests.bench.watching import Watching
from tests.support.cluster.clusters import ControlPlaneCluster, TestCluster
from tests.support.cluster.control_plane import assets
from tests.support.cluster.paths import collection
from tests.support.cluster.pod_servers import PodServers
from tests.support.waiting import eventually

_ALL_APPS = collection(names.API_VERSION, names.KIND)
_STATE = f"gitops-bg/state/{CLUSTER}"


@dataclass(frozen=True)
class Size:
    """How many apps there are, and how often each row is measured."""

    apps: int = 10_000
    auto: int = 1_000
    """Of these, how many promote themselves: the apps of the row about a thousand."""
    ticks: int = 50
    changes: int = 20
    cycles: int = 20
    switches: int = 100
    reverts: int = 20

    def with_apps(self, apps: int, rows: Collection[str]) -> Size:
        """The same with another number of apps: fewer promote themselves where the other rows need the rest.

        Raises ``ValueError`` where that leaves none for the row about a thousand.
        """
        taken = self.changes * ("change" in rows or "unchanged" in rows) + self.cycles * ("cycle" in rows)
        taken += 3 * self.changes * ("streams" in rows)
        taken += self.switches * ("switch" in rows or "revert" in rows) + ("restart" in rows) + ("thousand" in rows)
        auto = max(0, min(self.auto, apps - taken))
        if "thousand" in rows and not auto:
            raise ValueError(f"{apps} apps are too few for these rows; see --apps, --only and --quick")
        return dataclasses.replace(self, apps=apps, auto=auto)


QUICK = Size(apps=40, auto=10, ticks=5, changes=4, cycles=2, switches=8, reverts=4)


class Stage:
    """A remote and a cluster with converged apps; `agent` starts the one to be measured."""

    def __init__(self, folder: Path, cluster: TestCluster, apps: list[BenchApp], sandbox: Child | None) -> None:
        self.cluster = cluster
        self.sandbox = sandbox
        self.apps = apps
        self.remote = BenchRemote(folder / "git")
        self.folder = folder
        self._mirrors = 0
        self._unchanged = iter([app for app in apps if not app.auto])

    @property
    def auto(self) -> list[BenchApp]:
        """The apps that promote themselves."""
        return [app for app in self.apps if app.auto]

    def unchanged(self, count: int) -> list[BenchApp]:
        """So many other apps, that nothing has been done with yet."""
        found = list(islice(self._unchanged, count))
        if len(found) < count:
            raise ValueError(f"{len(self.apps)} apps are too few for this row; see --apps and --quick")
        return found

    def first_primary(self, app: BenchApp) -> dict[str, bytes]:
        """The primary.yaml that a revert brings back."""
        return app.primary(FIRST, 1, self.remote.first)

    def cpu_of_cluster(self) -> float:
        """Seconds of CPU that the cluster has used: the sandbox, or etcd, the API server and the controllers."""
        if isinstance(self.cluster, ControlPlaneCluster):
            return sum(map(cpu_seconds, self.cluster.control_plane.pids))
        return cpu_seconds(self.sandbox.pid) if self.sandbox is not None else 0.0

    @contextmanager
    def agent(
        self, namespaces: tuple[str, ...] = (), *, remembers_less: bool = False, kubeconfig: Path | None = None
    ) -> Iterator[Child]:
        """An agent that has never seen the remote, not started yet; see `agent_process.remember_less`."""
        self._mirrors += 1
        directory = self.folder / f"mirror-{self._mirrors}"
        settings = {
            "url": self.remote.url,
            "directory": str(directory),
            "kubeconfig": str(kubeconfig or self.cluster.kubeconfig),
            "namespaces": list(namespaces),
            "remembers_less": remembers_less,
        }
        with Child("agent_process", self.folder / "agent.log", **settings) as agent:
            yield agent

    def populate(self) -> None:
        """Bring every app to where an agent has nothing to do."""
        self.cluster.install_our_kind()
        everywhere = {app.namespace for app in self.apps}
        models = MODELS if self.sandbox else ()
        self.remote.fill([*models, *self.apps])
        created = {app.namespace for app in models} if self.sandbox else everywhere
        for namespace in sorted(created):
            self.cluster.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        with self.agent(tuple(sorted(created)) if self.sandbox else ()) as agent:
            agent.ask("start")
            count = len(models) or len(self.apps)
            eventually(
                lambda: self.healthy() == count,
                timeout=len(self.apps) + 60,
                every=0.5,
                what=f"{count} apps are healthy",
            )
            agent.ask("settle")
        if self.sandbox:
            self._stamp(self.sandbox)

    def healthy(self) -> int:
        """How many apps are healthy."""
        return sum((each.get("status") or {}).get("phase") == "Healthy" for each in self.cluster.list(_ALL_APPS))

    def _stamp(self, sandbox: Child) -> None:
        folders = self.remote.folders()
        of_sort = {model.auto: folders[model.path("")] for model in MODELS}
        trees = [{of_sort[app.auto]: folders[app.path("")]} for app in self.apps]
        sandbox.ask("stamp", apps=[dataclasses.asdict(app) for app in self.apps], trees=trees)
        models = {path: text.decode() for path, text in self.remote.files(_STATE).items()}
        ledger: dict[str, bytes] = {}
        for app in self.apps:
            stamp = Stamp(next(model for model in MODELS if model.auto == app.auto), app)
            for path, text in models.items():
                if re.search(rf"\b{stamp.model.name}\b", path):
                    ledger[stamp.text(path)] = stamp.text(text).encode()
        self.remote.commit("The ledger of all", ledger, branch=_STATE, author=f"{AGENT[0]} <{AGENT[1]}>")


class _SandboxCluster(TestCluster):
    """A sandbox in another process."""

    name = "sandbox"


@contextmanager
def sandbox_stage(size: Size) -> Iterator[Stage]:
    """On a sandbox; everything is gone at the end."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gitops-bg-bench-")))
        sandbox = stack.enter_context(Child("sandbox_process", folder / "sandbox.log", folder=str(folder)))
        cluster = _SandboxCluster(Path(sandbox.ask("kubeconfig")), folder)
        stack.enter_context(contextlib.closing(cluster))
        stage = Stage(folder, cluster, make_apps(size.apps, size.auto), sandbox)
        stage.populate()
        yield stage


@contextmanager
def control_plane_stage(size: Size, servers: PodServers | None = None) -> Iterator[Stage]:
    """On a real control plane, filled by an agent; ``servers`` answer for the pods. Everything is gone at the end."""
    binaries = assets()
    assert binaries is not None
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gitops-bg-bench-")))
        cluster = stack.enter_context(ControlPlaneCluster.run(binaries, folder, servers))
        stage = Stage(folder, cluster, make_apps(size.apps, size.auto), None)
        stage.populate()
        yield stage


@contextmanager
def watching(stage: Stage) -> Iterator[Watching]:
    """Watches of the stage's cluster."""
    with Watching(stage.cluster) as seen:
        yield seen
