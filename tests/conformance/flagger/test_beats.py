"""Better than Flagger (flagger.md §9): snapshots, atomic starts, watches, deadlines, a status that tells."""

from datetime import datetime

import pytest
import yaml

from gitops_bg.core import names
from gitops_bg.core.model.analysis import AnalysisStage
from tests.conformance.steps import come_up, go_down, rollouts, sizes, wait_pods
from tests.support.agent.mortality import Mortals
from tests.support.analysis import analysed, measured, template
from tests.support.cluster.paths import jobs, replica_sets, services
from tests.support.scenario import App, Scenario


def test_flagger_beat_b_what_is_promoted_is_the_checked_snapshot_never_the_live_object(web: App) -> None:
    """The live candidate is edited, the target pushed on: the merge brings v2 as it was written and checked."""
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    candidate = web.versions()["v2"].name
    world.cluster.patch(
        f"{replica_sets(world.namespace)}/{candidate}", _IMAGE, "application/strategic-merge-patch+json"
    )
    world.stop()
    web.merge_offer()
    web.push_image("v3")
    world.start()
    web.wait_live("v2")
    web.wait_told("promoted")

    primary = yaml.safe_load(world.remote.show("main", f"{web.folder}/primary.yaml") or "")
    assert primary["template"] == web.pod_template("v2")
    live = world.live("replicasets", candidate)
    assert live is not None
    assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/web:v2"
    assert web.live_tag() == "v2"


_IMAGE = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "registry.example/web:edited"}]}}}}


def test_flagger_beat_c_promoted_revision_is_stored_drift_is_repaired_and_going_back_is_one_write(web: App) -> None:
    """Live pods' ReplicaSet edited or deleted while a bad target waits: it comes back from its own snapshot.

    And a revert of a promotion is exactly one write to the active Service.
    """
    world = web.scenario
    promotion = web.promote("v2")
    web.push_image("bad")
    wait_pods(web, "bad")
    path = f"{replica_sets(world.namespace)}/{web.versions()['v2'].name}"
    world.cluster.patch(path, _IMAGE, "application/strategic-merge-patch+json")
    web.wait(lambda: "v2" in web.versions(), "the edit is undone")
    world.cluster.delete(path)
    web.wait(lambda: web.versions().get("v2") is not None and web.versions()["v2"].available == 2, "v2 is back")
    world.wait_idle()
    before = len(_service_writes(world))

    web.revert(promotion)
    web.wait_live("v1")
    web.wait_told("rolled-back")
    world.wait_idle()
    assert len(_service_writes(world)) == before + 1


def _service_writes(world: Scenario) -> list:
    return [write for write in world.writes() if write.path.endswith("/services/web") and write.status < 300]


def test_flagger_beat_d_no_revision_is_lost_between_detection_and_start(world: Scenario) -> None:
    """After a failure, live pods unready, v3 is pushed; the agent dies after every write: v3 starts, once."""
    world.start()
    web = world.app()
    web.spec |= {"progressDeadlineSeconds": 60, "progressDeadlineAbort": True}
    web.deploy("v1")
    web.push_image("bad")
    web.wait_phase("Progressing")
    world.advance(61)
    web.wait_phase("Held")
    web.wait_told("aborted")
    go_down(web, "v1")
    world.stop()
    web.push_image("v3")

    agents = Mortals(world, writes=1)
    agents.until(web.offered, "v3 is offered")
    agents.until(web.is_told, "told")
    assert web.primary_digest(web.promotion_branch) == web.digest("v3")
    assert [one["version"] for one in rollouts(web)] == [3, 2, 1]
    assert web.ledger_events().count("candidate") == 3
    assert agents.deaths > 3


def test_flagger_beat_g_pods_and_services_are_watched_no_interval_is_waited_for(web: App) -> None:
    """No clock moves, Git is polled once an hour: ready pods are offered, a wiped selector is repaired."""
    world = web.scenario
    web.push_image("bad")
    wait_pods(web, "bad")
    world.wait_idle()
    assert not web.offered()
    come_up(web, "bad")
    web.wait_offered("bad")
    wiped = {"spec": {"selector": {"app": "web", names.APP: None, names.DIGEST: None}}}
    world.cluster.patch(f"{services(world.namespace)}/web", wiped)
    web.wait_live("v1")
    go_down(web, "v1")
    web.wait_phase("Degraded")
    assert world.clock.ahead.total_seconds() == 0


WAITS = {
    "pods": ({"progressDeadlineSeconds": 60}, {}, "bad", "Degraded"),
    "somebody to promote": ({}, {"expireAfterSeconds": 60}, "v2", "Held"),
    "countdown": ({}, {"autoPromotionEnabled": True, "autoPromotionSeconds": 60}, "v2", "Healthy"),
}


@pytest.mark.parametrize(("spec", "strategy", "tag", "phase"), WAITS.values(), ids=WAITS)
def test_flagger_beat_i_every_wait_has_a_deadline(world: Scenario, spec, strategy, tag: str, phase: str) -> None:
    """For pods, for a promotion, for a countdown: a shut gate with its reason, an end when its time is up."""
    world.start()
    web = world.app()
    web.spec |= spec
    web.strategy |= strategy
    web.deploy("v1")
    web.push_image(tag)
    wait_pods(web, tag)
    web.wait_condition("CandidateReady", "False" if tag == "bad" else "True")
    web.wait_phase("Progressing" if tag == "bad" else "AwaitingPromotion")
    shut = [gate for gate in web.status["gates"] if not gate["open"]]
    assert all(gate["reason"] for gate in shut)
    if tag != "bad":
        assert any(datetime.fromisoformat(gate["until"]) > datetime.fromisoformat(_started(web)) for gate in shut)
    world.advance(61)
    web.wait_phase(phase)


def _started(web: App) -> str:
    return str(rollouts(web)[0]["startedAt"])


def test_flagger_beat_i_suspension_ends_by_itself(web: App) -> None:
    """A suspension with an `until` stops a merge until then, and no longer."""
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    until = world.clock().replace(microsecond=0).isoformat().replace("+00:00", "Z")
    web.spec["suspend"] = {"reason": "freeze", "until": until.replace("2026", "2036", 1)}
    web.configure()
    web.wait_condition("Suspended")
    web.merge_offer()
    world.wait_idle()
    assert web.live_tag() == "v1"
    world.advance(11 * 365 * 24 * 3600)
    web.wait_live("v2")


def test_flagger_beat_j_status_says_what_serves_since_which_commit_and_why(web: App) -> None:
    """Commit, version, digest, color, image of both sides, generation, reasons, gates, rollouts; a ledger."""
    pushed = web.push_image("v2")
    web.wait_phase("AwaitingPromotion")
    status = web.status

    assert status["observedGeneration"] == web.object()["metadata"]["generation"]
    assert status["commit"] == pushed
    assert status["message"]
    sides = {side: (status[side]["version"], status[side]["color"]) for side in ("active", "candidate")}
    assert sides == {"active": (1, "blue"), "candidate": (2, "green")}
    assert status["active"]["image"] == "registry.example/web:v1"
    assert status["candidate"]["digest"] == web.digest("v2")
    assert all(each["reason"] and each["message"] for each in status["conditions"])
    assert [gate["kind"] for gate in status["gates"] if not gate["open"]] == ["approval"]
    assert [(one["number"], one.get("outcome")) for one in rollouts(web)] == [(2, None), (1, "Promoted")]
    web.wait_told("candidate", times=2)
    assert web.ledger()[-1]["Source-Commit"] == pushed
    assert sizes(web) == {"v1": 2, "v2": 2}


VERDICTS = {
    "two good ones in a row": (
        {"interval": "10s", "count": 5, "consecutiveSuccessLimit": 2},
        {},
        "AwaitingPromotion",
        (2, 0, 0),
    ),
    "two bad ones in all": ({"interval": "10s", "count": 3, "failureLimit": 1}, {"exit_code": 1}, "Held", (0, 2, 0)),
    "one that tells nothing": ({}, {"image": "registry.example/sleep:bad"}, "Paused", (0, 0, 1)),
}


@pytest.mark.parametrize(("limits", "job", "phase", "found"), VERDICTS.values(), ids=VERDICTS)
def test_flagger_beat_h_verdicts_are_good_bad_or_none_by_limits_in_a_row_and_in_all(
    world: Scenario, limits, job, phase: str, found: tuple[int, int, int]
) -> None:
    """Good: on to the promotion. Bad: held. None: a pause that neither promotes nor aborts. v1 serves meanwhile.

    By exactly as many measurements as the limits ask for: in a row, or in all.
    """
    world.start()
    web = world.app()
    _publish_template(world, limits, job.get("image", ""))
    analysed(web, "prePromotionAnalysis", exit_code=job.get("exit_code", 0))
    web.deploy("v1")
    web.push_image("v2")

    def is_judged() -> bool:
        if measured(web) and _no_job_runs(web):
            world.advance(11)
        return web.phase() == phase

    web.wait(is_judged, f"phase {phase}")
    world.wait_idle()
    run = web.record.run(AnalysisStage.PRE)
    assert run is not None
    (metric,) = run.metrics
    assert (metric.successful, metric.failed, metric.inconclusive) == found
    assert web.live_tag() == "v1"
    assert web.primary_digest() == web.digest("v1")
    assert bool(web.record.held(web.digest("v2"))) is (phase == "Held")


def _publish_template(world: Scenario, limits: dict, image: str) -> None:
    document = yaml.safe_load(template("pre"))
    (metric,) = document["spec"]["metrics"]
    metric |= limits
    if image:
        metric["provider"]["job"]["spec"]["template"]["spec"]["containers"][0]["image"] = image
    world.publish("Add the template", {"analysis/sleep-pre.yaml": yaml.safe_dump(document, sort_keys=False)})


def _no_job_runs(web: App) -> bool:
    found = web.scenario.cluster.list(jobs(web.key.namespace))
    return all(each.get("status", {}).get("conditions") for each in found)
