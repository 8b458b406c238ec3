"""Each gate: when it is open, when it is shut, its sentence, and its end where that is known."""

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage, MeasurementPlan, Metric
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.core.model.observed import GitView, PromotionBranch
from gitops_bg.core.model.spec import OnExpire, PromoteVia, Suspension
from gitops_bg.core.model.statements import Hold, Override
from tests.core.simulation import APP, automatic, manual
from tests.core.worlds import (
    EARLIER,
    NOW,
    SECOND,
    active,
    candidate,
    decided,
    digest,
    found,
    legacy,
    pods,
    rising,
    service,
    target,
    world,
)

LATER = NOW + 60 * SECOND


def waiting(**changes):
    """Version 1 is live, version 2 is the candidate, available, and nobody has promoted it."""
    return world(active(1), candidate(2), **changes)


def coming(**changes):
    """Version 1 is live, and main names version 2."""
    return world(active(1), candidate(2), names_=2, **changes)


def coming_up(sets=None, spec=None, waiting_since=NOW - SECOND):
    """Version 1 is live, and two of three pods of the candidate are not available yet."""
    sets = (pods(1), pods(2, 3, 1)) if sets is None else sets
    return world(active(1), rising(2, waiting_since=waiting_since), sets=sets, spec=spec)


def of_kind(gates: tuple[GateResult, ...], kind: GateKind) -> tuple[bool, str, object] | None:
    """The first gate of a kind as open, reason, until; None where none is shown."""
    return next(((gate.open, gate.reason, gate.until) for gate in gates if gate.kind is kind), None)


def timed(seconds: int):
    return automatic(auto_promotion_seconds=seconds)


METRIC = Metric("slo", "web")
JUDGED = manual(pre_promotion_analysis=MeasurementPlan((METRIC,)))


def judged(phase: AnalysisPhase, of: int = 2) -> dict[str, object]:
    """A record in which the analysis before promotion of a version stands so."""
    metrics = (found(METRIC, phase),)
    run = AnalysisRun(AnalysisStage.PRE, digest(of), of, started_at=EARLIER, phase=phase, metrics=metrics)
    return {"analysis": (run,)}


JUDGED_AFTER = manual(post_promotion_analysis=MeasurementPlan((METRIC,)))


def judging(phase: AnalysisPhase, of: int, **changes: Any) -> dict[str, object]:
    """A record in which the analysis after promotion of a version stands so."""
    run = AnalysisRun(AnalysisStage.POST, digest(of), of, started_at=EARLIER, phase=phase)
    return {"analysis": (replace(run, metrics=(found(METRIC, phase),), **changes),)}


SUSPENDED = replace(manual(), suspend=Suspension("incident", "ada", LATER))
SUSPENDED_BY_NOBODY = replace(manual(), suspend=Suspension("incident"))
OVER = replace(manual(), suspend=Suspension("incident", "ada", NOW))
PROBLEM = Problem("apps/shop/web/app.yaml", "is not a number", 3, field="spec.replicas")

BEFORE_COMMIT = {
    "availability: open once its pods are available": (
        waiting(),
        GateKind.AVAILABILITY,
        (True, "its pods are available", None),
    ),
    "availability: shut until then, with the number of pods": (
        coming_up(),
        GateKind.AVAILABILITY,
        (False, "waiting for its 3 pods to become available", None),
    ),
    "availability: shut with its reason after the deadline": (
        coming_up(waiting_since=EARLIER),
        GateKind.AVAILABILITY,
        (False, "ProgressDeadlineExceeded: its 3 pods did not become available", None),
    ),
    "availability: a preview waits for its own size": (
        coming_up(spec=manual(preview_replica_count=1), sets=(pods(1), pods(2, 1, 0))),
        GateKind.AVAILABILITY,
        (False, "waiting for its 1 pods to become available", None),
    ),
    "analysis: none asked for": (waiting(), GateKind.ANALYSIS, None),
    "analysis: shut until it begins": (
        waiting(spec=JUDGED),
        GateKind.ANALYSIS,
        (False, "pre-promotion analysis: begins when Service web-preview reaches exactly its pods", None),
    ),
    "analysis: open once it is good": (
        waiting(spec=JUDGED, record=judged(AnalysisPhase.SUCCESSFUL)),
        GateKind.ANALYSIS,
        (True, "pre-promotion analysis successful: slo ✔1 ✖0 ?0 ⚠0 of 1", None),
    ),
    "analysis: failed": (
        waiting(spec=JUDGED, record=judged(AnalysisPhase.FAILED)),
        GateKind.ANALYSIS,
        (False, "pre-promotion analysis failed: slo ✔0 ✖1 ?0 ⚠0 of 1", None),
    ),
    "analysis: inconclusive, it asks somebody": (
        waiting(spec=JUDGED, record=judged(AnalysisPhase.INCONCLUSIVE)),
        GateKind.ANALYSIS,
        (
            False,
            f"pre-promotion analysis inconclusive: slo ✔0 ✖0 ?1 ⚠0 of 1; `gitops-bg promote {APP}` measures anew",
            None,
        ),
    ),
    "analysis: the verdict on another version does not count": (
        waiting(spec=JUDGED, record=judged(AnalysisPhase.SUCCESSFUL, of=1)),
        GateKind.ANALYSIS,
        (False, "pre-promotion analysis: begins when Service web-preview reaches exactly its pods", None),
    ),
    "analysis: begins as soon as the preview reaches its pods alone": (
        waiting(spec=JUDGED, record={"preview": digest(2)}, observed={"preview_service": service("web-preview", 2)}),
        GateKind.ANALYSIS,
        (False, "pre-promotion analysis: slo ✔0 ✖0 ?0 ⚠0 of 1", NOW),
    ),
    "pause: open where people promote": (waiting(), GateKind.PAUSE, (True, "no pause asked for", None)),
    "pause: open at 0 seconds": (waiting(spec=timed(0)), GateKind.PAUSE, (True, "no pause asked for", None)),
    "pause: begins when its pods are available": (
        coming_up(spec=timed(60)),
        GateKind.PAUSE,
        (False, "the pause of 60 s begins when its pods are available", None),
    ),
    "pause: shut one second before its end": (
        world(active(1), candidate(2, available_since=NOW - 59 * SECOND), spec=timed(60)),
        GateKind.PAUSE,
        (False, "autoPromotionSeconds: 60", NOW + SECOND),
    ),
    "pause: open at its end": (
        world(active(1), candidate(2, available_since=NOW - 60 * SECOND), spec=timed(60)),
        GateKind.PAUSE,
        (True, "autoPromotionSeconds: 60", NOW),
    ),
    "hold: not shown without one": (waiting(), GateKind.HOLD, None),
    "hold: shut": (
        waiting(record={"holds": (Hold(digest(2), "5xx", EARLIER),)}),
        GateKind.HOLD,
        (False, "on hold: 5xx", None),
    ),
    "hold: another version's does not count": (
        waiting(record={"holds": (Hold(digest(1), "5xx", EARLIER),)}),
        GateKind.HOLD,
        None,
    ),
    "suspension: shut, by whom, why, until when": (
        waiting(spec=SUSPENDED),
        GateKind.SUSPENSION,
        (False, "suspended by ada: incident", LATER),
    ),
    "suspension: shut by nobody in particular, without an end": (
        waiting(spec=SUSPENDED_BY_NOBODY),
        GateKind.SUSPENSION,
        (False, "suspended: incident", None),
    ),
    "suspension: over when its time is up": (waiting(spec=OVER), GateKind.SUSPENSION, None),
    "spec: shut with file, line and field": (
        waiting(desired={"problems": (PROBLEM,)}),
        GateKind.SPEC,
        (False, "apps/shop/web/app.yaml:3: spec.replicas: is not a number", None),
    ),
    "spec: shut once the folder has left main": (
        waiting(desired={"in_git": False}),
        GateKind.SPEC,
        (False, "the app's folder has left main", None),
    ),
    "history: shut while it is rewritten": (
        waiting(desired={"history_rewritten": "f" * 40}),
        GateKind.HISTORY,
        (False, "main was rewritten: ffffffffff is gone; `gitops-bg accept-history` goes on", None),
    ),
    "availability: a target of 0 pods says so": (
        world(
            active(1),
            rising(2),
            sets=(pods(1, 0), pods(2, 0)),
            desired={"target": target(2, 0)},
            record={"replicas": 0},
        ),
        GateKind.AVAILABILITY,
        (False, "target.yaml asks for 0 replicas, and 0 of 0 pods prove nothing: set spec.replicas", None),
    ),
}


@pytest.mark.parametrize("name", BEFORE_COMMIT)
def test_before_the_commit(name):
    state, kind, expected = BEFORE_COMMIT[name]
    assert of_kind(decided(state).gates, kind) == expected


def test_before_anything_serves_nobody_is_asked_and_nothing_is_measured():
    hooks = tuple(Hook(str(one), one) for one in HookType)
    state = world(candidate(1), spec=manual(pre_promotion_analysis=MeasurementPlan((METRIC,)), hooks=hooks))
    assert [gate.kind for gate in decided(state).gates] == [GateKind.AVAILABILITY]


def shown_as(number: int, ready: int):
    return {"preview_service": service("web-preview", number, ready_endpoints=ready)}


ENDPOINTS_READY = (True, "its pods are in the endpoints", None)
BEFORE_SWITCH = {
    "availability: as many pods as the app is to have": (
        coming(),
        GateKind.AVAILABILITY,
        (True, "its pods are available", None),
    ),
    "availability: one pod short": (
        coming(sets=(pods(1), pods(2, 3, 2))),
        GateKind.AVAILABILITY,
        (False, "waiting for 3 available pods", None),
    ),
    "availability: no fewer than serve now": (
        coming(sets=(pods(1, 5), pods(2, 3))),
        GateKind.AVAILABILITY,
        (False, "waiting for 5 available pods", None),
    ),
    "availability: a ReplicaSet that is going away does not count": (
        coming(sets=(pods(1), pods(2, deleting=True))),
        GateKind.AVAILABILITY,
        (False, "waiting for 3 available pods", None),
    ),
    "availability: somebody else's ReplicaSet does not count": (
        coming(sets=(pods(1), pods(2, ours=False))),
        GateKind.AVAILABILITY,
        (False, "waiting for 3 available pods", None),
    ),
    "endpoints: open without a preview Service": (
        coming(observed={"preview_service": None}),
        GateKind.ENDPOINTS,
        ENDPOINTS_READY,
    ),
    "endpoints: open where the preview shows another version": (
        coming(observed=shown_as(1, 0)),
        GateKind.ENDPOINTS,
        ENDPOINTS_READY,
    ),
    "endpoints: open where the preview's selector was wiped": (
        coming(observed=shown_as(0, 0)),
        GateKind.ENDPOINTS,
        ENDPOINTS_READY,
    ),
    "endpoints: open once the preview routes to every pod": (
        coming(observed=shown_as(2, 3)),
        GateKind.ENDPOINTS,
        ENDPOINTS_READY,
    ),
    "endpoints: shut until then": (
        coming(observed=shown_as(2, 2)),
        GateKind.ENDPOINTS,
        (False, "waiting for 3 ready endpoints of Service web-preview", None),
    ),
    "analysis: judged again": (
        coming(spec=JUDGED),
        GateKind.ANALYSIS,
        (False, "pre-promotion analysis: begins when Service web-preview reaches exactly its pods", None),
    ),
    "analysis: what serves now is still being judged": (
        coming(spec=JUDGED_AFTER, record=judging(AnalysisPhase.RUNNING, of=1)),
        GateKind.ANALYSIS,
        (False, "of what serves now: post-promotion analysis: slo ✔0 ✖0 ?0 ⚠0 of 1", EARLIER),
    ),
    "analysis: who merges while that one has no answer has decided": (
        coming(spec=JUDGED_AFTER, record=judging(AnalysisPhase.INCONCLUSIVE, of=1)),
        GateKind.ANALYSIS,
        None,
    ),
    "suspension: stops a promotion that main already names": (
        coming(spec=SUSPENDED),
        GateKind.SUSPENSION,
        (False, "suspended by ada: incident", LATER),
    ),
    "history: stops a promotion that main already names": (
        coming(desired={"history_rewritten": "f" * 40}),
        GateKind.HISTORY,
        (False, "main was rewritten: ffffffffff is gone; `gitops-bg accept-history` goes on", None),
    ),
    "pause: a merge cuts it short": (coming(spec=timed(60)), GateKind.PAUSE, None),
    "availability: 0 of 0 pods prove nothing": (
        coming(sets=(pods(1, 0), pods(2, 0)), desired={"target": target(2, 0)}, record={"replicas": 0}),
        GateKind.AVAILABILITY,
        (False, "target.yaml asks for 0 replicas, and 0 of 0 pods prove nothing: set spec.replicas", None),
    ),
}


@pytest.mark.parametrize("name", BEFORE_SWITCH)
def test_before_the_switch(name):
    state, kind, expected = BEFORE_SWITCH[name]
    assert of_kind(decided(state).gates, kind) == expected


BAD_DAY = {
    "spec": replace(JUDGED, suspend=SUSPENDED.suspend),
    "desired": {"problems": (PROBLEM,), "history_rewritten": "f" * 40},
    "observed": shown_as(1, 0),
}
ONE_GATE = {
    "back, by primary.yaml": world(legacy(1), active(2), names_=1, **BAD_DAY),
    "back, by an override": world(
        legacy(1), active(2), record={"override": Override(digest(2), digest(1), "because", "ada", NOW)}, **BAD_DAY
    ),
    "the first version": world(candidate(1), names_=1, **BAD_DAY),
}


@pytest.mark.parametrize("name", ONE_GATE)
def test_the_only_gate_is_availability_for(name):
    decision = decided(ONE_GATE[name])
    assert [gate.kind for gate in decision.gates] == [GateKind.AVAILABILITY]
    assert decision.record.routing.switch is not None


STOPPED = {
    "a problem": {"desired": {"problems": (PROBLEM,)}},
    "a hold": {"record": {"holds": (Hold(digest(2), "5xx", EARLIER),)}},
    "a verdict that turned after the commit": {"spec": JUDGED, "record": judged(AnalysisPhase.INCONCLUSIVE)},
}


@pytest.mark.parametrize("name", STOPPED)
def test_a_promotion_that_main_names_is_stopped_by(name):
    assert decided(coming()).record.routing.switch is not None
    assert decided(coming(**STOPPED[name])).record.routing.switch is None


def test_nothing_deploys_first_while_main_was_rewritten() -> None:
    """As the gate shows it: a main that moved backwards moves nothing (decision 17)."""
    refused = {"git": GitView(main_refused="protected branch", promotion=PromotionBranch(digest(1), ""))}
    assert decided(world(candidate(1), observed=refused)).record.routing.switch is not None
    rewritten = decided(world(candidate(1), observed=refused, desired={"history_rewritten": "f" * 40}))
    assert rewritten.record.routing.switch is None
    assert [gate.kind for gate in rewritten.gates if not gate.open] == [GateKind.HISTORY]


OLD_TAG = "it served before, and is never promoted by itself: merge the promotion branch"
REFUSED = {"git": GitView(main_refused="protected branch")}
DRAFT = {"git": GitView(pull=PullRequest(7, "https://forge/7", draft=True))}
APPROVAL = {
    "automatic: the agent commits": (
        waiting(spec=automatic()),
        (True, "autoPromotionEnabled: the agent commits the promotion", None),
    ),
    "automatic, where main refuses it": (
        waiting(spec=automatic(), observed=REFUSED),
        (False, "main refuses the agent's commit (protected branch): merge the promotion branch", None),
    ),
    "automatic, of an old tag pushed again": (
        world(legacy(1), active(2), wants=1, spec=automatic()),
        (False, OLD_TAG, None),
    ),
    "the same, which is no promise to promote it when its time is up either": (
        world(
            legacy(1, available_since=EARLIER),
            active(2),
            wants=1,
            spec=manual(expire_after_seconds=7200, on_expire=OnExpire.PROMOTE),
        ),
        (False, "waiting for the promotion branch to be merged", None),
    ),
    "pullRequest": (waiting(), (False, "waiting for the promotion branch to be merged", None)),
    "pullRequest, which people marked as a draft": (
        waiting(observed=DRAFT),
        (
            False,
            "waiting for the promotion branch to be merged; its pull request is marked as a draft by people",
            None,
        ),
    ),
    "merged by the agent": (
        waiting(spec=replace(manual(), merge_when_green=True)),
        (False, "the agent merges its pull request as soon as the forge takes it", None),
    ),
    "merged by the agent, but not what people marked as a draft": (
        waiting(spec=replace(manual(), merge_when_green=True), observed=DRAFT),
        (False, "the agent merges no draft; its pull request is marked as a draft by people", None),
    ),
    "commit": (
        waiting(spec=replace(manual(), promote_via=PromoteVia.COMMIT)),
        (False, f"waiting for `gitops-bg promote {APP}`", None),
    ),
}


@pytest.mark.parametrize("name", APPROVAL)
def test_approval(name):
    state, expected = APPROVAL[name]
    assert of_kind(decided(state).gates, GateKind.APPROVAL) == expected


BRANCH = "gitops-bg/promote/shop/web"
OFFERED = {"git": GitView(promotion=PromotionBranch(digest(2), digest(1)))}
BY_HAND = replace(manual(), promote_via=PromoteVia.COMMIT)
REMEDIES = {
    "pullRequest, before the offer": (
        waiting(),
        f"the agent offers it on {BRANCH} once nothing else stands in the way",
    ),
    "pullRequest, once it is offered": (
        waiting(observed=OFFERED),
        f"merge the branch {BRANCH}, or: gitops-bg promote shop/web",
    ),
    "commit: nothing is offered": (waiting(spec=BY_HAND), "gitops-bg promote shop/web"),
    "commit, automatic, where main refuses it: that is offered": (
        waiting(spec=replace(automatic(), promote_via=PromoteVia.COMMIT), observed=REFUSED),
        f"the agent offers it on {BRANCH} once nothing else stands in the way",
    ),
}


@pytest.mark.parametrize("name", REMEDIES)
def test_who_promotes(name):
    state, expected = REMEDIES[name]
    (remedy,) = (gate.remedy for gate in decided(state).gates if gate.kind is GateKind.APPROVAL)
    assert remedy == expected


SHOWN = {
    "nothing is on its way: none": (world(active(1)), []),
    "no version at all: none": (world(), []),
    "a candidate: availability, pause, approval": (
        waiting(),
        [GateKind.AVAILABILITY, GateKind.PAUSE, GateKind.APPROVAL],
    ),
    "a held target: its hold alone, for it waits for no pods": (
        world(active(1), legacy(2), record={"holds": (Hold(digest(2), "5xx", EARLIER),)}),
        [GateKind.HOLD],
    ),
    "a promotion on its way: availability, endpoints": (coming(), [GateKind.AVAILABILITY, GateKind.ENDPOINTS]),
    "a first deployment: availability": (world(rising(1)), [GateKind.AVAILABILITY]),
}


@pytest.mark.parametrize("name", SHOWN)
def test_shown_gates(name):
    state, kinds = SHOWN[name]
    assert [gate.kind for gate in decided(state).gates] == kinds


NOT_BEGUN = judging(AnalysisPhase.RUNNING, of=2, started_at=None)
TO_BEGIN = {
    "the endpoints have to follow first": (
        JUDGED_AFTER,
        2,
        ": begins when the endpoints have followed Service web",
        NOW + 540 * SECOND,
    ),
    "it goes back": (JUDGED_AFTER, 1, ": begins anew if traffic does not go back after all", None),
    "nobody knows what to measure: no time ends that": (
        manual(post_promotion_analysis=MeasurementPlan(unknown="there is no AnalysisTemplate slo")),
        2,
        ": there is no AnalysisTemplate slo",
        None,
    ),
}
"""The app, the version that main names, and what the gate and the condition say, until when."""


@pytest.mark.parametrize("name", TO_BEGIN)
def test_analysis_after_promotion_that_has_not_begun(name):
    spec, named, begins, until = TO_BEGIN[name]
    late = {"active_service": service("web", 2, ready_endpoints=2)}
    served = active(2, activated_at=NOW - 60 * SECOND)
    found = decided(world(legacy(1), served, spec=spec, names_=named, record=NOT_BEGUN, observed=late))
    if named == 2:
        assert of_kind(found.gates, GateKind.ANALYSIS) == (False, f"post-promotion analysis{begins}", until)
    condition = next(each for each in found.conditions if each.type == "AnalysisPassed")
    latest = f", and at {until:%Y-%m-%d %H:%M} UTC all the same" if until else ""
    said = f"post-promotion analysis of 2 (v2){begins}{latest}"
    assert (condition.status, condition.reason, condition.message) == (False, "NotBegun", said)
