"""E6: a way back is never kept by what an environment takes in, waits for or cannot read; and nothing that it takes in
is a movement of traffic.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.engine import decide
from gitops_bg.core.environments.model import Enter, Newer
from gitops_bg.core.environments.proven import ClusterReport, EnvironmentInput, Former, KnownRelease, ProvenRelease
from gitops_bg.core.model.actions import Action, EnterRelease, SwitchTraffic, WithdrawRelease
from gitops_bg.core.model.version import ReleaseId
from gitops_bg.core.world import World
from tests.core.worlds import EARLIER, NOW, active, candidate, legacy, target, world

ONE, TWO = (ReleaseId(number, f"r1:{number:064x}", f"{number:040x}") for number in (1, 2))
PROOF = ProvenRelease(TWO, 1800, "v1:2", EARLIER, NOW, TWO.commit)
STAGING = Former("staging", 1800, (ClusterReport("staging-1", (PROOF,), TWO, TWO.commit, EARLIER, NOW),))
GONE = Former("staging", 1800, (ClusterReport("staging-1", trouble="its branch is gone"),))
KNOWN = (KnownRelease(ONE, ONE.commit, 1), KnownRelease(TWO, TWO.commit, 2))
PROD = EnvironmentInput("prod", (), (STAGING,), KNOWN, KNOWN[0], watched_since=EARLIER)

ENVIRONMENTS = {
    "another release comes in": PROD,
    "it is offered": replace(PROD, enter=Enter.PULL_REQUEST),
    "a ledger is gone": replace(PROD, formers=(GONE,)),
    "the files of environments are wrong": replace(PROD, unclear="environments.yaml:3: nonsense"),
    "newer ones wait": replace(PROD, newer=Newer.WAIT),
    "all releases are held": replace(PROD, held=((ONE.digest, "bad"), (TWO.digest, "bad"))),
    "later ones ask for proof": replace(PROD, thresholds=(0, 7200)),
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


@pytest.mark.parametrize("situation", ENVIRONMENTS)
@pytest.mark.parametrize("state", [going_back(), coming_forward()], ids=["back", "forward"])
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
        (replace(PROD, enter=Enter.PULL_REQUEST, offered=TWO.digest), []),
        (
            replace(PROD, entered=KNOWN[1], offered=TWO.digest, enter=Enter.PULL_REQUEST),
            ["delete the branch that asks for a release in prod: nothing asks for it any more"],
        ),
        (replace(PROD, formers=(GONE,)), []),
        (replace(PROD, formers=()), []),
    ],
    ids=["by a commit", "for people", "offered already", "merged", "nothing is proven", "the first environment"],
)
def test_what_is_written_for_a_release(environment: EnvironmentInput, does: list[str]) -> None:
    assert entered(environment) == does
