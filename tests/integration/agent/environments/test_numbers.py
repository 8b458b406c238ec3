"""A release has one name: the number that the first environment's primary.yaml says, in all of its clusters."""

from __future__ import annotations

import json

from tests.integration.agent.environments.conftest import MakeFleet
from tests.support.agent.fleet import Fleet

ENVIRONMENTS = """\
- {name: dev, clusters: [dev-1, dev-2], autoPromotionEnabled: false}
- {name: prod, clusters: [prod-1], enter: pullRequest}
"""


def proven(fleet: Fleet, cluster: str) -> dict[str, int]:
    """The numbers of the proven releases, by their digests."""
    path = f"{fleet.first.scenario.namespace}/web.json"
    document = json.loads(fleet.remote.show(f"gitops-bg/state/{cluster}", path) or "{}")
    return {each["release"]["digest"]: each["release"]["number"] for each in document.get("proven", [])}


def test_clusters_that_have_seen_different_versions_number_a_release_alike(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(("dev-1", "dev-2", "prod-1"), ENVIRONMENTS)
    dev, other = fleet.apps["dev-1"], fleet.apps["dev-2"]
    branch = f"gitops-bg/promote-in/dev/{dev.scenario.namespace}/web"
    fleet.wait_live("dev-1", "v1")
    fleet.wait_live("dev-2", "v1")
    other.scenario.stop()
    for tag in ("v2", "v3"):
        dev.push_image(tag)
        fleet.look(3)
    other.scenario.start()
    fleet.look(3)
    for tag in ("v3", "v4"):
        if tag == "v4":
            dev.push_image(tag)
            fleet.look(3)
        fleet.remote.merge(branch)
        fleet.wait_live("dev-1", tag)
        fleet.wait_live("dev-2", tag)
        fleet.look(2)
    (planned,) = fleet.cli().json("plan", "web")["apps"]
    assert planned["release"] == dev.status["active"]["release"] == "r4"
    assert proven(fleet, "dev-1") == proven(fleet, "dev-2")
    assert len(set(proven(fleet, "dev-1").values())) == 3
