"""The branch that asks for a release: all clusters of an environment share it, and it goes for a reason only. And what
`enter` does not let in.
"""

from __future__ import annotations

from tests.integration.agent.environments.conftest import MakeFleet
from tests.support.agent.fleet import DEV

PROD = "- {name: prod, clusters: [prod-1], after: {proven: 2h}, enter: auto, autoPromotionEnabled: true}\n"
BY_PEOPLE = PROD.replace("enter: auto", "enter: pullRequest")
TWO = """\
- name: prod
  clusters: [prod-eu, prod-us]
  after: {newer: wait}
  enter: pullRequest
  autoPromotionEnabled: true
  waves: [[prod-eu], [prod-us]]
  between: 2h
"""


def test_the_branch_of_a_hotfix_stays_until_it_is_merged(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(("dev-1", "prod-1"), DEV + PROD)
    fleet.wait_live("dev-1", "v1")
    fleet.soak("dev-1", 7400)
    fleet.wait_live("prod-1", "v1")
    fleet.first.push_image("v2")
    fleet.wait_live("dev-1", "v2")
    fleet.look(2)
    fleet.remote.protect()
    hotfix = ("enter", "web", "--release", "r2", "--into", "prod", "--skip", "dev", "-m", "INC-4711")
    assert "is offered on" in fleet.cli()(*hotfix, code=3)
    head = fleet.remote.head(fleet.branch("prod"))
    fleet.look(3)
    assert head is not None
    assert fleet.remote.head(fleet.branch("prod")) == head


def test_a_ledger_that_is_missing_once_deletes_no_offer(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(("dev-1", "prod-1"), DEV + BY_PEOPLE)
    fleet.wait_live("dev-1", "v1")
    fleet.look(2)
    fleet.soak("dev-1", 7400)
    fleet.until(lambda: fleet.remote.head(fleet.branch("prod")), "the release is offered")
    fleet.first.scenario.stop()
    fleet.remote.run("update-ref", "-d", "refs/heads/gitops-bg/state/dev-1", cwd=fleet.remote.bare)
    fleet.look(3)
    assert fleet.remote.head(fleet.branch("prod")) is not None


def test_enter_lets_in_nothing_on_hold_and_nothing_that_would_be_undone_at_once(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(("dev-1", "prod-1"), DEV + PROD)
    fleet.wait_live("dev-1", "v1")
    fleet.soak("dev-1", 7400)
    fleet.wait_live("prod-1", "v1")
    fleet.first.push_image("v2")
    fleet.wait_live("dev-1", "v2")
    fleet.look(2)
    fleet.soak("dev-1", 7400)
    fleet.wait_live("prod-1", "v2")
    fleet.look(2)
    cli = fleet.cli()
    older = ("enter", "web", "--release", "r1", "--into", "prod", "-m", "r2 is bad")
    said = cli(*older, code=1)
    assert "r2 is newer than r1, and would take its place in prod at once" in said
    assert "--release r2 --everywhere" in said
    cli("hold", "web", "--release", "r2", "--everywhere", "--reason", "loses orders")
    said = cli("enter", "web", "--release", "r2", "--into", "prod", "-m", "x", code=1)
    assert "r2 of " in said
    assert "is on hold: r2: loses orders" in said
    assert "--lift" in said
    app = fleet.first
    whole = fleet.remote.show("main", f"{app.folder}/app.yaml")
    app.scenario.publish("A slip", {f"{app.folder}/app.yaml": "spec: ["})
    assert "nobody can tell which releases of" in cli(*older, code=1)
    app.scenario.publish("Mended", {f"{app.folder}/app.yaml": whole})
    assert "r1 came into prod" in cli(*older)
    fleet.look(4)
    assert "take r1 in prod" in fleet.remote.run("log", "-3", "--format=%s", "main", cwd=fleet.remote.bare)
