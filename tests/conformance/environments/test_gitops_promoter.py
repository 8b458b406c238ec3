"""GitOps Promoter: the order of environments, gates of time, the newest commit, and statuses that nobody sets."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.checks.release_choice import Here, choose
from gitops_bg.core.environments.model import After, Environment, Environments, Newer
from gitops_bg.core.environments.proven import ClusterReport, Former
from tests.core.environments.ledgers import known, prod, proof, report
from tests.core.environments.serving import MINUTE, R1, R2, STAGING, decided, proven, run_for, serving
from tests.core.worlds import EARLIER, active, candidate, legacy, rising, target, world

DEV, STAGE, PROD = (Environment(name, (f"{name}-1",)) for name in ("dev", "staging", "prod"))


# --- order ---


def test_promoter_no_op_is_an_environment_without_a_folder_and_the_one_before_it_decides() -> None:
    """An app without a folder for staging comes from dev to prod, after dev has proven it; without dev it begins there.

    Where `from` names staging, nothing comes in, and `check` says so.
    """
    three = Environments((DEV, STAGE, PROD))
    assert three.former("prod", {"dev", "prod"}) == ("dev",)
    assert three.former("prod", {"prod"}) == ()
    strict = Environments((DEV, STAGE, replace(PROD, after=After(from_=("staging",)))))
    assert strict.former("prod", {"dev", "prod"}) == strict.lacking("prod", {"dev", "prod"}) == ("staging",)
    assert choose(prod(formers=(Former("staging", 0),))).release is None


def test_promoter_no_op_release_that_changes_nothing_in_an_environment_is_proven_there_all_the_same() -> None:
    """r2 makes the same version as r1 in staging, no pod is new: it serves there, and is proven as r2."""
    state = run_for(serving(), 31 * MINUTE)
    state = replace(state, desired=replace(state.desired, target=replace(target(1), release=R2)))
    assert proven(decided(run_for(state, 31 * MINUTE)).record) == [("r1", 1800), ("r2", 1800)]


@pytest.mark.parametrize(
    ("eu", "us", "waits"),
    [
        (report(serves=2, cluster="eu-1"), report(proof(2), cluster="us-1"), "eu: it serves in eu-1"),
        (report(proof(2), cluster="eu-1"), report(serves=2, cluster="us-1"), "us: it serves in us-1"),
        (report(proof(2), cluster="eu-1"), report(proof(2), cluster="us-1"), ""),
    ],
    ids=["the first is not through", "the second is not through", "both are"],
)
def test_promoter_dag_joins_two_sources(eu: ClusterReport, us: ClusterReport, waits: str) -> None:
    """prod after eu and us: what is missing is named; it comes in once both have proven it."""
    choice = choose(prod(formers=(Former("eu", 60, (eu,)), Former("us", 60, (us,)))))
    assert (choice.release == known(2)) is (not waits)
    assert waits in choice.waits


def test_promoter_older_release_is_promoted_though_staging_has_moved_ahead() -> None:
    """staging serves r3, which it has not proven, and r2, which it has, comes into prod."""
    assert choose(prod(report(proof(2), serves=3), entered=1)).release == known(2)


# --- gates of time ---


def test_promoter_timer_begins_at_nothing_with_each_release() -> None:
    """Pending until the half hour is over; another release has to serve for half an hour of its own."""
    state = run_for(serving(), 29 * MINUTE)
    assert proven(decided(state).record) == []
    wants = {"environment": STAGING, "target": replace(target(2), release=R2)}
    newer = world(legacy(1, release=R1), active(2, routed_at=EARLIER, release=R2), desired=wants)
    newer = replace(newer.with_part(decided(state).record.proving), now=state.now)
    assert proven(decided(run_for(newer, 29 * MINUTE)).record) == []
    assert proven(decided(run_for(newer, 31 * MINUTE)).record) == [("r2", 1800)]


@pytest.mark.parametrize("coming", [rising(2, release=R2), candidate(2, release=R2)], ids=["comes up", "waits"])
def test_promoter_timer_runs_on_while_a_newer_release_waits_for_its_promotion(coming: object) -> None:
    """A candidate beside it, which people may merge tomorrow, takes no minute from the release that serves."""
    wants = {"environment": STAGING, "target": replace(target(2), release=R2)}
    state = world(active(1, routed_at=EARLIER, release=R1), coming, desired=wants)  # type: ignore[arg-type]
    assert proven(decided(run_for(state, 31 * MINUTE)).record) == [("r1", 1800)]


@pytest.mark.parametrize("ahead", [timedelta(days=-400), timedelta(days=400)], ids=["behind", "ahead"])
def test_promoter_timer_compares_no_clock_of_another_machine(ahead: timedelta) -> None:
    """Whatever the clock upstream says: the entry alone counts, and is what that cluster says of itself."""
    said = replace(proof(2), since=proof(2).since + ahead, at=proof(2).at + ahead)
    upstream = replace(report(said, serves=2), since=EARLIER + ahead, written=EARLIER + ahead)
    assert choose(prod(upstream, entered=1)).release == known(2)
    unproven = replace(upstream, proven=())
    assert choose(prod(unproven, entered=1)).release is None


# --- the newest ---


def test_promoter_newest_kardinal_supersede_replaces_the_one_on_its_way_and_the_ones_between_are_passed_by() -> None:
    """r2 is under way in prod: r4 takes its place, r3 never comes in. With `newer: wait` r4 waits for r2's end."""
    ledger = report(proof(2), proof(3), proof(4), serves=4)
    under_way = Here(on_its_way="r2 serves here")
    assert choose(prod(ledger, entered=2), under_way).release == known(4)
    kept = choose(prod(ledger, entered=2, newer=Newer.WAIT), under_way)
    assert (kept.release, kept.waits) == (None, "r4 is proven, and waits until r2 serves here (newer: wait)")


def test_promoter_churn_delays_only_what_is_not_proven() -> None:
    """A push each minute: whatever dev serves by now, the newest that it has proven comes in."""
    for serves in range(3, 6):
        assert choose(prod(report(proof(2), serves=serves), entered=1)).release == known(2)


# --- gates that nobody answers ---


@pytest.mark.parametrize(
    ("silent", "waits"),
    [
        (report(serves=2), "(staging-1's agent last wrote at 2026-01-01 12:00Z)"),
        (replace(report(), written=None), ""),
        (report(proof(2), serves=2, trouble="its branch is gone"), "staging-1 does not count: its branch is gone"),
        (report(proof(2), serves=2, trouble="it is signed by nobody"), "does not count: it is signed by nobody"),
    ],
    ids=["it serves, and its agent is silent", "nothing was ever written", "its branch is gone", "nobody signed it"],
)
def test_promoter_1109_status_that_nobody_sets_has_a_reason_and_a_time(silent: ClusterReport, waits: str) -> None:
    """Nothing comes in, and the sentence says which cluster, what is wrong, and when its agent wrote last."""
    choice = choose(prod(silent, entered=1))
    assert choice.release is None
    assert waits in choice.waits
