"""Kargo's Stages: which freight is available, which one is promoted by itself, what holds it back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.checks.entering import entry_choice
from gitops_bg.core.checks.release_choice import Here, choose
from gitops_bg.core.environments.model import Newer
from gitops_bg.core.environments.proven import EnvironmentInput, Former, Proving
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.statements import Cause, Hold
from gitops_bg.core.world import World
from tests.core.environments.ledgers import held, known, prod, proof, report
from tests.core.environments.serving import MINUTE, R1, R2, STAGING, after, decided, proven, run_for, serving
from tests.core.records import statements_of
from tests.core.worlds import EARLIER, NOW, active, digest, legacy, pods, target, world

HOUR = 3600


def comes_in(environment: EnvironmentInput, here: Here = Here()) -> int:  # noqa: B008 - frozen
    """The number of the release that comes into an environment now; 0: none."""
    chosen = choose(environment, here).release
    return chosen.id.number if chosen else 0


def two(first: Former, second: Former) -> EnvironmentInput:
    """Production after two environments."""
    return prod(formers=(first, second))


# --- availability: api/v1alpha1/stage_types_test.go ---


@pytest.mark.parametrize(
    ("asked", "soaked", "is_available"),
    [(0, 0, True), (HOUR, 0, False), (2 * HOUR, HOUR, False), (HOUR, HOUR, True)],
    ids=["soak not required", "no soak yet", "required but not elapsed", "required and elapsed"],
)
def test_kargo_soak_required(asked: int, soaked: int, is_available: bool) -> None:
    """`after.proven` is `requiredSoakTime`: verified with no soak asked for, no soak yet, too short, long enough."""
    formers = (Former("staging", asked, (report(proof(2, soaked), serves=2),)),)
    assert comes_in(prod(formers=formers, entered=1)) == (2 if is_available else 0)


def test_kargo_verified_upstream_makes_a_release_available_and_serving_there_alone_does_not() -> None:
    """What merely serves upstream stays out, with a sentence that names the cluster; its `proven` lets it in."""
    serves = prod(report(serves=2), entered=1)
    assert comes_in(serves) == 0
    assert choose(serves).waits.startswith("r2 waits for staging: it serves in staging-1 since")
    assert comes_in(prod(report(proof(2), serves=2), entered=1)) == 2


@pytest.mark.parametrize(
    ("first", "second", "number"),
    [((), (), 0), ((proof(2),), (), 0), ((), (proof(2),), 0), ((proof(2),), (proof(2),), 2)],
    ids=["neither", "the first alone", "the second alone", "both"],
)
def test_kargo_all_upstream_environments_have_to_prove_it(first: tuple, second: tuple, number: int) -> None:
    """`from: [qa, uat]`: proven in one of two is not enough, in both it is."""
    qa = Former("qa", 60, (report(*first, serves=2, cluster="qa-1"),))
    uat = Former("uat", 60, (report(*second, serves=2, cluster="uat-1"),))
    assert comes_in(two(qa, uat)) == number


@pytest.mark.parametrize("saying", [0, 1], ids=["the first", "the second"])
def test_kargo_one_of_several_is_enough_among_the_clusters_of_one_environment(saying: int) -> None:
    """`provenIn: any`: whichever of two clusters has proven it; and none, where neither has."""
    said = [(), ()]
    said[saying] = (proof(2),)
    reports = tuple(report(*each, serves=2, cluster=f"staging-{n}") for n, each in enumerate(said, 1))
    assert comes_in(prod(formers=(Former("staging", 60, reports, in_any=True),))) == 2
    neither = tuple(replace(each, proven=()) for each in reports)
    assert comes_in(prod(formers=(Former("staging", 60, neither, in_any=True),))) == 0


# --- soak ---


def test_kargo_soak_longest_is_kept_once_the_release_has_left_the_stage() -> None:
    """r1 was proven for half an hour, then r2 serves: r1's proof stays, and r2 begins at nothing."""
    before = decided(run_for(serving(), 31 * MINUTE)).record
    wants = {"environment": STAGING, "target": replace(target(2), release=R2)}
    gone = world(legacy(1, release=R1), active(2, routed_at=EARLIER, release=R2), desired=wants)
    record = decided(gone.with_part(before.proving)).record
    assert proven(record) == [("r1", 1800)]
    assert (record.proving.version, record.proving.counted(gone.now)) == (digest(2), 0)


def test_kargo_soak_elapsed_counts_only_while_the_release_serves_well() -> None:
    """Without an available pod in minute 20 of 30, the half hour begins anew; in Kargo it would be over."""
    state = run_for(serving(), 20 * MINUTE)
    ill = replace(state, observed=replace(state.observed, replica_sets=(pods(1, available=0),)))
    healed = replace(after(ill, MINUTE), observed=state.observed)
    assert proven(decided(run_for(healed, 20 * MINUTE)).record) == []
    assert proven(decided(run_for(healed, 31 * MINUTE)).record) == [("r1", 1800)]


def test_kargo_5342_frequent_releases_end_no_soak() -> None:
    """dev proves a release each ten minutes, staging has to serve one for 30: with `newer: wait` r1 is proven there.

    r3 then comes in, the newest that dev has proven by that time; r2 is passed by.
    """
    release = replace(known(1).id, commit=known(1).commit)
    staging = EnvironmentInput(
        "staging",
        thresholds=(1800,),
        known=tuple(map(known, (1, 2, 3))),
        entered=known(1),
        newer=Newer.WAIT,
        watched_since=EARLIER,
    )
    desired = {"target": replace(target(1), release=release)}
    state = world(active(1, routed_at=EARLIER, release=release), desired=desired)
    for minute in range(30):
        proofs = tuple(proof(number, 0) for number in range(2, 2 + min(2, minute // 10)))
        dev = Former("dev", 0, (report(*proofs, cluster="dev-1"),))
        state = replace(state, desired=replace(state.desired, environment=replace(staging, formers=(dev,))))
        assert entry_choice(state).release is None
        state = after(state, MINUTE)
    state = replace(state, record=decided(state).record)
    assert proven(state.record) == [("r1", 1800)]
    assert entry_choice(state).release == known(3)


# --- verification ---


@pytest.mark.parametrize("phase", [AnalysisPhase.FAILED, AnalysisPhase.ERROR])
def test_kargo_verification_failed_proves_nothing(phase: AnalysisPhase) -> None:
    """The analysis after the promotion did not pass: no `proven`, however long the release serves."""
    run = AnalysisRun(AnalysisStage.POST, digest(1), 1, started_at=EARLIER, phase=phase)
    state = serving()
    judged = state.with_part(replace(state.record.analyses, runs=(run,)))
    assert proven(decided(judged).record) == []
    assert decided(judged).record.proving == Proving()


@pytest.mark.parametrize("phase", [AnalysisPhase.RUNNING, AnalysisPhase.INCONCLUSIVE])
def test_kargo_verification_running_has_to_end_before_the_next_release_comes_in(phase: AnalysisPhase) -> None:
    """With `newer: wait` nothing comes in while the release there is judged, or a person has to judge it."""
    run = AnalysisRun(AnalysisStage.POST, digest(1), 1, started_at=EARLIER, phase=phase)
    dev = Former("dev", 0, (report(proof(2, 0), cluster="dev-1"),))
    release = replace(known(1).id, commit=known(1).commit)
    staging = EnvironmentInput(
        "staging", formers=(dev,), known=(known(1), known(2)), entered=known(1), newer=Newer.WAIT, watched_since=EARLIER
    )
    desired = {"environment": staging, "target": replace(target(1), release=release)}
    state = world(active(1, routed_at=EARLIER, release=release), desired=desired)
    judged = state.with_part(replace(state.record.analyses, runs=(run,)))
    assert entry_choice(judged).waits == "r2 is proven, and waits until r1 has settled here (newer: wait)"
    assert entry_choice(judged).release is None
    assert entry_choice(state).release == known(2)


# --- auto-promotion ---


def test_kargo_newest_freight_is_the_newest_proven_one_by_the_order_of_main() -> None:
    """Of three that are proven the one whose commit came into main last, whatever its number; never an older one."""
    ledger = report(proof(1), proof(2), proof(3), serves=3)
    assert comes_in(prod(ledger)) == 3
    swapped = (known(1, 1), known(3, 2), known(2, 3))
    assert comes_in(replace(prod(ledger), known=swapped)) == 2
    assert comes_in(prod(ledger, entered=4)) == 0


def test_kargo_match_upstream_is_not_asked_for_so_a_proven_release_is_not_lost_when_upstream_goes_on() -> None:
    """staging proved r2 and serves r3 by now: r2 comes in, where `MatchUpstream` would wait for r3.

    What upstream has rolled back from does not: the hold there takes its proof back.
    """
    assert comes_in(prod(report(proof(2), serves=3), entered=1)) == 2
    state = run_for(serving(), 31 * MINUTE)
    assert proven(decided(state).record) == [("r1", 1800)]
    back = statements_of(Hold(digest(1), "rolled back", EARLIER, Cause.ABORTED))
    assert proven(decided(state.with_record(replace(state.record, statements=back))).record) == []


# --- holds ---


def on_hold(**changes: object) -> World:
    """Production went back from r2 to r1; staging has proven r2."""
    r1, r2 = (replace(known(number).id, commit=known(number).commit) for number in (1, 2))
    environment = replace(prod(report(proof(2), serves=2), entered=2), **changes)  # type: ignore[arg-type]
    desired = {"environment": environment, "target": replace(target(2), release=r2)}
    versions = (active(1, routed_at=EARLIER, release=r1), legacy(2, release=r2))
    statements = statements_of(Hold(digest(2), "loses orders", EARLIER, Cause.ABORTED))
    return world(*versions, names_=1, live=1, wants=2, desired=desired, record={"statements": statements})


def test_kargo_hold_keeps_automation_from_undoing_a_way_back() -> None:
    """r2 was left in production: it does not come in again, though it is proven and the newest."""
    assert entry_choice(on_hold()).release is None
    assert comes_in(prod(report(proof(2), serves=2), entered=1), Here(held(2))) == 0


def test_kargo_hold_is_of_the_release_and_a_newer_one_that_is_proven_comes_in() -> None:
    """r3 comes in beside the hold of r2, where Kargo's slot is closed to all; `suspend` closes it here."""
    newer = (Former("staging", 1800, (report(proof(2), proof(3), serves=3),)),)
    state = on_hold(formers=newer)
    assert entry_choice(state).release == known(3)
    suspended = replace(state, spec=replace(state.spec, suspend=Suspension("stay", until=NOW + timedelta(days=1))))
    assert entry_choice(suspended).release is None
