"""What leaves Git leaves the cluster: a key of a file, whatever the agent wrote to the object in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import Cli
from tests.support.scenario import App

pytestmark = pytest.mark.control_plane


def test_a_suspension_that_ended_is_gone_and_cannot_hold_back_the_end(web: App, tmp_path: Path) -> None:
    world, app = web.scenario, ("web", "-n", web.key.namespace)
    cli = Cli(world.remote, world.cluster.kubeconfig, tmp_path)
    web.spec["deletionPolicy"] = "delete"
    web.configure()
    cli("suspend", *app, "--reason", "a drill")
    world.wake()
    web.wait_condition("Suspended")
    cli("resume", *app)
    world.wake()
    web.wait_condition("Suspended", "False")
    web.wait(lambda: "suspend" not in web.object()["spec"], "the live object is not suspended either")

    world.publish("No more web", {web.folder: None})
    web.wait(lambda: world.live("bluegreendeployments", "web") is None, "the app ends")
