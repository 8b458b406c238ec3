"""kardinal-promoter: a soak without a break, health that fails, gates that teams cannot remove."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.core.checks.entering import entry_choice
from gitops_bg.core.checks.release_choice import choose
from gitops_bg.core.environments.model import After, Environment, Environments
from gitops_bg.core.environments.proven import EnvironmentInput, Former
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.statements import Cause, Hold
from gitops_bg.core.model.version import Stabilization
from gitops_bg.core.world import World
from tests.core.environments.ledgers import known, prod, proof, report
from tests.core.environments.serving import MINUTE, STAGING, after, decided, proven, run_for, serving
from tests.core.records import statements_of
from tests.core.worlds import EARLIER, active, digest, pods, target, world

ILL: dict[str, Any] = {
    "no pod is available": lambda state: replace(
        state, observed=replace(state.observed, replica_sets=(pods(1, available=0),))
    ),
    "pods are missing after the switch": lambda state: replace(
        state, observed=replace(state.observed, replica_sets=(pods(1, available=1),))
    ).with_version(replace(state.record.versions[0], stabilization=Stabilization(3, state.now, unready=True))),
    "the analysis after the promotion failed": lambda state: state.with_part(
        replace(
            state.record.analyses,
            runs=(AnalysisRun(AnalysisStage.POST, digest(1), 1, started_at=EARLIER, phase=AnalysisPhase.FAILED),),
        )
    ),
}


def healed(before: World, ill: World) -> World:
    """The world a minute after it was ill, as it was before, with what is remembered."""
    struck = after(ill, MINUTE)
    return replace(before, now=struck.now, record=replace(before.record, proving=struck.record.proving))


@pytest.mark.parametrize("fault", ILL)
def test_kardinal_bake_is_contiguous_and_an_alarm_sets_it_to_nothing(fault: str) -> None:
    """29 of 30 minutes, then a fault: 29 minutes after it nothing is proven, and after 31 it is."""
    state = run_for(serving(), 29 * MINUTE)
    again = healed(state, ILL[fault](state))
    assert proven(decided(run_for(again, 29 * MINUTE)).record) == []
    assert proven(decided(run_for(again, 31 * MINUTE)).record) == [("r1", 1800)]


def test_kardinal_bake_counts_no_time_in_which_nobody_looked_and_loses_none() -> None:
    """20 minutes, four hours without the agent, then ten: proven. The gap alone proves nothing."""
    state = run_for(serving(), 20 * MINUTE)
    back_at = state.now + timedelta(hours=4)
    watching = replace(STAGING, watched_since=back_at)
    back = replace(state, now=back_at, desired=replace(state.desired, environment=watching))
    assert proven(decided(back).record) == []
    assert proven(decided(run_for(back, 14 * MINUTE)).record) == [("r1", 1800)]


@pytest.mark.parametrize(
    ("seconds", "passes"), [(None, False), (29 * 60, False), (30 * 60, True), (7200, True)], ids=str
)
def test_kardinal_upstream_soak_of_the_gate(seconds: int | None, passes: bool) -> None:
    """`upstreamSoakMinutes >= 30`: shut where upstream was never healthy, or for less; open from 30 minutes on."""
    proofs = () if seconds is None else (proof(2, seconds),)
    assert (choose(prod(report(*proofs, serves=2), entered=1)).release == known(2)) is passes


def test_kardinal_depends_on_joins_and_fans_out() -> None:
    """Two environments after staging start at once; one after both waits for both."""
    after_staging = After(from_=("staging",), proven=timedelta(minutes=30))
    eu, us = Environment("eu", ("eu-1",), after_staging), Environment("us", ("us-1",), after_staging)
    last = Environment("validation", ("v-1",), After(from_=("eu", "us")))
    all_of_them = Environments((Environment("staging", ("s-1",)), eu, us, last))
    folders = set(all_of_them.names)
    assert [each.name for each in all_of_them.following("staging", folders)] == ["eu", "us"]
    assert all_of_them.former("validation", folders) == ("eu", "us")
    half = (Former("eu", 0, (report(proof(2), cluster="eu-1"),)), Former("us", 0, (report(serves=2, cluster="us-1"),)))
    assert choose(prod(formers=half)).release is None


def test_kardinal_abort_by_an_alarm_needs_a_person() -> None:
    """What was aborted in staging is on hold there: its proof is taken back, and no later environment takes it in."""
    state = run_for(serving(), 31 * MINUTE)
    assert proven(decided(state).record) == [("r1", 1800)]
    aborted = statements_of(Hold(digest(1), "errors", EARLIER, Cause.ABORTED))
    held = run_for(state.with_record(replace(state.record, statements=aborted)), timedelta(hours=3))
    assert proven(decided(held).record) == []


def test_kardinal_health_failure_without_a_rollback_proves_nothing_and_moves_nothing() -> None:
    """`onHealthFailure: none`: with no pod available for three hours r1 still serves, and is not proven."""
    state = serving()
    ill = run_for(ILL["no pod is available"](state), timedelta(hours=3))
    assert proven(decided(ill).record) == []
    assert decided(ill).record.routing.traffic == digest(1)


def paused() -> World:
    """prod serves r1, and staging has proven r2."""
    release = replace(known(1).id, commit=known(1).commit)
    environment: EnvironmentInput = prod(report(proof(2), serves=2), entered=1)
    desired = {"environment": environment, "target": replace(target(1), release=release)}
    return world(active(1, routed_at=EARLIER, release=release), desired=desired)


def test_kardinal_pause_lets_nothing_in_until_it_is_resumed() -> None:
    """While the app is suspended no release comes in; afterwards the one that is proven does."""
    state = paused()
    assert entry_choice(replace(state, spec=replace(state.spec, suspend=Suspension("tea")))).release is None
    assert entry_choice(state).release == known(2)
