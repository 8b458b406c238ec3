"""`promote` during a countdown, of a paused analysis, and in full: what it asks for, and that traffic follows."""

from __future__ import annotations

from pathlib import Path

from tests.integration.cli.conftest import Cli
from tests.support.analysis import analysed, publish_templates, runs, template
from tests.support.cluster.clusters import TestCluster
from tests.support.scenario import App, Scenario

PRE, POST = "prePromotionAnalysis", "postPromotionAnalysis"
MISSING = "registry.example/sleep:missing"
"""An image that cannot be had: the analysis is inconclusive."""


def judged(app: App, field: str, duration: str = "0", *, inconclusive: bool = False) -> None:
    """Have a stage analysed; what is inconclusive once is good as soon as `mended`."""
    stage = "pre" if field == PRE else "post"
    text = template(stage)
    text = text.replace("registry.example/sleep:v1", MISSING) if inconclusive else text
    app.scenario.publish("Templates", {f"analysis/sleep-{stage}.yaml": text})
    analysed(app, field, duration=duration)
    app.configure()


def mended(app: App) -> None:
    publish_templates(app.scenario)
    app.scenario.wait_idle()


def flat(shown: str) -> str:
    return " ".join(shown.split())


def test_a_promotion_during_the_countdown_is_honoured_at_once(cli: Cli, web: App) -> None:
    """`promote` in a countdown of an hour: traffic moves, no countdown begins anew."""
    web.strategy |= {"autoPromotionEnabled": True, "autoPromotionSeconds": 3600}
    web.configure()
    web.push_image("v2")
    web.wait_phase("AwaitingPromotion")
    cli("promote", str(web.key), "--wait", "--timeout", "20s")
    assert web.live_tag() == "v2"
    web.wait_told("promoted")
    web.scenario.wait_idle()
    assert web.status["gates"] == []


def test_full_needs_neither_analysis_on_both_clusters(
    either_world: Scenario, cluster: TestCluster, tmp_path: Path
) -> None:
    cli = Cli(either_world.remote, cluster.kubeconfig, tmp_path)
    either_world.start()
    web = either_world.app().deploy("v1")
    judged(web, PRE, "infinity")
    judged(web, POST, "infinity")
    web.push_image("v2")
    web.wait(lambda: runs(web) == ["2.pre.1"], "the analysis runs")
    assert "α pre-promotion analysis AnalysisRun Running" in flat(cli("get", str(web.key)))
    answer = cli.json("promote", str(web.key), "--full", "--wait", "--timeout", "60s")
    assert answer["asked"] == "without pause and analyses, as soon as all its pods are available"
    assert web.live_tag() == "v2"
    web.wait_phase("Healthy")
    assert web.record.analyses.runs == ()
    web.wait_told("skipped")
    assert "Grace Hopper <grace@example.com>" in [entry.get("By") for entry in web.ledger()]


def test_full_needs_something_to_promote_and_waits_for_all_its_pods(cli: Cli, web: App) -> None:
    assert "the target is live" in cli("promote", str(web.key), "--full", code=1)
    web.push_image("bad")
    web.wait(lambda: web.phase() == "Progressing", "the candidate comes up")
    cli("promote", str(web.key), "--full")
    web.wait_phase("Promoting")
    assert web.live_tag() == "v1"


def test_full_ends_the_analysis_of_what_serves(cli: Cli, web: App) -> None:
    judged(web, POST, "infinity")
    web.promote("v2")
    web.wait(lambda: runs(web) == ["2.post.1"], "the analysis runs")
    head = web.scenario.remote.head()
    shown = cli("promote", str(web.key), "--full")
    assert "stays live; its analysis ends" in shown
    assert web.scenario.remote.head() == head
    web.wait_phase("Healthy")
    assert web.live_tag() == "v2"


def test_full_where_main_takes_only_merges_counts_from_the_merge(cli: Cli, web: App) -> None:
    judged(web, PRE, "infinity")
    web.push_image("v2")
    web.wait(lambda: runs(web) == ["2.pre.1"], "the analysis runs")
    web.scenario.remote.protect()
    cli("promote", str(web.key), "--full", code=3)
    web.merge_offer()
    web.wait_live("v2")


def test_a_promotion_of_a_paused_version_measures_anew_and_moves_traffic_if_that_is_good(cli: Cli, web: App) -> None:
    """Where it pauses again, its promotion being committed, it is promoted again."""
    judged(web, PRE, inconclusive=True)
    web.push_image("v2")
    web.wait_phase("Paused")
    assert "inconclusive" in cli("status", str(web.key), "--until-asked", code=6)
    shown = flat(cli("get", str(web.key)))
    assert "α pre-promotion analysis AnalysisRun Inconclusive" in shown
    assert "✔0 ✖0 ?1 ⚠0 of 1" in shown
    assert "was inconclusive, and measures anew" in cli("promote", str(web.key))
    web.wait(lambda: web.record.git.primary == web.digest("v2"), "its promotion was seen")
    wait_paused_again(web)
    mended(web)
    answer = cli.json("promote", str(web.key), "--wait", "--timeout", "60s")
    assert (answer["changed"], answer["asked"]) == (False, "its analysis was inconclusive, and measures anew")
    assert web.live_tag() == "v2"


def wait_paused_again(web: App) -> None:
    web.wait(lambda: any(run.attempt > 1 and run.paused for run in web.record.analyses.runs), "it is paused again")
    web.scenario.wait_idle()


def test_a_pause_of_what_serves_is_answered_with_a_fresh_run(cli: Cli, web: App) -> None:
    """By `promote` as by `retry`."""
    judged(web, POST, inconclusive=True)
    web.push_image("v2")
    web.merge_promotion("v2")
    web.wait_phase("Paused")
    assert web.live_tag() == "v2"
    cli("promote", str(web.key))
    wait_paused_again(web)
    mended(web)
    cli("retry", str(web.key))
    web.wait_phase("Healthy")
    assert web.live_tag() == "v2"
