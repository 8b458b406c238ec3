"""What comes into an environment, as its engine sees it: a release on its way, and one that would follow."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.core.checks.entering import entry_awaited, entry_choice
from gitops_bg.core.engine import decide
from gitops_bg.core.environments.model import Enter, Newer
from gitops_bg.core.environments.proven import ClusterReport, EnvironmentInput, Former, OfferedRelease
from gitops_bg.core.model.actions import EnterRelease, WithdrawRelease
from gitops_bg.core.model.journal import AwaitsPoll, PollCount, PullRequest, PullState, offer_of_release
from gitops_bg.core.world import World
from tests.core.environments.ledgers import known, proof, report
from tests.core.environments.serving import MINUTE, run_for
from tests.core.worlds import EARLIER, active, pods, target, world

STAGING = EnvironmentInput(
    "staging",
    thresholds=(1800,),
    formers=(Former("dev", 0, (report(proof(2, 0), serves=2, cluster="dev-1"),)),),
    known=(known(1), known(2)),
    entered=known(1),
    watched_since=EARLIER,
)


def serving_r1(newer: Newer) -> World:
    """Staging serves r1, of which production asks for half an hour; dev has proven r2."""
    release = replace(known(1).id, commit=known(1).commit)
    staging = replace(STAGING, newer=newer)
    desired = {"environment": staging, "target": replace(target(1), release=release)}
    return world(active(1, routed_at=EARLIER, release=release), desired=desired)


def test_a_newer_release_waits_until_the_one_here_has_served_for_as_long_as_a_later_environment_asks() -> None:
    soaking = run_for(serving_r1(Newer.WAIT), 20 * MINUTE)
    assert entry_choice(soaking).release is None
    assert entry_choice(soaking).waits == "r2 is proven, and waits until r1 has served here for 30m (newer: wait)"
    assert entry_choice(run_for(soaking, timedelta(minutes=11))).release == known(2)


def test_a_newer_release_takes_the_place_of_one_that_is_soaking_where_that_is_asked_for() -> None:
    assert entry_choice(run_for(serving_r1(Newer.REPLACE), 20 * MINUTE)).release == known(2)


@pytest.mark.parametrize("newer", Newer)
def test_a_release_that_does_not_serve_well_keeps_no_newer_one_out(newer: Newer) -> None:
    soaking = run_for(serving_r1(newer), 20 * MINUTE)
    broken = replace(soaking, observed=replace(soaking.observed, replica_sets=(pods(1, available=0),)))
    assert entry_choice(broken).release == known(2)


SERVED = report(proof(1), serves=1, cluster="staging-2")


@pytest.mark.parametrize(
    ("other", "waits"),
    [
        (SERVED, ""),
        (report(proof(1, 60), serves=1, cluster="staging-2"), "until r1 has served in staging-2 for 30m"),
        (report(proof(1), serves=3, cluster="staging-2"), "until r1 serves in staging-2, or is given up"),
        (report(cluster="staging-2", trouble="its branch is gone"), "until staging-2 says how far r1 is"),
    ],
    ids=["proven there", "not for long enough", "another one serves there", "nobody can tell"],
)
def test_a_newer_release_waits_for_all_clusters_of_the_environment(other: ClusterReport, waits: str) -> None:
    soaked = run_for(serving_r1(Newer.WAIT), 32 * MINUTE)
    environment = soaked.desired.environment
    assert environment is not None
    told = replace(soaked, desired=replace(soaked.desired, environment=replace(environment, siblings=(other,))))
    choice = entry_choice(told)
    assert choice.release == (None if waits else known(2))
    assert waits in choice.waits


def test_a_pod_that_is_missing_for_a_moment_lets_no_newer_release_in() -> None:
    soaking = run_for(serving_r1(Newer.WAIT), 20 * MINUTE)
    short = replace(soaking, observed=replace(soaking.observed, replica_sets=(pods(1, available=2),)))
    assert entry_choice(short).release is None


R2 = replace(known(2).id, commit=known(2).commit)
URL = "https://forge.example.com/pulls/7"


def offering_r2(state: PullState | None, **environment: Any) -> World:
    """Staging serves r1, the branch asks for r2, and its pull request is as the forge says."""
    soaked = serving_r1(Newer.REPLACE)
    there = soaked.desired.environment
    assert there is not None
    there = replace(there, enter=Enter.PULL_REQUEST, offered=OfferedRelease(known(2), here=True), **environment)
    pull = (
        PullRequest(7, URL, state or PullState.OPEN, offer_of_release(R2), "ada", AwaitsPoll((("a", 0),)))
        if state
        else None
    )
    git = replace(soaked.observed.git, entry_pull=pull, has_forge=True)
    desired = replace(soaked.desired, environment=there, looks=PollCount("a", 1, 1))
    return replace(soaked, desired=desired, observed=replace(soaked.observed, git=git))


def refused_in(state: World) -> tuple[World, list[str]]:
    """The next look, and why releases are kept out."""
    record = decide(state.spec, state.desired, state.observed, state.record, state.now).record
    return replace(state, record=record), [each.why for each in record.git.refused]


def test_what_a_person_asked_for_and_somebody_refused_keeps_no_newer_release_out() -> None:
    """Found: no release ever came in again."""
    state = offering_r2(PullState.CLOSED)
    there = state.desired.environment
    assert there is not None
    there = replace(there, offered=OfferedRelease(known(2), by_person=True))
    state, refused = refused_in(replace(state, desired=replace(state.desired, environment=there)))
    assert refused
    staging = Former("staging", 0, (report(proof(2, 0), proof(3, 0), serves=3),))
    there = replace(there, known=(known(1), known(2), known(3)), formers=(staging,))
    state = replace(state, desired=replace(state.desired, environment=there))
    decided = decide(state.spec, state.desired, state.observed, state.record, state.now)
    assert [each.release.name for each in decided.actions if isinstance(each, EnterRelease)] == ["r3"]


def test_a_closed_pull_request_keeps_its_release_out_and_its_branch_until_it_is_reopened() -> None:
    state, refused = refused_in(offering_r2(PullState.CLOSED))
    assert refused == ["ada closed pull request #7; reopening it lifts this"]
    decided = decide(state.spec, state.desired, state.observed, state.record, state.now)
    assert not [each for each in decided.actions if isinstance(each, EnterRelease | WithdrawRelease)]
    assert entry_choice(state).waits == "r2 is on hold: ada closed pull request #7; reopening it lifts this"
    unknown = replace(state, observed=replace(state.observed, git=replace(state.observed.git, entry_pull=None)))
    assert refused_in(unknown)[1] == refused, "a forge that is down lifts nothing"
    reopened = replace(offering_r2(PullState.OPEN), record=state.record)
    assert refused_in(reopened)[1] == []
    came_in = replace(offering_r2(None, entered=known(2)), record=state.record)
    assert refused_in(came_in)[1] == []


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (PullState.OPEN, f"r2 comes in once somebody merges {URL}"),
        (None, "r2 comes in once somebody merges the branch gitops-bg/enter/staging/shop/web"),
    ],
    ids=["a pull request", "no forge"],
)
def test_what_is_offered_waits_for_people(state: PullState | None, said: str) -> None:
    assert entry_awaited(offering_r2(state)) == said
