"""Verbs that look: what they show is true, in both forms, and looking changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli
from tests.support.auxiliary_objects import hpa, publish
from tests.support.scenario import STATE_BRANCH, App, Scenario


@pytest.fixture
def waiting(web: App) -> App:
    """v2 waits for somebody to merge its promotion."""
    web.push_image("v2")
    web.wait_offered("v2")
    web.wait_told()
    web.wait_phase("AwaitingPromotion")
    return web


def test_get_shows_phase_version_candidate_and_what_promotion_waits_for(cli: Cli, waiting: App) -> None:
    shown = cli("get", "-n", waiting.key.namespace)
    assert "AwaitingPromotion" in shown
    assert "v2 registry.example/web:v2" in shown
    assert "waits for approval" in shown
    [row] = cli.json("get", str(waiting.key))["apps"]
    assert (row["version"], row["color"], row["image"]) == (1, "blue", "registry.example/web:v1")
    assert row["candidate"] == 2


def test_get_of_an_unknown_app_is_not_found(cli: Cli, web: App) -> None:
    assert "runs no app" in cli("get", f"{web.key.namespace}/nobody", code=5)


def test_get_watch_of_a_list_shows_every_change_as_a_line(cli: Cli, web: App) -> None:
    where = ("-n", web.key.namespace, "-w", "--timeout", "300ms")
    lines = cli("get", *where, "-o", "json").splitlines()
    assert json.loads(lines[0])["phase"] == "Healthy"
    assert json.loads(lines[0])["candidateImage"] == ""
    assert cli("get", *where).startswith(f"{web.key}  Healthy  v1 blue")


@pytest.mark.parametrize("verb", ["get", "tree"])
def test_one_app_is_a_tree_of_versions_pods_services_and_gates(cli: Cli, waiting: App, verb: str) -> None:
    shown = " ".join(cli(verb, str(waiting.key)).split())
    assert "Phase: ॥ AwaitingPromotion" in shown
    assert "registry.example/web:v2 (preview, green)" in shown
    assert "registry.example/web:v1 (active, blue)" in shown
    assert "desired 2 current 4 updated 2 ready 2 available 2" in shown
    assert "green Version candidate" in shown
    assert "2/2 available" in shown
    assert shown.count("Pod Running") == 4
    assert "⇄ web Service active → v1 (blue), 2 ready endpoints" in shown
    assert "⇄ web-preview Service preview → v2 (green)" in shown
    assert "⊞ approval Gate shut waiting for the promotion branch to be merged" in shown
    [answer] = cli.json(verb, str(waiting.key))["apps"]
    assert [(each["version"], each["live"], len(each["pods"])) for each in answer["versions"]] == [
        (1, True, 2),
        (2, False, 2),
    ]


def test_an_old_version_shows_how_long_it_stays_warm(cli: Cli, web: App) -> None:
    web.promote("v2")
    assert "delay:4m" in cli("get", str(web.key))


def test_a_candidate_that_was_cancelled_is_none_any_more(cli: Cli, web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    web.push_image("v1")
    web.wait_told("cancelled")
    shown = " ".join(cli("tree", str(web.key)).split())
    assert "green Version withdrawn" in shown
    assert "Version candidate" not in shown


def test_explain_shows_each_gate_its_reason_and_what_to_do(cli: Cli, waiting: App) -> None:
    shown = cli("explain", "web", "-n", waiting.key.namespace)
    assert "open  availability" in shown
    assert "(2/2 available)" in shown
    assert f"merge the branch {waiting.promotion_branch}, or: gitops-bg promote {waiting.key}" in shown
    gates = {gate["kind"]: gate for gate in cli.json("explain", str(waiting.key))["gates"]}
    assert gates["availability"]["open"] is True
    assert gates["approval"]["open"] is False
    assert gates["approval"]["advice"]


def test_explain_of_a_version_on_hold_names_no_branch_to_merge_that_is_not_there(cli: Cli, waiting: App) -> None:
    cli("abort", str(waiting.key))
    waiting.wait(lambda: not waiting.offered(), "the offer is withdrawn")
    gates = {gate["kind"]: gate for gate in cli.json("explain", str(waiting.key))["gates"]}
    assert f"gitops-bg resume {waiting.key}" in gates["hold"]["advice"]
    assert f"`gitops-bg resume {waiting.key}` lifts it" in gates["hold"]["reason"]
    assert waiting.condition("Healthy")["message"] == waiting.condition("OnHold")["message"]
    assert "merge" not in gates["approval"]["advice"]


def test_explain_exits_with_1_for_an_unhealthy_app_only_when_asked(cli: Cli, waiting: App) -> None:
    cli("explain", str(waiting.key))
    cli("explain", str(waiting.key), "--exit-code", code=1)


def test_explain_of_a_candidate_that_does_not_come_up_counts_its_pods(cli: Cli, web: App) -> None:
    web.push_image("bad")
    web.wait(lambda: "bad" in web.versions() and web.phase() == "Progressing", "the candidate comes up")
    shown = cli("explain", str(web.key))
    assert "waiting for its 2 pods to become available (0/2 available)" in shown


def test_explain_of_a_healthy_app_has_nothing_to_wait_for(cli: Cli, web: App) -> None:
    shown = cli("explain", str(web.key), "--exit-code")
    assert shown.splitlines()[0] == f"{web.key}: Healthy"
    assert len(shown.splitlines()) == 2, "but where its traffic goes, there is nothing to say"


def test_diff_shows_paths_by_container_name_and_exits_like_diff(cli: Cli, waiting: App) -> None:
    shown = cli("diff", str(waiting.key), code=1)
    assert "spec.containers[web].image: registry.example/web:v1 → registry.example/web:v2" in shown
    answer = cli.json("diff", str(waiting.key), code=1)
    assert [each["path"] for each in answer["differences"]] == ["spec.containers[web].image"]


def test_diff_of_a_live_target_is_none(cli: Cli, web: App) -> None:
    assert "no difference" in cli("diff", str(web.key))


def test_diff_does_not_print_what_looks_like_a_secret(cli: Cli, web: App) -> None:
    web.container = {"env": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "MODE", "value": "fast"}]}
    web.push_image("v1")
    web.wait(lambda: web.status.get("candidate"), "the agent has seen it")
    shown = cli("diff", str(web.key), code=1)
    assert "hunter2" not in shown
    assert "MODE" in shown


def test_history_has_every_entry_of_the_ledger(cli: Cli, web: App) -> None:
    web.promote("v2")
    shown = cli("history", str(web.key))
    assert "promoted" in shown
    assert "v1" in shown
    entries = cli.json("history", str(web.key))["entries"]
    assert [entry["event"] for entry in reversed(entries)] == web.told()
    assert cli.json("history", str(web.key), "--limit", "1")["entries"] == entries[:1]


def test_history_of_an_unknown_app_is_not_found(cli: Cli, web: App) -> None:
    assert STATE_BRANCH in cli("history", f"{web.key.namespace}/nobody", code=5)


def test_history_asks_which_cluster_where_there_are_two_ledgers(cli: Cli, web: App) -> None:
    web.scenario.remote.run(
        "push", "-q", "origin", f"origin/{web.scenario.remote.branch}:refs/heads/gitops-bg/state/eu"
    )
    assert "the ledgers of eu, test; say which" in cli("history", str(web.key), code=2)
    assert cli.json("history", str(web.key), "--cluster", "test")["entries"]


def test_a_bare_name_is_enough_where_it_is_unique(cli: Cli, world: Scenario) -> None:
    world.start()
    world.app("lonely-one").deploy("v1")
    assert "Healthy" in cli("explain", "lonely-one")
    assert "there is no app nobody" in cli("explain", "nobody", code=5)


@pytest.mark.parametrize("verb", ["get", "tree", "explain", "history", "diff", "plan"])
def test_no_line_is_padded_or_folded_where_nobody_sees_a_screen(cli: Cli, waiting: App, verb: str) -> None:
    cli.env["COLUMNS"] = None
    cli.env["TERM"] = "dumb"  # as CI has it
    code = 1 if verb == "diff" else 0
    lines = cli(verb, str(waiting.key), code=code).splitlines()
    assert lines
    assert lines == [line.rstrip() for line in lines]
    assert not any(line.startswith(" " * 60) for line in lines), "a cell went on in the next line"


def test_explain_and_plan_know_that_main_refuses_the_agent(cli: Cli, web: App, tmp_path: Path) -> None:
    web.scenario.remote.protect()
    web.strategy["autoPromotionEnabled"] = True
    web.configure()
    web.push_image("v2")
    web.wait_offered("v2")
    web.wait(lambda: web.condition("GitReachable")["reason"] == "MainRefuses", "the agent says so")
    shown = cli("explain", str(web.key))
    assert "main refuses the agent's commit" in shown
    assert f"merge the branch {web.promotion_branch}" in shown
    assert "about to be done" not in shown
    file = str(tmp_path / "observed.json")
    assert "nothing to do" in cli("plan", str(web.key), "--dump-observed", file)
    assert "nothing to do" in cli("plan", str(web.key), "--observed", file)


# --- plan ---


def test_plan_changes_nothing(cli: Cli, waiting: App) -> None:
    world = waiting.scenario
    world.stop()
    waiting.push_image("v3")
    heads, writes = world.remote.branches(), world.writes()
    shown = cli("plan", str(waiting.key))
    assert "create the green ReplicaSet of v3" in shown
    assert world.remote.branches() == heads
    assert world.writes() == writes


def test_plan_of_a_new_app_says_what_would_be_deployed(cli: Cli, world: Scenario) -> None:
    world.cluster.get("/version")
    app = world.app()
    app.add("v1")
    answer = cli.json("plan", str(app.key))
    [plan] = answer["apps"]
    assert [action["action"] for action in plan["actions"]][:2] == ["ApplyApp", "CreateReplicaSet"]
    assert world.writes() == []


def test_plan_says_what_an_autoscaler_in_git_leads_to(cli: Cli, web: App) -> None:
    web.scenario.stop()
    publish(web, "hpa", hpa())
    (line,) = (each for each in cli("plan", str(web.key)).splitlines() if "Horizontal" in each)
    assert line.strip().startswith("1. apply HorizontalPodAutoscaler web-primary -> v1 (")
    assert line.endswith("it does not exist")


def test_plan_shows_problems_of_files_and_goes_on(cli: Cli, web: App) -> None:
    web.scenario.stop()
    web.scenario.publish("oops", {f"{web.folder}/target.yaml": "kind: [\n"})
    assert "target.yaml" in cli("plan", str(web.key))
    assert cli.json("plan", str(web.key))["apps"][0]["phase"] == "Invalid"


def test_plan_from_a_file_needs_no_cluster(cli: Cli, waiting: App, tmp_path: Path) -> None:
    file = tmp_path / "observed.json"
    waiting.scenario.stop()
    waiting.push_image("v3")
    live = cli.json("plan", str(waiting.key), "--dump-observed", str(file))
    cli.env["GITOPS_BG_KUBECONFIG"] = str(tmp_path / "nowhere")
    from_file = cli.json("plan", str(waiting.key), "--observed", str(file))
    said = [[action["sentence"] for action in plan["apps"][0]["actions"]] for plan in (live, from_file)]
    assert said[0] == said[1] != []


def test_plan_of_a_local_work_tree(cli: Cli, waiting: App) -> None:
    waiting.scenario.remote.pull()
    cli.env["GITOPS_BG_REPO"] = str(waiting.scenario.remote.clone)
    assert cli.json("plan", str(waiting.key), "--cluster", "test")["commit"] == waiting.scenario.remote.head()


def test_plan_from_a_file_that_is_none_says_how_to_make_one(cli: Cli, web: App, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    assert "--dump-observed" in cli("plan", "--observed", str(tmp_path / "bad.json"), code=1)
    (tmp_path / "bad.json").write_text("{")
    assert "is no JSON" in cli("plan", "--observed", str(tmp_path / "bad.json"), code=1)
    assert "cannot be read" in cli("plan", "--observed", str(tmp_path / "none.json"), code=2)


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
