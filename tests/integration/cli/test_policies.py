"""The verbs of policies, as people use them: freeze, unfreeze, promote --override, policies test and replay."""

from __future__ import annotations

import json
from pathlib import Path

from gitops_bg.web.metrics import render
from tests.fixtures.repos.texts import policy
from tests.integration.cli.conftest import Cli, with_candidate
from tests.support.scenario import App

PEOPLE = """apiVersion: gitops-bg.dev/v1alpha1
kind: People
people:
- {name: grace, emails: [grace@example.com], groups: [incident]}
- {name: ada, emails: [ada@example.com], groups: [leads]}
"""
STOP = '- windows: {deny: [{start: "2020-01-01", reason: INC-4711}]}'


def gates(web: App) -> list[str]:
    return [each["reason"] for each in web.status.get("gates", []) if each["kind"] == "policy" and not each["open"]]


def test_freeze_stops_a_promotion_and_unfreeze_lets_it_go_on(cli: Cli, web: App) -> None:
    said = cli("freeze", "--reason", 'INC-4711: "ask" Ada')
    assert "all apps: nothing is promoted until `gitops-bg unfreeze`" in said
    with_candidate(web)
    assert "traffic waits: freeze: INC-4711" in cli("promote", str(web.key))
    web.wait(lambda: gates(web), "a policy is shut")
    assert gates(web) == ['freeze: INC-4711: "ask" Ada: shut with no end within a year (UTC)']
    assert 'freeze: INC-4711: "ask" Ada' in cli("explain", str(web.key))
    assert "is on main already" in cli("freeze", "--reason", "again", code=1)
    assert web.live_tag() == "v1"
    cli("unfreeze")
    web.scenario.wake()
    web.wait_live("v2")
    assert "is not on main" in cli("unfreeze", code=1)


def test_a_freeze_of_a_namespace_ends_by_itself(cli: Cli, web: App) -> None:
    answer = cli.json("freeze", "--reason", "load test", "--namespace", "other", "--until", "2h")
    assert answer["file"] == "policies/freeze-other.yaml"
    web.scenario.pull()
    text = web.scenario.remote.read("policies/freeze-other.yaml")
    assert 'match: {namespaces: ["other"]}' in text
    assert "end: " in text
    web.promote("v2")


def test_the_glass_is_broken_by_who_may_and_all_can_see_it(cli: Cli, web: App) -> None:
    lets = policy("stop", STOP, more="  override: {by: [group:incident]}\n")
    files: dict[str, str | None] = {"policies/stop.yaml": lets, "policies/people.yaml": PEOPLE}
    web.scenario.publish("Stop the line", files)
    with_candidate(web)
    promote = ("promote", str(web.key), "--override", "stop")
    assert "--override needs a --reason" in cli(*promote, code=2)
    ada = cli(*promote, "--reason", "x", "--author", "Ada <ada@example.com>", code=2)
    assert "stop may be overridden by group:incident only" in ada
    assert "no policy other is for" in cli("promote", str(web.key), "--override", "other", "--reason", "x", code=2)
    cli(*promote, "--reason", "INC-4712 needs it")
    web.wait_live("v2")
    web.wait_told("overridden")
    (entry,) = [each for each in web.ledger() if each["Event"] == "overridden"]
    assert entry["Reason"] == "stop (windows): INC-4712 needs it"
    assert entry["By"] == "Grace Hopper <grace@example.com>"
    assert web.scenario.agent is not None
    series = render(web.scenario.agent.metrics.registry, "")[0].decode()
    assert "gitops_bg_policy_overrides_total{" in series


def test_replay_says_what_policies_would_have_done(cli: Cli, web: App, tmp_path: Path) -> None:
    web.promote("v2")
    tried = tmp_path / "tried"
    tried.mkdir()
    (tried / "ours.yaml").write_text(policy("ours", '- images: {allow: ["elsewhere/*"]}'))
    (tried / "calm.yaml").write_text(policy("calm", "- windows: {deny: [{start: '2020-01-01', end: '2020-01-02'}]}"))
    (tried / "eyes.yaml").write_text(policy("eyes", "- approvals: {count: 1}"))
    found = cli.json("policies", "replay", "--policies", str(tried))
    (promotion,) = found["promotions"]
    assert promotion["outcome"] == "refused"
    assert promotion["policies"] == {"ours": "refused", "calm": "allowed", "eyes": "unknown"}
    assert found["policies"]["ours"]["refused"] == 1

    expected = tmp_path / "expected.json"
    expected.write_text(json.dumps(found))
    assert "refused" in cli("policies", "replay", "--policies", str(tried), "--expect", str(expected))
    (tried / "ours.yaml").unlink()
    assert "it is not as" in cli("policies", "replay", "--policies", str(tried), "--expect", str(expected), code=1)
    assert "main has no policies" in cli("policies", "replay", code=1)


def test_cases_of_policies_are_run(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "soak.yaml").write_text(policy("soak", "- soak: {for: 1h}"))
    head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: PromotionPolicyTest\ncases:\n"
    case = '- {name: too soon, now: "2026-11-18T09:00:00Z", availableFor: 30m, expect: {soak: %s}}\n'
    (folder / "soak.test.yaml").write_text(head + case % "shut")
    assert "1 cases, all as expected" in cli("policies", "test", str(folder))
    (folder / "soak.test.yaml").write_text(head + case % "open")
    assert "soak.test.yaml:4: too soon: soak: expected open, found shut" in cli("policies", "test", str(folder), code=1)
