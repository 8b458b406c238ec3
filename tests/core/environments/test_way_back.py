"""E6: a way back is never kept by what an environment takes in, waits for or cannot read; and nothing that it takes in
is a movement of traffic.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.engine import decide
from gitops_bg.core.environments.model import Enter, Newer
from gitops_bg.core.environments.proven import (
    ClusterReport,
    EnvironmentInput,
    Former,
    KnownRelease,
    OfferedRelease,
    ProvenRelease,
)
from gitops_bg.core.model.actions import Action, EnterRelease, SwitchTraffic, WithdrawRelease
from gitops_bg.core.model.version import ReleaseId
from gitops_bg.core.world import World
from tests.core.worlds import EARLIER, NOW, active, candidate, digest, legacy, target, world

ONE, TWO = (ReleaseId(number, f"r1:{number:064x}", f"{number:040x}") for number in (1, 2))
PROOF = ProvenRelease(TWO, 1800, "v1:2", EARLIER, NOW, TWO.commit)
STAGING = Former("staging", 1800, (ClusterReport("staging-1", (PROOF,), TWO, TWO.commit, EARLIER, NOW),))
GONE = Former("staging", 1800, (ClusterReport("staging-1", trouble="its branch is gone"),))
KNOWN = (KnownRelease(ONE, ONE.commit, 1), KnownRelease(TWO, TWO.commit, 2))
OFFERED = OfferedRelease(KNOWN[1], here=True)
PROD = EnvironmentInput("prod", (), (STAGING,), known=KNOWN, entered=KNOWN[0], watched_since=EARLIER)

ENVIRONMENTS = {
    "another release comes in": PROD,
    "it is offered": replace(PROD, enter=Enter.PULL_REQUEST),
    "a ledger is gone": replace(PROD, formers=(GONE,)),
    "the files of environments are wrong": replace(PROD, unclear="environments.yaml:3: nonsense"),
    "newer ones wait": replace(PROD, newer=Newer.WAIT),
    "all releases are held": replace(PROD, held=((ONE.digest, "bad"), (TWO.digest, "bad"))),
    "later ones ask for proof": replace(PROD, thresholds=(0, 7200)),
    "the wave before has not proven it": replace(PROD, wave_before=(ClusterReport("prod-1"),), between=60),
    "nobody looks": replace(PROD, thresholds=(7200,), watched_since=None),
}


def going_back() -> World:
    """Version 2 serves, and main names version 1 again."""
    return world(legacy(1, release=ONE), active(2, release=TWO), names_=1)


def coming_forward() -> World:
    """Version 2 is promoted."""
    return world(active(1, release=ONE), candidate(2, release=TWO), names_=2)


def of_the_cluster(state: World) -> list[Action]:
    """What is to be done with traffic and pods."""
    decision = decide(state.spec, state.desired, state.observed, state.record, state.now)
    return [each for each in decision.actions if not isinstance(each, EnterRelease | WithdrawRelease)]


WAVE = "the wave before has not proven it"


@pytest.mark.parametrize(
    ("situation", "state"),
    [
        *((each, going_back()) for each in ENVIRONMENTS),
        *((each, coming_forward()) for each in ENVIRONMENTS if each != WAVE),
    ],
)
def test_what_an_environment_is_told_moves_no_traffic_and_keeps_none(situation: str, state: World) -> None:
    plain = of_the_cluster(state)
    told = replace(state, desired=replace(state.desired, environment=ENVIRONMENTS[situation]))
    cluster = [each for each in of_the_cluster(told) if type(each).__name__ != "PublishLedger"]
    assert cluster == [each for each in plain if type(each).__name__ != "PublishLedger"]
    assert any(isinstance(each, SwitchTraffic) for each in cluster)


def test_a_suspended_app_takes_nothing_in_and_goes_back_all_the_same() -> None:
    from gitops_bg.core.model.spec import Suspension

    told = replace(going_back(), desired=replace(going_back().desired, environment=PROD))
    suspended = replace(told, spec=replace(told.spec, suspend=Suspension("tea", until=NOW + timedelta(hours=1))))
    decision = decide(suspended.spec, suspended.desired, suspended.observed, suspended.record, suspended.now)
    assert not [each for each in decision.actions if isinstance(each, EnterRelease)]
    assert [each for each in decision.actions if isinstance(each, SwitchTraffic)]


def entered(environment: EnvironmentInput, **record: object) -> list[str]:
    state = world(
        active(1, release=ONE), desired={"target": replace(target(1), release=ONE), "environment": environment}
    )
    return [str(each) for each in decide(state.spec, state.desired, state.observed, state.record, state.now).actions]


@pytest.mark.parametrize(
    ("environment", "does"),
    [
        (PROD, ["let r2 into prod: it is proven in staging"]),
        (replace(PROD, enter=Enter.PULL_REQUEST), ["offer r2 for prod: it is proven in staging"]),
        (replace(PROD, enter=Enter.PULL_REQUEST, offered=OFFERED), []),
        (
            replace(PROD, entered=KNOWN[1], offered=OFFERED, enter=Enter.PULL_REQUEST),
            ["delete the branch that asks for a release in prod: r2 came in"],
        ),
        (replace(PROD, formers=(GONE,)), []),
        (replace(PROD, formers=()), []),
    ],
    ids=["by a commit", "for people", "offered already", "merged", "nothing is proven", "the first environment"],
)
def test_what_is_written_for_a_release(environment: EnvironmentInput, does: list[str]) -> None:
    assert entered(environment) == does


PERSONS = OfferedRelease(KNOWN[1], by_person=True)
ELSEWHERE = OfferedRelease(KNOWN[1])
NOBODY_PROVES = (Former("staging", 1800, (ClusterReport("staging-1"),)),)


@pytest.mark.parametrize(
    ("environment", "withdrawn"),
    [
        (replace(PROD, offered=OFFERED, formers=(GONE,)), ""),
        (replace(PROD, offered=OFFERED, formers=NOBODY_PROVES), "r2 is proven no more: staging: staging-1 serves"),
        (replace(PROD, offered=ELSEWHERE, formers=NOBODY_PROVES), ""),
        (replace(PROD, offered=PERSONS, formers=NOBODY_PROVES), ""),
        (replace(PROD, offered=PERSONS, held=((TWO.digest, "bad"),)), "r2 is on hold: bad"),
        (replace(PROD, offered=ELSEWHERE, held=((TWO.digest, "bad"),)), "r2 is on hold: bad"),
        (replace(PROD, offered=PERSONS, entered=KNOWN[1]), "r2 came in"),
        (replace(PROD, offered=replace(PERSONS, release=KNOWN[0]), entered=KNOWN[1]), "r2 came in, which is newer"),
        (
            replace(
                PROD,
                offered=replace(PERSONS, release=KNOWN[0]),
                entered=KNOWN[1],
                held=((TWO.digest, "bad"),),
            ),
            "",
        ),
        (replace(PROD, offered=OfferedRelease()), ""),
    ],
    ids=[
        "a ledger is missing",
        "the proof was taken back",
        "the same, of what another cluster offers",
        "a hotfix that nobody has proven",
        "a hotfix on hold",
        "what another cluster offers is on hold",
        "a hotfix that was merged",
        "a hotfix that is older now",
        "an older one that takes the place of one on hold",
        "what nobody can read",
    ],
)
def test_the_branch_of_a_release_goes_for_a_reason_only(environment: EnvironmentInput, withdrawn: str) -> None:
    environment = replace(environment, enter=Enter.PULL_REQUEST)
    done = [each for each in entered(environment) if each.startswith("delete the branch")]
    assert bool(done) is bool(withdrawn)
    assert all(withdrawn in each for each in done)


def test_only_a_newer_release_takes_the_place_of_what_another_cluster_offers() -> None:
    older, newer = OfferedRelease(KNOWN[0]), OfferedRelease(KnownRelease(replace(TWO, digest="r1:3"), "3" * 40, 3))
    start = replace(PROD, enter=Enter.PULL_REQUEST, entered=None)
    assert entered(replace(start, offered=older)) == ["offer r2 for prod: it is proven in staging"]
    assert entered(replace(start, offered=newer)) == []
    assert entered(replace(start, offered=replace(older, by_person=True))) == []


def test_a_later_wave_waits_for_each_version_until_the_wave_before_has_proven_it() -> None:
    def switches(*reports: ClusterReport) -> bool:
        forward, environment = coming_forward(), replace(PROD, wave_before=reports, between=60)
        told = replace(forward, desired=replace(forward.desired, environment=environment))
        return any(isinstance(each, SwitchTraffic) for each in of_the_cluster(told))

    this = replace(PROOF, version=digest(2), seconds=60)
    assert switches(ClusterReport("prod-1", (this,)))
    assert not switches(ClusterReport("prod-1", (this,)), ClusterReport("prod-2"))
    assert not switches(ClusterReport("prod-1", (replace(this, version=digest(1)),)))
    assert not switches(ClusterReport("prod-1", (replace(this, seconds=59),)))
    assert not switches(ClusterReport("prod-1", (this,), trouble="its branch is gone"))


def test_the_gate_of_a_wave_is_shown_with_whom_it_waits_for() -> None:
    forward = coming_forward()
    environment = replace(PROD, wave_before=(ClusterReport("prod-1", written=NOW),), between=1800)
    told = replace(forward, desired=replace(forward.desired, environment=environment))
    decision = decide(told.spec, told.desired, told.observed, told.record, told.now)
    said = [each.reason for each in decision.waits if each.gate == "wave"]
    expected = (
        "it is to serve, healthy for 30m, in the wave before: prod-1, whose agent last wrote at 2026-01-01 12:00Z"
    )
    assert said == [expected]
