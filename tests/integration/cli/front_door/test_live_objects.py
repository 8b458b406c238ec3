"""`check --live` tells which objects the cluster cannot have, and what already runs under the name of an app."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.cli.conftest import Cli
from tests.support.scenario import App, Scenario

SCALED = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web}
spec: {scaleTargetRef: {name: web}, triggers: [{type: cron, metadata: {}}]}
"""


@pytest.fixture
def web(world: Scenario) -> App:
    """An app in Git that nobody has applied yet."""
    app = world.app()
    app.add("v1")
    return app


def problems(cli: Cli, app: App) -> list[str]:
    """What is said of the app's folder, by file and field."""
    found = cli.json("check", "--live", code=1)["problems"]
    return [f"{_name(each)}: {each['message']} ({each['remedy']})" for each in found if app.folder in each["file"]]


def _name(problem: dict[str, Any]) -> str:
    return f"{problem['file'].rpartition('/')[2]}:{problem['line']}: {problem['field']}"


def test_an_api_version_that_the_cluster_has_not(web: App, cli: Cli) -> None:
    web.scenario.publish("Scale it", {f"{web.folder}/scaled.yaml": SCALED})
    assert problems(cli, web) == [
        "scaled.yaml:1: apiVersion: this cluster has no CustomResourceDefinition scaledobjects.keda.sh (install KEDA)"
    ]


def test_a_deployment_of_the_name_that_is_live(web: App, cli: Cli) -> None:
    assert problems(cli, web) == []
    namespace, name = web.key.namespace, web.key.name
    pods = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": pods}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace}}
    web.scenario.cluster.apply({**body, "spec": spec})
    (said,) = problems(cli, web)
    assert f"Deployment {web.key} is live: its pods would go on beside those of the app" in said
    assert f"let `gitops-bg adopt {web.key}` take it over, or delete it" in said
    web.scenario.cluster.apply({**body, "spec": {**spec, "replicas": 0}})
    assert problems(cli, web) == [], "it has no pods"
