"""For how long a release has served, healthy and without a break: what counts, what sets it back, what is told once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.core.engine import decide
from gitops_bg.core.environments.proven import Proving
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.statements import Cause, Hold
from gitops_bg.core.model.version import Stabilization
from tests.core.environments.serving import MINUTE, R1, R2, STAGING, after, decided, proven, run_for, serving, told
from tests.core.worlds import EARLIER, NOW, active, digest, legacy, pods, target, world


def test_a_release_is_proven_once_it_has_served_for_as_long_as_a_later_environment_asks_for() -> None:
    state = run_for(serving(), 29 * MINUTE)
    assert proven(decided(state).record) == []
    later = decided(after(state, MINUTE))
    assert proven(later.record) == [("r1", 1800)]
    assert told(later) == ["r1 served, healthy and without a break, for 30m"]
    [entry] = [entry for entry in later.record.ledger if entry.event is Event.PROVEN]
    assert (entry.release, entry.to_version) == (R1, 1)


def test_each_threshold_is_told_once() -> None:
    decision = decided(run_for(serving(), timedelta(hours=5)))
    assert proven(decision.record) == [("r1", 7200)]
    assert len(told(decision)) == 2


def test_time_alone_wakes_the_agent_when_a_release_is_proven_and_only_then() -> None:
    state = serving(replace(STAGING, thresholds=(60,)))
    first = decided(state)
    assert first.wake_at == NOW + MINUTE
    done = decided(after(state, MINUTE))
    assert proven(done.record) == [("r1", 60)]
    again = decide(state.spec, state.desired, state.observed, done.record, NOW + 2 * MINUTE)
    assert (again.record, again.wake_at) == (done.record, None)


def test_what_counts_is_remembered_a_few_times_and_not_at_each_look() -> None:
    state, records = serving(replace(STAGING, thresholds=(7200,))), set()
    for _ in range(118):
        state = after(state, MINUTE)
        records.add(state.record.proving)
    assert len(records) <= 11


def test_without_a_threshold_a_release_is_proven_as_soon_as_it_has_settled() -> None:
    at_once = replace(STAGING, thresholds=(0,))
    assert told(decided(serving(at_once))) == ["r1 settled"]
    unsettled = world(active(1, release=R1), desired={"environment": at_once, "target": replace(target(1), release=R1)})
    unrouted = replace(unsettled, observed=replace(unsettled.observed, replica_sets=(pods(1, available=1),)))
    assert proven(decided(unrouted).record) in ([], [("r1", 0)])


def test_nothing_is_counted_where_no_later_environment_asks() -> None:
    last = replace(STAGING, name="prod", thresholds=())
    decision = decided(run_for(serving(last), timedelta(hours=3)))
    assert decision.record.proving == Proving()


def test_nothing_is_counted_without_environments() -> None:
    before = decided(serving(None)).record
    assert before.proving == Proving()
    assert not [entry for entry in before.ledger if entry.event is Event.PROVEN]


def failed_run() -> AnalysisRun:
    return AnalysisRun(AnalysisStage.POST, digest(1), 1, started_at=EARLIER, phase=AnalysisPhase.FAILED)


@pytest.mark.parametrize(
    "broken",
    [
        lambda state: replace(state, observed=replace(state.observed, replica_sets=(pods(1, available=0),))),
        lambda state: replace(state, observed=replace(state.observed, replica_sets=(pods(1, available=2),))),
        lambda state: replace(
            state, observed=replace(state.observed, replica_sets=(pods(1, available=1),))
        ).with_version(replace(state.record.versions[0], stabilization=Stabilization(3, state.now, unready=True))),
        lambda state: state.with_record(
            replace(
                state.record,
                statements=(*_held(digest(1)),),
            )
        ),
    ],
    ids=["no pod is available", "a pod is missing", "pods are missing on probation", "it is on hold"],
)
def test_a_fault_of_what_serves_sets_its_time_back_to_nothing(broken: Any) -> None:
    state = run_for(serving(), 20 * MINUTE)
    struck = decided(broken(state))
    assert struck.record.proving.version == ""
    well = run_for(replace(state, record=replace(state.record, proving=struck.record.proving)), 29 * MINUTE)
    assert proven(decided(well).record) == []
    assert proven(decided(after(well, 2 * MINUTE)).record) == [("r1", 1800)]


def _held(held: str) -> Any:
    from tests.core.records import statements_of

    return statements_of(Hold(held, "bad", EARLIER, Cause.ABORTED))


def test_a_proof_is_taken_back_once_its_version_is_on_hold() -> None:
    state = run_for(serving(), 31 * MINUTE)
    assert proven(decided(state).record) == [("r1", 1800)]
    held = state.with_record(replace(state.record, statements=_held(digest(1))))
    assert proven(decided(held).record) == []


def test_a_time_in_which_the_agent_did_not_look_does_not_count_and_resets_nothing() -> None:
    state = run_for(serving(), 20 * MINUTE)
    counted = state.record.proving.counted(state.now)
    gap = state.now + timedelta(hours=4)
    watching = replace(STAGING, watched_since=gap)
    back = replace(state, now=gap + MINUTE, desired=replace(state.desired, environment=watching))
    record = decided(back).record
    assert proven(record) == []
    assert counted - 180 <= record.proving.counted(back.now) - 60 <= counted


def test_a_suspension_stops_the_clock() -> None:
    state = run_for(serving(), 20 * MINUTE)
    until = state.now + timedelta(hours=9)
    suspended = replace(state, spec=replace(state.spec, suspend=Suspension("tea", until=until)))
    later = run_for(suspended, timedelta(hours=1))
    assert proven(decided(later).record) == []
    resumed = replace(later, spec=replace(later.spec, suspend=None))
    assert proven(decided(run_for(resumed, 9 * MINUTE)).record) == []
    assert proven(decided(run_for(resumed, 12 * MINUTE)).record) == [("r1", 1800)]


def test_other_pods_of_the_same_release_begin_anew_and_what_was_proven_stays() -> None:
    state = run_for(serving(), 31 * MINUTE)
    record = decided(state).record
    other = world(
        legacy(1, release=R1),
        active(2, routed_at=EARLIER, release=R1),
        desired={"environment": STAGING, "target": replace(target(2), release=R1, source=target(1).source)},
    )
    other = other.with_part(record.proving)
    begun = decided(replace(other, now=state.now)).record
    assert (begun.proving.version, begun.proving.counted(state.now)) == (digest(2), 0)
    assert proven(begun) == [("r1", 1800)]


def test_the_same_content_that_comes_again_after_another_release_is_proven_anew() -> None:
    record = decided(run_for(serving(), 31 * MINUTE)).record
    reverted = replace(target(1), release=replace(R1, commit="e" * 40))
    back = world(active(1, routed_at=EARLIER, release=R1), desired={"environment": STAGING, "target": reverted})
    back = back.with_part(replace(record.proving, version=digest(2), since=EARLIER, seconds=0))
    state = run_for(back, 29 * MINUTE)
    assert [each.source_commit[:2] for each in decided(state).record.proving.proven] == ["11"]
    later = decided(after(state, 2 * MINUTE)).record
    assert [each.source_commit[:2] for each in later.proving.proven] == ["11", "ee"]


def test_a_failed_analysis_after_the_promotion_sets_the_time_back() -> None:
    state = run_for(serving(), 20 * MINUTE)
    state = state.with_part(replace(state.record.analyses, runs=(failed_run(),)))
    assert decided(state).record.proving.version == ""


def test_a_release_that_has_the_same_version_here_is_the_one_that_serves() -> None:
    state = run_for(serving(), 31 * MINUTE)
    newer = replace(target(1), release=R2)
    record = decided(replace(state, desired=replace(state.desired, target=newer))).record
    assert record.versions[0].release == R2


def test_for_the_next_wave_each_version_is_proven_anew_and_what_the_release_has_stays() -> None:
    asked = replace(STAGING, thresholds=(30 * 60,), asked_by_wave=60)
    record = decided(run_for(serving(asked), 31 * MINUTE)).record
    assert proven(record) == [("r1", 1800)]
    other = world(
        legacy(1, release=R1),
        active(2, routed_at=EARLIER, release=R1),
        desired={"environment": asked, "target": replace(target(2), release=R1)},
    )
    state = run_for(other.with_part(record.proving), 2 * MINUTE)
    after_two = [(each.version, each.seconds) for each in decided(state).record.proving.proven]
    assert after_two == [(digest(1), 1800), (digest(2), 60)]
