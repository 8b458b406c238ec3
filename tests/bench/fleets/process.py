"""Some agents of a fleet in one process, a sandbox each; when live traffic of each reached which tag."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.settings import AgentSettings
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import DEFINITIONS
from gitops_bg.core import names
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.runner import Finished
from gitops_bg.repo.settings import MAIN, RepositorySettings
from gitops_bg.sandbox import Sandbox
from gitops_bg.spec.crd import definition, group_definition
from tests.bench.channel import serve, settings_of_child

_NAMESPACE = "shop"
_LOOK_EVERY = 0.1
_REF = f"refs/heads/{MAIN}"


class Pushes:
    """How often this process pushed to main, and how often somebody else had been faster."""

    def __init__(self) -> None:
        self.counted = Counter[str]()
        push = Mirror.push

        def counting(
            mirror: Mirror, leases: Iterable[str], refspecs: Iterable[str], branches: Iterable[str]
        ) -> Finished:
            finished = push(mirror, leases, refspecs, branches)
            told = [line for line in finished.output.decode(errors="replace").splitlines() if f":{_REF}\t" in line]
            self.counted.update("refused" if line.startswith("!") else "taken" for line in told)
            return finished

        Mirror.push = counting  # type: ignore[method-assign]


class Cluster:
    """One sandbox, and its agent."""

    def __init__(self, name: str, folder: Path, given: dict[str, Any], stack: ExitStack) -> None:
        self.name = name
        self.sandbox = stack.enter_context(Sandbox(ready_after=0.5, traffic=False))
        self.sandbox.create_namespace(_NAMESPACE)
        kubeconfig = self.sandbox.kubeconfig(folder / f"kubeconfig-{name}")
        client = Client(Access(kubeconfig=kubeconfig))
        for body in (definition(), group_definition()):
            client.create(DEFINITIONS, body)
        client.close()
        repository = RepositorySettings(
            url=given["url"],
            cluster=name,
            directory=folder / f"mirror-{name}",
            username=given["user"],
            token_file=Path(given["token_file"]),
            allow_http=True,
        )
        access = Access(kubeconfig=kubeconfig, pool_size=8)
        self.agent = Agent(AgentSettings(repository=repository, access=access, poll_seconds=given["poll"], workers=1))
        stack.callback(self.agent.stop)

    @property
    def tag(self) -> str:
        """What live traffic goes to, by the status."""
        found = self.sandbox.objects(names.API_VERSION, names.KIND, _NAMESPACE)
        images = [str(each.get("status", {}).get("active", {}).get("image", "")) for each in found]
        return images[0].rpartition(":")[2] if images else ""


def main() -> None:
    """Run agents until the parent is done."""
    given = settings_of_child()
    pushes, arrivals, ended = Pushes(), dict[str, dict[str, float]](), threading.Event()
    with ExitStack() as stack:
        clusters = [Cluster(name, Path(given["folder"]), given, stack) for name in given["clusters"]]

        def watch() -> None:
            while not ended.wait(_LOOK_EVERY):
                for each in clusters:
                    arrivals.setdefault(each.tag, {}).setdefault(each.name, time.monotonic())

        def start() -> None:
            for each in clusters:
                each.agent.start()

        def arrived(tag: str) -> dict[str, float]:
            """Return when each cluster had a tag live, by its name."""
            return dict(arrivals.get(tag, {}))

        def usage() -> dict[str, float]:
            return {"cpu": time.process_time(), **pushes.counted}

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            serve({"start": start, "arrived": arrived, "usage": usage})
        finally:
            ended.set()
            watcher.join()


if __name__ == "__main__":
    main()
