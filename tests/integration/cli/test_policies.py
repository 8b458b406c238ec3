"""The verbs of policies, as people use them: freeze, unfreeze, promote --override, policies test and replay."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.core.model.version import AppKey
from gitops_bg.forge.asking import ForgeAnswer, Merged
from gitops_bg.forge.port import PullRequestDraft, Review, ReviewVerdict, User
from gitops_bg.web.app import exposition
from tests.documentation.commands.shown import demand_as_shown
from tests.documentation.commands.world import ROOT
from tests.fixtures.repos.texts import policy
from tests.forge.offers import NOW, pull_of
from tests.integration.cli.conftest import AUTHOR, Cli, with_candidate
from tests.support.scenario import App
from tests.support.signers import PEOPLE as SIGNING_PEOPLE
from tests.support.signers import Key, make_key
from tests.support.waiting import eventually

PEOPLE = """apiVersion: gitops-bg.dev/v1alpha1
kind: People
people:
- {name: grace, emails: [grace@example.com], groups: [incident]}
- {name: ada, emails: [ada@example.com], groups: [leads]}
"""
SETTINGS = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"
STOP = '- windows: {deny: [{start: "2020-01-01", reason: INC-4711}]}'


def gates(web: App) -> list[str]:
    return [each["reason"] for each in web.status.get("gates", []) if each["kind"] == "policy" and not each["open"]]


PAGE = "docs/features/policies.md"


def test_the_library_passes_its_cases_as_the_page_shows(cli: Cli) -> None:
    demand_as_shown(PAGE, "gitops-bg policies test policies", cli("policies", "test", str(ROOT / "policies")))


def test_a_freeze_is_told_as_the_page_shows(cli: Cli, on_main: App) -> None:
    told = cli("freeze", "--reason", "INC-4711, ask Ada", "--until", "4h")
    demand_as_shown(PAGE, "gitops-bg freeze --reason 'INC-4711, ask Ada' --until 4h", told)


def test_freeze_stops_a_promotion_and_unfreeze_lets_it_go_on(cli: Cli, web: App) -> None:
    said = cli("freeze", "--reason", 'INC-4711: "ask" Ada')
    assert "all apps: nothing is promoted until `gitops-bg unfreeze`" in said
    with_candidate(web)
    assert "traffic waits: gitops-bg-freeze: INC-4711" in cli("promote", str(web.key))
    web.wait(lambda: gates(web), "a policy is shut")
    assert gates(web) == ['gitops-bg-freeze: INC-4711: "ask" Ada: shut with no end within a year (UTC)']
    assert 'freeze: INC-4711: "ask" Ada' in cli("explain", str(web.key))
    assert "1 app: 1 waiting." in cli("plan", "--branch", "main", "-o", "markdown")
    again = cli("freeze", "--reason", "again", code=1)
    assert f'frozen already until `gitops-bg unfreeze` by {AUTHOR}: INC-4711: "ask" Ada; to replace that' in again
    assert web.live_tag() == "v1"
    cli("unfreeze")
    web.scenario.wake()
    web.wait_live("v2")
    assert "no freeze is on main" in cli("unfreeze", code=1)


def test_a_freeze_of_a_namespace_is_a_file_with_its_end(cli: Cli, on_main: App) -> None:
    answer = cli.json("freeze", "--reason", "load test", "--namespace", "other", "--until", "2h")
    assert answer["file"] == "policies/gitops-bg-freeze-other.yaml"
    on_main.scenario.pull()
    text = on_main.scenario.remote.read("policies/gitops-bg-freeze-other.yaml")
    assert 'match: {namespaces: ["other"]}' in text
    assert "end: " in text
    again = cli("freeze", "--reason", "again", "--namespace", "other", code=1)
    assert "frozen already until 20" in again, "it is read back as a policy for that namespace alone"


LIBRARY = (ROOT / "policies" / "freeze.yaml").read_text()
FORMER = """# Written by `gitops-bg freeze`; `gitops-bg unfreeze` removes it. Times are UTC.
apiVersion: gitops-bg.dev/v1alpha1
kind: PromotionPolicy
metadata: {name: "freeze"}
spec:
  rules:
  - windows:
      deny:
      - start: "2026-01-01T00:00:00"%s
        reason: "INC-1"
"""
OVER = FORMER % '\n        end: "2026-01-02T00:00:00"'
OWN = "policies/gitops-bg-freeze.yaml"
FORMER_FILE = "policies/freeze.yaml"
YEARLY = policy("freeze", '- windows: {deny: [{start: "2020-01-01", reason: by the CTO}]}')


@pytest.mark.parametrize(
    ("path", "standing", "left"),
    [
        (FORMER_FILE, LIBRARY, {FORMER_FILE, OWN}),
        (FORMER_FILE, YEARLY, {FORMER_FILE, OWN}),
        (FORMER_FILE, OVER, {OWN}),
        (OWN, OVER.replace('freeze"}', 'gitops-bg-freeze"}'), {OWN}),
    ],
    ids=["the library's policy", "a policy of a person", "a former freeze that is over", "a freeze that is over"],
)
def test_freeze_works_beside_policies_and_in_place_of_a_freeze_that_is_over(
    cli: Cli, on_main: App, path: str, standing: str, left: set[str]
) -> None:
    files: dict[str, str | None] = {path: standing, "policies/people.yaml": PEOPLE}
    on_main.scenario.publish("Policies", files)
    cli("freeze", "--reason", "INC-2")
    remote = on_main.scenario.remote
    assert {each for each in (FORMER_FILE, OWN) if remote.show("main", each)} == left
    assert "INC-2" in (remote.show("main", OWN) or "")
    if path in left - {OWN}:
        assert remote.show("main", path) == standing
    cli("unfreeze")
    assert {each for each in (FORMER_FILE, OWN) if remote.show("main", each)} == left - {OWN}


@pytest.mark.parametrize("path", [FORMER_FILE, OWN])
def test_freeze_names_who_froze_before_and_what_is_in_its_place(cli: Cli, on_main: App, path: str) -> None:
    end = '\n        end: "2099-01-02T00:00:00"'
    on_main.scenario.publish("Freeze", {path: FORMER % end})
    assert "frozen already until 2099-01-02T00:00:00Z by " in cli("freeze", "-r", "INC-2", code=1)
    cli("freeze", "-r", "INC-2", "--force")
    assert "INC-2" in (on_main.scenario.remote.show("main", OWN) or "")
    assert on_main.scenario.remote.show("main", FORMER_FILE) is None
    cli("unfreeze")
    on_main.scenario.pull()
    on_main.scenario.publish(
        "More", {path: FORMER % end + "  override: {by: [grace]}\n", "policies/people.yaml": PEOPLE}
    )
    if path == OWN:
        assert f"{OWN} is not as `freeze` writes it" in cli("freeze", "-r", "INC-2", code=1)


@pytest.mark.parametrize("standing", [YEARLY, FORMER % "" + "  override: {by: [grace]}\n"], ids=["whole", "added"])
def test_unfreeze_leaves_a_policy_that_freeze_did_not_write_and_names_it(cli: Cli, on_main: App, standing: str) -> None:
    on_main.scenario.publish("The yearly freeze", {FORMER_FILE: standing, "policies/people.yaml": PEOPLE})
    told = cli("unfreeze", code=1)
    assert "all apps: no freeze is on main that `gitops-bg freeze` wrote" in told
    assert f"{FORMER_FILE} (freeze: " in told
    cli("freeze", "-r", "INC-2")
    told = cli("unfreeze")
    assert f"removed {OWN}; promotions are still stopped by {FORMER_FILE} (freeze: " in told
    assert on_main.scenario.remote.show("main", FORMER_FILE) == standing


def test_unfreeze_removes_what_freeze_wrote_in_former_versions(cli: Cli, on_main: App) -> None:
    on_main.scenario.publish("Freeze", {FORMER_FILE: FORMER % ""})
    assert f"removed {FORMER_FILE}" in cli("unfreeze")
    assert on_main.scenario.remote.show("main", FORMER_FILE) is None


def test_freeze_wants_an_end_that_is_to_come(cli: Cli, on_main: App) -> None:
    assert "is over already" in cli("freeze", "-r", "INC-1", "--until", "2020-01-01T00:00:00Z", code=2)


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
    series = exposition(web.scenario.agent.metrics.registry, "")[0].decode()
    assert "gitops_bg_policy_overrides_total{" in series

    assert "--overrides" in cli("history", code=2)
    assert "stop (windows): INC-4712 needs it" in " ".join(cli("history", "--overrides").split())
    (overridden,) = cli.json("history", "--overrides")["entries"]
    assert (overridden["app"], overridden["event"]) == (str(web.key), "overridden")

    def changes() -> list[dict[str, Any]]:
        return [each for each in cli.json("history", str(web.key))["entries"] if each["event"] == "policy-changed"]

    eventually(lambda: changes() != [], what="the ledger has the change of policies")
    (changed,) = changes()
    assert changed["changed"] == ["stop added", "people changed"]
    assert "policy-changed" in cli("history", str(web.key))
    (replayed,) = cli.json("policies", "replay", "--as-they-were")["promotions"]
    assert replayed["policies"] == {"stop": "overridden"}


def publish_signed(web: App, key: Key, **policies: str) -> None:
    files: dict[str, str | None] = {f"policies/{name}.yaml": text for name, text in policies.items()}
    files |= {"policies/people.yaml": SIGNING_PEOPLE, "policies/allowed_signers": key.line("grace")}
    web.scenario.publish("Two pairs of eyes", files)


def test_a_glass_that_asks_for_a_signature_is_broken_by_the_key_and_not_by_the_address(
    cli: Cli, web: App, tmp_path: Path
) -> None:
    key = make_key(tmp_path, "key of grace")
    publish_signed(web, key, stop=policy("stop", STOP, more="  override: {by: [grace], proof: signed}\n"))
    with_candidate(web)
    promote = ("promote", str(web.key), "--override", "stop", "--reason", "INC-4712")
    assert "stop is overridden by a signature only: add --sign" in cli(*promote, code=2)
    assert "which key?" in cli(*promote, "--sign", code=2)
    remote = web.scenario.remote
    offered = remote.show(web.promotion_branch, f"{web.folder}/primary.yaml")
    trailers = "Bg-Override: stop\nBg-Reason: I am Grace"
    web.scenario.pull()
    remote.write(f"{web.folder}/primary.yaml", offered or "")
    remote.commit(f"Promote\n\n{trailers}", author=AUTHOR)
    forged = web.scenario.push()
    web.wait(lambda: any("its override counts only signed, and it is not signed" in each for each in gates(web)), "no")
    web.revert(forged)
    web.push_image("v3")
    web.wait_offered("v3")
    web.wait_phase("AwaitingPromotion")
    cli(*promote, "--sign", "--signing-key", str(key.private))
    web.wait_live("v3")
    web.wait_told("overridden")
    (entry,) = [each for each in web.ledger() if each["Event"] == "overridden"]
    assert (entry["By"], entry["Reason"]) == ("grace", "stop (windows, signed): INC-4712")
    replayed = cli.json("policies", "replay", "--as-they-were")["promotions"]
    assert [each["outcome"] for each in replayed] == ["overridden"]


def test_replay_says_what_policies_would_have_done(cli: Cli, web: App, tmp_path: Path) -> None:
    web.promote("v2")
    tried = tmp_path / "tried"
    tried.mkdir()
    (tried / "ours.yaml").write_text(policy("ours", '- images: {allow: ["elsewhere/*"]}'))
    (tried / "calm.yaml").write_text(policy("calm", "- windows: {deny: [{start: '2020-01-01', end: '2020-01-02'}]}"))
    (tried / "eyes.yaml").write_text(policy("eyes", "- approvals: {count: 1}"))
    found = cli.json("policies", "replay", "--since", "90d", "--policies", str(tried))
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
    assert "no policy was overridden" in cli("history", "--overrides")
    both = ("--policies", str(tried), "--as-they-were")
    assert "give one of them" in cli("policies", "replay", *both, code=2)


def test_what_a_forge_told_after_the_switch_is_history_and_known_to_a_replay(
    cli: Cli, web: App, tmp_path: Path
) -> None:
    web.scenario.publish("A forge", {"gitops-bg.yaml": f"{SETTINGS}forge: {{}}\n"})
    ben = User("4", "ben")

    def heard(_: AppKey) -> ForgeAnswer:
        asked = web.record.git.asked_merges
        pulls = {each.commit: replace(pull_of(PullRequestDraft("", "main", "", "")), merged_by=ben) for each in asked}
        seen = {
            commit: (Review(ben, ReviewVerdict.APPROVED, pull.updated_at, commit),) for commit, pull in pulls.items()
        }
        return ForgeAnswer(
            "gitea", NOW, reviews=(), merged={commit: Merged(pull, seen[commit]) for commit, pull in pulls.items()}
        )

    assert web.scenario.agent is not None
    web.scenario.agent.catalog.connect_forge(lambda _: None, heard)
    web.promote("v2")
    web.wait_told("merged")
    web.scenario.publish("Two pairs of eyes", {"policies/eyes.yaml": policy("eyes", "- approvals: {count: 1}")})
    web.push_image("v3")
    web.wait(lambda: any("0 of 1 approvals" in reason for reason in gates(web)), "nobody has approved v3")
    assert "0 of 1 approvals" in cli("explain", str(web.key)), "only the agent has heard from the forge"
    told = cli("history", str(web.key))
    assert "approved by ben (gitea 4)" in " ".join(told.split())
    (entry,) = (each for each in cli.json("history", str(web.key))["entries"] if each["event"] == "merged")
    assert (entry["by"], entry["approvedBy"]) == ("ben (gitea 4)", ["ben (gitea 4)"])

    tried = tmp_path / "tried"
    tried.mkdir()
    (tried / "eyes.yaml").write_text(policy("eyes", "- approvals: {count: 1}"))
    (tried / "four.yaml").write_text(policy("four", "- approvals: {count: 2}"))
    (tried / "roles.yaml").write_text(policy("roles", "- separation: {between: [approver, merger]}"))
    (promotion,) = cli.json("policies", "replay", "--policies", str(tried))["promotions"]
    assert promotion["policies"] == {"eyes": "allowed", "four": "refused", "roles": "refused"}


def test_cases_of_policies_are_run(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "soak.yaml").write_text(policy("soak", "- soak: {for: 1h}"))
    head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: PromotionPolicyTest\ncases:\n"
    case = '- {name: too soon, now: "2026-11-18T09:00:00Z", availableFor: 30m, expect: {soak: %s}}\n'
    (folder / "soak.test.yaml").write_text(head + case % "shut")
    assert "1 case, all as expected" in cli("policies", "test", str(folder))
    (folder / "soak.test.yaml").write_text(head + case % "open")
    assert "soak.test.yaml:4: too soon: soak: expected open, found shut" in cli("policies", "test", str(folder), code=1)
