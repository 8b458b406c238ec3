"""Texts of people are texts: every kind of character goes from Git to the pods and back to Git as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.command_line import Cli
from tests.support.configuration import SETTINGS, config_map, held, reading
from tests.support.scenario import App, Scenario

pytestmark = pytest.mark.control_plane

TEXT = (
    "🚀 grün 青 👩\u200d👩\u200d👧 \U0010fffd \x85\u2028\u2029 \ufeff\ufffe \x7f\x9f \t\"'\\ "
    "\\ud83d\\ude80 \\U0001F680 {a: &b *c}"
)
"""Beyond the basic plane, what YAML takes for ends of lines, what it forbids, and what looks like an escape."""
SAID = "🚀 grün 青 \U0001fae0"
"""For texts of one line, in which what is invisible is shown as an escape."""


@pytest.fixture
def told(world: Scenario) -> App:
    """An app whose every text is odd, its v1 live."""
    world.start()
    web = reading(world.app())
    web.objects |= {SETTINGS: config_map(annotations={"note": TEXT}, banner=TEXT)}
    web.container["env"].append({"name": "BANNER", "value": TEXT})
    web.container["args"] = [TEXT, f"two\nlines {TEXT}\n"]
    web.template = {"metadata": {"labels": {"app": "web"}, "annotations": {"note": TEXT}}}
    return web.deploy("v1")


def test_any_text_of_a_manifest_reaches_the_pods_and_primary_yaml(told: App) -> None:
    world, version = told.scenario, told.versions()["v1"]
    assert held(told) == [{"banner": TEXT}]
    template = world.live("replicasets", version.name)["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert container["args"] == [TEXT, f"two\nlines {TEXT}\n"]
    assert {"name": "BANNER", "value": TEXT} in container["env"]
    assert template["metadata"]["annotations"]["note"] == TEXT

    told.promote("v2")
    told.wait_primary("v2")
    world.pull()
    primary = yaml.safe_load(world.remote.read(f"{told.folder}/primary.yaml"))
    (container,) = primary["template"]["spec"]["containers"]
    assert (container["args"][0], container["image"]) == (TEXT, "registry.example/web:v2")
    told.wait_phase("Healthy")
    assert not [write for write in world.writes() if write.status >= 400]


def test_what_people_say_of_a_release_is_shown_as_they_said_it(told: App, tmp_path: Path) -> None:
    cli = Cli(told.scenario.remote, told.scenario.cluster.kubeconfig, tmp_path)
    app = ("web", "-n", told.key.namespace)
    cli("suspend", *app, "--reason", SAID)
    told.scenario.wake()
    assert SAID in told.wait_condition("Suspended")["message"]
    cli("resume", *app)
    told.scenario.wake()
    told.wait_condition("Suspended", "Absent")

    told.push_image("v2", message=f"{SAID}: v2")
    told.wait_offered("v2")
    cli("freeze", "--reason", SAID, "--until", "2h")
    told.scenario.wake()
    told.wait(lambda: any(SAID in each["reason"] for each in told.status["waits"]), "the freeze is shown in its words")
    assert SAID in cli("explain", *app)
    cli("unfreeze")
    told.merge_promotion("v2")
    told.wait_live("v2")
    told.wait_told("promoted")
    assert SAID in cli("history", *app)
