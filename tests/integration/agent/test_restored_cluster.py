"""A cluster that was restored from an earlier backup: its versions went back, and the agent lists anew."""

from pathlib import Path

from tests.support.clusters import SandboxCluster
from tests.support.scenario import scenario


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
        told = web.told()

        faults.restore(backup)
        assert web.live_tag() == "v2"

        web.wait_live("v3")
        web.wait_phase("Healthy")
        web.wait(lambda: len(web.told()) > len(told), "the ledger says so")
        web.wait_told()
        assert web.told() == [*told, "promoted"]
        assert web.selected("web-preview") == web.selected()
        web.promote("v4")
        assert agent is world.agent
