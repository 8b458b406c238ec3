"""Several agents as real processes, which are killed, frozen and thawed; and how often live traffic moved meanwhile.

Movements are read off the history of the Service: every value that its selector ever had, in order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gitops_bg.core import names
from tests.support.agent.leash import leashed
from tests.support.cluster.paths import collection
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually

SCRIPT = Path(sys.executable).with_name("gitops-bg")
MOVES = ("deployed", "promoted", "rolled-back")


class AgentProcess:
    """One `gitops-bg agent`; `log` is what it said."""

    def __init__(
        self,
        world: Scenario,
        folder: Path,
        *more: str,
        kubeconfig: Path | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        where = ["--repo", world.remote.url, "--kubeconfig", str(kubeconfig or world.cluster.kubeconfig)]
        who = ["--cluster", "test", "--namespace", world.namespace, "--state-dir", str(folder / "state")]
        fast = ["--lease-duration", "3", "--lease-renew-deadline", "2", "--lease-retry", "0.3", "--http", "off"]
        command = [str(SCRIPT), "agent", *where, *who, *fast, *more]
        self._output = (folder / "agent.log").open("ab")
        own = {"PATH": os.environ["PATH"], "HOME": str(folder), **(environment or {})}
        self.process = subprocess.Popen(leashed(command), stderr=self._output, stdout=self._output, env=own)

    @property
    def log(self) -> str:
        """All it said so far."""
        return (self.folder / "agent.log").read_text(errors="replace")

    @property
    def leads(self) -> bool:
        """Whether it took its lease, and was not heard to lose it."""
        return self.log.rfind("took the lease") > self.log.rfind("lost the lease")

    def freeze(self) -> None:
        """SIGSTOP."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; how it ended."""
        self.process.terminate()
        return self.process.wait(15)

    def close(self) -> None:
        """The end, whatever it is doing."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._output.close()


@contextmanager
def agents(world: Scenario, folder: Path, *options: tuple[str, ...]) -> Iterator[list[AgentProcess]]:
    """So many agents, each with options of its own."""
    with ExitStack() as stack:
        started = []
        for number, more in enumerate(options):
            one = AgentProcess(world, folder / f"agent-{number}", *more)
            stack.callback(one.close)
            started.append(one)
        yield started


class Movements:
    """Every digest that the active Service of an app selected, one after the other."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.seen: list[str] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Movements:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join(10)

    def _watch(self) -> None:
        cluster, namespace = self._app.scenario.cluster, self._app.scenario.namespace
        path = collection("v1", "Service", namespace)
        version = cluster.get(path)["metadata"]["resourceVersion"]
        while not self._stopped.is_set():
            with cluster.watch(path, seconds=2, resourceVersion=version) as events:
                for event in events:
                    found = event["object"]
                    version = found["metadata"].get("resourceVersion", version)
                    if found["metadata"].get("name") == self._app.name and event["type"] != "DELETED":
                        self._note(found["spec"].get("selector", {}).get(names.DIGEST, ""))
                    if self._stopped.is_set():
                        return

    def _note(self, digest: str) -> None:
        if not self.seen or self.seen[-1] != digest:
            self.seen.append(digest)


def wait_live(app: App, tag: str) -> None:
    """Until live traffic goes to a tag."""
    eventually(lambda: app.live_tag() == tag, what=f"{tag} is live")


def wait_in_git(app: App, tag: str) -> None:
    """Until `primary.yaml` of main names a tag."""
    eventually(lambda: app.primary_digest() == app.digest(tag), what=f"{tag} is in Git")


def push_until_offered(app: App, tag: str) -> None:
    """Push a tag, and wait until its promotion is offered."""
    app.push_image(tag)
    digest = app.digest(tag)
    eventually(lambda: app.primary_digest(app.promotion_branch) == digest, what=f"{tag} is offered")


def told(app: App) -> list[str]:
    """The movements of live traffic that the ledger tells of, oldest first."""
    return [entry["Event"] for entry in app.ledger() if entry["Event"] in MOVES]
