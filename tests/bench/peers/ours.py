"""gitops-bg itself, in the same words. Its user pushes to Git, and a webhook wakes the agent after the push."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from gitops_bg import __version__
from gitops_bg.core.model.version import AppKey, short
from gitops_bg.core.names import promotion_branch
from tests.bench.apps import FIRST, BenchApp
from tests.bench.channel import Child
from tests.bench.peers.contender import Moments, Sizes
from tests.bench.peers.process import account
from tests.bench.remote import BenchClone
from tests.bench.stage import Stage
from tests.bench.watching import Seen, Watching, active_service_of, asked_for_pods
from tests.fixtures.repos import texts
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.waiting import eventually

_LONG = 900.0


class GitopsBg:
    """See `Contender`. The stage has the apps already."""

    def __init__(self, stage: Stage, agent: Child, seen: Watching, user: str, size: Sizes) -> None:
        self.name = f"gitops-bg {__version__}"
        self.cycles = size.cycles
        self.releases = size.releases
        self.user = user
        self.crowd: Sequence[BenchApp] = stage.auto
        self.pid = agent.pid
        self._apps = stage.unchanged(size.cycles)
        self._stage = stage
        self._agent = agent
        self._seen = seen
        self._clone: BenchClone = stage.remote.clone(stage.folder / "clone")

    @classmethod
    @contextmanager
    def run(cls, stage: Stage, cluster: ControlPlaneCluster, size: Sizes) -> Iterator[Self]:
        """Run an agent, and let it find that nothing is to be done."""
        kubeconfig, user = account(cluster, "gitops-bg")
        with stage.agent(kubeconfig=kubeconfig) as agent, Watching(cluster) as seen:
            agent.ask("start")
            agent.ask("idle")
            yield cls(stage, agent, seen, user, size)

    def deploy(self) -> None:
        pass

    def app(self, number: int) -> BenchApp:
        return self._apps[number]

    def pause(self, action: str, part: float) -> None:
        pass

    def change(self, app: BenchApp, tag: str) -> Moments:
        self._clone.commit(f"{app.name} {tag}", app.target(tag))
        return self._push(asked_for_pods(app, tag))

    def await_offer(self, app: BenchApp, tag: str) -> None:
        branch = promotion_branch(AppKey(app.namespace, app.name))
        eventually(lambda: self._stage.remote.head(branch), what=f"{branch} is offered")
        self._agent.ask("idle")

    def promote(self, app: BenchApp, tag: str) -> Moments:
        self._clone.merge(promotion_branch(AppKey(app.namespace, app.name)))
        return self._push(active_service_of(app, tag))

    def roll_back(self, app: BenchApp) -> Moments:
        self._clone.pull()
        merge = self._clone.head()
        message = f'Revert "{app.name} goes live"\n\nThis reverts commit {merge}, reversing\nchanges made to {merge}^.'
        self._clone.commit(message, self._stage.first_primary(app))
        return self._push(active_service_of(app, FIRST))

    def rest(self, app: BenchApp) -> None:
        self._agent.ask("idle")

    def deploy_crowd(self) -> None:
        pass

    def release(self, app: BenchApp, tag: str) -> Moments:
        self._clone.pull()
        self._clone.commit(f"{app.name} {tag}", app.target(tag))
        return self._push(active_service_of(app, tag))

    def change_crowd(self, tag: str) -> tuple[Moments, str]:
        wanted = {(app.namespace, app.name): short(texts.digest(app.name, tag)) for app in self.crowd}
        self._clone.pull()
        files = {path: text for app in self.crowd for path, text in app.target(tag).items()}
        self._clone.commit(f"{len(wanted)} apps", files)

        def is_live(seen: Seen) -> bool:
            return seen.kind == "Service" and wanted.get(seen.key) == seen.digest

        return self._push(is_live, len(wanted), _LONG), ""

    def _push(self, is_there: Callable[[Seen], Any], count: int = 1, timeout: float = 60) -> Moments:
        self._seen.forget()
        asked = time.monotonic()
        self._clone.push()
        woken = self._agent.ask("wake")
        return Moments(asked, self._seen.each(is_there, count, timeout)[-1], woken)
