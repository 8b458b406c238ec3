"""The conditions of Argo Rollouts, with its words: Progressing, Completed, Paused, ReplicaFailure; and counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage, MeasurementPlan, Metric, MetricRun
from gitops_bg.core.model.decision import Counts
from gitops_bg.core.model.hooks import Hook, HookRun, HookType
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.statements import Hold
from gitops_bg.core.world import World
from tests.core.engine.conditions.test_phases import COMES_UP, FAILED
from tests.core.shown import ABSENT
from tests.core.simulation import automatic, manual
from tests.core.worlds import NOW, active, candidate, conditions, decided, digest, legacy, pods, rising, world

V1, V2 = "1 (v1)", "2 (v2)"
SUSPENDED = replace(manual(), suspend=Suspension("incident", "ada"))
COUNTDOWN = automatic(auto_promotion_seconds=60)
GATE = Hook("go", HookType.CONFIRM_ROLLOUT, manual=True)
CONFIRMED = manual(hooks=(replace(GATE, manual=False),))
ALL_THREE = automatic(auto_promotion_seconds=60, hooks=(replace(GATE, type=HookType.CONFIRM_PROMOTION),))
METRIC = Metric("slo", "web", interval=60, count=3)
JUDGED = manual(post_promotion_analysis=MeasurementPlan((METRIC,)))
PROTECTED = GitView(main_refused="protected branch")
HELD = {"holds": (Hold(digest(2), "5xx", NOW),)}
QUOTA = 'FailedCreate: pods "web-1" is forbidden: exceeded quota'


def post(phase: AnalysisPhase) -> dict[str, object]:
    """A run after the promotion of version 2."""
    run = AnalysisRun(
        AnalysisStage.POST, digest(2), 2, fallback=digest(1), started_at=NOW, phase=phase, metrics=(MetricRun(METRIC),)
    )
    return {"analysis": (run,)}


def just_up(number: int) -> World:
    return world(active(1), candidate(number, available_since=NOW), spec=COUNTDOWN)


GOES_ON = ABSENT[:2]
"""Nothing waits for a person or a countdown."""

# State → Progressing, Completed, Paused: status and reason.
TABLE: dict[str, tuple[World, tuple[object, str], tuple[object, str], tuple[object, str]]] = {
    "nothing at all yet": (world(), (None, "NoVersion"), (False, "NothingServes"), GOES_ON),
    "the first version comes up": (
        world(rising(1, waiting_since=NOW), sets=(pods(1, 3, 0),)),
        (True, "ReplicaSetUpdated"),
        (False, "NothingServes"),
        GOES_ON,
    ),
    "the target is live": (
        world(active(1)),
        (True, "NewReplicaSetAvailable"),
        (True, "RolloutCompleted"),
        GOES_ON,
    ),
    "a candidate comes up": (
        COMES_UP,
        (True, "ReplicaSetUpdated"),
        (False, "RolloutNotCompleted"),
        GOES_ON,
    ),
    "a candidate took too long": (
        FAILED,
        (False, "ProgressDeadlineExceeded"),
        (False, "RolloutNotCompleted"),
        GOES_ON,
    ),
    "somebody is to promote it": (
        world(active(1), candidate(2)),
        (None, "RolloutPaused"),
        (False, "RolloutNotCompleted"),
        (True, "AwaitingPromotion"),
    ),
    "a countdown runs": (
        just_up(2),
        (None, "RolloutPaused"),
        (False, "RolloutNotCompleted"),
        (True, "AutoPromotionCountdown"),
    ),
    "the app is suspended": (
        world(active(1), candidate(2), spec=SUSPENDED),
        (None, "RolloutPaused"),
        (False, "RolloutNotCompleted"),
        (True, "Suspended"),
    ),
    "suspended, with nothing on its way": (
        world(active(1), spec=SUSPENDED),
        (True, "NewReplicaSetAvailable"),
        (True, "RolloutCompleted"),
        (True, "Suspended"),
    ),
    "the suspension is over": (
        world(active(1), spec=replace(manual(), suspend=Suspension("incident", "ada", NOW))),
        (True, "NewReplicaSetAvailable"),
        (True, "RolloutCompleted"),
        GOES_ON,
    ),
    "a hook has to say yes before its pods come up": (
        world(active(1), rising(2), spec=CONFIRMED),
        (None, "RolloutPaused"),
        (False, "RolloutNotCompleted"),
        (True, "AwaitingConfirmation"),
    ),
    "the same of what was merged already": (
        world(active(1), rising(2), names_=2, spec=CONFIRMED),
        (None, "RolloutPaused"),
        (False, "RolloutNotCompleted"),
        (True, "AwaitingConfirmation"),
    ),
    "a countdown, a gate and a merge are waited for": (
        world(active(1), candidate(2, available_since=NOW), spec=ALL_THREE, observed={"git": PROTECTED}),
        (None, "RolloutPaused"),
        (False, "RolloutNotCompleted"),
        (True, "AutoPromotionCountdown"),
    ),
    "traffic is on its way": (
        world(active(1), candidate(2), names_=2),
        (True, "RolloutProgressing"),
        (False, "RolloutNotCompleted"),
        GOES_ON,
    ),
    "the analysis after promotion runs": (
        world(legacy(1), active(2), spec=JUDGED, record=post(AnalysisPhase.RUNNING)),
        (True, "NewReplicaSetAvailable"),
        (False, "AwaitingVerdict"),
        GOES_ON,
    ),
    "it had no answer": (
        world(legacy(1), active(2), spec=JUDGED, record=post(AnalysisPhase.INCONCLUSIVE)),
        (True, "NewReplicaSetAvailable"),
        (False, "AwaitingVerdict"),
        (True, "InconclusiveAnalysis"),
    ),
    "it was good": (
        world(legacy(1), active(2), spec=JUDGED, record=post(AnalysisPhase.SUCCESSFUL)),
        (True, "NewReplicaSetAvailable"),
        (True, "RolloutCompleted"),
        GOES_ON,
    ),
    "the target is on hold": (
        world(active(1), legacy(2), record=HELD),
        (False, "RolloutAborted"),
        (False, "RolloutNotCompleted"),
        GOES_ON,
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_conditions_where(name: str) -> None:
    state, *expected = TABLE[name]
    found = conditions(state)
    assert [found[kind][:2] for kind in ("Progressing", "Completed", "Paused")] == expected


def test_sentences_name_the_version_and_what_is_waited_for() -> None:
    said = conditions(world(active(1), candidate(2)))
    assert said["Completed"].message == f"{V1} is live, and not the target"
    assert said["Paused"].message == said["Progressing"].message == "waiting for the promotion branch to be merged"


UNCONFIRMED = {
    "by a person": (GATE, "manual gate go is closed; `gitops-bg gate open shop/web go` opens it"),
    "by a hook": (replace(GATE, manual=False), "confirm-rollout hook go: no answer yet"),
}


@pytest.mark.parametrize("name", UNCONFIRMED)
def test_pause_says_who_has_to_confirm(name: str) -> None:
    hook, said = UNCONFIRMED[name]
    runs = (HookRun("go", HookType.CONFIRM_ROLLOUT, digest(2), 2, NOW),)
    state = world(active(1), rising(2), spec=manual(hooks=(hook,)), record={"hooks": runs})
    assert conditions(state)["Paused"].message == said


def test_failure_of_a_replica_set_is_copied() -> None:
    state = world(active(1), rising(2), sets=(pods(1), pods(2, 3, 0, failure=QUOTA, name="web-2")))
    found = conditions(state)["ReplicaFailure"]
    assert (found.status, found.reason) == (True, "FailedCreate")
    assert found.message == 'web-2: pods "web-1" is forbidden: exceeded quota'


def test_failure_of_somebody_elses_replica_set_is_not_ours() -> None:
    state = world(active(1), sets=(pods(1), pods(2, failure=QUOTA, ours=False)))
    assert conditions(state)["ReplicaFailure"] == ABSENT


def test_counts_tell_live_traffic_from_all_versions() -> None:
    sets = (pods(1, 3, 2, pods=3, ready=3), pods(2, 2, 1, pods=2, ready=1), pods(3, pods=9, ours=False))
    counts = decided(world(active(1), rising(2), sets=sets)).counts
    assert counts == Counts(desired=3, current=5, updated=2, ready=3, available=2)
    assert counts.unavailable == 1


def test_an_app_without_a_replica_set_has_no_pods() -> None:
    assert decided(world(active(1), sets=())).counts == Counts(desired=3)


@pytest.mark.parametrize(("available", "unavailable"), [(0, 3), (3, 0), (5, 0)])
def test_more_pods_than_asked_for_are_not_missing(available: int, unavailable: int) -> None:
    assert Counts(desired=3, available=available).unavailable == unavailable


def test_decision_says_what_main_names_and_by_which_commits() -> None:
    decision = decided(world(active(1), candidate(2)))
    assert decision.target is not None
    assert decision.primary is not None
    assert (decision.target.digest, decision.target.commit) == (digest(2), f"{2:040x}")
    assert (decision.primary.digest, decision.primary.commit) == (digest(1), f"{1:08x}" + "a" * 32)
