"""Which release comes into an environment: rows of what the ledgers before it say; and what holds for all of them."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_bg.core.checks.release_choice import Here, choose, is_newer, missing_proof
from gitops_bg.core.environments.model import Newer
from gitops_bg.core.environments.proven import EnvironmentInput, Former
from tests.core.environments.ledgers import HALF_AN_HOUR, held, known, prod, proof, report
from tests.core.worlds import EARLIER

GONE = report(proof(3), serves=3, trouble="its branch is gone")


@pytest.mark.parametrize(
    ("environment", "here", "comes_in", "says"),
    [
        (prod(report(proof(1), serves=1)), Here(), 1, ""),
        (prod(report(proof(1), proof(2), serves=2), entered=1), Here(), 2, ""),
        (prod(report(proof(2), serves=2), entered=2), Here(), 0, ""),
        (prod(report(proof(2, 60), serves=2), entered=1), Here(), 0, "r2 waits for staging: it serves in staging-1"),
        (prod(report(serves=2), entered=1), Here(), 0, "has to for 30m, healthy"),
        (prod(report(proof(1), serves=1), entered=2), Here(), 0, ""),
        (prod(report(proof(2), serves=2), entered=1), Here(held(2)), 0, "r2 is on hold: it was rolled back"),
        (prod(report(proof(1), proof(2), serves=2)), Here(held(2)), 1, "r2 is on hold: it was rolled back"),
        (prod(report(proof(2), serves=2), entered=1, held=held(2)), Here(), 0, "r2 is on hold"),
        (prod(report(proof(2), serves=3), entered=1), Here(), 2, "r3 waits for staging"),
        (prod(GONE, entered=1), Here(), 0, "the ledger of staging-1 does not count: its branch is gone"),
        (prod(report(proof(2), cluster="s-1"), report(cluster="s-2", serves=2), entered=1), Here(), 0, "s-2"),
        (prod(report(proof(2), cluster="s-1"), report(proof(2), cluster="s-2")), Here(), 2, ""),
        (prod(report(proof(2)), entered=1, unclear="environments.yaml is wrong"), Here(), 0, "environments.yaml is"),
        (prod(entered=1), Here(), 0, ""),
        (
            prod(report(proof(3)), entered=2, newer=Newer.WAIT),
            Here(on_its_way="r2 serves"),
            0,
            "r3 is proven, and waits until r2 serves",
        ),
        (prod(report(proof(3)), entered=2, newer=Newer.WAIT), Here(), 3, ""),
        (prod(report(proof(3)), entered=2), Here(on_its_way="r2 serves"), 3, ""),
    ],
    ids=[
        "the first that is proven",
        "a newer one that is proven",
        "the one that is there",
        "a proof that is too short",
        "no proof",
        "one that is older than the one here",
        "one on hold here, with nothing else",
        "one on hold here, with an older one",
        "one on hold everywhere",
        "a proven one, while a newer one serves before",
        "a ledger that does not count",
        "one of two clusters has not proven it",
        "both clusters have proven it",
        "a mistake of the repository",
        "an environment without clusters",
        "a newer one while one is on its way, and it is to wait",
        "a newer one once that has ended",
        "a newer one in place of the one on its way",
    ],
)
def test_what_comes_in(environment: EnvironmentInput, here: Here, comes_in: int, says: str) -> None:
    choice = choose(environment, here)
    assert (choice.release.id.number if choice.release else 0) == comes_in
    assert choice.waits.find(says) >= 0 if says else not choice.waits


def test_one_cluster_is_enough_where_any_is() -> None:
    former = Former("staging", HALF_AN_HOUR, (report(cluster="s-1"), report(proof(2), cluster="s-2")), in_any=True)
    assert choose(prod(formers=(former,))).release == known(2)


def test_a_release_has_to_be_proven_in_all_environments_before() -> None:
    formers = (Former("eu", 60, (report(proof(2)),)), Former("us", 60, (report(proof(1), serves=2, cluster="us-1"),)))
    choice = choose(prod(formers=formers))
    assert choice.release is None
    assert choice.waits.startswith("r2 waits for us: it serves in us-1 since")


def test_the_first_environment_takes_in_nothing() -> None:
    assert choose(prod(formers=())).release is None


def test_a_release_whose_commit_main_has_lost_does_not_come_in() -> None:
    lost = replace(known(3), landed=None)
    environment = prod(report(proof(3), serves=3), entered=1)
    assert choose(replace(environment, known=(known(1), known(2), lost))).release is None


def test_nothing_is_newer_than_one_whose_place_nobody_knows() -> None:
    lost = replace(known(1), landed=None)
    assert choose(replace(prod(report(proof(3), serves=3)), entered=lost)).release is None


def test_the_earliest_moment_is_that_of_the_cluster_that_serves_it() -> None:
    assert choose(prod(report(serves=2), entered=1)).until == EARLIER + timedelta(minutes=30)


# --- whatever the ledgers say ---

numbers = st.integers(1, 6)
proofs = st.lists(st.builds(proof, numbers, st.sampled_from([0, 60, 1800, 7200])), max_size=4)
reports = st.builds(
    lambda proven, serves, trouble: report(*proven, serves=serves, trouble=trouble),
    proofs,
    st.integers(0, 6),
    st.sampled_from(["", "", "gone"]),
)
formers = st.builds(
    Former, st.just("staging"), st.sampled_from([0, 60, 1800]), st.lists(reports, max_size=3).map(tuple), st.booleans()
)
known_releases = st.permutations([1, 2, 3, 4, 5, 6]).map(
    lambda order: tuple(known(number, place) for place, number in enumerate(order, 1))
)


@st.composite
def environments(draw: st.DrawFn) -> EnvironmentInput:
    releases = draw(known_releases)
    return EnvironmentInput(
        "prod",
        formers=tuple(draw(st.lists(formers, min_size=1, max_size=2))),
        known=releases,
        entered=draw(st.sampled_from([None, *releases])),
        newer=draw(st.sampled_from(list(Newer))),
        held=draw(st.sampled_from([(), held(1), held(4)])),
    )


heres = st.builds(Here, st.sampled_from([(), held(2), held(5)]), st.sampled_from(["", "r1 serves"]))


@given(environments(), heres)
def test_e1_what_comes_in_is_proven_everywhere_before_is_newer_and_is_not_held(
    environment: EnvironmentInput, here: Here
) -> None:
    chosen = choose(environment, here).release
    if chosen is None:
        return
    assert not missing_proof(environment, chosen)
    for former in environment.formers:
        sound = [each for each in former.clusters if not each.trouble]
        saying = [each for each in sound if any(proof.is_of(chosen.id.digest, chosen.commit) for proof in each.proven)]
        assert saying
        assert former.in_any or saying == list(former.clusters)
    assert is_newer(environment, chosen)
    assert chosen.id.digest not in dict((*environment.held, *here.held))


@given(environments(), heres)
def test_e4_an_agent_that_says_nothing_lets_nothing_through(environment: EnvironmentInput, here: Here) -> None:
    def silent(former: Former) -> Former:
        return replace(former, clusters=tuple(replace(each, proven=()) for each in former.clusters))

    quiet = replace(environment, formers=tuple(map(silent, environment.formers)))
    assert choose(quiet, here).release is None


@given(environments(), heres)
def test_more_proof_never_brings_in_an_older_release(environment: EnvironmentInput, here: Here) -> None:
    before = choose(environment, here).release
    first = environment.formers[0]
    if before is None or not first.clusters:
        return
    more = replace(first.clusters[0], proven=(*first.clusters[0].proven, proof(6, 7200)))
    wider = replace(
        environment, formers=(replace(first, clusters=(more, *first.clusters[1:])), *environment.formers[1:])
    )
    after = choose(wider, here).release
    assert after is not None
    assert (after.landed or 0) >= (before.landed or 0)


@given(environments(), heres)
def test_what_came_in_does_not_come_in_again(environment: EnvironmentInput, here: Here) -> None:
    chosen = choose(environment, here).release
    if chosen is not None:
        assert choose(replace(environment, entered=chosen), here).release is None


def test_where_main_lacks_the_commit_of_the_release_that_is_here_the_next_one_waits_and_says_so() -> None:
    here = replace(known(9), landed=None)
    choice = choose(replace(prod(report(proof(3), serves=3)), entered=here))
    assert choice.release is None
    assert choice.waits.startswith(
        f"r9, which is here, came with commit {here.commit[:10]}, which main does not have: "
    )
    assert not choose(replace(prod(releases=0), entered=here)).waits
