"""An app as seen by the policies of others: healthy, moving, or waiting only for its turn."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.core.delivery.gates import LAST
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage
from gitops_bg.core.model.policy_facts import Others, Peer, PolicyInput
from gitops_bg.core.model.policy_rules import Concurrency, DateSpan, PoliciesThen, Policy, Windows
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.version import AppKey, AppOrGroup
from gitops_bg.core.status.peers import is_moving, peer_of
from gitops_bg.core.world import World
from tests.core.simulation import APP, automatic
from tests.core.worlds import EARLIER, NOW, SECOND, active, candidate, digest, legacy, rising, world

API = AppKey("shop", "api")
ARRIVED = active(1, routed_at=EARLIER)
TURNS = Policy("turns", (Concurrency(1),))
FREEZE = Policy("freeze", (Windows(deny=(DateSpan(EARLIER.replace(tzinfo=None)),)),))
BUSY: Mapping[AppOrGroup, Peer] = {API: Peer(API, moving=True)}


def under(state: World, *of: Policy, peers: Mapping[AppOrGroup, Peer] | None = None) -> World:
    policing = PolicyInput(of, others=Others(BUSY if peers is None else peers))
    return replace(state, desired=replace(state.desired, policing=policing))


def looks(state: World, **given: Any) -> Peer:
    return peer_of(state, **{"commits": False, "labels": (("tier", "1"),), "since": None, **given})


def test_an_app_that_serves_says_what_and_since_when_it_is_healthy() -> None:
    peer = looks(world(ARRIVED))
    assert peer == Peer(APP, (("tier", "1"),), NOW, "Healthy", digest(1), 1, "1")
    assert looks(world(ARRIVED), since=EARLIER).healthy_since == EARLIER


def test_an_app_that_never_served_serves_nothing() -> None:
    peer = looks(world(rising(1)), since=EARLIER)
    assert (peer.digest, peer.number, peer.label, peer.healthy_since) == ("", 0, "", None)


def switching(kind: SwitchKind) -> dict[str, Any]:
    return {"switch": Switch(digest(1), digest(2), kind, NOW)}


def judged(of: int, phase: AnalysisPhase, **changes: Any) -> dict[str, Any]:
    run = AnalysisRun(AnalysisStage.POST, digest(of), of, started_at=EARLIER, phase=phase)
    return {"analysis": (replace(run, **changes),)}


MOVING = {
    "it serves, and all is through": (world(ARRIVED), False),
    "nothing serves": (world(candidate(1)), False),
    "a candidate is beside it": (world(ARRIVED, candidate(2)), False),
    "traffic is on its way forward": (
        world(ARRIVED, candidate(2), names_=2, record=switching(SwitchKind.PROMOTION)),
        True,
    ),
    "traffic is on its way back": (
        world(legacy(1), active(2, routed_at=EARLIER), names_=1, record=switching(SwitchKind.ROLLBACK)),
        False,
    ),
    "its endpoints have not followed": (world(active(1)), True),
    "what serves is judged": (world(ARRIVED, record=judged(1, AnalysisPhase.RUNNING)), True),
    "its analysis waits for somebody": (world(ARRIVED, record=judged(1, AnalysisPhase.INCONCLUSIVE)), True),
    "it was judged, and traffic goes back": (
        world(legacy(1), active(2, routed_at=EARLIER), names_=1, record=judged(2, AnalysisPhase.RUNNING)),
        False,
    ),
    "its analysis has ended": (world(ARRIVED, record=judged(1, AnalysisPhase.SUCCESSFUL, finished_at=NOW)), False),
    "another version was judged": (world(ARRIVED, legacy(2), record=judged(2, AnalysisPhase.RUNNING)), False),
}


@pytest.mark.parametrize("name", MOVING)
def test_who_is_on_the_move(name: str) -> None:
    state, moves = MOVING[name]
    assert is_moving(state) is moves
    assert looks(state).moving is moves


def test_an_app_whose_promotion_is_about_to_be_committed_is_on_the_move_and_in_no_queue() -> None:
    peer = looks(under(world(ARRIVED, candidate(2), spec=automatic()), TURNS), commits=True)
    assert (peer.moving, peer.queued) == (True, None)


def changing_policies(state: World) -> World:
    then = PoliciesThen("c" * 40, changed_with_it=True)
    assert state.desired.policing is not None
    return replace(state, desired=replace(state.desired, policing=replace(state.desired.policing, then=then)))


WAITING = world(ARRIVED, candidate(2), spec=automatic())
PAUSED = automatic(auto_promotion_seconds=7200)
MERGED = world(ARRIVED, candidate(2), names_=2)
PLACE = (LAST, f"{EARLIER.isoformat()} {APP}")
QUEUED = {
    "its candidate waits for its turn only": (under(WAITING, TURNS), PLACE),
    "what somebody merged has its place in main": (under(MERGED, TURNS), (5, str(APP))),
    "a first deployment waits, too": (under(world(candidate(1)), TURNS), PLACE),
    "it is its turn": (under(WAITING, TURNS, peers={}), None),
    "nothing asks for turns": (WAITING, None),
    "it waits for a window as well": (under(WAITING, TURNS, FREEZE), None),
    "it waits for a window only": (under(WAITING, FREEZE), None),
    "it waits for pods as well": (under(world(ARRIVED, rising(2), spec=automatic()), TURNS), None),
    "it waits for its pause as well": (under(world(ARRIVED, candidate(2), spec=PAUSED), TURNS), None),
    "what somebody merged waits for no pause": (
        under(world(ARRIVED, candidate(2), names_=2, spec=PAUSED), TURNS),
        (5, str(APP)),
    ),
    "the commit of its promotion changes policies": (changing_policies(under(MERGED, TURNS)), None),
    "nothing is next": (under(world(ARRIVED), TURNS), None),
    "it goes back": (under(world(legacy(1), active(2, routed_at=EARLIER), names_=1), TURNS), None),
}


@pytest.mark.parametrize("name", QUEUED)
def test_who_waits_for_nothing_but_its_turn(name: str) -> None:
    state, place = QUEUED[name]
    assert looks(state).queued == place


def test_what_is_healthy_only_later_is_not_healthy_now() -> None:
    degraded = replace(world(rising(1)), now=NOW + timedelta(hours=2) + SECOND)
    assert looks(degraded, since=EARLIER).healthy_since is None
