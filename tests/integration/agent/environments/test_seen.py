"""What `environments` and `explain` show beyond what serves: what people are to merge, what newer releases wait for,
and what nobody can tell.
"""

from __future__ import annotations

from tests.integration.agent.environments.conftest import MakeFleet
from tests.support.agent.fleet import DEV

PROD = "- {name: prod, clusters: [prod-1], after: {newer: wait}, enter: pullRequest, autoPromotionEnabled: true}\n"
LATER = "- {name: later, clusters: [later-1], after: {proven: 2h}}\n"


def test_what_waits_for_people_for_others_and_for_a_file(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(("dev-1", "prod-1"), DEV + PROD + LATER)
    fleet.wait_live("dev-1", "v1")
    fleet.until(lambda: fleet.remote.head(fleet.branch("prod")), "the release is offered")
    cli, branch = fleet.cli(), fleet.branch("prod")
    said = cli("environments", "web")
    assert "r1 to be merged" in said
    assert f"prod: r1 comes in once somebody merges {branch}" in said
    cells = {each["environment"]: each for each in cli.json("environments", "web")["items"][0]["environments"]}
    assert (cells["prod"]["offered"]["release"], cells["dev"]["offered"]) == ("r1", None)

    fleet.remote.merge(branch)
    fleet.wait_live("prod-1", "v1")
    fleet.look(2)
    fleet.first.push_image("v2")
    fleet.wait_live("dev-1", "v2")
    fleet.look(3)
    said = cli("environments", "web")
    assert "to be merged" not in said
    assert "prod: r2 is proven, and waits until r1 has served in prod-1 for 2h (newer: wait)" in said

    fleet.first.scenario.publish("Lost", {"environments.yaml": None})
    said = cli("environments", "web")
    assert "r2, proven" in said
    assert "prod: environments.yaml: is gone, and" in said


def test_explain_leads_to_all_environments_and_says_that_an_app_skips_the_first(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(("dev-1",), DEV + PROD)
    fleet.wait_live("dev-1", "v1")
    fleet.look(2)
    key, dev = fleet.first.key, ("--cluster", "dev-1")
    assert f"gitops-bg environments {key} shows it in every environment" in fleet.cli()("explain", "web", *dev)
    text = fleet.remote.show("main", "environments.yaml") or ""
    before = text.replace("environments:\n", "environments:\n- {name: first, clusters: [first-1]}\n")
    fleet.first.scenario.publish("One before", {"environments.yaml": before})
    fleet.look(2)
    said = fleet.cli()("explain", "web", *dev)
    assert "dev is its first environment: what is pushed to its target comes here unproven" in said
