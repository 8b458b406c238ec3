"""A connection that loses, halves, delays, repeats or swallows requests: every movement happens, and once.

Between agent and API server, and between agent and remote; what users do and clients ask goes past it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import chain, cycle, repeat
from pathlib import Path

import pytest

from gitops_bg.cluster.api import watch
from gitops_bg.cluster.api.access import Access
from gitops_bg.repo.settings import RepositorySettings
from tests.support.agent.agent_processes import Movements, told
from tests.support.cluster.clusters import SandboxCluster, TestCluster
from tests.support.git.https_server import serving
from tests.support.git.remote import GitRemote
from tests.support.scenario import App, Scenario, scenario
from tests.support.servers.wire import Fault, Wire, wire, wired_to
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.slow

TOKEN = "secret-token"


@pytest.fixture(autouse=True)
def little_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch waits a second for a word; 90 of them otherwise."""
    monkeypatch.setattr(watch, "Pace", partial(watch.Pace, silence=1.0))


def _there_and_back(web: App, line: Wire, faults: Iterable[Fault], kinds: Collection[Fault], every: int) -> None:
    """Deploy; with faults, promote and roll back; without them, all has happened exactly once."""
    world = web.scenario
    web.deploy("v1")
    with Movements(web) as movements:
        line.fail(faults, every)
        web.push_image("v2")
        branch, v2 = web.promotion_branch, web.digest("v2")
        web.wait(
            lambda: _asked_again(world) and web.offered() and web.primary_digest(branch) == v2,
            "it is offered",
            PATIENCE,
        )
        commit = web.merge_offer()
        web.wait(lambda: _asked_again(world) and web.live_tag() == "v2", "v2 is live", PATIENCE)
        web.revert(commit)
        web.wait(lambda: _asked_again(world) and web.live_tag() == "v1", "v1 is live again", PATIENCE)
        web.wait(lambda: _asked_again(world) and line.struck == set(kinds), "each fault has met a request", PATIENCE)
        line.mend()
        web.wait(lambda: _asked_again(world) and len(told(web)) == 3, "all is in the ledger", PATIENCE)
        wanted = [web.digest(tag)[3:13] for tag in ("v2", "v1")]
        eventually(lambda: movements.seen == wanted, what="traffic moved as asked, and not once more")
    assert told(web) == ["deployed", "promoted", "rolled-back"]
    agent = world.agent
    assert agent is not None
    eventually(lambda: not agent.liveness_problems() + agent.readiness_problems(), what="the agent is well")


def _asked_again(world: Scenario) -> bool:
    """As by its timers, which come seldom here."""
    world.wake()
    return True


def test_every_movement_happens_once_over_a_faulty_connection_to_the_api_server(
    cluster: TestCluster, tmp_path: Path
) -> None:
    kinds = [each for each in Fault if each is not Fault.TWICE]
    with wire(cluster.kubeconfig, tmp_path) as (line, wired):
        access = Access(kubeconfig=wired, read_timeout=1.0)
        with scenario(cluster, tmp_path, access=access) as world:
            world.start()
            _there_and_back(world.app(), line, cycle(kinds), kinds, every=7)


def test_a_request_that_arrives_twice_has_its_effect_once(own_sandbox: SandboxCluster, tmp_path: Path) -> None:
    with (
        wire(own_sandbox.kubeconfig, tmp_path) as (line, wired),
        scenario(own_sandbox, tmp_path, access=Access(kubeconfig=wired)) as world,
    ):
        world.start()
        _there_and_back(world.app(), line, repeat(Fault.TWICE), [Fault.TWICE], every=7)


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[tuple[Wire, GitRemote, RepositorySettings]]:
    """A remote behind HTTPS, a wire to it, and the agent's settings."""
    served = GitRemote(tmp_path / "git")
    token = tmp_path / "token"
    token.write_text(TOKEN)
    with serving(served.bare.parent, tmp_path / "https", TOKEN) as server:
        port = int(server.url.rpartition(":")[2])
        with wired_to("127.0.0.1", port) as line:
            url = f"https://127.0.0.1:{line.port}/{served.bare.name}"
            settings = RepositorySettings(
                url=url,
                cluster="test",
                directory=tmp_path / "mirror",
                token_file=token,
                ca_file=server.certificate,
                timeout_seconds=3.0,
            )
            yield line, served, settings


def test_every_movement_happens_once_over_a_faulty_connection_to_the_remote(
    own_sandbox: SandboxCluster, tmp_path: Path, remote: tuple[Wire, GitRemote, RepositorySettings]
) -> None:
    line, served, settings = remote
    again_and_again = (Fault.LOST, Fault.UNANSWERED)
    # Git waits for ten times its time for what moves data, and a silent server takes all of it: that is met once.
    faults = chain(again_and_again, [Fault.SILENT], cycle(again_and_again))
    with scenario(own_sandbox, tmp_path, remote=served, repository=settings, poll_seconds=0.5) as world:
        world.start()
        _there_and_back(world.app(), line, faults, [*again_and_again, Fault.SILENT], every=31)
