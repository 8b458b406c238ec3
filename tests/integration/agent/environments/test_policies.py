"""Policies about the environments before: what they ask keeps a release out, in the words of environments.yaml; and
whoever lets one in all the same must be allowed to.
"""

from __future__ import annotations

from pathlib import Path

from tests.fixtures.repos.texts import policy
from tests.integration.agent.environments.conftest import MakeFleet
from tests.support.agent.fleet import DEV, Fleet
from tests.support.scenario import App

PROD = "- {name: prod, clusters: [prod-1], autoPromotionEnabled: true}\n"
MATCH = "  match: {environments: [prod]}\n"
AFTER = "- after: {from: [dev], proven: 2h}"
LETS = MATCH + "  override: {by: [grace]}\n"
PEOPLE = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: People
people: [{name: grace, emails: [grace@example.com]}]
"""


def begun(make_fleet: MakeFleet, more: str, *rules: str) -> tuple[Fleet, App]:
    """v1 serves in dev, and production has a policy."""
    fleet = make_fleet(("dev-1", "prod-1"), DEV + PROD)
    files: dict[str, str | None] = {"policies/people.yaml": PEOPLE}
    fleet.first.scenario.publish("Calm", files | {"policies/calm.yaml": policy("calm", *rules, more=more)})
    fleet.wait_live("dev-1", "v1")
    fleet.look(2)
    return fleet, fleet.apps["prod-1"]


def shut(app: App) -> str:
    gates = app.status.get("gates", [])
    return "; ".join(each["reason"] for each in gates if each["kind"] == "policy" and not each["open"])


def test_a_release_comes_in_once_it_is_proven_for_as_long_as_a_policy_asks(make_fleet: MakeFleet) -> None:
    fleet, prod = begun(make_fleet, MATCH, AFTER)
    fleet.look(3)
    assert prod.live_tag() == ""
    assert "prod: r1 waits for dev: it serves in dev-1 since" in fleet.cli()("environments", "web")
    said = fleet.cli()("enter", "web", "--release", "r1", "--into", "prod", code=1)
    assert "r1 is not proven before prod: dev: it serves in dev-1" in said
    fleet.soak("dev-1", 7400)
    fleet.wait_live("prod-1", "v1")


def test_who_may_override_it_lets_a_hotfix_in_and_its_traffic_follows(make_fleet: MakeFleet, tmp_path: Path) -> None:
    fleet, _ = begun(make_fleet, LETS, AFTER)
    fleet.soak("dev-1", 7400)
    fleet.wait_live("prod-1", "v1")
    fleet.first.push_image("v2")
    fleet.wait_live("dev-1", "v2")
    fleet.look(3)
    hotfix = ("enter", "web", "--release", "r2", "--into", "prod", "--skip", "dev", "-m", "INC-4711")
    assert "came into prod" in fleet.cli()(*hotfix)
    fleet.wait_live("prod-1", "v2")

    def said() -> str:
        return fleet.remote.run("log", "--format=%B", "gitops-bg/state/prod-1", cwd=fleet.remote.bare)

    fleet.until(lambda: "Bg-Event: overridden" in said(), "the ledger says who overrode it")
    replayed = fleet.cli().json("policies", "replay", "--cluster", "prod-1")
    assert [(each["outcome"], each["policies"]) for each in replayed["promotions"]] == [
        ("overridden", {"calm": "overridden"})
    ]
    stricter = tmp_path / "policies"
    stricter.mkdir()
    (stricter / "calm.yaml").write_text(policy("calm", AFTER, "- images: {sameAs: dev}", more=MATCH))
    tried = fleet.cli().json("policies", "replay", "--cluster", "prod-1", "--policies", str(stricter))
    (only,) = tried["promotions"]
    assert only["outcome"] == "refused"
    assert "the policy has no override" in only["reasons"][0]


def test_who_may_not_override_it_lets_in_what_waits_at_the_gate(make_fleet: MakeFleet) -> None:
    fleet, prod = begun(make_fleet, MATCH, AFTER)
    fleet.soak("dev-1", 7400)
    fleet.wait_live("prod-1", "v1")
    fleet.first.push_image("v2")
    fleet.wait_live("dev-1", "v2")
    fleet.look(3)
    fleet.cli()("enter", "web", "--release", "r2", "--into", "prod", "--skip", "dev", "-m", "INC-4711")
    fleet.until(lambda: "r2 waits for dev" in shut(prod), "its traffic waits")
    assert "the policy has no override, so it can be changed only" in shut(prod)
    assert prod.live_tag() == "v1"


def test_images_are_those_that_served_before(make_fleet: MakeFleet) -> None:
    fleet, prod = begun(make_fleet, MATCH, "- images: {sameAs: dev}")
    fleet.wait_live("prod-1", "v1")
    overlay = "spec: {template: {spec: {containers: [{name: web, image: 'registry.example/other:1'}]}}}\n"
    fleet.first.scenario.publish("Another image", {f"{fleet.first.folder}/prod/overlay.yaml": overlay})
    fleet.until(lambda: "registry.example/other:1 never served in dev" in shut(prod), "another image waits")
    assert prod.live_tag() == "v1"


def test_a_policy_may_require_an_environment_that_the_app_is_not_in(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(("prod-1",), DEV + PROD)
    prod = fleet.apps["prod-1"]
    files: dict[str, str | None] = {"policies/calm.yaml": policy("calm", "- after: {from: [dev]}", more=MATCH)}
    fleet.first.scenario.publish("Not in dev", files | {f"{fleet.first.folder}/dev/overlay.yaml": None})
    fleet.until(lambda: "waits for dev: the app is not in it" in shut(prod), "it waits")
    assert prod.live_tag() == ""
