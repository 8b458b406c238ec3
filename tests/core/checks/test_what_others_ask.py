"""What the agent, the cluster and the command line ask before anything is decided: what is to be looked at, or said."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.checks.gates import shut_after_commit
from gitops_bg.core.checks.git import asks_for_reverts, why_not_back
from gitops_bg.core.checks.onboarding import may_be_exposed
from gitops_bg.core.checks.phase import PHASES
from gitops_bg.core.checks.pods import wants_pods
from gitops_bg.core.checks.policy_facts import awaits_promotion, commits_asked_about
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.main import Knowledge
from gitops_bg.core.model.policy_facts import PolicyInput
from gitops_bg.core.model.policy_rules import Message, Policy, Rule, Soak
from gitops_bg.core.model.record import Record, Restart
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.world import World
from tests.core.engine.versions.reverting import ELSEWHERE, TWO, held, reverted
from tests.core.engine.versions.test_reverts import REVERTS
from tests.core.records import record_of
from tests.core.simulation import automatic, manual
from tests.core.worlds import (
    NOW,
    SECOND,
    active,
    archived,
    candidate,
    digest,
    legacy,
    pods,
    primary,
    rising,
    source,
    target,
    world,
)

# --- the cluster: is it worth to list? ---

OTHER_SERVICES: dict[str, tuple[World, bool]] = {
    "a candidate": (world(active(1), candidate(2)), True),
    "one that is on its way out": (world(active(1), candidate(2, retiring=True)), True),
    "the live version alone": (world(active(1)), False),
    "a version to go back to": (world(legacy(1), active(2), archived(3)), False),
    "no version": (world(), False),
    "a candidate that served before": (world(active(1), candidate(2, activated_at=NOW - timedelta(hours=2))), False),
}


@pytest.mark.parametrize("name", OTHER_SERVICES)
def test_other_services_are_looked_at_for(name: str) -> None:
    state, asked = OTHER_SERVICES[name]
    assert may_be_exposed(state.record) is asked


PODS: dict[str, tuple[Record, bool]] = {
    "no version": (record_of(), False),
    "an available candidate": (record_of(versions=(active(1), candidate(2))), False),
    "one that is not late yet": (record_of(versions=(active(1), rising(2, waiting_since=NOW - 14 * SECOND))), False),
    "one that is late": (record_of(versions=(active(1), rising(2, waiting_since=NOW - 15 * SECOND))), True),
    "a late one before an available one": (
        record_of(versions=(rising(1, waiting_since=NOW - 60 * SECOND), candidate(2))),
        True,
    ),
    "a restart that has not begun": (record_of(restart=Restart(NOW, 1, begun=False)), False),
    "a restart that has begun": (record_of(restart=Restart(NOW, 1, begun=True)), True),
}


@pytest.mark.parametrize("name", PODS)
def test_pods_are_listed_for(name: str) -> None:
    record, wanted = PODS[name]
    assert wants_pods(record, NOW) is wanted


# --- the agent: which commits of main are to be read? ---

PROMOTED = primary(2).changed_by.commit
AWAITED: dict[str, tuple[World, str]] = {
    "a promotion waits": (world(active(1), candidate(2), names_=2), PROMOTED),
    "nobody promoted it": (world(active(1), candidate(2)), ""),
    "traffic is to go back": (world(legacy(1), active(2), names_=1, wants=2), ""),
    "nothing serves": (world(candidate(1)), ""),
}


@pytest.mark.parametrize("name", AWAITED)
def test_what_policies_said_before_is_asked_only_where_a_promotion_waits(name: str) -> None:
    state, asked = AWAITED[name]
    assert awaits_promotion(state.desired, state.record) == asked


TICKET = Message(trailer="Ticket")
COMMITS: dict[str, tuple[Rule, World, tuple[str, ...]]] = {
    "no rule asks": (Soak(timedelta(hours=1)), world(active(1), candidate(2), names_=2), ()),
    "a candidate": (TICKET, world(active(1), candidate(2)), (source(2).commit,)),
    "a promotion": (TICKET, world(active(1), candidate(2), names_=2), (PROMOTED, source(2).commit)),
    "a promotion, and the target names a third version already": (
        TICKET,
        world(active(1), candidate(2), candidate(3), names_=2, wants=3),
        (PROMOTED, source(2).commit, source(3).commit),
    ),
    "what serves": (TICKET, world(active(1)), ()),
    "a first version": (TICKET, world(candidate(1), desired={"primary": Missing.ABSENT}), (source(1).commit,)),
}


@pytest.mark.parametrize("name", COMMITS)
def test_commits_are_read_of(name: str) -> None:
    rule, state, asked = COMMITS[name]
    assert commits_asked_about(state.desired, state.record, PolicyInput((Policy("p", (rule,)),))) == asked


PROVENANCE: dict[str, tuple[World, bool]] = {
    "the target names what served before": (reverted(*TWO), True),
    "it names that, and app.yaml says so": (reverted(*TWO, desired={"target": replace(target(1), pinned=True)}), False),
    "the target names what traffic follows": (world(legacy(1), active(2)), False),
    "the target names what traffic was sent to, against main": (
        reverted(*TWO, record={"override": replace(ELSEWHERE, from_digest=digest(2), to_digest=digest(1))}),
        False,
    ),
    "the target names what main names, and traffic was sent elsewhere": (
        reverted(*TWO, to=2, record={"override": replace(ELSEWHERE, from_digest=digest(2), to_digest=digest(1))}),
        True,
    ),
    "the target names what never served": (world(active(1), candidate(2)), False),
    "the same, on hold": (world(active(1), candidate(2), record=held(2)), True),
    "the target names what nobody knows": (world(active(1), wants=7), False),
    "the target cannot be read": (world(legacy(1), active(2), desired={"target": Missing.UNREADABLE}), False),
    "nothing serves yet": (world(rising(1), record=held(1)), False),
}


@pytest.mark.parametrize("name", PROVENANCE)
def test_what_was_reverted_is_read_where(name: str) -> None:
    state, asked = PROVENANCE[name]
    assert asks_for_reverts(state.desired, state.record) is asked


# --- the command line: why does a revert not move traffic? ---

SENT_ELSEWHERE = reverted(
    legacy(1), legacy(2), active(3), takes_back=(2,), desired={"primary": primary(3)}, record={"override": ELSEWHERE}
)
WHY_NOT = {**REVERTS, "somebody sent traffic elsewhere": (SENT_ELSEWHERE, "somebody sent traffic elsewhere: 5xx")}


@pytest.mark.parametrize("name", WHY_NOT)
def test_why_a_revert_moves_no_traffic(name: str) -> None:
    """As `decide` answers: a sentence where it does not follow, none where it does."""
    state, expected = WHY_NOT[name]
    why = expected if isinstance(expected, str) else ""
    said = why_not_back(state)
    assert said.endswith(why)
    assert bool(why) is bool(said)


# --- `promote`: what will traffic wait for once it is committed? ---

SUSPENDED = replace(manual(), suspend=Suspension("incident", "ada"))
STOPS_A_COMMIT: dict[str, tuple[World, list[GateKind]]] = {
    "a main that cannot be read": (
        world(active(1), candidate(2), desired={"knowledge": Knowledge.UNKNOWN}),
        [GateKind.HISTORY],
    ),
    "nothing": (world(active(1), candidate(2)), []),
    "not the countdown: a person cuts it short": (
        world(active(1), candidate(2), spec=automatic(auto_promotion_seconds=60)),
        [],
    ),
    "pods that are not there": (world(active(1), rising(2), sets=(pods(1), pods(2, 3, 2))), [GateKind.AVAILABILITY]),
    "a suspension": (world(active(1), candidate(2), spec=SUSPENDED), [GateKind.SUSPENSION]),
}


@pytest.mark.parametrize("name", STOPS_A_COMMIT)
def test_what_traffic_waits_for_once_a_promotion_is_committed_is(name: str) -> None:
    state, kinds = STOPS_A_COMMIT[name]
    version = state.record.version(digest(2))
    assert version is not None
    assert [gate.kind for gate in shut_after_commit(state, version)] == kinds


def test_every_phase_has_a_name_of_flaggers() -> None:
    known = {"Initializing", "Waiting", "Progressing", "WaitingPromotion", "Promoting", "Succeeded", "Failed"}
    assert {phase: PHASES[phase].flagger in known for phase in Phase} == dict.fromkeys(Phase, True)
