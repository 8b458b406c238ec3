"""The chart is made from deploy/, and its values are those in there; `test_chart.py` renders it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import yaml

from gitops_bg.cluster.chart import POD_FIELDS, Installation, objects_of, templates

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "chart"


def test_the_templates_of_the_chart_are_those_made_from_deploy() -> None:
    written = {path.name: path.read_text() for path in (CHART / "templates").iterdir()}
    made = templates(DEPLOY)
    assert {name: text for name, text in written.items() if name in made} == made, "run: make docs"
    assert written.keys() - made.keys() == {"settings.yaml", "_helpers.tpl", "NOTES.txt"}


def test_the_chart_and_the_kustomization_have_the_same_dashboard() -> None:
    assert (CHART / "dashboard.json").read_text() == (DEPLOY / "monitoring" / "dashboard.json").read_text(), (
        "run: make docs"
    )


def test_the_chart_has_the_version_the_image_and_the_resources_of_deploy() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (version, version)
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    objects = objects_of(DEPLOY, Installation())
    (deployment,) = (each for each in objects if each["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    image = values["image"]
    assert f"{image['repository']}:{image['tag'] or version}" == container["image"] == f"gitops-bg:{version}"
    assert image["pullPolicy"] == container["imagePullPolicy"]
    assert values["resources"] == container["resources"]
    assert values["replicas"] == deployment["spec"]["replicas"]
    assert set(POD_FIELDS) <= values.keys()
    assert values.keys() == json.loads((CHART / "values.schema.json").read_text())["properties"].keys()
