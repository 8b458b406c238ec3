"""Policies as gates: what they stop, what they never stop, what is shown, and when the engine looks again."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.core.model.decision import Decision, GateKind
from gitops_bg.core.model.observed import GitView, PromotionBranch
from gitops_bg.core.model.policy_facts import CommitFacts, Others, Peer, Person, PolicyInput, SignedBy
from gitops_bg.core.model.policy_rules import (
    Approvals,
    BreakGlass,
    Cel,
    Concurrency,
    DateSpan,
    Expression,
    Images,
    Mode,
    PoliciesThen,
    Policy,
    Proof,
    Soak,
    Windows,
)
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.spec import OnExpire
from gitops_bg.core.model.statements import Cause, Hold, Override
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.world import World
from tests.core.shown import ABSENT, Shown
from tests.core.simulation import automatic, manual
from tests.core.worlds import (
    EARLIER,
    NOW,
    SECOND,
    active,
    candidate,
    conditions,
    decided,
    digest,
    legacy,
    primary,
    service,
    world,
)

HOUR = timedelta(hours=1)
END = NOW + HOUR
FROZEN = Windows(deny=(DateSpan(EARLIER.replace(tzinfo=None), END.replace(tzinfo=None), "INC-4711"),))
FREEZE = Policy("freeze", (FROZEN,))


def by(*of: Policy, **changes: Any) -> dict[str, Any]:
    return {"policing": PolicyInput(of, **changes)}


def is_committed(decision: Decision) -> bool:
    return any("commit primary.yaml" in str(action) for action in decision.actions)


def is_offered(decision: Decision) -> bool:
    return any("offer" in str(action) for action in decision.actions)


def is_switched(decision: Decision) -> bool:
    return decision.record.routing.switch is not None


def shown(decision: Decision) -> list[tuple[bool, str]]:
    return [(gate.open, gate.reason) for gate in decision.gates if gate.kind == GateKind.POLICY]


REFUSED = {"git": GitView(main_refused="protected branch", promotion=PromotionBranch(digest(1), ""))}
STOPPED = {
    "the agent's own commit": (world(active(1), candidate(2), spec=automatic()), is_committed),
    "a promotion that main names": (world(active(1), candidate(2), names_=2), is_switched),
    "the commit of a first deployment": (world(candidate(1)), is_committed),
    "a first deployment that main refuses": (world(candidate(1), observed=REFUSED), is_switched),
}


def under(state: World, *of: Policy, **changes: Any) -> World:
    return replace(state, desired=replace(state.desired, **by(*of, **changes)))


@pytest.mark.parametrize("name", STOPPED)
def test_a_shut_policy_stops_until_it_opens_and_the_engine_looks_again_then(name: str) -> None:
    state, happened = STOPPED[name]
    assert happened(decided(state))
    frozen = decided(under(state, FREEZE))
    assert not happened(frozen)
    assert shown(frozen) == [(False, "freeze: INC-4711: shut until Thu 2026-01-01 13:00 UTC")]
    assert frozen.wake_at == END
    assert [wait.until for wait in frozen.waits if wait.gate == GateKind.POLICY] == [END]
    assert happened(decided(replace(under(state, FREEZE), now=END)))


@pytest.mark.parametrize("name", STOPPED)
def test_a_policy_that_warns_stops_nothing_and_is_shown(name: str) -> None:
    state, happened = STOPPED[name]
    warned = decided(under(state, replace(FREEZE, mode=Mode.WARN)))
    assert happened(warned)
    assert shown(warned) == [(True, "freeze: INC-4711: shut until Thu 2026-01-01 13:00 UTC (it only warns)")]
    assert warned.wake_at is not None, "what is shown is another thing then"


def test_what_people_merge_is_offered_whatever_policies_say() -> None:
    state = world(active(1), candidate(2), spec=manual())
    decision = decided(under(state, FREEZE))
    assert is_offered(decision)
    assert shown(decision) == [(False, "freeze: INC-4711: shut until Thu 2026-01-01 13:00 UTC")]


NOWHERE = Images(("nowhere/*",))
BROKEN = Policy("broken", broken="policies/p.yaml cannot be read")
HELD = Hold(digest(2), "bad", EARLIER, Cause.ROLLED_BACK)
WAYS_BACK = {
    "an abort, a failed analysis, pods that fail": world(
        legacy(1), active(2), names_=2, record={"override": Override(digest(2), digest(1), "because", "ada", NOW)}
    ),
    "the revert of a promotion": world(legacy(1), active(2), names_=1, wants=2),
}


@pytest.mark.parametrize("name", WAYS_BACK)
@pytest.mark.parametrize("policy", [FREEZE, BROKEN, Policy("images", (Images(("nowhere/*",)),))])
def test_nothing_of_policies_stands_in_the_way_back(name: str, policy: Policy) -> None:
    """I6."""
    then = PoliciesThen("a" * 40, (policy,), changed_with_it=True, unread="the remote is away")
    decision = decided(under(WAYS_BACK[name], policy, then=then))
    assert is_switched(decision)
    assert not shown(decision)


def test_the_first_commit_of_what_serves_already_is_written_whatever_policies_say() -> None:
    state = world(active(1), names_=0)
    assert is_committed(decided(under(state, FREEZE)))


def test_the_first_version_of_a_service_in_a_groups_candidate_comes_up_in_a_freeze() -> None:
    """No request reaches it unasked; its group's promotion is what policies ask about (docs/features/groups.md)."""
    frozen = under(world(candidate(1)), FREEZE)
    assert not is_committed(decided(frozen))
    assert is_committed(decided(replace(frozen, desired=replace(frozen.desired, in_candidate=True))))


def test_a_later_version_of_a_service_in_a_groups_candidate_waits_for_policies_as_any_other() -> None:
    frozen = named(FREEZE)
    assert not is_switched(decided(replace(frozen, desired=replace(frozen.desired, in_candidate=True))))


def test_an_app_without_policies_is_told_nothing_of_them() -> None:
    state = world(active(1), candidate(2), names_=2)
    decision = decided(state)
    assert not shown(decision)
    assert "InvalidPolicy" not in [each.type for each in decision.conditions]


BROKEN = "policies/a.yaml:3: is no glob"


@pytest.mark.parametrize(("problems", "said"), [((), ABSENT), ((BROKEN,), (True, "InvalidPolicy", BROKEN))])
def test_a_broken_file_is_a_condition(problems: tuple[str, ...], said: Shown) -> None:
    assert conditions(under(world(active(1)), problems=problems))["InvalidPolicy"] == said


def named(*of: Policy, **changes: Any) -> World:
    return under(world(active(1), candidate(2), names_=2), *of, **changes)


@pytest.mark.parametrize(
    ("then", "says"),
    [
        (PoliciesThen("c" * 40, (Policy("images", (NOWHERE,)),)), "images: web:2 is none of nowhere/*"),
        (
            PoliciesThen("c" * 40, changed_with_it=True),
            "cccccccccc promotes it and changes its own policy: policies/ is another with it",
        ),
        (
            PoliciesThen("c" * 40, unread="the remote is away"),
            "nobody can tell what policies said before cccccccccc: the remote is away",
        ),
    ],
)
def test_nobody_loosens_a_policy_and_promotes_in_one(then: PoliciesThen, says: str) -> None:
    decision = decided(named(then=then))
    assert not is_switched(decision)
    assert (False, says) in shown(decision)


def test_a_policy_that_says_the_same_then_and_now_is_judged_once() -> None:
    both = Policy("both", (FROZEN, NOWHERE))
    state = named(then=PoliciesThen("c" * 40, (both,)))
    assert len(shown(decided(under(state, both, then=PoliciesThen("c" * 40, (both,)))))) == 2


def test_who_removes_a_freeze_lets_go_on_what_was_merged_meanwhile() -> None:
    """When traffic may move is for the newest policies to say; what may be promoted, also for those of then."""
    assert is_switched(decided(named(then=PoliciesThen("c" * 40, (FREEZE,)))))


def test_a_policy_that_only_warns_now_still_asks_what_it_asked_then() -> None:
    images = Policy("images", (NOWHERE,))
    state = under(named(), replace(images, mode=Mode.WARN), then=PoliciesThen("c" * 40, (images,)))
    assert not is_switched(decided(state))


def test_a_switch_that_has_begun_is_not_stopped() -> None:
    """Of several Services one has moved: it goes through, whatever a window says meanwhile."""
    switch = Switch(digest(1), digest(2), SwitchKind.PROMOTION, EARLIER)
    begun = world(
        active(1),
        candidate(2),
        names_=2,
        spec=manual(more_active_services=("web-grpc",)),
        observed={"more_active_services": (service("web-grpc", 2),)},
        record={"switch": switch},
    )
    assert decided(under(begun, FREEZE)).record.routing.switch == switch


MOMENT = Soak(timedelta(seconds=1))
OURS = Images(("web:*",))
SAYS_FROZEN = "freeze: INC-4711: shut until Thu 2026-01-01 13:00 UTC"


def test_an_open_policy_is_one_gate_with_all_its_reasons_and_a_shut_one_has_a_gate_for_each_shut_rule() -> None:
    calm, ours, half = Policy("calm", (MOMENT, OURS)), Policy("ours", (OURS,)), Policy("half", (MOMENT, NOWHERE))
    assert shown(decided(under(named(), calm, ours, half, FREEZE))) == [
        (True, "calm: available for 1s; every image is allowed"),
        (True, "ours: every image is allowed"),
        (False, "half: web:2 is none of nowhere/*"),
        (False, SAYS_FROZEN),
    ]


ADA = Person("Ada", "ada@example.com")


def test_who_signed_what_breaks_the_glass_is_in_the_ledger() -> None:
    commit = CommitFacts(
        primary(2).changed_by.commit,
        trailers=(("Bg-Override", "freeze"), ("Bg-Reason", "INC-1")),
        signed=SignedBy("ada"),
    )
    lets = replace(FREEZE, override=BreakGlass(("ada",), frozenset(), Proof.SIGNED, frozenset(["ada"])))
    decision = decided(named(lets, commits=(commit,)))
    (entry,) = [each for each in decision.record.ledger if each.event == "overridden"]
    assert (entry.by, entry.reason) == ("ada", "freeze (windows, signed): INC-1")


def test_who_breaks_the_glass_is_in_the_ledger() -> None:
    promotion = primary(2).changed_by.commit
    commit = CommitFacts(promotion, ADA, ADA, NOW, "", (("Bg-Override", "freeze"), ("Bg-Reason", "INC-4711")))
    lets = replace(FREEZE, override=BreakGlass(("ada",), frozenset(["ada@example.com"])))
    decision = decided(named(lets, commits=(commit,)))
    assert is_switched(decision)
    assert shown(decision) == [(True, f"{SAYS_FROZEN}; overridden by Ada <ada@example.com>: INC-4711")]
    (entry,) = [each for each in decision.record.ledger if each.event == "overridden"]
    assert (entry.by, entry.reason, entry.commit) == (
        "Ada <ada@example.com>",
        "freeze (windows): INC-4711",
        promotion,
    )
    assert not is_switched(decided(named(lets)))


# --- the facts ---


def seen(state: World) -> dict[str, Any]:
    """What an expression of a policy can see."""
    found: list[dict[str, Any]] = []

    def told(values: Any) -> bool:
        found.append(dict(values))
        return True

    decided(under(state, Policy("spy", (Cel(Expression("x", told)),))))
    return found[-1]


def test_expressions_see_the_version_that_is_next_and_what_serves() -> None:
    facts = seen(world(active(1), candidate(2), names_=2))
    assert (facts["to"]["version"], facts["to"]["version_label"], facts["to"]["images"]) == (2, "2", ["web:2"])
    assert facts["from"]["version"] == 1
    assert facts["preview"] == {"healthy": True, "available_since": EARLIER}
    assert seen(world(candidate(1)))["from"] == {}


def test_a_rollback_is_what_served_and_was_left_for_being_bad_newest_first() -> None:
    holds = (
        replace(HELD, digest=digest(1), cause=Cause.ROLLED_BACK, since=EARLIER),
        replace(HELD, digest=digest(2), cause=Cause.PODS_FAILED, since=NOW),
        replace(HELD, digest=digest(3), cause=Cause.CLOSED, since=NOW),
        replace(HELD, digest=digest(6), cause=Cause.ABORTED, since=NOW),
    )
    state = world(legacy(1), legacy(2), legacy(3), active(4), candidate(5), record={"holds": holds})
    assert [(each["digest"], each["at"]) for each in seen(state)["history"]["rollbacks"]] == [
        (digest(2), NOW),
        (digest(1), EARLIER),
    ]


NOT_MERGED = Policy("merged", (Approvals(proof=Proof.MERGE),))
WHO_PROMOTES: dict[str, tuple[World, bool]] = {
    "people merge": (world(active(1), candidate(2), spec=manual()), False),
    "autoPromotionEnabled": (world(active(1), candidate(2), spec=automatic()), True),
    "merge: whenGreen": (world(active(1), candidate(2), spec=replace(manual(), merge_when_green=True)), True),
    "onExpire: promote": (world(active(1), candidate(2), spec=manual(on_expire=OnExpire.PROMOTE)), True),
}


@pytest.mark.parametrize("name", WHO_PROMOTES)
def test_a_merge_that_is_to_approve_is_missed_at_once_only_where_the_agent_promotes_by_itself(name: str) -> None:
    state, missed = WHO_PROMOTES[name]
    ((is_open, _),) = shown(decided(under(state, NOT_MERGED, approvals=(), authors=frozenset())))
    assert is_open is not missed


@pytest.mark.parametrize(("other", "turn"), [((4, "shop/api"), False), ((6, "shop/api"), True)])
def test_of_two_apps_the_one_that_was_merged_first_goes_first(other: tuple[int, str], turn: bool) -> None:
    api = AppKey("shop", "api")
    turns = Policy("turns", (Concurrency(1),))
    assert is_switched(decided(named(turns, others=Others({api: Peer(api, queued=other)})))) is turn


def test_a_policy_that_meets_a_bug_is_shut_and_the_way_back_is_open() -> None:
    def broken(_: object) -> object:
        raise OverflowError("date value out of range")

    bug = Policy("odd", (Cel(Expression("x", broken)),))
    forward = decided(named(bug, FREEZE))
    assert not is_switched(forward)
    assert shown(forward) == [
        (False, "odd: judging it: a bug of the agent: OverflowError: date value out of range"),
        (False, "freeze: INC-4711: shut until Thu 2026-01-01 13:00 UTC"),
    ]
    assert is_switched(decided(under(world(legacy(1), active(2), names_=1), bug)))


def test_soak_is_over_once_the_version_was_available_for_so_long() -> None:
    soak = Policy("soak", (Soak(2 * HOUR),))
    state = named(soak)
    assert decided(state).wake_at == EARLIER + 2 * HOUR
    assert not is_switched(decided(state))
    assert is_switched(decided(replace(state, now=EARLIER + 2 * HOUR)))
    assert not is_switched(decided(replace(state, now=EARLIER + 2 * HOUR - SECOND)))
