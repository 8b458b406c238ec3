"""When time alone changes the decision: one second before, at the moment, one second after."""

from dataclasses import replace
from datetime import datetime

import pytest

from gitops_bg.core.model.actions import CommitPrimary
from gitops_bg.core.model.analysis import AnalysisRun, AnalysisStage, MeasurementPlan, Metric, begin
from gitops_bg.core.model.hooks import Hook, HookAnswer, HookRun, HookType
from gitops_bg.core.model.record import Restart
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.statements import Hold
from gitops_bg.core.model.version import Stabilization, Stage, Version
from gitops_bg.core.world import World
from tests.core.simulation import automatic, manual
from tests.core.worlds import NOW, SECOND, active, candidate, decided, digest, legacy, pods, rising, service, world

MOMENT = NOW + 60 * SECOND
UNTIL = replace(manual(), suspend=Suspension("incident", "ada", MOMENT))
SLOW = replace(manual(), progress_deadline_seconds=60)
COUNTDOWN, FOR_EVER = automatic(auto_promotion_seconds=60), manual(scale_down_delay_seconds=None)
STARTING, LATE = rising(2, waiting_since=NOW), rising(2, failure="ProgressDeadlineExceeded")
UNREADY = (pods(1), pods(2, 3, 0))
HELD = {"holds": (Hold(digest(2), "5xx", NOW),)}
LED = {"preview_service": service("web-preview", 2)}

TIMES: dict[str, World] = {
    "the end of a suspension": world(active(1), spec=UNTIL, record={"suspended": True}),
    "the end of a warm version": world(legacy(1, scale_down_at=MOMENT), active(2)),
    "the progress deadline of a candidate": world(active(1), STARTING, spec=SLOW, sets=UNREADY),
    "the progress deadline of what primary.yaml names": world(active(1), STARTING, spec=SLOW, names_=2, sets=UNREADY),
    "the end of a countdown": world(active(1), candidate(2, available_since=NOW), spec=COUNTDOWN),
    "the end of a countdown behind a version on its way": world(
        active(1),
        LATE,
        candidate(3, available_since=NOW),
        names_=2,
        spec=COUNTDOWN,
        sets=(pods(1), pods(2, 3, 0), pods(3)),
    ),
    "the progress deadline of a candidate behind a version on its way": world(
        active(1), LATE, rising(3, waiting_since=NOW), names_=2, spec=SLOW, sets=(pods(1), pods(2, 3, 0), pods(3, 3, 0))
    ),
}


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("seconds", [-1, 0, 1])
def test_it_looks_again_at(name, seconds):
    state = replace(TIMES[name], now=MOMENT + seconds * SECOND)
    assert (decided(state).wake_at == MOMENT) is (seconds < 0)


HAPPENED = {
    "the end of a warm version": lambda decision: decision.record.numbered(1).stage is Stage.ARCHIVED,
    "the progress deadline of a candidate": lambda decision: bool(decision.record.numbered(2).failure),
    "the end of a countdown": lambda decision: any(isinstance(each, CommitPrimary) for each in decision.actions),
    "the end of a suspension": lambda decision: not decision.record.operator.suspended,
}


@pytest.mark.parametrize("name", HAPPENED)
@pytest.mark.parametrize("seconds", [-1, 0, 1])
def test_nothing_happens_before_and_something_at(name, seconds):
    decision = decided(replace(TIMES[name], now=MOMENT + seconds * SECOND))
    assert HAPPENED[name](decision) is (seconds >= 0)


FAILED = world(active(1), LATE, sets=(pods(1), pods(2, 3, 0)))
WARM_FOR_EVER = world(legacy(1, scale_down_at=None), active(2), spec=FOR_EVER)
SLEEPS: dict[str, World] = {
    "nothing on its way": world(active(1)),
    "a candidate that waits for people": world(active(1), candidate(2)),
    "a candidate that has failed already": FAILED,
    "a version that is kept warm for ever": WARM_FOR_EVER,
    "a held version": world(active(1), legacy(2, scale_down_at=None), spec=FOR_EVER, record=HELD),
    "a version that was let go before it served: nothing drains": world(
        active(1, activated_at=NOW), rising(2, retiring=True, scale_down_at=None), wants=1
    ),
    "a restart whose time comes while traffic is on its way": world(
        active(1),
        LATE,
        names_=2,
        spec=replace(manual(), restart_at=MOMENT),
        sets=UNREADY,
        record={"restart": Restart(MOMENT, 2)},
    ),
    "a suspension without an end, whatever else would be due": world(
        legacy(1), active(2), spec=replace(manual(), suspend=Suspension("incident"))
    ),
    "the wait of a version that nobody waits for": world(
        active(1),
        legacy(2, waiting_since=NOW, scale_down_at=None),
        spec=replace(FOR_EVER, progress_deadline_seconds=60),
        wants=1,
    ),
}


@pytest.mark.parametrize("name", SLEEPS)
def test_only_an_event_wakes_it_up_with(name):
    assert decided(SLEEPS[name]).wake_at is None


def measuring(stage: AnalysisStage, *versions: Version, suspended: bool = False) -> World:
    """An analysis has begun, whose first measurement is due in a minute, and four more after it."""
    run = AnalysisRun(stage, digest(2), 2, fallback=digest(1), started_at=NOW)
    plan = MeasurementPlan((Metric("errors", "web", initial_delay=60, interval=60, count=5),))
    spec = manual(pre_promotion_analysis=plan, post_promotion_analysis=plan)
    spec = replace(spec, suspend=Suspension("incident")) if suspended else spec
    record = {"analysis": (begin(run, plan, "", "", NOW),), "preview": digest(2)}
    return world(*versions, spec=spec, record=record, observed=LED)


BEFORE, AFTER = (active(1), candidate(2)), (legacy(1, scale_down_at=None), active(2))
CALENDAR = Hook("calendar", HookType.CONFIRM_PROMOTION, interval=3600, deadline=600)
SHUT = HookRun(
    "calendar", CALENDAR.type, digest(2), 2, NOW, answer=HookAnswer.REFUSED, status=403, refused=1, last_at=NOW
)
EARLIEST: dict[str, tuple[World, datetime | None]] = {
    "the deadline of a hook that would be asked again only after it": (
        world(
            active(1),
            candidate(2),
            spec=manual(preview_service=None, hooks=(CALENDAR,)),
            record={"hooks": (SHUT,)},
        ),
        NOW + 600 * SECOND,
    ),
    "of several moments": (
        world(legacy(1, scale_down_at=NOW + 5 * SECOND), legacy(2, scale_down_at=NOW + 3 * SECOND), active(3)),
        NOW + 3 * SECOND,
    ),
    "of those to come": (
        world(legacy(1, scale_down_at=NOW - SECOND), legacy(2, scale_down_at=NOW + 3 * SECOND), active(3)),
        NOW + 3 * SECOND,
    ),
    "a measurement before the promotion": (measuring(AnalysisStage.PRE, *BEFORE), MOMENT),
    "a measurement after it": (measuring(AnalysisStage.POST, *AFTER), MOMENT),
    "a measurement after it while suspended: it may lead back": (
        measuring(AnalysisStage.POST, *AFTER, suspended=True),
        MOMENT,
    ),
    "no measurement before it while suspended": (measuring(AnalysisStage.PRE, *BEFORE, suspended=True), None),
    "the end of a probation that is shown to nobody": (
        world(legacy(1, scale_down_at=None), active(2, stabilization=Stabilization(3, NOW)), spec=FOR_EVER),
        NOW + 600 * SECOND,
    ),
    "of pods that do not come up: they are asked why": (world(active(1), STARTING, sets=UNREADY), NOW + 15 * SECOND),
}


@pytest.mark.parametrize("name", EARLIEST)
def test_the_earliest_moment_counts(name):
    state, moment = EARLIEST[name]
    assert decided(state).wake_at == moment
