"""Verbs that read, after actions of people and the agent: each in a world of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli, with_candidate
from tests.support.scenario import App, Scenario


@pytest.fixture
def waiting(web: App) -> App:
    """v2 waits for somebody to merge its promotion."""
    return with_candidate(web)


def test_explain_of_a_version_on_hold_names_no_branch_to_merge_that_is_not_there(cli: Cli, waiting: App) -> None:
    cli("abort", str(waiting.key))
    waiting.wait(lambda: not waiting.offered(), "the offer is withdrawn")
    gates = {gate["kind"]: gate for gate in cli.json("explain", str(waiting.key))["gates"]}
    assert f"gitops-bg resume {waiting.key}" in gates["hold"]["advice"]
    assert gates["hold"]["reason"] == "on hold: aborted by hand"
    assert waiting.condition("Healthy")["message"] == waiting.condition("OnHold")["message"]
    assert list(gates) == ["hold"]


def test_a_candidate_that_was_cancelled_is_none_any_more(cli: Cli, web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    web.push_image("v1")
    web.wait_told("cancelled")
    shown = " ".join(cli("tree", str(web.key)).split())
    assert "green Version withdrawn" in shown
    assert "Version candidate" not in shown


def test_explain_of_a_candidate_that_does_not_come_up_counts_its_pods(cli: Cli, web: App) -> None:
    web.push_image("bad")
    web.wait(lambda: "bad" in web.versions() and web.phase() == "Progressing", "the candidate comes up")
    shown = cli("explain", str(web.key))
    assert "waiting for its 2 pods to become available (0/2 available)" in shown


def test_diff_does_not_print_what_looks_like_a_secret(cli: Cli, web: App) -> None:
    web.container = {"env": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "MODE", "value": "fast"}]}
    web.push_image("v1")
    web.wait(lambda: web.status.get("candidate"), "the agent has seen it")
    shown = cli("diff", str(web.key), code=1)
    assert "hunter2" not in shown
    assert "MODE" in shown


def test_history_has_every_entry_of_the_ledger_and_asks_which_where_there_are_two_and_no_live_app_says_it(
    cli: Cli, web: App
) -> None:
    key, remote = str(web.key), web.scenario.remote
    web.promote("v2")
    assert "delay:4m" in cli("get", key), "how long an old version stays warm"
    shown = cli("history", key)
    assert "promoted" in shown
    assert "v1" in shown
    entries = cli.json("history", key)["entries"]
    assert [entry["event"] for entry in reversed(entries)] == web.ledger_events()
    assert cli.json("history", key, "--limit", "1")["entries"] == entries[:1]

    remote.run("push", "-q", "origin", f"origin/{remote.branch}:refs/heads/gitops-bg/state/eu")
    assert cli.json("history", key)["ledger"] == "gitops-bg/state/test"
    cli.env["GITOPS_BG_KUBECONFIG"] = "/nowhere"
    assert "the ledgers of eu, test; say which" in cli("history", key, code=2)
    assert cli.json("history", key, "--cluster", "test")["entries"]


def test_a_bare_name_is_enough_where_it_is_unique(cli: Cli, world: Scenario) -> None:
    world.start()
    world.app("lonely-one").deploy("v1")
    assert "Healthy" in cli("explain", "lonely-one")
    assert "there is no app nobody" in cli("explain", "nobody", code=5)


def test_explain_and_plan_know_that_main_refuses_the_agent(cli: Cli, web: App, tmp_path: Path) -> None:
    web.scenario.remote.protect()
    web.strategy["autoPromotionEnabled"] = True
    web.configure()
    web.push_image("v2")
    web.wait_offered("v2")
    web.wait(lambda: web.condition("MainWritable")["reason"] == "MainRefuses", "the agent says so")
    shown = cli("explain", str(web.key))
    assert "main refuses the agent's commit" in shown
    assert f"merge the branch {web.promotion_branch}" in shown
    assert "about to be done" not in shown
    file = str(tmp_path / "observed.json")
    assert "nothing to do" in cli("plan", str(web.key), "--dump-observed", file)
    assert "nothing to do" in cli("plan", str(web.key), "--observed", file)


def test_explain_says_why_a_target_that_went_back_took_no_traffic_with_it(cli: Cli, web: App) -> None:
    pushed = web.push_image("v2")
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.wait_told("promoted")
    slow = web.push_image("v1", "slow CI pushes v1 again")
    web.wait_offered("v1")

    told = cli.json("explain", str(web.key))["targetWentBack"]

    assert f"commit {slow[:10]} does not say that it reverts a commit" in told["reason"]
    assert f"gitops-bg rollback {web.key} --to 1" in told["advice"]
    assert f"git revert {pushed[:10]}" in told["advice"]
    assert told["advice"] in " ".join(cli("explain", str(web.key)).split())


def test_a_target_that_never_moved_has_not_gone_back(cli: Cli, web: App) -> None:
    """After a way back the target is what was left: nobody is to be told to force traffic there again."""
    web.revert(web.promote("v2"))
    web.wait_live("v1")
    web.wait_phase("Held")

    told = cli.json("explain", str(web.key))

    assert told["targetWentBack"] is None
    assert "--force" not in cli("explain", str(web.key))
    assert [gate["kind"] for gate in told["gates"]] == ["hold"], "it waits for no pods"
    assert told["gates"][0]["reason"].startswith("on hold: rolled back: Revert")
    assert "waits for hold" in cli("get", "-n", web.key.namespace)
    for screen in (("explain",), ("get",), ("get", "-n")):
        name = web.key.namespace if screen[-1] == "-n" else str(web.key)
        assert cli(*screen, name).count("rolled back: Revert") == 1, "what happened, and its reason, are told once"


def test_explain_says_what_a_pin_holds_back(cli: Cli, web: App) -> None:
    assert cli.json("explain", str(web.key))["targetHeldBack"] is None
    web.spec["revision"] = 1
    web.configure()
    web.scenario.wait_idle()
    assert cli.json("explain", str(web.key))["targetHeldBack"] is None, "the target is the version that is pinned"
    web.push_image("v2")
    web.scenario.wait_idle()

    told = cli.json("explain", str(web.key))["targetHeldBack"]
    waiting = web.digest("v2").removeprefix("v1:")[:10]
    assert told == {
        "reason": f"target.yaml says v2 ({waiting}), and spec.revision runs v1 instead",
        "advice": f"to run what it says: remove revision from {web.folder}/app.yaml",
    }
    shown = " ".join(cli("explain", str(web.key)).split())
    assert told["reason"] in shown
    assert told["advice"] in shown
