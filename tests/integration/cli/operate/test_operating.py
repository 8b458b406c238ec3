"""`abort` and `rollback --offline`: by the agent where one runs, else by this process with the same engine."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli
from tests.support.auxiliary_objects import hpa, publish
from tests.support.cluster.clusters import SandboxCluster, TestCluster
from tests.support.scenario import App, Scenario

ALONE = ("--grace", "0s")


@pytest.fixture
def promoted(web: App) -> App:
    """v2 is live, v1 is warm."""
    web.promote("v2")
    return web


def test_what_cannot_be_done_is_said_and_moves_nothing(cli: Cli, web: App) -> None:
    key = str(web.key)
    assert "nothing to abort" in cli("abort", key, "-r", "x", code=1)
    assert "no good version" in cli("rollback", key, "--offline", code=1)
    assert "version 9 never served" in cli("rollback", key, "--offline", "--to", "9", code=1)
    assert "runs no app" in cli("rollback", f"{web.key.namespace}/nobody", "--offline", code=5)
    assert cli.json("rollback", key, "--offline", "--to", "1")["changed"] is False, "it is live"
    assert web.live_tag() == "v1"


def test_abort_puts_the_candidate_on_hold(cli: Cli, web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    [answer] = cli.json("abort", str(web.key), "--reason", "errors on the preview")["apps"]
    assert answer["held"] == [web.digest("v2")]
    assert answer["byAgent"] is True
    web.wait_phase("Held")
    web.wait_told("aborted")
    assert web.ledger()[-1]["Reason"] == "errors on the preview"
    assert web.live_tag() == "v1"


def test_abort_of_several_apps_goes_on_after_one_that_cannot_be_aborted(cli: Cli, web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    names = (f"{web.key.namespace}/nobody", str(web.key), str(web.key))
    result = cli.run("abort", *names, "-o", "json", code=5)
    assert [each["app"] for each in json.loads(result.stdout)["apps"]] == [str(web.key)]
    assert "runs no app" in result.stderr
    web.wait_phase("Held")
    web.wait_told("aborted")
    assert web.ledger()[-1]["Reason"] == "aborted by hand", "who is in a hurry needs no reason"


def test_abort_without_an_agent_is_told_in_the_ledger_by_the_next_one(cli: Cli, web: App) -> None:
    web.push_image("bad")
    web.wait(lambda: web.phase() == "Progressing", "the candidate comes up")
    web.wait_told()
    web.scenario.stop()
    assert cli.json("abort", str(web.key), "-r", "wrong", *ALONE)["apps"][0]["byAgent"] is False
    assert "aborted" not in web.ledger_events()
    web.scenario.start()
    web.wait_told("aborted")


def test_an_offline_rollback_beside_a_running_agent_moves_traffic_once_and_is_committed(
    cli: Cli, promoted: App
) -> None:
    """By the agent, and by who does not wait for it."""
    answer = cli.json("rollback", str(promoted.key), "--offline", "-m", "errors", "--grace", "20s")
    assert (answer["to"], answer["byAgent"]) == (1, True)
    for times, tag in ((1, "v3"), (2, "")):
        assert promoted.live_tag() == "v1"
        promoted.wait_primary("v1")
        promoted.wait_told("rolled-back", times)
        assert promoted.ledger_events().count("rolled-back") == times
        if tag:
            promoted.promote(tag)
            cli("rollback", str(promoted.key), "--offline", *ALONE)


def test_an_offline_rollback_without_agent_and_git_moves_traffic_and_loses_nothing(cli: Cli, promoted: App) -> None:
    world = promoted.scenario
    world.stop()
    world.remote.go_down()
    cli.env["GITOPS_BG_REPO"] = ""
    shown = cli("rollback", str(promoted.key), "--offline", "-m", "errors", *ALONE)
    assert "roll live traffic back from v2" in shown
    assert promoted.live_tag() == "v1"
    assert "rolled-back" not in [str(entry.event) for entry in promoted.record.ledger][:-1]
    world.remote.come_back()
    world.start()
    promoted.wait_primary("v1")
    promoted.wait_told("rolled-back")
    assert promoted.ledger_events().count("rolled-back") == 1
    assert promoted.ledger()[-1]["Reason"] == "errors" or "errors" in str(promoted.ledger())
    promoted.wait_phase("Held")


def test_an_offline_rollback_to_a_version_at_zero_scales_it_up_first(cli: Cli, web: App) -> None:
    web.strategy["scaleDownDelaySeconds"] = 0
    web.configure()
    web.promote("v2")
    web.wait(lambda: web.versions()["v1"].replicas == 0, "v1 is archived")
    web.scenario.stop()
    shown = cli("rollback", str(web.key), "--offline", *ALONE)
    assert "scale v1" in shown
    assert web.live_tag() == "v1"
    assert web.versions()["v1"].available == 2


def test_an_offline_rollback_goes_on_where_an_autoscaler_may_not_be_written_to_and_says_so(cli: Cli, web: App) -> None:
    publish(web, "hpa", hpa())
    web.promote("v2")
    web.wait(lambda: web.record.last_read.auxiliary_objects, "the autoscaler is the agent's")
    world = web.scenario
    world.wait_idle()
    world.stop()
    assert isinstance(world.cluster, SandboxCluster)
    faults = world.cluster.sandbox.faults
    faults.refuse("patch", "horizontalpodautoscalers", web.key.namespace)
    try:
        shown = cli("rollback", str(web.key), "--offline", *ALONE)
    finally:
        faults.clear()
    assert "roll live traffic back from v2" in shown
    assert shown.count("cannot patch") == 1, "it is told once"
    assert web.live_tag() == "v1"
    refused = [each for each in world.events() if each["reason"] == "WriteRefused"]
    assert ["cannot patch" in each["message"] for each in refused] == [True]


# --- abort, of what is not proven and of everything ---


def test_abort_names_what_it_stops_and_goes_back_to_the_last_proven_version(
    either_world: Scenario, cluster: TestCluster, tmp_path: Path
) -> None:
    """And what it gave up is live again by an offline rollback, without an agent."""
    cli = Cli(either_world.remote, cluster.kubeconfig, tmp_path)
    either_world.start()
    web = either_world.app().deploy("v1")
    web.promote("v2")
    web.push_image("v3")
    web.wait_offered("v3")
    shown = cli("abort", str(web.key), "-r", "checkout fails")
    assert re.search(r"aborted v2 \(.+\), v3 \(.+\); live traffic went back to v1 \(", shown)
    assert web.live_tag() == "v1"
    assert {hold.digest for hold in web.record.holds} == {web.digest("v2"), web.digest("v3")}
    web.wait_primary("v1")
    web.wait_told("rolled-back")
    either_world.stop()
    cli("rollback", str(web.key), "--offline", "--to", "2", "--force", *ALONE)
    assert web.live_tag() == "v2"
    either_world.start()
    web.wait_primary("v2")


def test_abort_all_shows_what_it_stops_asks_and_leaves_apps_at_rest_in_peace(cli: Cli, world: Scenario) -> None:
    world.start()
    apps = {name: world.app(name).deploy("v1") for name in ("api", "mail", "web")}
    where = ("-n", world.namespace)
    assert "nothing is on its way in any app or release group" in cli("abort", "--all", *where)
    for name in ("api", "web"):
        apps[name].push_image("v2")
        apps[name].wait_offered("v2")
    asked = cli("abort", "--all", *where, code=2)
    assert re.search(rf"{apps['api'].key}: stops v2 \(.+\); live traffic stays where it is", asked)
    assert "nobody is here to ask; --yes" in asked
    assert str(apps["mail"].key) not in asked
    assert apps["api"].record.holds == ()
    lines = cli("abort", "--all", "--yes", *where, "-r", "incident 4711").splitlines()
    assert [line.partition(":")[0] for line in lines] == [str(apps["api"].key), str(apps["web"].key)]
    for name in ("api", "web"):
        apps[name].wait_phase("Held")
    assert "name the apps to abort, or all of them by --all" in cli("abort", code=2)
    assert "not both" in cli("abort", "--all", str(apps["api"].key), code=2)
