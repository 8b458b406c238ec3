"""Argo Rollouts, duration_test.go: when a rollout began and ended, how long it waited for people, how it ended."""

from datetime import datetime

from tests.conformance.steps import abort, promote_full, resume, retry, rollouts, seconds_of, suspend
from tests.support.scenario import App, Scenario


def _outcomes(web: App) -> list[str | None]:
    return [one.get("outcome") for one in rollouts(web)]


def _wait_outcomes(web: App, *expected: str | None) -> None:
    web.wait(lambda: _outcomes(web) == list(expected), f"rollouts {expected}, newest first")


def test_argo_26_27_29_L19_automatic_promotion_pauses_for_its_time_which_only_a_suspension_makes_waiting(
    world: Scenario,
) -> None:
    """Suspended for 60 s in the countdown: waiting while it lasts, 60 s in the sum, and Promoted in the end.

    Without, the countdown is part of the duration, and no waiting for people. In full in the middle of it:
    FastPromoted, finished, with no time of waiting.
    """
    world.start()
    web = world.app()
    web.strategy |= {"autoPromotionEnabled": True, "autoPromotionSeconds": 600}
    web.deploy("v1")

    _counts_down(web, "v2")
    suspend(web)
    web.wait(lambda: "waitingSince" in rollouts(web)[0], "it waits")
    world.advance(60)
    resume(web)
    web.wait(lambda: 60 <= rollouts(web)[0]["waitedSeconds"] < 90, "it waited")
    world.advance(600)
    _wait_outcomes(web, "Promoted", "Promoted")
    web.wait_live("v2")
    web.wait_primary("v2")

    _counts_down(web, "v3")
    world.advance(601)
    _wait_outcomes(web, "Promoted", "Promoted", "Promoted")
    last = rollouts(web)[0]
    assert last["waitedSeconds"] == 0
    assert seconds_of(last) >= 600

    _counts_down(web, "v4")
    promote_full(web)
    _wait_outcomes(web, "FastPromoted", "Promoted", "Promoted", "Promoted")
    last = rollouts(web)[0]
    assert 0 <= seconds_of(last) < 60
    assert last["waitedSeconds"] == 0


def _counts_down(web: App, tag: str) -> None:
    """A tag is the candidate, and ready; its countdown runs, and nobody is waited for."""
    live = web.live_tag()
    web.push_image(tag)
    web.wait(lambda: web.status.get("candidate", {}).get("digest") == web.digest(tag), "it is the candidate")
    web.wait_condition("CandidateReady")
    web.scenario.wait_idle()
    (pause,) = [gate for gate in web.status["gates"] if gate["kind"] == "pause"]
    assert not pause["open"]
    assert pause["until"]
    assert web.live_tag() == live
    assert "waitingSince" not in rollouts(web)[0]


def test_argo_30_31_L19_abort_ends_the_rollout_and_a_retry_is_a_new_one(web: App) -> None:
    """Aborted, with its end and the reason; held, its offer withdrawn; the rollout before stays Promoted.

    Retried: a new number, a start not before the end of the aborted one, no end; the aborted one stays as it was.
    """
    web.push_image("v2")
    web.wait_offered("v2")
    abort(web, "smells")
    web.wait_phase("Held")
    web.wait(lambda: not web.offered(), "the offer is withdrawn")
    web.wait_told("aborted")
    assert web.live_tag() == "v1"
    assert "smells" in web.condition("OnHold")["message"]
    _wait_outcomes(web, "Aborted", "Promoted")
    aborted = rollouts(web)[0]
    assert seconds_of(aborted) >= 0

    web.scenario.advance(60)
    retry(web, "v2")
    _wait_outcomes(web, None, "Aborted", "Promoted")
    retried, before, _ = rollouts(web)
    assert before == aborted
    assert retried["number"] == aborted["number"] + 1
    assert retried["version"] == aborted["version"]
    assert "finishedAt" not in retried
    assert datetime.fromisoformat(retried["startedAt"]) >= datetime.fromisoformat(aborted["finishedAt"])
