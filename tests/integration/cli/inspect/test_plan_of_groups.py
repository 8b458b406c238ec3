"""`plan` of everything: what nobody can read of one group hides no other plan, and what is left out is said."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.integration.cli.conftest import Cli
from tests.support.cluster.clusters import SandboxCluster
from tests.support.groups import Store
from tests.support.scenario import Scenario

OF_THE_APP = "create the green ReplicaSet of v2"


def test_what_nobody_can_read_of_a_group_hides_no_other_plan(
    cli: Cli, world: Scenario, sandbox_cluster: SandboxCluster, tmp_path: Path
) -> None:
    """Of one that leaves main it is said what becomes of it; of one whose record is damaged, that."""
    store = Store(world)
    store.spec["deletionPolicy"] = "delete"
    store.begin()
    app = world.app().deploy("v1")
    world.wait_idle()
    world.stop()
    here = ("plan", "-n", world.namespace)

    world.remote.pull()
    shutil.rmtree(world.remote.clone / store.folder)
    found = cli.json(*here, "--worktree", str(world.remote.clone))
    [group] = found["groups"]
    assert "the folder of the group left main; v1 serves on" in group["left"]
    assert "3 of 4 apps left (maxDeletedAppsPercent)" in group["left"]
    assert found["unchanged"] == 1, "the app that is none of its services"
    named = cli.json("plan", f"{world.namespace}/store", "--worktree", str(world.remote.clone))
    assert named["groups"] == [group], "also where it is named, and the work tree lacks it"
    assert "main has no group none" in cli("group", "plan", "none", "--worktree", str(world.remote.clone), code=5)
    world.remote.run("checkout", "--", ".")

    app.push_image("v2")
    file = tmp_path / "observed.json"
    cli(*here, "--dump-observed", str(file))
    of_group = ("group", "plan", f"{world.namespace}/store", "--dump-observed", str(tmp_path / "none.json"))
    assert "what is live of release groups goes into no file" in cli(*of_group, code=2)
    assert "release groups are left out: what is live of them is not in" in cli(*here, "--observed", str(file))

    faults = sandbox_cluster.sandbox.faults
    for verb, resource in (("get", "releasegroups"), ("list", "releasegroups"), ("list", "httproutes")):
        faults.refuse(verb, resource, world.namespace)
        text = cli(*here)
        faults.clear()
        assert OF_THE_APP in text
        assert resource in text, "what is left out, and why"

    store.damage_record()
    text = cli(*here)
    assert OF_THE_APP in text
    assert f"{world.namespace}/store: Degraded\n  ! " in text
    assert "ReleaseGroup store" in text
