"""Argo Rollouts, duration_test.go: when a rollout began and ended, how long it waited for people, how it ended."""

from datetime import datetime

import pytest

from tests.conformance.steps import abort, promote_full, resume, retry, rollouts, suspend
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App, Scenario


def _outcomes(web: App) -> list[str | None]:
    return [one.get("outcome") for one in rollouts(web)]


def _wait_outcomes(web: App, *expected: str | None) -> None:
    web.wait(lambda: _outcomes(web) == list(expected), f"rollouts {expected}, newest first")


def _seconds(rollout: Json) -> float:
    return (
        datetime.fromisoformat(rollout["finishedAt"]) - datetime.fromisoformat(rollout["startedAt"])
    ).total_seconds()


def test_argo_25_initial_rollout_is_promoted_and_waited_for_nobody(web: App) -> None:
    """Started and finished, in that order; Promoted; no time of waiting."""
    (first,) = rollouts(web)
    assert (first["number"], first["version"], first["outcome"]) == (1, 1, "Promoted")
    assert first["waitedSeconds"] == 0
    assert "waitingSince" not in first
    assert 0 <= _seconds(first) < 30


def test_argo_26_suspension_counts_as_waiting(world: Scenario) -> None:
    """Suspended for 60 s in the countdown: waiting while it lasts, 60 s in the sum, and Promoted in the end."""
    web = _automatic(world, seconds=600)
    web.push_image("v2")
    web.wait_condition("CandidateReady")
    suspend(web)
    web.wait(lambda: "waitingSince" in rollouts(web)[0], "it waits")
    world.advance(60)
    resume(web)
    web.wait(lambda: 60 <= rollouts(web)[0]["waitedSeconds"] < 90, "it waited")
    world.advance(600)
    _wait_outcomes(web, "Promoted", "Promoted")


def test_argo_27_automatic_promotion_is_no_waiting(world: Scenario) -> None:
    """A countdown of 60 s is part of the duration, and no waiting for people."""
    web = _automatic(world, seconds=60)
    web.push_image("v2")
    web.wait_condition("CandidateReady")
    world.wait_idle()
    assert "waitingSince" not in rollouts(web)[0]
    world.advance(61)
    _wait_outcomes(web, "Promoted", "Promoted")
    last = rollouts(web)[0]
    assert last["waitedSeconds"] == 0
    assert _seconds(last) >= 60


def _automatic(world: Scenario, seconds: int) -> App:
    world.start()
    web = world.app()
    web.strategy |= {"autoPromotionEnabled": True, "autoPromotionSeconds": seconds}
    return web.deploy("v1")


def test_argo_28_manual_promotion_counts_as_waiting(web: App) -> None:
    """Promoted by a merge after 60 s: so long it waited, and Promoted."""
    web.push_image("v2")
    web.wait_phase("AwaitingPromotion")
    assert "waitingSince" in rollouts(web)[0]
    web.scenario.advance(60)
    web.merge_promotion("v2")
    _wait_outcomes(web, "Promoted", "Promoted")
    last = rollouts(web)[0]
    assert 60 <= last["waitedSeconds"] < 90
    assert "waitingSince" not in last
    assert _seconds(last) >= 60


def test_argo_29_promotion_in_full_is_fast_promoted(world: Scenario) -> None:
    """In the middle of a countdown of an hour: FastPromoted, finished, with no time of waiting."""
    web = _automatic(world, seconds=3600)
    web.push_image("v2")
    web.wait_condition("CandidateReady")
    promote_full(web)
    _wait_outcomes(web, "FastPromoted", "Promoted")
    last = rollouts(web)[0]
    assert 0 <= _seconds(last) < 60
    assert last["waitedSeconds"] == 0


def test_argo_30_abort_ends_the_rollout_as_aborted(web: App) -> None:
    """Aborted, with the time at which it was finished; the rollout before stays Promoted."""
    web.push_image("v2")
    web.wait_offered("v2")
    abort(web)
    _wait_outcomes(web, "Aborted", "Promoted")
    assert _seconds(rollouts(web)[0]) >= 0


def test_argo_31_retry_is_a_new_rollout_with_a_start_of_its_own_and_no_end(web: App) -> None:
    """A new number, a start not before the end of the aborted one, no end; the aborted one stays as it was."""
    web.push_image("v2")
    web.wait_offered("v2")
    abort(web)
    _wait_outcomes(web, "Aborted", "Promoted")
    aborted = rollouts(web)[0]
    web.scenario.advance(60)
    retry(web, "v2")
    _wait_outcomes(web, None, "Aborted", "Promoted")
    retried, before, _ = rollouts(web)
    assert before == aborted
    assert retried["number"] == aborted["number"] + 1
    assert retried["version"] == aborted["version"]
    assert "finishedAt" not in retried
    assert datetime.fromisoformat(retried["startedAt"]) >= datetime.fromisoformat(aborted["finishedAt"])


@pytest.mark.parametrize("first", ["v2", "bad"], ids=["ready", "unready"])
def test_argo_32_superseded_rollout_is_said_to_be_and_the_newer_one_promoted(web: App, first: str) -> None:
    """Superseded for the one that a newer push overtook, Promoted for the newer one."""
    web.push_image(first)
    web.wait(lambda: first in web.versions(), "the first one is there")
    web.push_image("v3")
    web.merge_promotion("v3")
    _wait_outcomes(web, "Promoted", "Superseded", "Promoted")


def test_argo_37_scaling_alone_starts_no_rollout(web: App) -> None:
    """More replicas: the same one rollout, with the same start and end."""
    web.scenario.settle()
    before = rollouts(web)
    web.replicas = 3
    web.push_image("v1", "three of them")
    web.wait(lambda: web.versions()["v1"].available == 3, "three pods")
    assert rollouts(web) == before
    assert len(before) == 1
