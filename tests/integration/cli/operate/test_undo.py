"""`undo` makes the target an older version again: a commit on main that goes through every gate."""

from __future__ import annotations

import yaml

from tests.integration.cli.conftest import AUTHOR, Cli
from tests.support.scenario import App


def target(app: App) -> str:
    return app.scenario.remote.show("main", f"{app.folder}/target.yaml") or ""


def test_undo_of_a_candidate_cancels_it(cli: Cli, web: App) -> None:
    before = target(web)
    web.push_image("v2")
    web.wait_offered("v2")
    answer = cli.json("undo", str(web.key), "-m", "not yet")
    assert (answer["to"], answer["changed"]) == (1, True)
    assert target(web) == before
    assert "undo to v1" in web.scenario.remote.message()
    assert "Reason: not yet" in web.scenario.remote.message()
    assert AUTHOR in web.scenario.remote.run("log", "-1", "--format=%an <%ae>", "main", cwd=web.scenario.remote.bare)
    web.wait_told("cancelled")
    web.wait_phase("Healthy")
    assert web.live_tag() == "v1"


def test_undo_of_what_is_live_moves_no_traffic_before_its_promotion_is_merged(cli: Cli, web: App) -> None:
    """And twice returns, as it does in Argo Rollouts."""
    web.promote("v2")
    for number in (1, 2, 1):
        assert cli.json("undo", str(web.key))["to"] == number
        if number == 1:
            web.wait_offered("v1")
        else:
            web.wait_phase("Healthy")
        assert web.live_tag() == "v2"
    web.merge_offer()
    web.wait_live("v1")


def test_two_people_who_undo_the_same_push_do_not_bring_it_back(cli: Cli, web: App) -> None:
    key, before, commit = str(web.key), target(web), web.push_image("v2")
    for times, by in enumerate(("undo", "revert"), start=1):
        web.wait_offered("v2")
        if by == "undo":
            cli("undo", key, "--author", "Bea <bea@example.com>")
        else:
            web.revert(commit)
        answer = cli.json("undo", key, "--author", "Cem <cem@example.com>")
        assert (answer["to"], answer["changed"], target(web)) == (1, False, before)
        web.wait_told("cancelled", times)
        text = cli("undo", key, "--author", "Cem <cem@example.com>")
        assert "has brought it back by commit" in text
        assert "say --to v2" in text
        assert target(web) == before
        assert cli.json("undo", key, "--to", "v2", "--author", "Cem <cem@example.com>")["changed"] is True
        commit = web.scenario.remote.head() or ""


def test_undo_takes_only_the_template_with_the_comments_it_had(cli: Cli, web: App) -> None:
    """And nothing that the agent adds to pods."""
    web.strategy["antiAffinity"] = {"preferred": {"weight": 100}}
    web.configure()
    text = web.target_yaml("v2").replace("registry.example/web:v2", "registry.example/web:v2  # the second")
    web.scenario.publish("web v2", {f"{web.folder}/target.yaml": f"# about it\n{text}"})
    web.wait_preview("v2")
    web.replicas = 1
    web.push_image("v3")
    web.wait_preview("v3")
    cli("undo", str(web.key))
    assert target(web) == web.target_yaml("v2").replace("web:v2", "web:v2  # the second")


def test_undo_says_of_a_version_on_hold_that_it_is_and_passes_over_one_that_was_given_up(cli: Cli, web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    cli("abort", str(web.key), "-r", "errors")
    web.wait_phase("Held")
    assert cli.json("undo", str(web.key))["to"] == 1
    web.wait_phase("Healthy")
    result = cli.run("undo", str(web.key), "--to-version", "2")
    assert "is on hold: aborted: errors" in result.stderr
    web.wait_phase("Held")
    web.push_image("v3")
    web.wait_offered("v3")
    assert cli.json("undo", str(web.key))["to"] == 1


def test_undo_finds_a_version_that_the_record_forgot_in_main_s_history(cli: Cli, web: App) -> None:
    web.spec["revisionHistoryLimit"] = 0
    web.strategy["scaleDownDelaySeconds"] = 0
    web.configure()
    for tag in ("v2", "v3", "v4"):
        web.promote(tag)
    web.wait(lambda: web.record.numbered(1) is None, "the record has forgotten v1")
    assert "the target is v1" in cli("undo", str(web.key), "--to-version", "1")
    assert yaml.safe_load(target(web))["spec"]["template"] == web.pod_template("v1")
    web.wait_offered("v1")
    head = web.scenario.remote.head()
    assert "already" in cli("undo", str(web.key), "--to", "v1")
    assert web.scenario.remote.head() == head


def test_undo_with_nowhere_to_go_or_of_a_target_that_cannot_be_read_says_so(cli: Cli, web: App) -> None:
    assert "older version that was not given up" in cli("undo", str(web.key), code=5)
    assert "a template of version 9" in cli("undo", str(web.key), "--to-version", "9", code=5)
    web.scenario.publish("oops", {f"{web.folder}/target.yaml": "kind: [\n"})
    assert "`git revert`" in cli("undo", str(web.key), code=1)
