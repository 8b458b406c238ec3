"""The phase of an app, which people see first: of all that is the matter, the most urgent."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.auxiliary import Autoscaler
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.observed import AuxiliaryView, GitView
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.spec import Adoption, DeletionPolicy, Release, Suspension
from gitops_bg.core.model.statements import Hold, Override
from gitops_bg.core.world import World
from tests.core.simulation import COPY, manual
from tests.core.worlds import (
    HELD_MAIN,
    NOW,
    active,
    candidate,
    decided,
    digest,
    legacy,
    pods,
    rising,
    service,
    target,
    world,
)

PROBLEMS = {"problems": (Problem("target.yaml", "no image", 7),)}
SUSPENDED = replace(manual(), suspend=Suspension("incident", "ada"))
HELD = {"holds": (Hold(digest(2), "5xx", NOW),)}
BACK = {"override": Override(digest(2), digest(1), "5xx", "ada", NOW)}
THEIRS = service("web", 1, ours=False, owner="Service web belongs to helm; delete it or label it")
NO_RIGHTS = {"refused": "create replicasets: 403"}
NO_OFFER = GitView(ledger_epoch="5eed", offer_refused="protected by rule 7")
NO_LEDGER = GitView(ledger_epoch="5eed", ledger_refused="protected by rule 7")
MAIN_REFUSES = GitView(ledger_epoch="5eed", main_refused="protected branch")
UNTOLD = {"ledger": (LedgerEntry(1, NOW, Event.PROMOTED),), "sequence": 1}

NONE_UP = (pods(1), pods(2, 3, 0))
COMES_UP = world(active(1), rising(2, waiting_since=NOW), sets=NONE_UP)
FAILED = world(active(1), rising(2, failure="ProgressDeadlineExceeded"), sets=NONE_UP)
DOWN = world(active(1), sets=(pods(1, 3, 0),))
AT_ZERO = world(active(1), sets=(pods(1, 0),), desired={"target": target(1, 0)})
UNREACHED = world(
    active(1),
    observed={"active_service": service("web", 1, ready_endpoints=0, ports='[{"port":80,"targetPort":"web"}]')},
)
ADOPTING = replace(manual(), adopt=Adoption("web-old"))

# From the most urgent to the calmest: where several fit, the first is said.
PHASES: dict[str, tuple[World, Phase]] = {
    "a broken file, whatever else": (
        world(legacy(1), active(2), names_=1, spec=SUSPENDED, desired=PROBLEMS),
        Phase.INVALID,
    ),
    "suspended, whatever else": (world(legacy(1), active(2), names_=1, spec=SUSPENDED), Phase.SUSPENDED),
    "traffic on its way back": (world(legacy(1), active(2), names_=1, sets=()), Phase.ROLLING_BACK),
    "somebody else's object in the way": (world(active(1), observed={"active_service": THEIRS}), Phase.DEGRADED),
    "a write that was refused": (world(active(1), rising(2), observed=NO_RIGHTS), Phase.DEGRADED),
    "a candidate that failed": (FAILED, Phase.DEGRADED),
    "no live pod": (DOWN, Phase.DEGRADED),
    "an app at 0 replicas": (AT_ZERO, Phase.SCALED_TO_ZERO),
    "a candidate of an app at 0 replicas": (
        world(active(1), candidate(2), names_=2, desired={"target": target(2, 0)}),
        Phase.SCALED_TO_ZERO,
    ),
    "an app whose autoscaler is at 0 just now": (
        world(
            active(1),
            sets=(pods(1, 0),),
            desired={"autoscaler": Autoscaler(COPY, 0, 5), "auxiliary_objects": (COPY,)},
            observed={"auxiliary_objects": (AuxiliaryView(COPY),)},
        ),
        Phase.HEALTHY,
    ),
    "one live pod of three: it answers": (world(active(1), sets=(pods(1, 3, 1),)), Phase.HEALTHY),
    "the only pod of an app of one": (
        world(active(1), sets=(pods(1, 1, 0),), desired={"target": target(1, 1)}),
        Phase.DEGRADED,
    ),
    "a port that leads to no pod": (UNREACHED, Phase.DEGRADED),
    "endpoints that are not there yet: they follow": (
        world(active(1), observed={"active_service": service("web", 1, ready_endpoints=0)}),
        Phase.HEALTHY,
    ),
    "a candidate that cannot be offered": (world(active(1), candidate(2), observed={"git": NO_OFFER}), Phase.DEGRADED),
    "a candidate that comes up, and could not be offered": (
        replace(COMES_UP, observed=replace(COMES_UP.observed, git=NO_OFFER)),
        Phase.PROGRESSING,
    ),
    "a history that nobody can read": (world(active(1), observed={"git": NO_LEDGER}, record=UNTOLD), Phase.DEGRADED),
    "a ledger that is refused, with nothing to tell": (world(active(1), observed={"git": NO_LEDGER}), Phase.HEALTHY),
    "nothing serves yet": (world(rising(1)), Phase.DEPLOYING),
    "no target at all: nobody can tell what is to be live": (world(), Phase.INVALID),
    "what it is adopted from serves": (world(rising(1), spec=ADOPTING), Phase.ADOPTING),
    "… and something is in the way": (
        world(rising(1), spec=ADOPTING, observed={"app_foreign": "it is X's"}),
        Phase.DEGRADED,
    ),
    "… and it is given back meanwhile": (
        world(rising(1), spec=replace(ADOPTING, release=Release("web-old"))),
        Phase.SCALED_TO_ZERO,
    ),
    "adopted, and the old pods stay": (world(active(1), spec=ADOPTING), Phase.HEALTHY),
    "traffic on its way forward": (world(active(1), candidate(2), names_=2), Phase.PROMOTING),
    "a candidate that comes up": (COMES_UP, Phase.PROGRESSING),
    "a candidate that waits for people": (world(active(1), candidate(2)), Phase.AWAITING_PROMOTION),
    "a target on hold": (world(active(1), legacy(2), record=HELD), Phase.HELD),
    "a hold on what is live": (world(legacy(1), active(2), record=HELD), Phase.HEALTHY),
    "traffic went back, and main refuses to say so": (
        world(active(1), legacy(2), wants=1, names_=2, record=BACK, observed={"git": MAIN_REFUSES}),
        Phase.DEGRADED,
    ),
    "traffic went back, and main is about to say so": (
        world(active(1), legacy(2), wants=1, names_=2, record=BACK),
        Phase.ROLLING_BACK,
    ),
    "a main that lost what was seen in it": (world(active(1), desired={"history_rewritten": "9" * 40}), Phase.DEGRADED),
    "… and a candidate, which no merge can bring live": (
        world(active(1), candidate(2), desired={"history_rewritten": "9" * 40}),
        Phase.DEGRADED,
    ),
    "a main whose newest commit nobody signed": (
        world(active(1), observed={"git": GitView(ledger_epoch="5eed", verification=HELD_MAIN)}),
        Phase.DEGRADED,
    ),
    "a folder that left main, and nobody said what is to become of it": (
        world(active(1), desired={"in_git": False}),
        Phase.DEGRADED,
    ),
    "a folder that left main, and its app goes": (
        world(active(1), spec=replace(manual(), deletion_policy=DeletionPolicy.DELETE), desired={"in_git": False}),
        Phase.PROGRESSING,
    ),
    "the target is live": (world(active(1)), Phase.HEALTHY),
}


@pytest.mark.parametrize("name", PHASES)
def test_phase_with(name: str) -> None:
    state, phase = PHASES[name]
    assert decided(state).phase is phase
