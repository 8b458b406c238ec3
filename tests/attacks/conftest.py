"""Two apps and one agent that runs for a whole table of attacks: `web` is attacked, `api` must continue."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from tests.attacks.bystander import remember
from tests.support.cluster.clusters import SandboxCluster, TestCluster
from tests.support.git.raw_git import RawGit
from tests.support.scenario import App, Scenario, scenario

FETCH_SECONDS = 120.0
"""A new mirror fetches all that the attacks have left in the repository, 100 MB and more, before anything else."""
LEAST_SECONDS = 10.0
"""A push is carried out within half a second on a quiet machine."""
TIMES_CALM = 5
"""Where everything else runs on the machine: so many times what an app took to come up before the attacks."""
_TAGS = count(2)
LARGE = 100 * 1024 * 1024
"""Bytes of what is much too large; of zeros it costs the remote next to nothing."""
_MOST_MORE = 64 * 1024 * 1024


@contextmanager
def memory_stays() -> Iterator[None]:
    """The process, agent and all, never holds much more inside than it did before; the kernel keeps the peak."""
    Path("/proc/self/clear_refs").write_text("5")
    before = _kilobytes("VmHWM")
    yield
    more = (_kilobytes("VmHWM") - before) * 1024
    assert more < _MOST_MORE


def _kilobytes(name: str) -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith(f"{name}:"))


def git_seconds() -> float:
    """CPU seconds of all processes that this one has started, those that still run too: a busy machine adds none."""
    ended = os.times()
    ticks = 0
    for task in Path("/proc/self/task").iterdir():
        for child in _read_if_there(task / "children").split():
            after_the_name = _read_if_there(Path(f"/proc/{child}/stat")).rpartition(")")[2].split()
            ticks += sum(int(value) for value in after_the_name[11:15])
    return ended.children_user + ended.children_system + ticks / os.sysconf("SC_CLK_TCK")


def _read_if_there(path: Path) -> str:
    """Nothing of a thread or a process that has ended meanwhile."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return path.read_text()
    return ""


class Siege:
    """The world under attack."""

    def __init__(self, world: Scenario) -> None:
        self.world = world
        self.web = world.app("web")
        self.api = world.app("api")
        self.git = RawGit(world.remote)
        self.usual_seconds = LEAST_SECONDS

    def measure_calm(self) -> None:
        """What is usual on this machine, now: as long as nobody attacks."""
        begun = time.monotonic()
        self.web.deploy("v1")
        self.api.deploy("v1")
        self.usual_seconds = max(LEAST_SECONDS, TIMES_CALM * (time.monotonic() - begun) / 2)
        remember(self._push_to_api(self.usual_seconds), calm=True)

    def look_again(self, app: App) -> None:
        """Have the agent try at once what it would try again later, at the remote and in the cluster."""
        agent = self.world.agent
        assert agent is not None
        agent.wake("a test")
        agent.wake_all([app.key])

    def bystander_goes_on(self, within: float = 0.0) -> None:
        """A push to the other app becomes a candidate in its usual time, and the agent is well."""
        agent, within = self.world.agent, within or self.usual_seconds
        assert agent is not None
        took = self._push_to_api(within)
        assert took < within
        remember(took)
        assert agent.liveness_problems() == []
        assert agent._crash is None
        assert self.api.condition("GitReachable")["status"] == "Absent"

    def _push_to_api(self, within: float) -> float:
        """The seconds from a push to the other app until its candidate is there."""
        tag = f"v{next(_TAGS)}"
        begun = time.monotonic()
        self.api.push_image(tag)
        self.api.wait(lambda: tag in self.api.versions(), f"api:{tag} comes up", timeout=within)
        return time.monotonic() - begun

    def outlives_a_restart(self) -> None:
        """The same again after a restart with a mirror that knows nothing."""
        self.world.restart(fresh_mirror=True)
        self.bystander_goes_on(FETCH_SECONDS)


@contextmanager
def out_of_the_work_tree(siege: Siege, path: bytes) -> Iterator[bytes]:
    """What main has at a path, only the index of the user's clone ever has; yields the tree of before. Whoever puts
    something there takes it away again.
    """
    git = siege.git
    siege.world.pull()
    git.run("sparse-checkout", "set", "--no-cone", "/*", b"!/" + path)
    try:
        yield git.run("write-tree")
    finally:
        git.run("sparse-checkout", "disable")
        siege.world.wake()


@contextmanager
def besieged(cluster: TestCluster, folder: Path) -> Iterator[Siege]:
    """Both apps live; the agent runs."""
    with scenario(cluster, folder) as world:
        world.start()
        made = Siege(world)
        made.measure_calm()
        yield made


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siege]:
    """On a sandbox of its own."""
    folder: Path = tmp_path_factory.mktemp("siege")
    with SandboxCluster.run(folder) as cluster, besieged(cluster, folder) as made:
        yield made
