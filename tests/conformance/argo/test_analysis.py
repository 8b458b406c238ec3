"""Argo Rollouts, analysis_test.go: analysis before and after promotion, by Jobs as there; and its weak points.

An AnalysisRun there is a run in the record here, counted by the Jobs it has left: `2.pre.1` is the first run before
promotion of rollout 2. What is Paused there awaits its promotion here, what is Degraded after an abort is Held.
"""

from gitops_bg.core.model.analysis import AnalysisStage
from tests.conformance.counting import wait_counts
from tests.conformance.steps import come_up, promote_full, retry, set_ready, sizes, wait_pods, wait_sizes
from tests.support.analysis import analysed, made, publish_templates, runs
from tests.support.scenario import App, Scenario
from tests.support.sightings import Sightings

PRE, POST = "prePromotionAnalysis", "postPromotionAnalysis"
NEVER = {"abortScaleDownDelaySeconds": "never"}


def _new_app(world: Scenario, **strategy: object) -> App:
    """An app that is not deployed yet; the templates are there."""
    world.start()
    publish_templates(world)
    web = world.app()
    web.strategy |= strategy
    return web


def _wait_runs(web: App, *expected: str) -> None:
    """Wait until these runs have measured, and no others."""
    web.wait(lambda: runs(web) == list(expected), f"the runs {expected}; there are {runs(web)}")


def test_argo_06_analysis_before_and_after_promotion(world: Scenario) -> None:
    """No run at the first deployment; one while v2 waits; two when it serves, (1,2,1,1,1); none for the way back.

    The preview shows the version that was left as long as it is warm.
    """
    web = _new_app(world)
    web.replicas = 1
    analysed(web, PRE, duration="1")
    analysed(web, POST, duration="5")
    web.deploy("v1")
    web.wait_phase("Healthy")
    assert runs(web) == []

    push = web.push_image("v2")
    web.wait_phase("Progressing")
    web.wait_phase("AwaitingPromotion")
    assert runs(web) == ["2.pre.1"]
    assert (web.live_tag(), web.preview_tag()) == ("v1", "v2")

    promotion = web.merge_promotion("v2")
    web.wait_live("v2")
    _wait_runs(web, "2.pre.1", "2.post.1")
    wait_counts(web, 1, 2, 1, 1, 1)
    assert web.phase() == "Progressing"
    web.wait_phase("Healthy")

    web.revert(promotion, push)
    web.wait_live("v1")
    web.wait_phase("Healthy")
    world.wait_idle()
    assert runs(web) == ["2.pre.1", "2.post.1"]
    world.advance(301)
    web.wait_preview("v1")


def test_argo_07_analysis_before_promotion_fails(world: Scenario) -> None:
    """Failed: held, one run, v1 live and v2 previewed; with better args and a retry Healthy, two runs, all on v2."""
    web = _new_app(world, previewReplicaCount=1, autoPromotionEnabled=True, **NEVER)
    analysed(web, PRE, exit_code=1)
    web.deploy("v1")

    with Sightings(world.cluster, world.namespace) as seen:
        web.push_image("v2")
        web.wait_phase("Held")
        assert runs(web) == ["2.pre.1"]
        assert "BackoffLimitExceeded" in web.condition("OnHold")["message"]
        assert (web.live_tag(), web.preview_tag()) == ("v1", "v2")
        wait_counts(web, 2, 3, 1, 2, 2)
        web.wait_primary("v1")

        analysed(web, PRE)
        retry(web, "v2")
        web.wait_phase("Healthy")
    assert runs(web) == ["2.pre.1", "3.pre.1"]
    assert (web.live_tag(), web.preview_tag()) == ("v2", "v2")
    assert [(move.available_at_origin, move.available_there) for move in seen.moves("web")] == [(2, 2)]
    seen.assert_traffic_was_safe("web")


def _failed_after_promotion(world: Scenario) -> App:
    """v2 was promoted, measured, and left again: v1 is live, v2 held and warm."""
    web = _new_app(world, **NEVER)
    analysed(web, POST, duration="2", exit_code=1)
    web.deploy("v1")
    web.push_image("v2")
    web.wait_phase("AwaitingPromotion")
    assert runs(web) == []
    web.merge_promotion("v2")
    web.wait_live("v2")
    assert sizes(web) == {"v1": 2, "v2": 2}
    web.wait_live("v1")
    web.wait_told("rolled-back")
    web.wait_phase("Held")
    return web


def test_argo_11_promote_full_while_the_analysis_before_promotion_runs(world: Scenario) -> None:
    """Asked while the one run is under way: v2 at full size, live, Healthy; its Job is ended, none runs after."""
    web = _new_app(world, previewReplicaCount=1, autoPromotionEnabled=True)
    analysed(web, PRE, duration="infinity")
    analysed(web, POST, duration="infinity")
    web.deploy("v1")
    with Sightings(world.cluster, world.namespace) as seen:
        web.push_image("v2")
        _wait_runs(web, "2.pre.1")
        assert (web.phase(), web.live_tag()) == ("Progressing", "v1")

        promote_full(web)
        web.wait_live("v2")
        web.wait_phase("Healthy")
    wait_counts(web, 2, 4, 2, 2, 2)
    assert [(move.available_at_origin, move.available_there) for move in seen.moves("web")] == [(2, 2)]
    web.wait(lambda: runs(web) == [], "its Job is gone")
    world.wait_idle()
    assert made(web) == 1
    assert web.record.run(AnalysisStage.POST) is None


def test_argo_08_W03_argo_gap_retry_after_post_failure_measures_anew_and_traffic_waits_for_it(world: Scenario) -> None:
    """v2 live while v1 stays warm; failed: back to v1 in one switch, v2 held and previewed, one run, committed. A retry
    aborts nothing and moves nothing: v2 is offered again, measured anew when it serves, and stays.

    It fails a second time by a second run, and goes back a second time, never for a pass in between.
    """
    with Sightings(world.cluster, world.namespace) as seen:
        web = _failed_after_promotion(world)
        assert runs(web) == ["2.post.1"]
        assert (web.live_tag(), web.preview_tag()) == ("v1", "v2")
        wait_counts(web, 2, 4, 2, 2, 2)
        web.wait_primary("v1")
        assert web.record.held(web.digest("v2"))
        there_and_back = [(2, 2), (2, 2)]
        assert [(each.available_at_origin, each.available_there) for each in seen.moves("web")] == there_and_back

        retry(web, "v2")
        web.wait_offered("v2")
        world.wait_idle()
        assert (web.phase(), web.live_tag()) == ("AwaitingPromotion", "v1")
        assert len(seen.moves("web")) == 2
        web.merge_offer()
        web.wait_live("v2")
        web.wait_live("v1")
        web.wait_told("rolled-back", times=2)
        assert runs(web) == ["2.post.1", "3.post.1"]

        analysed(web, POST, duration="1")
        retry(web, "v2")
        web.wait_offered("v2")
        web.merge_offer()
        web.wait_live("v2")
        web.wait_phase("Healthy")
    assert runs(web) == ["2.post.1", "3.post.1", "4.post.1"]
    assert len(seen.moves("web")) == 5
    seen.assert_traffic_was_safe("web")


def test_W04_retry_after_a_failed_analysis_measures_only_pods_that_are_up(world: Scenario) -> None:
    """After the abort the new pods are gone; a retry measures nothing before they are back and available."""
    web = _new_app(world, abortScaleDownDelaySeconds=0)
    analysed(web, PRE, exit_code=1)
    web.deploy("v1")
    web.push_image("bad")
    come_up(web, "bad")
    web.wait_phase("Held")
    wait_sizes(web, v1=2, bad=0)
    web.wait(lambda: web.versions()["bad"].available == 0, "its pods are gone")

    set_ready(web, "bad", False)
    analysed(web, PRE)
    retry(web, "bad")
    wait_pods(web, "bad")
    world.wait_idle()
    assert runs(web) == ["2.pre.1"]
    assert any("begins when its pods are available" in gate["reason"] for gate in web.status["gates"])

    come_up(web, "bad")
    web.wait_phase("AwaitingPromotion")
    assert runs(web) == ["2.pre.1", "3.pre.1"]


def test_W09_retry_of_an_aborted_way_back_is_analysed_again(world: Scenario) -> None:
    """The target set to the older v1, still warm: its analysis fails; the retry measures anew instead of passing by."""
    web = _new_app(world, scaleDownDelaySeconds=3600, **NEVER)
    web.deploy("v1")
    web.promote("v2")
    analysed(web, PRE, exit_code=1)
    web.configure()
    web.push_image("v1")
    web.wait_phase("Held")
    assert runs(web) == ["3.pre.1"]
    assert web.versions()["v1"].available == 2

    with Sightings(world.cluster, world.namespace) as seen:
        retry(web, "v1")
        _wait_runs(web, "3.pre.1", "4.pre.1")
        web.wait_phase("Held")
        world.wait_idle()
    assert (web.live_tag(), web.offered()) == ("v2", False)
    assert seen.moves("web") == []
    run = web.record.run(AnalysisStage.PRE)
    assert run is not None
    assert (run.rollout, run.bad) == (4, True)
