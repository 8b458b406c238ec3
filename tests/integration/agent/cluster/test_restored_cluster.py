"""A cluster that was restored from an earlier backup: its versions went back, and the agent lists anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_bg.core import names
from tests.support.agent.agent_processes import Movements
from tests.support.cluster.clusters import ControlPlaneCluster, SandboxCluster, TestCluster
from tests.support.cluster.paths import services
from tests.support.scenario import App, scenario


def test_the_agent_follows_main_again_after_a_restore_and_the_ledger_misses_no_switch(
    own_sandbox: SandboxCluster, tmp_path: Path
) -> None:
    faults = own_sandbox.sandbox.faults
    with scenario(own_sandbox, tmp_path) as world:
        agent = world.start()
        web = world.app().deploy("v1")
        web.promote("v2")
        backup = faults.backup()
        web.promote("v3")
        told = web.ledger_events()

        faults.restore(backup)
        assert web.live_tag() == "v2"

        web.wait_live("v3")
        web.wait_phase("Healthy")
        web.wait(lambda: len(web.ledger_events()) > len(told), "the ledger says so")
        web.wait_told()
        assert web.ledger_events() == [*told, "promoted"]
        assert web.selected("web-preview") == web.selected()
        web.promote("v4")
        assert agent is world.agent


# Where a peer resets a connection before the TLS handshake, Python 3.11 leaves the socket, which has no peer then, to
# its garbage collector (`ssl.SSLSocket._create`). Here an API server dies, and nothing of ours can close that socket.
@pytest.mark.filterwarnings(r"ignore:unclosed <ssl\.SSLSocket .*, laddr=\([^)]*\)>$:ResourceWarning")
@pytest.mark.control_plane
def test_the_same_after_a_restore_of_a_real_etcd(own_control_plane: ControlPlaneCluster, tmp_path: Path) -> None:
    """Traffic goes once from what the backup has to what main says, and every watch hears what comes after."""
    cluster = own_control_plane
    with scenario(cluster, tmp_path) as world:
        agent = world.start()
        web = world.app().deploy("v1")
        web.promote("v2")
        web.wait_phase("Healthy")
        cluster.control_plane.backup(tmp_path / "backup")
        web.promote("v3")
        told, newest = web.ledger_events(), _newest(cluster)

        cluster.control_plane.restore(tmp_path / "backup")
        assert _newest(cluster) < newest, "the versions went back"

        with Movements(web) as moved:
            web.wait(lambda: web.live_tag() == "v3", "v3 is live again")
            web.wait(lambda: web.phase() == "Healthy", "it is healthy")
            web.wait(lambda: len(web.ledger_events()) > len(told), "the ledger says so")
            web.wait_told()
        assert web.ledger_events() == [*told, "promoted"]
        backup, main = web.digest("v2")[3:13], web.digest("v3")[3:13]
        assert moved.seen in ([], [main], [backup, main]), "it goes nowhere else"

        web.promote("v4")
        assert web.ledger_events()[-1] == "promoted"
        _select_by_hand(web, web.digest("v1")[3:13])
        web.wait_live("v4")
        assert agent is world.agent
        assert agent.liveness_problems() == []


def _newest(cluster: TestCluster) -> int:
    return int(cluster.get("/api/v1/namespaces")["metadata"]["resourceVersion"])


def _select_by_hand(web: App, digest: str) -> None:
    path = f"{services(web.key.namespace)}/{web.name}"
    web.scenario.cluster.patch(path, {"spec": {"selector": {names.DIGEST: digest}}})
