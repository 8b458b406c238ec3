"""A replay judges the past as of its own time, and counts unknown facts separately (policies.md §3)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.core.checks.policy_judge import Outcome, PastPromotion, replay
from gitops_bg.core.model.policy_facts import Approval, CommitFacts, Person, PolicyFacts, VersionFacts
from gitops_bg.core.model.policy_rules import (
    Approvals,
    BreakGlass,
    Images,
    Match,
    Message,
    Mode,
    Policy,
    Proof,
    Rule,
    Soak,
    Weekly,
    Windows,
)
from gitops_bg.core.model.version import AppKey

SATURDAY = datetime(2026, 11, 21, 12, tzinfo=UTC)
MONDAY = datetime(2026, 11, 23, tzinfo=UTC)
ADA = Person("Ada", "ada@example.com")
PROMOTION = CommitFacts("6" * 40, ADA, ADA, SATURDAY, "", (("Bg-Override", "p"), ("Bg-Reason", "INC-1")))
TO = VersionFacts("v1:new", 2, "1.2", ("registry.example/web:1.2",))
FACTS = PolicyFacts(AppKey("shop", "web"), TO, VersionFacts("v1:old", 1), promoted=True)
WEEKENDS = Windows(deny=(Weekly(frozenset([5, 6]), reason="weekend"),))


@pytest.mark.parametrize(
    ("rule", "facts", "outcome", "until"),
    [
        (Images(("registry.example/*",)), FACTS, Outcome.ALLOWED, None),
        (WEEKENDS, FACTS, Outcome.WAITED, MONDAY),
        (Images(("elsewhere/*",)), FACTS, Outcome.REFUSED, None),
        (Images(("*",)), replace(FACTS, to=replace(TO, images=None)), Outcome.UNKNOWN, None),
        (Message(trailer="Ticket"), FACTS, Outcome.UNKNOWN, None),
        (Message(trailer="Ticket"), replace(FACTS, promotion=PROMOTION), Outcome.REFUSED, None),
        (Approvals(), FACTS, Outcome.UNKNOWN, None),
        (Soak(timedelta(hours=1)), FACTS, Outcome.UNKNOWN, None),
        (WEEKENDS, replace(FACTS, promotion=PROMOTION), Outcome.OVERRIDDEN, None),
    ],
)
def test_outcomes(rule: Rule, facts: PolicyFacts, outcome: Outcome, until: datetime | None) -> None:
    lets = BreakGlass(("ada",), frozenset(["ada@example.com"])) if outcome is Outcome.OVERRIDDEN else None
    (found,) = replay([Policy("p", (rule,), override=lets)], [PastPromotion(SATURDAY, "6" * 40, facts)])
    assert (found.outcome, found.until, found.policies) == (outcome, until, (("p", outcome),))
    assert bool(found.reasons) is (outcome is not Outcome.ALLOWED)
    assert found.untils == ((("p", until),) if until else ())


def test_the_gravest_of_several_counts_and_each_is_told() -> None:
    policies = [
        Policy("a", (WEEKENDS,)),
        Policy("b", (Approvals(),)),
        Policy("c", (Images(("x",)),), mode=Mode.WARN),
        Policy("d", (Images(("x",)),), match=Match(namespaces=("pay",))),
    ]
    (found,) = replay(policies, [PastPromotion(SATURDAY, "", FACTS)])
    assert found.outcome is Outcome.WAITED
    assert found.policies == (("a", Outcome.WAITED), ("b", Outcome.UNKNOWN), ("c", Outcome.ALLOWED))
    assert found.untils == (("a", MONDAY),)


def test_of_several_windows_the_last_to_open_counts() -> None:
    until_monday, until_sunday = WEEKENDS, Windows(deny=(Weekly(frozenset([5])),))
    policies = [Policy("a", (until_sunday, until_monday)), Policy("b", (until_sunday,)), Policy("c", (Approvals(),))]
    (found,) = replay(policies, [PastPromotion(SATURDAY, "", FACTS)])
    assert found.until == MONDAY
    assert found.untils == (("a", MONDAY), ("b", MONDAY - timedelta(days=1)))
    (refused,) = replay([*policies, Policy("d", (Images(("x",)),))], [PastPromotion(SATURDAY, "", FACTS)])
    assert (refused.outcome, refused.until) == (Outcome.REFUSED, None)


def test_who_approved_counts_where_the_ledger_tells_it() -> None:
    told = replace(FACTS, approvals=(Approval("bob", FACTS.to.digest, SATURDAY),), authors=frozenset(["ada"]))
    policies = [Policy("b", (Approvals(),))]
    known = [told, replace(told, approvals=()), replace(told, authors=None)]
    found = replay(policies, [PastPromotion(SATURDAY, "", facts) for facts in known])
    assert [each.outcome for each in found] == [Outcome.ALLOWED, Outcome.REFUSED, Outcome.UNKNOWN]
    assert [each.reasons for each in found[1:]] == [
        ("b: 0 of 1 approvals",),
        ("b: the ledger does not tell (approvals)",),
    ]


def test_who_merged_counts_where_a_rule_takes_that_for_an_approval() -> None:
    merge = Approval("bob", FACTS.to.digest, SATURDAY, Proof.MERGE, frozenset(["leads"]))
    told = replace(FACTS, approvals=(), authors=frozenset(["ada"]), merge=merge)
    policies = [Policy("b", (Approvals(by=frozenset(["group:leads"]), proof=Proof.MERGE),))]
    known = [told, replace(told, merge=replace(merge, groups=frozenset())), replace(told, authors=frozenset(["bob"]))]
    found = replay(policies, [PastPromotion(SATURDAY, "", facts) for facts in known])
    assert [each.outcome for each in found] == [Outcome.ALLOWED, Outcome.REFUSED, Outcome.REFUSED]
    assert found[2].reasons == ("b: 0 of 1 approvals of group:leads; bob is an author",)


def test_a_reason_is_the_rules_or_that_the_ledger_does_not_tell_it() -> None:
    policies = [Policy("a", (WEEKENDS,)), Policy("b", (Approvals(),))]
    (found,) = replay(policies, [PastPromotion(SATURDAY, "", FACTS)])
    assert found.reasons == (
        "a: weekend: shut until Mon 2026-11-23 00:00 UTC",
        "b: the ledger does not tell (approvals)",
    )


def test_a_policy_that_nobody_could_read_then_is_unknown_and_says_why() -> None:
    (found,) = replay([Policy("a", broken="policies/a.yaml: is no YAML")], [PastPromotion(SATURDAY, "", FACTS)])
    assert (found.outcome, found.reasons) == (Outcome.UNKNOWN, ("a: policies/a.yaml: is no YAML",))
