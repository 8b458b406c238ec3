"""What policies say about a group: they stop its promotion with every service that moves, and never its way back."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from gitops_bg.core.groups.inputs import MemberPolicing
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.policy_facts import Approval, CommitFacts, Person, PolicyInput, VersionFacts
from gitops_bg.core.model.policy_rules import (
    Approvals,
    BreakGlass,
    Cel,
    DateSpan,
    Expression,
    Images,
    Message,
    PoliciesThen,
    Policy,
    Proof,
    Role,
    Rule,
    Separation,
    Soak,
    Windows,
)
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import Source
from tests.core.groups.notation import NOW
from tests.core.groups.simulation import World, store, version

ADA = Person("Ada", "ada@example.com")
COMMIT = CommitFacts("c" * 40, ADA, ADA, NOW, "Promote v2", (("Ticket", "T-1"),))
OVERRIDE = replace(COMMIT, trailers=(("Bg-Override", "p"), ("Bg-Reason", "INC-1")))
TO = VersionFacts("v1:new", label="2", images=("registry.example/cart:2",))

BEN = Approval("ben", TO.digest, NOW)


def frozen(until: datetime | None = None) -> Windows:
    end = until.replace(tzinfo=None) if until else None
    return Windows(deny=(DateSpan((NOW - timedelta(days=1)).replace(tzinfo=None), end, "INC-4711"),))


def asked(*rules: Rule, commit: CommitFacts = COMMIT, since: datetime | None = NOW, **more: object) -> MemberPolicing:
    policing = PolicyInput(
        (Policy("p", rules, override=BreakGlass(("ada",), frozenset({ADA.email}))),), commits=(commit,)
    )
    return MemberPolicing(replace(policing, **more), Source(commit.commit), TO, available_since=since)  # type: ignore[arg-type]


def shut(world: World) -> list[GateResult]:
    return [gate for gate in world.decide().gates if not gate.open]


def two() -> World:
    """v2 brings both services."""
    return World({"v1": version(cart="/cart", auth="/auth"), "v2": version(cart="/cart", auth="/auth")})


def test_a_freeze_keeps_the_whole_group_where_it_is_until_its_end() -> None:
    world, end = two(), NOW + timedelta(hours=1)
    world.settle()
    world.policing = {name: asked(frozen(end)) for name in ("cart-v2", "auth-v2")}
    world.active = "v2"
    assert world.settle().phase is Phase.WAITING
    (gate,) = shut(world)
    assert gate.reason == "auth-v2, cart-v2: p: INC-4711: shut until Mon 2026-11-23 13:00 UTC"
    assert gate.until == world.decide().wake_at == end
    assert world.ask("/cart") == "cart-v1"
    world.after(3600).settle()
    assert (world.stages, world.ask("/cart"), world.ask("/auth")) == ("v1L v2A", "cart-v2", "auth-v2")


def test_a_freeze_that_begins_on_the_way_takes_the_promotion_back_and_its_end_lets_it_go_on() -> None:
    world = two()
    world.settle()
    world.active, world.accepts = "v2", None
    world.step()
    assert world.record.transition is not None
    world.policing = {name: asked(frozen()) for name in ("cart-v2", "auth-v2")}
    world.accepts = True
    world.settle()
    assert world.ask("/cart") == "cart-v1", "it waits, and nothing has moved"
    world.after(601).settle()
    assert (world.stages, world.record.transition, world.held) == ("v1A v2C", None, ())
    assert world.settle().phase is Phase.WAITING
    world.policing = {}
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1L v2A", "cart-v2")


def test_no_policy_stands_in_the_way_back() -> None:
    world = two()
    world.active = "v2"
    world.settle()
    world.policing = {name: asked(frozen()) for name in ("cart-v1", "auth-v1", "cart-v2", "auth-v2")}
    world.active = "v1"
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1A v2C", "cart-v1")


def test_a_suspension_stops_a_promotion_until_its_end_and_no_rollback() -> None:
    world, end = two(), NOW + timedelta(hours=1)
    world.settle()
    world.suspend, world.active = Suspension("a holiday", "ada", end), "v2"
    world.settle()
    (gate,) = shut(world)
    assert (gate.kind, gate.reason, gate.until) == ("suspension", "suspended by ada: a holiday", end)
    assert (world.stages, world.decide().wake_at) == ("v1A v2C", end)
    world.after(3600).settle()
    assert world.stages == "v1L v2A"
    world.suspend, world.active = Suspension("for good"), "v1"
    world.settle()
    assert world.stages == "v1A v2C"


def test_one_service_that_a_policy_refuses_keeps_all_of_them() -> None:
    world = two()
    world.settle()
    world.policing = {"cart-v2": asked(Images(("elsewhere/*",))), "auth-v2": asked(Images(("*",)))}
    world.active = "v2"
    world.settle()
    assert [gate.reason for gate in shut(world)] == ["cart-v2: p: registry.example/cart:2 is none of elsewhere/*"]
    assert world.stages == "v1A v2C"


RULES = {
    "a message that the commit has": (asked(Message(trailer="Ticket")), True),
    "a message that it lacks": (asked(Message(trailer="Change")), False),
    "soaked for long enough": (asked(Soak(timedelta(hours=1)), since=NOW - timedelta(hours=2)), True),
    "not available for long enough": (asked(Soak(timedelta(hours=1))), False),
    "not available": (asked(Soak(timedelta(hours=1)), since=None), False),
    "nobody tells who approved it": (asked(Approvals(), authors=frozenset()), False),
    "nobody tells who wrote it": (asked(Approvals(), approvals=(BEN,)), False),
    "approved by somebody else": (asked(Approvals(), approvals=(BEN,), authors=frozenset({"eve"})), True),
    "approved by an author of any service": (
        asked(Approvals(), approvals=(BEN,), authors=frozenset({"eve", "ben"})),
        False,
    ),
    "approved by somebody who asks for changes": (
        asked(Approvals(), approvals=(BEN, replace(BEN, void="no", objection=True)), authors=frozenset()),
        False,
    ),
    "merged by somebody else": (
        asked(Separation((Role.AUTHOR, Role.MERGER)), authors=frozenset({"eve"}), merger="ben"),
        True,
    ),
    "nobody tells who merged it": (asked(Separation((Role.AUTHOR, Role.MERGER)), authors=frozenset({"eve"})), False),
    "approved by who merged it": (
        asked(Approvals(proof=Proof.MERGE), authors=frozenset(), merge=replace(BEN, proof=Proof.MERGE)),
        True,
    ),
    "overridden by the commit": (asked(frozen(), commit=OVERRIDE), True),
    "the commit changes its own policy": (asked(then=PoliciesThen(COMMIT.commit, changed_with_it=True)), False),
    "nobody can read what policies said before it": (asked(then=PoliciesThen("", unread="gone")), False),
    "a policy that was loosened afterwards": (
        asked(then=PoliciesThen(COMMIT.commit, (Policy("old", (Images(("elsewhere/*",)),)),))),
        False,
    ),
}


@pytest.mark.parametrize("row", RULES)
def test_each_rule_is_judged_by_what_is_known_of_the_service(row: str) -> None:
    policing, opens = RULES[row]
    world = store(policing={"cart-v2": policing})
    world.settle()
    world.active = "v2"
    world.settle()
    assert (world.stages == "v1L v2A") is opens
    assert bool(shut(world)) is not opens


def test_each_override_is_an_entry_before_requests_move_as_of_an_app() -> None:
    """One for both services: it is one commit that says so. The way back asks no policy, and notes none."""
    world = two()
    world.settle()
    world.policing = {name: asked(frozen(), commit=OVERRIDE) for name in ("cart-v2", "auth-v2")}
    world.active = "v2"
    world.settle()
    *_, entry, promoted = world.written
    assert (entry.event, promoted.event) == (Event.OVERRIDDEN, Event.PROMOTED)
    assert (entry.to_version, entry.commit, entry.by) == (2, OVERRIDE.commit, "Ada <ada@example.com>")
    assert entry.reason == "auth-v2, cart-v2: p (windows): INC-1"
    world.active = "v1"
    world.settle()
    assert sum(each.event is Event.OVERRIDDEN for each in world.written) == 1


def seen_by_an_expression(world: World, commits: tuple[CommitFacts, ...] = ()) -> dict[str, Any]:
    """What an expression is given about v2."""
    given: list[dict[str, Any]] = []

    def program(values: dict[str, Any]) -> bool:
        given.append(values)
        return True

    asking = asked(Cel(Expression("true", program)))
    to = replace(TO, source_commit="5" * 40)
    world.policing = {"cart-v2": replace(asking, policing=replace(asking.policing, commits=(COMMIT, *commits)), to=to)}
    world.active = "v2"
    world.decide()
    return given[-1]


def test_rules_know_what_happened_to_the_group_and_who_made_the_version() -> None:
    world = two()
    world.settle()
    world.active = "v2"
    world.settle()
    world.active = "v1"
    world.settle()
    source = replace(COMMIT, commit="5" * 40, message="cart 2")
    found = seen_by_an_expression(world, (source,))
    past = found["history"]
    assert [[each["digest"] for each in past[name]] for name in ("promotions", "rollbacks")] == [["v2"], ["v2"]]
    assert (found["to"]["source"]["message"], found["promotion"]["message"]) == ("cart 2", "Promote v2")


@pytest.mark.parametrize(
    ("count", "names"),
    [
        (3, "a-v2, b-v2, c-v2"),
        (4, "a-v2, b-v2, c-v2 and 1 more"),
    ],
)
def test_what_policies_say_of_many_services_names_a_few(count: int, names: str) -> None:
    services = {name: f"/{name}" for name in "abcd"[:count]}
    world = World({"v1": version(**services), "v2": version(**services)})
    world.settle()
    world.policing = {f"{name}-v2": asked(frozen()) for name in services}
    world.active = "v2"
    (gate,) = shut(world)
    assert gate.reason.partition(": p: ")[0] == names


def test_the_end_of_a_freeze_wakes_nobody_where_nothing_is_to_be_promoted() -> None:
    world, end = two(), NOW + timedelta(hours=1)
    world.settle()
    world.active = "v2"
    world.settle()
    world.policing = {"cart-v2": asked(frozen(end))}
    assert world.decide().wake_at != end


ANYBODY = "somebody who did not write it"
UNHEARD = "the forge has not answered yet"


@pytest.mark.parametrize(
    ("rule", "more", "reason", "remedy"),
    [
        (Approvals(), {"unheard": UNHEARD}, f"nobody tells who approved: {UNHEARD}", ""),
        (
            Approvals(),
            {"approvals": (), "authors": frozenset(), "unheard": "as of noon"},
            "0 of 1 approvals; as of noon",
            f"let {ANYBODY} approve it",
        ),
    ],
)
def test_what_is_missing_of_people_is_said_with_what_to_do(
    rule: Rule, more: dict[str, object], reason: str, remedy: str
) -> None:
    world = store(policing={"cart-v2": asked(rule, **more)})  # type: ignore[arg-type]
    world.settle()
    world.active = "v2"
    world.settle()
    (gate,) = shut(world)
    assert (gate.reason, gate.remedy) == (f"cart-v2: p: {reason}", remedy)


@pytest.mark.parametrize(
    ("rule", "opens", "remedy"),
    [
        (Approvals(), False, "let somebody who did not write it approve it"),
        (Approvals(proof=Proof.MERGE), True, ""),
        (Approvals(2, proof=Proof.MERGE), False, "let somebody who did not write it merge it"),
        (Separation((Role.AUTHOR, Role.MERGER)), True, ""),
    ],
)
def test_before_anybody_merges_it_the_merger_is_not_known_and_may_be_anybody(
    rule: Rule, opens: bool, remedy: str
) -> None:
    """What a branch offers is judged before it is merged: for the status that branch protection demands."""
    offered = replace(asked(rule, approvals=(), authors=frozenset()), promoted=False)
    world = store(policing={"cart-v2": offered})
    world.settle()
    world.active = "v2"
    found = {gate.reason: gate for gate in world.decide().gates if gate.kind == "policy"}
    (gate,) = found.values()
    assert (gate.open, gate.remedy) == (opens, remedy)
