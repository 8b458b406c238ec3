"""People use an app all the while, on fresh and on kept connections: no request fails, none goes where I3 forbids."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from gitops_bg.cli.demo.traffic import answer_of
from gitops_bg.core import names
from gitops_bg.core.model.observed import OperatorCommand, Request
from tests.integration.traffic.stage import Stage, stage
from tests.support.agent.mortal_story import SWITCHES, assert_end, tell
from tests.support.agent.mortality import TO_ANYTHING, Mortals
from tests.support.cluster.paths import collection
from tests.support.servers.backend import Backend, serving
from tests.support.waiting import eventually

DELAY, DEADLINE, INTERVAL = 300, 60, 30
"""``scaleDownDelaySeconds`` and ``progressDeadlineSeconds`` of the app, and the interval of its analysis."""


def promotion(on: Stage) -> None:
    on.web.promote("v2")
    on.wait_used("v2")


def old_pods_end_while_connections_are_kept_to_them(on: Stage) -> None:
    assert on.load.lately(0.3)["v1"], "kept connections stay with the pods they were made to"
    on.world.advance(DELAY + 1)
    on.web.wait(lambda: "v1" not in _pods(on), "the pods of v1 are gone")


def revert_to_a_version_at_0(on: Stage) -> None:
    head = on.world.remote.log()
    on.web.revert(next(commit.sha for commit in head if commit.subject.startswith("Merge branch")))
    on.web.wait_live("v1")
    on.web.wait_told("rolled-back")


def revert_to_a_warm_version(on: Stage) -> None:
    merged = on.web.promote("v3")
    on.web.revert(merged)
    on.web.wait_live("v1")
    on.web.wait_told("rolled-back", times=2)


def abort_before_promotion(on: Stage) -> None:
    mark = len(on.load)
    on.web.push_image("v4")
    on.web.wait_offered("v4")
    _ask(on, OperatorCommand.ABORT)
    on.web.wait(lambda: not on.web.offered(), "the promotion is withdrawn")
    on.web.wait_told("aborted")
    assert "v4" not in on.load.shares(mark)


def abort_of_a_promotion_that_waits_for_its_pods(on: Stage) -> None:
    mark = len(on.load)
    labels = {names.DIGEST: on.web.digest("v5").removeprefix("v1:")[:10]}
    on.web.push_image("v5")
    on.web.wait_offered("v5")
    on.cluster.set_ready(on.world.namespace, labels, False)
    on.web.wait(lambda: on.web.versions()["v5"].available == 0, "the pods of v5 are unready")
    on.web.merge_offer()
    on.web.wait_phase("Promoting")
    _ask(on, OperatorCommand.ABORT)
    on.web.wait_primary("v1")
    on.web.wait_told("aborted", times=2)
    assert "v5" not in on.load.shares(mark)


def abort_after_promotion(on: Stage) -> None:
    on.web.promote("v6")
    on.wait_used("v6")
    on.law.permit_rollback("v1")
    _ask(on, OperatorCommand.ABORT)
    on.web.wait_live("v1")
    on.web.wait_primary("v1")
    on.web.wait_told("rolled-back", times=3)


def superseding(on: Stage) -> None:
    mark = len(on.load)
    on.web.push_image("v7")
    on.web.wait_offered("v7")
    on.web.promote("v8")
    on.wait_used("v8")
    assert "v7" not in on.load.shares(mark)


def superseding_of_a_promotion_under_way(on: Stage) -> None:
    on.web.push_image("v9")
    on.web.merge_promotion("v9")
    on.web.push_image("v10")
    on.web.wait_live("v9")
    on.web.wait_offered("v10")


def pods_that_fail_after_promotion(on: Stage) -> None:
    on.web.merge_promotion("v10")
    on.web.wait_live("v10")
    on.web.wait_told()
    on.law.permit_rollback("v9")
    _let_one_pod_fail(on, "v10")
    on.world.advance(DEADLINE + 1)
    on.web.wait_live("v9")
    on.web.wait_primary("v9")


def rollback_while_git_is_down(on: Stage) -> None:
    on.web.promote("v11")
    on.world.remote.go_down()
    on.law.permit_rollback("v9")
    _ask(on, OperatorCommand.ROLLBACK)
    on.web.wait_live("v9")
    on.world.remote.come_back()
    on.world.wake()
    on.web.wait_primary("v9")


def rescaling(on: Stage) -> None:
    for replicas in (4, 1, 2):
        on.web.replicas = replicas
        on.web.push_image("v11")
        on.web.wait(lambda size=replicas: len(_pods(on)["v9"]) == size, f"{replicas} pods of v9")


def analysis_that_fails_after_promotion(on: Stage) -> None:
    with serving() as backend:
        _judge_promotions_by(on, backend)
        backend.says({"errors": 0})
        on.web.push_image("v12")
        on.web.merge_promotion("v12")
        on.web.wait_live("v12")
        on.wait_used("v12")
        on.web.wait(lambda: _was_good_once(on, "v12"), "it was good once")
        on.law.permit_rollback("v9")
        backend.says({"errors": 7})
        on.world.advance(INTERVAL)
        on.web.wait_live("v9")
        on.web.wait_primary("v9")
        on.web.wait_told()
    assert on.web.record.held(on.web.digest("v12"))
    assert "post-promotion analysis failed" in on.web.ledger()[-1]["Reason"]


ACTS: tuple[Callable[[Stage], None], ...] = (
    promotion,
    old_pods_end_while_connections_are_kept_to_them,
    revert_to_a_version_at_0,
    revert_to_a_warm_version,
    abort_before_promotion,
    abort_of_a_promotion_that_waits_for_its_pods,
    abort_after_promotion,
    superseding,
    superseding_of_a_promotion_under_way,
    pods_that_fail_after_promotion,
    rollback_while_git_is_down,
    rescaling,
    analysis_that_fails_after_promotion,
)


def test_no_request_fails_and_none_reaches_a_version_that_I3_forbids(tmp_path: Path) -> None:
    with stage(tmp_path) as on:
        on.world.start()
        on.web.spec["progressDeadlineSeconds"] = DEADLINE
        on.web.strategy["scaleDownDelaySeconds"] = DELAY
        on.web.deploy("v1")
        on.load.start()
        for act in ACTS:
            mark = len(on.load)
            act(on)
            on.judge(act.__name__.replace("_", " "), mark)
        print(f"{len(on.load)} requests")
        assert len(on.load) > 1000


DEATHS = (
    (1, TO_ANYTHING, 12),
    (2, TO_ANYTHING, 6),
    (3, TO_ANYTHING, 4),
    (5, TO_ANYTHING, 2),
    (1, ("publish",), 1),
)
"""After how many writes of which kinds each agent dies, and how many do at least: the saves, the ReplicaSet, the
Services, Git's. History gathers before it is published: whoever dies of any write dies of another one first, and a
busy machine publishes all of it at once.
"""


@pytest.mark.slow
def test_L6_G7_no_request_fails_and_none_goes_astray_whatever_write_the_agent_dies_after(tmp_path: Path) -> None:
    """A push, its promotion and its revert, while every agent dies after its n-th write.

    Every switch is told once.
    """
    with stage(tmp_path) as on:
        on.world.start()
        on.web.deploy("v0")
        on.load.start()
        for number, (writes, deadly, fewest) in enumerate(DEATHS, 1):
            mark, second = len(on.load), f"v{number}"
            on.world.stop()
            agents = Mortals(on.world, writes=writes, deadly=deadly)
            tell(on.web, agents, first="v0", second=second)
            on.world.restart()  # whoever survived the story may still be about to die
            assert_end(on.web, "v0", second)
            on.judge(f"{agents.deaths} deaths after {writes} writes each", mark)
            assert agents.deaths >= fewest, agents.done
        on.web.wait_told()
        told = [event for event in on.web.ledger_events() if event in SWITCHES]
        assert told == SWITCHES[:1] + SWITCHES[1:] * len(DEATHS)
        assert len(on.load) > 500


@pytest.mark.parametrize(("seconds", "is_enough"), [(2, True), (0, False)], ids=["drained", "not drained"])
def test_draining_covers_the_time_that_nodes_take_to_follow_a_switch(
    tmp_path: Path, seconds: int, is_enough: bool
) -> None:
    """kube-proxy is a second late, the old pods go as soon as they may (``scaleDownDelaySeconds: 0``)."""
    with stage(tmp_path, route_delay=1.0) as on:
        on.world.start()
        on.web.strategy |= {"scaleDownDelaySeconds": 0, "drainSeconds": seconds}
        on.web.deploy("v1")
        eventually(lambda: answer_of(on.url).version, what="the nodes know of the Service")
        on.load.start()
        on.web.promote("v2")
        on.wait_used("v2")
        on.web.wait(lambda: "v1" not in _pods(on), "the pods of v1 are gone")
        assert bool(on.load.failures()) is not is_enough


def test_a_service_that_is_led_astray_by_hand_is_seen_by_the_judge(tmp_path: Path) -> None:
    """The judge of these tests is no rubber stamp."""
    with stage(tmp_path) as on:
        on.world.start()
        on.web.deploy("v1")
        on.web.push_image("v2")
        on.web.wait_offered("v2")
        on.world.stop()
        on.load.start()
        selector = {names.DIGEST: on.web.versions()["v2"].digest}
        on.cluster.patch(f"{collection('v1', 'Service', on.world.namespace)}/web", {"spec": {"selector": selector}})
        on.wait_used("v2")
        assert any("v2 answered" in breach for breach in on.law.breaches(on.load.since(0)))


def _judge_promotions_by(on: Stage, backend: Backend) -> None:
    """From now on a backend is asked ten times after each promotion: no errors, or traffic goes back."""
    web = {"url": backend.url, "jsonPath": "{$.errors}"}
    metric = {"name": "errors", "interval": f"{INTERVAL}s", "count": 10, "successCondition": "result == 0.0"}
    spec = {"metrics": [{**metric, "provider": {"web": web}}]}
    head = {"apiVersion": names.API_VERSION, "kind": "AnalysisTemplate", "metadata": {"name": "errors"}}
    on.world.publish("Say what healthy is", {"analysis/errors.yaml": yaml.safe_dump({**head, "spec": spec})})
    on.web.strategy["postPromotionAnalysis"] = {"templates": [{"templateName": "errors"}]}
    on.web.configure()
    on.world.wait_idle()


def _ask(on: Stage, verb: OperatorCommand) -> None:
    now = datetime.now(UTC)
    on.web.ask(Request(now.isoformat(), verb, "ada", now, "5xx"))


def _pods(on: Stage) -> dict[str, list[str]]:
    """The names of the pods of the app by image tag."""
    found: dict[str, list[str]] = {}
    for pod in on.cluster.list(collection("v1", "Pod", on.world.namespace)):
        tag = pod["spec"]["containers"][0]["image"].rpartition(":")[2]
        found.setdefault(tag, []).append(pod["metadata"]["name"])
    return found


def _was_good_once(on: Stage, tag: str) -> bool:
    """Whether a measurement of the version succeeded: traffic moves a moment before its run is recorded."""
    runs = [run for run in on.web.record.analyses.runs if run.digest == on.web.digest(tag)]
    return any(metric.successful for run in runs for metric in run.metrics)


def _let_one_pod_fail(on: Stage, tag: str) -> None:
    """One of the pods of a version gets unready for good; the others go on serving."""
    path = f"{collection('v1', 'Pod', on.world.namespace)}/{_pods(on)[tag][0]}"
    on.cluster.patch(path, {"metadata": {"labels": {"sick": tag}}})
    on.cluster.set_ready(on.world.namespace, {"sick": tag}, False)
    on.web.wait(lambda: on.web.versions()[tag].available == 1, f"one pod of {tag} is unready")

    def is_seen() -> bool:
        version = on.web.record.version(on.web.digest(tag))
        return bool(version and version.stabilization and version.stabilization.unready)

    on.web.wait(is_seen, "the agent has seen it")
