"""Verbs that decide do it by a commit of the person who asked; where main refuses, they say so and what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.integration.cli.conftest import AUTHOR, Cli
from tests.support.cluster.clusters import TestCluster
from tests.support.scenario import App, Scenario

BARE = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"


def author_of(world: Scenario, ref: str = "main") -> str:
    return world.remote.run("log", "-1", "--format=%an <%ae>", ref, cwd=world.remote.bare)


@pytest.fixture
def waiting(web: App) -> App:
    """v2 waits for somebody to merge its promotion."""
    web.push_image("v2")
    web.wait_offered("v2")
    web.wait_told()
    return web


def test_what_cannot_be_done_is_said_and_commits_nothing(cli: Cli, web: App) -> None:
    before, key, nobody = web.scenario.remote.head(), str(web.key), f"{web.key.namespace}/nobody"
    assert "the target is live" in cli("promote", key, code=1)
    assert "the target is live" in cli("retry", key, code=1)
    assert "no good version" in cli("rollback", key, code=1)
    assert "has a version 9" in cli("rollback", key, "--to", "9", code=5)
    assert "nothing was rewritten" in cli("accept-history", "-m", "just in case", code=1)
    assert "main does not contain" in cli("accept-history", "--commit", "0" * 40, code=1)
    assert "does not exist" in cli("reconcile", nobody, code=5)
    assert "has no zone" in cli("suspend", key, "-r", "x", "--until", "2030-01-01T00:00:00", code=2)
    assert "is not a duration" in cli("suspend", key, "-r", "x", "--until", "soon", code=2)
    assert web.scenario.remote.head() == before


def test_a_protected_main_is_told_and_has_its_offers_on_a_branch(cli: Cli, waiting: App) -> None:
    waiting.scenario.remote.protect()
    assert "open a pull request" in cli("set-image", str(waiting.key), "web=x:1", code=3)
    shown = cli("promote", str(waiting.key), code=3)
    assert f"git merge --no-ff origin/{waiting.promotion_branch}" in shown
    waiting.merge_offer()
    waiting.wait_live("v2")
    waiting.wait_told()
    waiting.wait(lambda: not waiting.offered(), "the promotion branch goes")
    shown = cli("rollback", str(waiting.key), code=3)
    assert f"gitops-bg rollback {waiting.key} --offline" in shown
    waiting.scenario.wake()
    waiting.scenario.wait_idle()
    assert waiting.offered(), "the agent leaves it there"
    waiting.merge_offer()
    waiting.wait_live("v1")


# --- set-image ---


NO_IMAGES = [
    (["web"], 2, "write CONTAINER=IMAGE"),
    (["web=a b"], 2, "write CONTAINER=IMAGE"),
    (["web=Registry/Web:1"], 2, "'Registry/Web:1' is no image: the name"),
    (["web=web:" + "a" * 129], 2, "up to 128"),
    (["web=web@sha256:12"], 2, "64 hexadecimal digits"),
    (["nobody=x:1"], 1, "there is no container nobody with an image (the containers are: web)"),
]


def test_set_image_changes_one_value_and_is_a_commit_of_the_person(cli: Cli, on_main: App) -> None:
    key, remote = str(on_main.key), on_main.scenario.remote
    head, before = remote.head(), remote.show("main", f"{on_main.folder}/target.yaml") or ""
    for arguments, code, words in NO_IMAGES:
        assert words in cli("set-image", key, *arguments, code=code)
    assert "main has no app" in cli("set-image", f"{on_main.key.namespace}/nobody", "web=x:1", code=5)
    assert "already" in cli("set-image", key, "web=registry.example/web:v1")
    assert cli.json("set-image", key, "web=registry.example/web:v1")["changed"] is False
    assert remote.head() == head
    assert "committed" in cli("set-image", key, "web=registry.example/web:v2", "-m", "new colors")
    after = remote.show("main", f"{on_main.folder}/target.yaml")
    assert after == before.replace("registry.example/web:v1", "registry.example/web:v2")
    assert author_of(on_main.scenario) == AUTHOR
    assert "Reason: new colors" in remote.message()


def test_set_image_pushes_nothing_that_check_refuses(cli: Cli, on_main: App) -> None:
    world = on_main.scenario
    text = (world.remote.show("main", f"{on_main.folder}/app.yaml") or "").replace("activeService", "activService")
    head = world.publish("a typing error", {f"{on_main.folder}/app.yaml": text})
    shown = cli("set-image", str(on_main.key), "web=registry.example/web:v2", code=1)
    assert f"{on_main.folder}/app.yaml:" in shown
    assert "activService" in shown
    assert world.remote.head() == head


# --- promote ---


def test_promote_commits_the_checked_snapshot_and_traffic_follows(cli: Cli, waiting: App) -> None:
    assert "the candidate is v2" in cli("promote", str(waiting.key), "--to", "v1", code=1)
    answer = cli.json("promote", str(waiting.key), "--to", "v2", "-m", "looks good", "--wait")
    assert answer["changed"] is True
    assert waiting.live_tag() == "v2"
    assert waiting.primary_digest() == waiting.digest("v2")
    assert author_of(waiting.scenario, answer["commit"]) == AUTHOR
    waiting.wait(lambda: not waiting.offered(), "the promotion branch goes")
    waiting.wait_told("promoted")
    assert waiting.ledger()[-1]["Commit"] == answer["commit"]


def test_promote_copies_what_was_checked_and_not_a_later_edit_and_twice_makes_one_commit(
    cli: Cli, waiting: App
) -> None:
    waiting.scenario.stop()
    waiting.push_image("v3")
    assert "no candidate of the target yet" in cli("promote", str(waiting.key), code=1)
    assert waiting.primary_digest() == waiting.digest("v1")
    waiting.push_image("v2")
    assert cli.json("promote", str(waiting.key))["changed"] is True
    assert waiting.primary_digest() == waiting.digest("v2")
    assert cli.json("promote", str(waiting.key))["changed"] is False


def test_promote_needs_an_available_candidate_unless_forced(cli: Cli, web: App) -> None:
    web.push_image("bad")
    web.wait(lambda: web.phase() == "Progressing", "the candidate comes up")
    assert "not available" in cli("promote", str(web.key), code=1)
    cli("promote", str(web.key), "--force")
    assert web.primary_digest() == web.digest("bad")
    web.wait_phase("Promoting")
    assert web.live_tag() == "v1"


# --- rollback ---


def test_rollback_commits_the_older_primary_byte_for_byte(cli: Cli, web: App) -> None:
    older = web.scenario.remote.show("main", f"{web.folder}/primary.yaml")
    web.promote("v2")
    shown = cli("rollback", str(web.key), "-m", "errors", "--wait")
    assert "names v1" in shown
    assert web.scenario.remote.show("main", f"{web.folder}/primary.yaml") == older
    assert web.live_tag() == "v1"
    web.wait_told("rolled-back")
    assert "Bg-Event: rolled-back" in web.scenario.remote.message()


def test_rollback_to_a_held_version_says_so_and_needs_force(cli: Cli, web: App) -> None:
    """Through Git and offline; and any version may be named by its digest."""
    key, remote = str(web.key), web.scenario.remote
    web.promote("v2")
    web.promote("v3")
    for offline in ([], ["--offline"]):
        cli("rollback", key, "--to", "2", "--offline", "-r", "v3 loses orders")
        web.wait_live("v2")
        web.wait_primary("v2")
        head = remote.head()
        shown = cli("rollback", key, "--to", "3", *offline, code=1)
        assert "v3 (" in shown
        assert "is on hold (rolled-back): v3 loses orders" in shown
        assert "--force" in shown
        assert (web.live_tag(), remote.head()) == ("v2", head)
        cli("rollback", key, "--to", "3", *offline, "--force", "-r", "it was the database")
        web.wait_live("v3")
        web.wait_primary("v3")
        web.wait_told()  # A request that was written while live traffic moves may be about another version.
        web.wait_phase("Healthy")
    answer = cli.json("rollback", key, "--to", web.digest("v1")[:9], "--wait")
    assert (answer["from"], answer["to"]) == (3, 1)
    assert web.live_tag() == "v1"


def test_rollback_to_what_the_record_forgot_but_knows_to_be_bad_needs_force(cli: Cli, web: App) -> None:
    web.spec["revisionHistoryLimit"] = 0
    web.strategy["scaleDownDelaySeconds"] = web.strategy["abortScaleDownDelaySeconds"] = 1
    web.configure()
    web.promote("v2")
    cli("rollback", str(web.key), "--offline", "-r", "v2 loses orders")
    web.wait_live("v1")
    web.wait_primary("v1")
    web.promote("v3")
    web.promote("v4")
    web.wait(lambda: web.record.numbered(2) is None, "v2 is forgotten")
    shown = cli("rollback", str(web.key), "--to", "2", code=1)
    assert "v2 loses orders" in shown
    assert "--force" in shown


# --- suspend, resume, retry, accept-history, reconcile ---


def test_suspend_and_resume_are_commits_that_keep_the_file(cli: Cli, web: App) -> None:
    before = web.scenario.remote.show("main", f"{web.folder}/app.yaml")
    cli("suspend", str(web.key), "--reason", "incident 4711", "--until", "2h")
    web.scenario.wake()
    web.wait_phase("Suspended")
    assert "incident 4711" in cli("explain", str(web.key))
    cli("resume", str(web.key))
    web.wait_phase("Healthy")
    assert web.scenario.remote.show("main", f"{web.folder}/app.yaml") == before
    assert "neither suspended" in cli("resume", str(web.key))
    web.wait_told("resumed")
    suspended, resumed = (entry for entry in web.ledger() if entry["Event"] in ("suspended", "resumed"))
    assert (suspended["By"], resumed["By"]) == (AUTHOR, AUTHOR)
    assert resumed["Commit"] == web.scenario.remote.head()
    assert "suspended by commit" in cli("pause", str(web.key)), "another word for it"
    web.scenario.wake()
    web.wait_phase("Suspended")
    assert f"{AUTHOR}: suspended by hand" in cli("status", str(web.key), "--until-asked", code=6)


def test_several_apps_are_suspended_resumed_and_retried_by_one_commit_each(cli: Cli, world: Scenario) -> None:
    world.start()
    apps = api, web = [world.app(name).deploy("v1") for name in ("api", "web")]
    names = [str(app.key) for app in apps]

    def in_one_commit(verb: str, *arguments: str) -> None:
        before = int(world.remote.run("rev-list", "--count", "main", cwd=world.remote.bare))
        made = {each["commit"] for each in cli.json(verb, *names, *arguments)["apps"]}
        assert made == {world.remote.head()}
        assert int(world.remote.run("rev-list", "--count", "main", cwd=world.remote.bare)) == before + 1

    in_one_commit("suspend", "-r", "incident 4711")
    assert "api, web: suspend" in world.remote.message()
    world.wake()
    for app in apps:
        app.wait_phase("Suspended")
    in_one_commit("resume")
    for app in apps:
        app.wait_phase("Healthy")
    api.push_image("v2")
    api.wait_offered("v2")
    head = world.remote.head()
    assert f"{web.key}: there is nothing to try again" in cli("retry", *names, code=1)
    assert world.remote.head() == head, "all or none"
    web.push_image("v2")
    web.wait_offered("v2")
    rollouts = [app.record.rollout for app in apps]
    in_one_commit("retry", "-m", "once more")
    for app in apps:
        app.wait_told("retried")
    assert [app.record.rollout for app in apps] == [each + 1 for each in rollouts]


ADA, BOB = ("--author", "Ada <ada@example.com>"), ("--author", "Bob <bob@example.com>")


def test_suspend_replaces_the_suspension_of_a_colleague_only_by_force(cli: Cli, on_main: App) -> None:
    world, web, api = on_main.scenario, on_main, on_main.scenario.app("api")
    api.spec["suspend"] = {"reason": "INC-0", "by": "Ada", "until": "2020-01-01T00:00:00Z"}
    api.add()
    cli("suspend", str(web.key), "-r", "INC-1, until Ada says so", *ADA)
    head, again = world.remote.head(), ("-r", "maintenance", "--until", "1h", *BOB)
    told = cli("suspend", str(api.key), str(web.key), *again, code=1)
    assert f"{web.key}: suspended already by Ada <ada@example.com>, until it is resumed: INC-1, until Ada" in told
    assert "--force" in told
    assert world.remote.head() == head, "all or none"
    told = cli("suspend", str(web.key), str(api.key), "-r", "INC-1, until Ada says so", *ADA)
    assert f"{web.key}: suspended already" in told
    assert f"{api.key}: suspended by commit" in told, "one that is over is replaced"
    cli("suspend", str(web.key), *again, "--force")
    assert "maintenance" in (world.remote.show("main", f"{web.folder}/app.yaml") or "")


def test_resume_lifts_the_hold_of_a_rollback(cli: Cli, web: App) -> None:
    web.promote("v2")
    cli("rollback", str(web.key), "--wait")
    web.wait_phase("Held")
    assert "on hold" in cli("promote", str(web.key), code=1)
    [answer] = cli.json("resume", str(web.key))["apps"]
    assert answer["holdLifted"] is True
    web.wait_offered("v2")


def test_accept_history_lets_promotions_go_on(cli: Cli, web: App) -> None:
    remote, rewritten = web.scenario.remote, "HistoryRewritten"

    def rewrite() -> None:
        web.scenario.pull()
        remote.run("commit", "--quiet", "--amend", "-m", "web v2, with other words")
        remote.force_push()
        web.scenario.wake()
        web.wait_condition(rewritten)

    web.push_image("v2")
    web.wait_offered("v2")
    rewrite()
    assert "gitops-bg accept-history" in cli("explain", str(web.key))
    head = remote.head()
    assert "would commit to main: accept the history" in cli("accept-history", "-m", "a typo", "--dry-run")
    assert remote.head() == head
    assert cli.json("accept-history", "-m", "a typo")["accepted"] == head
    assert remote.show("main", "gitops-bg.yaml") == f"{BARE}historyGeneration: 1\n"
    web.scenario.wake()
    web.wait_condition(rewritten, "Absent")
    web.wait_offered("v2")
    web.scenario.publish("settings", {"gitops-bg.yaml": f"# ours\n{BARE}historyGeneration: 1\n"})
    web.scenario.wait_idle()
    rewrite()
    cli("accept-history", "-m", "another typo")
    assert remote.show("main", "gitops-bg.yaml") == f"# ours\n{BARE}historyGeneration: 2\n"
    web.scenario.wake()
    web.wait_condition(rewritten, "Absent")


# --- on both clusters ---


def test_the_main_job_by_the_command_line(either_world: Scenario, cluster: TestCluster, tmp_path: Path) -> None:
    cli = Cli(either_world.remote, cluster.kubeconfig, tmp_path)
    either_world.start()
    web = either_world.app().deploy("v1")
    cli("set-image", str(web.key), "web=registry.example/web:v2")
    cli("reconcile", str(web.key))
    web.wait_preview("v2")
    assert "spec.containers[web].image" in cli("diff", str(web.key), code=1)
    web.wait_offered("v2")
    cli("promote", str(web.key), "--wait")
    assert web.live_tag() == "v2"
    assert "v2 (v2) green" in cli("tree", str(web.key))
    cli("rollback", str(web.key), "--wait")
    assert web.live_tag() == "v1"
    web.wait_told()
    events = [entry["event"] for entry in cli.json("history", str(web.key))["entries"]]
    assert {"deployed", "promoted", "rolled-back"} <= set(events)
    assert cli.json("get", str(web.key))["items"][0]["version"] == 1


# --- restart ---


def test_restart_is_a_commit_that_the_agent_carries_out(cli: Cli, web: App) -> None:
    before = web.scenario.remote.show("main", f"{web.folder}/app.yaml") or ""
    answer = cli.json("restart", str(web.key), "--in", "1h", "-m", "new certificates")
    after = web.scenario.remote.show("main", f"{web.folder}/app.yaml") or ""
    (added,) = set(after.splitlines()) - set(before.splitlines())
    at = datetime.fromisoformat(answer["apps"][0]["restartAt"])
    assert added.strip() == f'restartAt: "{at.strftime("%Y-%m-%dT%H:%M:%SZ")}"'
    assert timedelta(minutes=59) < at - datetime.now(UTC) <= timedelta(hours=1)
    assert author_of(web.scenario) == AUTHOR
    assert "Reason: new certificates" in web.scenario.remote.message()
    web.scenario.wake()
    web.wait(lambda: web.condition("Restarting")["reason"] == "Scheduled", "it is scheduled")
    assert "are restarted at that time" in cli("explain", str(web.key))
    assert "restarts its pods by commit" in cli("restart", str(web.key)), "without a time it is now"
    web.scenario.wake()
    web.wait(lambda: web.record.operator.restarted is not None, "the restart is carried out")
