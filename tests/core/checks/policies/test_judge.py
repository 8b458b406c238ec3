"""The verdicts of each rule, as tables that read as the specification (policies.md §2, §4, §6)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitops_bg.core.checks.policy_judge import (
    AskedOfPeople,
    apps_asked_about,
    asked_of_people,
    asks_for_signed_override,
    judge,
    matches,
    name_of,
)
from gitops_bg.core.model.policy_facts import (
    Approval,
    CommitFacts,
    Others,
    Peer,
    Person,
    PolicyFacts,
    RuleVerdict,
    SignedBy,
    VersionFacts,
)
from gitops_bg.core.model.policy_rules import (
    After,
    Approvals,
    BreakGlass,
    Cel,
    Concurrency,
    DateSpan,
    Expression,
    Images,
    Match,
    Message,
    Mode,
    NoAnswer,
    Pattern,
    Policy,
    Proof,
    Role,
    Rule,
    Separation,
    Soak,
    Weekly,
    Windows,
)
from gitops_bg.core.model.version import AppKey, GroupKey

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)  # a Friday
HOUR = timedelta(hours=1)
WEB, API = AppKey("shop", "web"), AppKey("shop", "api")
ADA, BOB = Person("Ada", "ada@example.com"), Person("Bob", "bob@example.com")


def commit(message: str = "web 2", *trailers: tuple[str, str], by: Person = ADA, id_: str = "5" * 40) -> CommitFacts:
    return CommitFacts(id_, by, by, NOW, message, trailers)


NEW = VersionFacts("v1:new", 2, "1.2", ("registry.example/shop/web:1.2",), commit())
OLD = VersionFacts("v1:old", 1, "1.1", ("registry.example/shop/web:1.1",))
FACTS = PolicyFacts(WEB, NEW, OLD, available_since=NOW - HOUR)


def verdict(rule: Rule, facts: PolicyFacts = FACTS, **of: Any) -> RuleVerdict:
    (only,) = judge([Policy("p", (rule,), **of)], facts, NOW)
    return only


def pinned(*images: str) -> PolicyFacts:
    return replace(FACTS, to=replace(NEW, images=images))


def says(source: str, promotion: str = "", *trailers: tuple[str, str]) -> PolicyFacts:
    promoted = commit(promotion, *trailers, id_="6" * 40) if promotion else None
    return replace(FACTS, to=replace(NEW, source=commit(source)), promotion=promoted, promoted=promoted is not None)


def peers(*of: Peer, **changes: Any) -> PolicyFacts:
    return replace(FACTS, others=Others({each.who: each for each in of}), **changes)


def moving(name: str, namespace: str = "shop", group: str = "") -> Peer:
    return Peer(AppKey(namespace, name), moving=True, labels=(("team", group),) if group else ())


def queued(name: str, *place: Any) -> Peer:
    return Peer(AppKey("shop", name), queued=place)


def has_ticket(text: str) -> bool:
    return "INC-" in text


def approved(*by: Approval, **changes: Any) -> PolicyFacts:
    return replace(FACTS, approvals=by, authors=frozenset(["ada"]), **changes)


def yes(by: str, *groups: str, digest: str = "v1:new", ago: timedelta = HOUR, proof: Proof = Proof.FORGE) -> Approval:
    return Approval(by, digest, NOW - ago, proof, frozenset(groups))


WEEKEND = Windows(deny=(Weekly(frozenset([5, 6])),))
FRIDAY = Windows(deny=(Weekly(frozenset([4]), 14 * 60, reason="Friday afternoon"),))
STOP = Windows(deny=(DateSpan(datetime(2026, 11, 20), reason="INC-4711"),))
TICKET = Message(Pattern("INC-[0-9]+", has_ticket))
LEADS = Approvals(2, frozenset(["group:leads"]))
MERGE = Approvals(1, frozenset(["group:leads"]), proof=Proof.MERGE)


def merged(by: str, *groups: str, **changes: Any) -> Approval:
    return replace(yes(by, *groups, proof=Proof.MERGE), **changes)


OPEN: dict[str, tuple[Rule, PolicyFacts]] = {
    "a window that denies is not open": (WEEKEND, FACTS),
    "it has been available for so long": (Soak(HOUR), FACTS),
    "every image is from there": (Images(("registry.example/shop/*",)), FACTS),
    "pinned": (Images(require_digest=True), pinned("registry.example/web@sha256:" + "0" * 64)),
    "the source says it": (TICKET, says("fix INC-1", "promote")),
    "the promotion says it": (TICKET, says("fix", "promote, INC-1")),
    "the promotion has the trailer": (Message(trailer="Ticket"), says("fix", "promote", ("ticket", "T-1"))),
    "nobody else is on the move": (Concurrency(1), peers(Peer(API))),
    "others of another namespace": (Concurrency(1), peers(moving("a", "pay"), moving("b", "pay"))),
    "one of two": (Concurrency(2), peers(moving("api"))),
    "those of another group": (
        Concurrency(1, "group:team"),
        peers(moving("api", group="b"), labels=(("team", "a"),)),
    ),
    "who came later waits": (Concurrency(1), peers(queued("api", 9, ""), queue=(8, ""))),
    "it has begun": (Concurrency(1), peers(moving("api"), has_begun=True)),
    "it is itself on the move": (Concurrency(1), peers(moving("web"))),
    "the other is healthy": (After(API), peers(Peer(API, healthy_since=NOW - HOUR))),
    "for so long": (After(API, HOUR), peers(Peer(API, healthy_since=NOW - HOUR))),
    "of the same version": (After(API, same_version=True), peers(Peer(API, healthy_since=NOW, label="1.2"))),
    "in its own namespace": (After(AppKey("", "api")), peers(Peer(API, healthy_since=NOW))),
    "the expression is true": (Cel(Expression("x", lambda _: True)), FACTS),
    "two leads": (LEADS, approved(yes("bob", "leads"), yes("cy", "leads"))),
    "authors may": (Approvals(not_author=False), approved(yes("ada"))),
    "a lead merged it": (MERGE, approved(merge=merged("bob", "leads"), promoted=True)),
    "a lead merged it, and no forge tells who approved": (
        MERGE,
        replace(approved(merge=merged("bob", "leads"), promoted=True), approvals=None),
    ),
    "a lead approved it, whoever merged it": (
        MERGE,
        approved(yes("bob", "leads"), merge=merged("cy"), promoted=True),
    ),
    "one approved it, and another merged it": (
        replace(MERGE, count=2),
        approved(yes("bob", "leads"), merge=merged("cy", "leads"), promoted=True),
    ),
    "who merges it approves": (MERGE, approved()),
    "who merges it approves, and no forge tells who did already": (MERGE, replace(approved(), approvals=None)),
    "one approved it, and another merges it": (replace(MERGE, count=2), approved(yes("bob", "leads"))),
    "who merged it has no role but that": (
        Separation((Role.APPROVER, Role.MERGER)),
        approved(merge=merged("bob"), merger="bob", promoted=True),
    ),
    "nobody has two roles": (Separation((Role.AUTHOR, Role.MERGER)), approved(merger="bob")),
    "nobody merged it yet": (Separation((Role.AUTHOR, Role.MERGER)), approved()),
    "roles that nobody asks for are not asked": (
        Separation((Role.AUTHOR, Role.MERGER)),
        replace(approved(merger="bob"), approvals=None),
    ),
    "a void approval gives no role": (
        Separation((Role.AUTHOR, Role.APPROVER)),
        approved(replace(yes("ada"), void="ada asks for changes")),
    ),
    "somebody who counts for a rule that another is no part of": (
        Approvals(2, frozenset(["group:a", "group:b"]), distinct_groups=True),
        approved(yes("bob", "a", "x"), yes("cy", "b", "x")),
    ),
    "an approval counts for two weeks": (Approvals(), approved(yes("bob", ago=timedelta(days=14)))),
    "any two groups": (Approvals(2, distinct_groups=True), approved(yes("bob", "a"), yes("cy", "b"))),
    "who may be somebody else than the authors": (
        Approvals(),
        approved(replace(yes("x (gitea 7)"), may_be=frozenset(["bob"]))),
    ),
    "the author approved something else": (
        Separation((Role.AUTHOR, Role.APPROVER)),
        approved(yes("ada", digest="v1:old")),
    ),
    "who has the same place does not come before": (Concurrency(1), peers(queued("api", 4, ""), queue=(4, ""))),
    "those without the label are no group": (Concurrency(1, "group:team"), peers(moving("api"))),
    "the app that it names is known": (Cel(Expression("x", lambda _: True, frozenset([API]))), peers(Peer(API))),
}


@pytest.mark.parametrize("name", OPEN)
def test_open(name: str) -> None:
    rule, facts = OPEN[name]
    assert verdict(rule, facts).open, verdict(rule, facts).reason


def _no_answer(_: Mapping[str, object]) -> object:
    raise NoAnswer("apps is not there")


SHUT: dict[str, tuple[Rule, PolicyFacts, str, datetime | None]] = {
    "Friday afternoon": (
        FRIDAY,
        FACTS,
        "Friday afternoon: shut until Sat 2026-11-21 00:00 UTC",
        datetime(2026, 11, 21, tzinfo=UTC),
    ),
    "the line is stopped": (STOP, FACTS, "INC-4711: shut with no end within a year (UTC)", None),
    "not long enough": (
        Soak(2 * HOUR),
        FACTS,
        "available for 2h, until 2026-11-20 16:00:00 UTC",
        NOW + HOUR,
    ),
    "not available": (
        Soak(HOUR),
        replace(FACTS, available_since=None),
        "available for 1h, which begins when its pods are",
        None,
    ),
    "from elsewhere": (
        Images(("registry.example/pay/*",)),
        FACTS,
        "registry.example/shop/web:1.2 is none of registry.example/pay/*",
        None,
    ),
    "denied": (
        Images(deny=("*:1.2",)),
        FACTS,
        "registry.example/shop/web:1.2 is denied by *:1.2",
        None,
    ),
    "one of several images": (
        Images(("a/*",)),
        pinned("a/web:1", "b/proxy:2"),
        "b/proxy:2 is none of a/*",
        None,
    ),
    "not pinned": (
        Images(require_digest=True),
        FACTS,
        "registry.example/shop/web:1.2 is not pinned by @sha256:…",
        None,
    ),
    "images unknown": (
        Images(("*",)),
        replace(FACTS, to=replace(NEW, images=None)),
        "nobody can tell its images",
        None,
    ),
    "no ticket": (
        TICKET,
        says("fix", "promote"),
        "it needs a message like INC-[0-9]+; 5555555555 nor 6666666666 has none",
        None,
    ),
    "no trailer": (Message(trailer="Ticket"), says("fix"), "it needs a trailer Ticket: …; 5555555555 has none", None),
    "messages unknown": (
        TICKET,
        replace(FACTS, to=replace(NEW, source=None)),
        "nobody can read its commits now",
        None,
    ),
    "one of one on the move": (
        Concurrency(1),
        peers(moving("api")),
        "1 of 1 are on the move: shop/api; place 1 in the queue",
        None,
    ),
    "everywhere": (
        Concurrency(2, "all"),
        peers(moving("a", "pay"), moving("b", "web")),
        "2 of 2 are on the move: pay/a, web/b; place 1 in the queue",
        None,
    ),
    "others merged before": (
        Concurrency(1),
        peers(queued("a", 3, ""), queued("b", 5, ""), queue=(4, "")),
        "0 of 1 are on the move; place 2 in the queue",
        None,
    ),
    "a group on the move": (
        Concurrency(1),
        peers(Peer(GroupKey("shop", "store"), moving=True, services=((AppKey("shop", "cart-v2"), ()),))),
        "1 of 1 are on the move: group shop/store; place 1 in the queue",
        None,
    ),
    "others unknown": (
        Concurrency(1),
        replace(FACTS, others=Others(not_looked_at=3)),
        "3 others were not looked at yet",
        None,
    ),
    "the other is not healthy": (After(API), peers(Peer(API, phase="Promoting")), "shop/api is Promoting", None),
    "the other is unknown": (After(API), FACTS, "nobody has looked at shop/api yet", None),
    "not for so long": (
        After(API, 2 * HOUR),
        peers(Peer(API, healthy_since=NOW - HOUR)),
        "shop/api is healthy, and is to be so for 2h",
        NOW + HOUR,
    ),
    "of another version": (
        After(API, same_version=True),
        peers(Peer(API, healthy_since=NOW, label="1.1")),
        "shop/api serves 1.1, not 1.2",
        None,
    ),
    "the expression is false": (Cel(Expression("x", lambda _: False), "too soon"), FACTS, "too soon", None),
    "until it says": (
        Cel(Expression("x", lambda _: False), "too soon", Expression("y", lambda values: values["now"] + HOUR)),  # type: ignore[operator]
        FACTS,
        "too soon",
        NOW + HOUR,
    ),
    "no truth value": (Cel(Expression("x", lambda _: "yes")), FACTS, "x is 'yes', neither true nor false", None),
    "an error shuts": (
        Cel(Expression("x", _no_answer)),
        FACTS,
        "x: it cannot be evaluated: apps is not there",
        None,
    ),
    "nobody tells who approved": (
        LEADS,
        FACTS,
        "nobody tells who approved: connect a forge",
        None,
    ),
    "one of two": (
        LEADS,
        approved(yes("bob", "leads")),
        "1 of 2 approvals of group:leads: bob",
        None,
    ),
    "the same twice": (
        LEADS,
        approved(yes("bob", "leads"), yes("bob", "leads")),
        "1 of 2 approvals of group:leads: bob",
        None,
    ),
    "of another digest": (
        Approvals(),
        approved(yes("bob", digest="v1:old")),
        "0 of 1 approvals; bob approved other content",
        None,
    ),
    "too long ago": (
        Approvals(),
        approved(yes("bob", ago=timedelta(days=15))),
        "0 of 1 approvals; the approval of bob is older than 14d",
        None,
    ),
    "by its author": (Approvals(), approved(yes("ada")), "0 of 1 approvals; ada is an author", None),
    "by an account that may be its author's": (
        Approvals(),
        approved(replace(yes("x (gitea 7)"), may_be=frozenset(["ada", "bob"]))),
        "0 of 1 approvals; x (gitea 7) may be ada, an author",
        None,
    ),
    "by an account that may be of two authors": (
        Approvals(),
        replace(
            approved(replace(yes("x (gitea 7)"), may_be=frozenset(["ada", "bob"]))), authors=frozenset(["ada", "bob"])
        ),
        "0 of 1 approvals; x (gitea 7) may be ada, an author",
        None,
    ),
    "an approver may be the author": (
        Separation((Role.AUTHOR, Role.APPROVER)),
        approved(replace(yes("x (gitea 7)"), may_be=frozenset(["ada"]))),
        "ada is author and approver",
        None,
    ),
    "too weak": (
        Approvals(),
        approved(replace(yes("bob"), proof=Proof.MERGE)),
        "0 of 1 approvals; bob is known by merge only, not forge",
        None,
    ),
    "who merged it is no lead": (
        MERGE,
        approved(merge=merged("cy"), promoted=True),
        "0 of 1 approvals of group:leads; cy is none of them",
        None,
    ),
    "its author merged it": (
        MERGE,
        approved(merge=merged("ada", "leads"), promoted=True),
        "0 of 1 approvals of group:leads; ada is an author",
        None,
    ),
    "the agent merged it": (
        MERGE,
        approved(merge=merged("x", "leads", void="the agent merged it"), promoted=True),
        "0 of 1 approvals of group:leads; the agent merged it",
        None,
    ),
    "who merged it asks for changes now": (
        MERGE,
        approved(
            replace(yes("bob", "leads", ago=timedelta()), void="no", objection=True),
            merge=merged("bob", "leads"),
            promoted=True,
        ),
        "0 of 1 approvals of group:leads; no",
        None,
    ),
    "merged in the future": (
        MERGE,
        approved(merge=merged("bob", "leads", at=NOW + HOUR), promoted=True),
        "0 of 1 approvals of group:leads; the approval of bob is dated in the future",
        None,
    ),
    "one person merged it and approved it": (
        replace(MERGE, count=2),
        approved(yes("bob", "leads"), merge=merged("bob", "leads"), promoted=True),
        "1 of 2 approvals of group:leads: bob",
        None,
    ),
    "a merge is no review": (
        Approvals(),
        approved(merge=merged("bob"), promoted=True),
        "0 of 1 approvals",
        None,
    ),
    "nobody can tell who merged it": (
        MERGE,
        replace(approved(promoted=True), approvals=None),
        "nobody can tell who merged it",
        None,
    ),
    "two must still approve it": (replace(MERGE, count=2), approved(), "0 of 2 approvals of group:leads", None),
    "the agent would merge it": (MERGE, approved(promoted_by_agent=True), "0 of 1 approvals of group:leads", None),
    "two of one group": (
        Approvals(2, frozenset(["group:a", "group:b"]), distinct_groups=True),
        approved(yes("bob", "a"), yes("cy", "a")),
        "1 of 2 approvals of group:a, group:b: bob; cy is of the same group",
        None,
    ),
    "one alone": (Approvals(), approved(), "0 of 1 approvals", None),
    "by somebody else": (
        LEADS,
        approved(yes("bob", "leads"), yes("cy", "ops")),
        "1 of 2 approvals of group:leads: bob; cy is none of them",
        None,
    ),
    "named, but not by this name": (
        Approvals(by=frozenset(["bob"])),
        approved(yes("bob (gitea 4)")),
        "0 of 1 approvals of bob; bob (gitea 4) is none of them",
        None,
    ),
    "a void one": (
        Approvals(),
        approved(replace(yes("bob"), void="bob asks for changes"), yes("cy", ago=timedelta(days=20))),
        "0 of 1 approvals; the approval of cy is older than 14d; bob asks for changes",
        None,
    ),
    "the forge has not said": (
        LEADS,
        replace(FACTS, unheard="the forge has not answered yet"),
        "nobody tells who approved: the forge has not answered yet",
        None,
    ),
    "what it said last": (
        LEADS,
        replace(approved(yes("bob", "leads")), unheard="as of 12:00 UTC: the forge is down"),
        "1 of 2 approvals of group:leads: bob; as of 12:00 UTC: the forge is down",
        None,
    ),
    "two of one group, whichever it is": (
        Approvals(2, distinct_groups=True),
        approved(yes("bob", "a"), yes("cy", "a")),
        "1 of 2 approvals: bob; cy is of the same group",
        None,
    ),
    "nobody knows the authors": (
        Approvals(),
        replace(approved(yes("bob")), authors=None),
        "nobody can tell its authors",
        None,
    ),
    "nobody knows whose roles": (
        Separation((Role.AUTHOR, Role.MERGER)),
        replace(approved(), authors=None),
        "nobody can tell its authors",
        None,
    ),
    "nobody knows who approved, for roles": (
        Separation((Role.AUTHOR, Role.APPROVER)),
        replace(approved(), approvals=None),
        "nobody tells who approved: connect a forge",
        None,
    ),
    "nobody knows who merged, for roles": (
        Separation((Role.APPROVER, Role.MERGER)),
        replace(approved(), promoted=True, unheard="the forge has not answered yet"),
        "nobody can tell who merged it: the forge has not answered yet",
        None,
    ),
    "the author approves": (
        Separation((Role.AUTHOR, Role.APPROVER)),
        approved(yes("ada")),
        "ada is author and approver",
        None,
    ),
    "three on the move": (
        Concurrency(1),
        peers(moving("a"), moving("b"), moving("c")),
        "3 of 1 are on the move: shop/a, shop/b, shop/c; place 1 in the queue",
        None,
    ),
    "more than three on the move": (
        Concurrency(1),
        peers(moving("a"), moving("b"), moving("c"), moving("d")),
        "4 of 1 are on the move: shop/a, shop/b, shop/c …; place 1 in the queue",
        None,
    ),
    "of the same group": (
        Concurrency(1, "group:team"),
        peers(moving("api", "pay", group="a"), labels=(("team", "a"),)),
        "1 of 1 are on the move: pay/api; place 1 in the queue",
        None,
    ),
    "for a minute and a second": (
        After(API, timedelta(seconds=61)),
        peers(Peer(API, healthy_since=NOW)),
        "shop/api is healthy, and is to be so for 1m1s",
        NOW + timedelta(seconds=61),
    ),
    "the app that it names is unknown": (
        Cel(Expression("x", lambda _: True, frozenset([API]))),
        FACTS,
        "nobody has looked at shop/api yet",
        None,
    ),
    "the author merges": (
        Separation((Role.AUTHOR, Role.APPROVER, Role.MERGER)),
        approved(yes("bob"), merger="ada"),
        "ada is author and merger",
        None,
    ),
}


@pytest.mark.parametrize("name", SHUT)
def test_shut(name: str) -> None:
    rule, facts, reason, until = SHUT[name]
    found = verdict(rule, facts)
    assert (found.open, found.reason, found.until) == (False, reason, until)
    assert found.holds


UNKNOWN = {
    "images unknown",
    "messages unknown",
    "others unknown",
    "the other is unknown",
    "the app that it names is unknown",
    "nobody tells who approved",
    "nobody knows the authors",
    "nobody knows whose roles",
    "nobody knows who approved, for roles",
    "nobody can tell who merged it",
    "nobody knows who merged, for roles",
    "the forge has not said",
}


@pytest.mark.parametrize("name", SHUT)
def test_what_nobody_can_tell_is_told_apart(name: str) -> None:
    rule, facts, _, _ = SHUT[name]
    assert verdict(rule, facts).unknown is (name in UNKNOWN)


@pytest.mark.parametrize("name", OPEN)
def test_what_is_open_is_known(name: str) -> None:
    assert not verdict(*OPEN[name]).unknown


@pytest.mark.parametrize(
    ("answer", "until"),
    [
        (NOW + HOUR, NOW + HOUR),
        (NOW, None),
        (NOW - HOUR, None),
        ((NOW + HOUR).replace(tzinfo=None), None),
        ("tomorrow", None),
        (None, None),
    ],
    ids=str,
)
def test_an_expression_says_until_when_by_a_moment_to_come(answer: object, until: datetime | None) -> None:
    rule = Cel(Expression("x", lambda _: False), "too soon", Expression("y", lambda _: answer))
    assert verdict(rule).until == until
    assert verdict(replace(rule, until=Expression("y", _no_answer))).until is None


def test_an_expression_is_called_by_its_message_or_itself() -> None:
    assert verdict(Cel(Expression("x", lambda _: True))).reason == "x"
    assert verdict(Cel(Expression("x", lambda _: True), "not too soon")).reason == "not too soon"
    assert verdict(Cel(Expression("x", lambda _: False))).reason == "x is false"


def test_only_apps_that_a_policy_is_for_take_a_place_of_one_another() -> None:
    mine = Match(apps=("web", "a"))
    assert verdict(Concurrency(1), peers(moving("b")), match=mine).open
    assert not verdict(Concurrency(1), peers(moving("a"), moving("b")), match=mine).open
    assert verdict(After(API), peers(Peer(API, healthy_since=NOW)), match=mine).open, "another rule sees all"


@pytest.mark.parametrize(
    ("rule", "called"),
    [(WEEKEND, "windows"), (Soak(HOUR), "soak"), (LEADS, "approvals"), (Cel(Expression("x", lambda _: True)), "cel")],
)
def test_a_rule_is_called_what_the_file_calls_it(rule: Rule, called: str) -> None:
    assert name_of(rule) == called


def test_the_apps_that_policies_ask_about_are_those_that_rules_name() -> None:
    cart = AppKey("pay", "cart")
    named = Cel(Expression("x", lambda _: True, frozenset([cart])))
    rules: tuple[Rule, ...] = (After(AppKey("", "api")), named, LEADS)
    assert apps_asked_about([Policy("p", rules)], WEB.namespace) == {API, cart}


@pytest.mark.parametrize("name", SHUT)
def test_a_policy_that_warns_holds_nothing_and_says_the_same(name: str) -> None:
    rule, facts, reason, _ = SHUT[name]
    found = verdict(rule, facts, mode=Mode.WARN)
    assert (found.open, found.reason, found.holds) == (False, reason, False)


@pytest.mark.parametrize(
    ("rule", "counts"),
    [
        (FRIDAY, True),
        (Images(("nowhere/*",)), True),
        (Message(trailer="Ticket"), True),
        (Concurrency(1), True),
        (After(API), True),
        (Cel(Expression("x", lambda _: False)), True),
        (Soak(HOUR), False),
        (LEADS, False),
        (Separation((Role.AUTHOR, Role.MERGER)), False),
    ],
)
def test_what_counts_for_the_first_deployment(rule: Rule, counts: bool) -> None:
    """Nothing serves: nobody is to be protected from what did not prove itself, or was not approved (decision 33)."""
    assert bool(judge([Policy("p", (rule,))], replace(FACTS, serving=None), NOW)) is counts


def test_every_rule_of_every_policy_is_judged() -> None:
    found = judge([Policy("a", (WEEKEND, FRIDAY)), Policy("b", (STOP,))], FACTS, NOW)
    assert [(each.policy, each.rule, each.open) for each in found] == [
        ("a", "windows", True),
        ("a", "windows", False),
        ("b", "windows", False),
    ]


def test_a_broken_policy_is_shut() -> None:
    (found,) = judge([Policy("p", broken="policies/p.yaml cannot be read")], FACTS, NOW)
    assert (found.open, found.reason, found.holds) == (False, "policies/p.yaml cannot be read", True)


LETS_ADA = BreakGlass(("group:incident",), frozenset(["ada@example.com"]))
OVERRIDES = (("Bg-Override", "p"), ("Bg-Reason", "INC-4711"))


@pytest.mark.parametrize(
    ("override", "promotion", "why_not"),
    [
        (LETS_ADA, commit("go", *OVERRIDES), None),
        (LETS_ADA, commit("go", ("bg-override", "other, p"), OVERRIDES[1]), None),
        (LETS_ADA, commit("go", *OVERRIDES, by=replace(ADA, email="ADA@example.com")), None),
        (LETS_ADA, commit("go"), ""),
        (LETS_ADA, commit("go", ("Bg-Override", "other"), OVERRIDES[1]), ""),
        (LETS_ADA, commit("go", OVERRIDES[0]), "; its override says no Bg-Reason"),
        (
            LETS_ADA,
            commit("go", *OVERRIDES, by=BOB),
            "; Bob <bob@example.com> may not override it: that is for group:incident (policies/people.yaml)",
        ),
        (None, commit("go", *OVERRIDES), "; the policy has no override, so it can be changed only"),
    ],
)
def test_the_glass_is_broken_by_who_may_and_says_why(
    override: BreakGlass | None, promotion: CommitFacts, why_not: str | None
) -> None:
    facts = replace(FACTS, promotion=promotion, promoted=True)
    found = verdict(STOP, facts, override=override)
    assert not found.open
    assert found.holds is (why_not is not None)
    if why_not is not None:
        assert found.reason == "INC-4711: shut with no end within a year (UTC)" + why_not
    else:
        assert found.overriding is not None
        assert (found.overriding.reason, found.overriding.commit) == ("INC-4711", "5" * 40)


SIGNS = BreakGlass(("grace",), frozenset(["ada@example.com"]), Proof.SIGNED, frozenset(["grace"]))


@pytest.mark.parametrize(
    ("signed", "why_not"),
    [
        (SignedBy("grace"), None),
        (SignedBy("grace", expires=NOW + HOUR), None),
        (SignedBy("grace", expires=NOW), "; the key by which grace signed its override has expired"),
        (SignedBy("bob"), "; bob may not override it: that is for grace (policies/people.yaml)"),
        (
            SignedBy(why_not="it is not signed"),
            "; its override counts only signed, and it is not signed: `gitops-bg promote --override … --sign`",
        ),
        (
            None,
            "; its override counts only signed, and nobody can check its signature: "
            "`gitops-bg promote --override … --sign`",
        ),
    ],
)
def test_a_glass_that_asks_for_a_signature_believes_no_address(signed: SignedBy | None, why_not: str | None) -> None:
    """Ada's address is among those of the policy: it says nothing."""
    promotion = replace(commit("go", *OVERRIDES), signed=signed)
    found = verdict(STOP, replace(FACTS, promotion=promotion, promoted=True), override=SIGNS)
    assert found.holds is (why_not is not None)
    if why_not is None:
        assert found.overriding is not None
        assert (found.overriding.by, found.overriding.proof) == ("grace", Proof.SIGNED)
    else:
        assert found.reason == "INC-4711: shut with no end within a year (UTC)" + why_not


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, ""),
        ({"at": NOW + timedelta(minutes=10)}, ""),
        ({"at": NOW + timedelta(minutes=11)}, "the approval of bob is dated in the future"),
        ({"at": NOW + timedelta(minutes=11), "proof": Proof.FORGE}, ""),
    ],
)
def test_a_merge_that_approves_is_not_dated_ahead(changes: dict[str, Any], says: str) -> None:
    given = replace(Approval("bob", "v1:new", NOW, Proof.MERGE), **changes)
    found = verdict(Approvals(not_author=False, proof=Proof.MERGE), replace(FACTS, approvals=(given,), promoted=True))
    assert says in found.reason
    assert found.open is (says == "")


def test_whether_a_glass_asks_for_a_signature() -> None:
    assert asks_for_signed_override([Policy("a"), Policy("b", override=SIGNS)])
    assert not asks_for_signed_override([Policy("a"), Policy("b", override=LETS_ADA)])


def test_an_override_is_for_the_version_that_the_commit_promotes() -> None:
    facts = replace(FACTS, promotion=commit("go", *OVERRIDES), promoted=False)
    assert verdict(STOP, facts, override=LETS_ADA).holds


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        (Match(), True),
        (Match(namespaces=("shop",)), True),
        (Match(namespaces=("pay-*", "sh?p")), True),
        (Match(namespaces=("pay-*",)), False),
        (Match(apps=("web",), namespaces=("shop",)), True),
        (Match(apps=("web",), namespaces=("pay",)), False),
        (Match(labels=(("tier", "1"),)), True),
        (Match(labels=(("tier", "[12]"),)), True),
        (Match(labels=(("tier", "1"), ("team", "*"))), False),
        (Match(environments=("pr*",)), True),
        (Match(environments=("dev", "staging")), False),
    ],
)
def test_whom_a_policy_is_for(match: Match, fits: bool) -> None:
    assert matches(match, WEB, (("tier", "1"),), "prod") is fits


@pytest.mark.parametrize(
    ("rule", "promoted", "remedy"),
    [
        (Approvals(), False, "let somebody who did not write it approve it"),
        (LEADS, False, "let group:leads approve it"),
        (LEADS, True, "let group:leads approve it"),
    ],
)
def test_a_gate_that_lacks_approvals_says_who_must_do_what(rule: Approvals, promoted: bool, remedy: str) -> None:
    assert verdict(rule, approved(promoted=promoted)).remedy == remedy


def test_an_open_gate_says_when_the_first_approval_that_it_needs_is_too_old() -> None:
    facts = approved(yes("bob", ago=3 * HOUR), yes("cy", ago=2 * HOUR), yes("di", ago=HOUR))
    found = verdict(Approvals(2, max_age=4 * HOUR), facts)
    assert (found.open, found.reason) == (True, "3 of 2 approvals: bob, cy, di")
    assert found.until == NOW + 2 * HOUR + timedelta.resolution
    policies = [Policy("p", (Approvals(2, max_age=4 * HOUR),))]
    states = [judge(policies, facts, found.until + step)[0].open for step in (-timedelta.resolution, timedelta())]
    assert states == [True, False]


def test_who_merges_it_can_be_the_last_until_the_first_approval_is_too_old() -> None:
    facts = approved(yes("bob", "leads", ago=3 * HOUR), yes("cy", "leads", ago=HOUR))
    found = verdict(replace(MERGE, count=3, max_age=4 * HOUR), facts)
    assert (found.open, found.reason) == (
        True,
        "2 of 3 approvals of group:leads: bob, cy; who merges it is the last",
    )
    assert found.until == NOW + HOUR + timedelta.resolution
    assert verdict(MERGE, approved()).until is None


@pytest.mark.parametrize(
    ("facts", "remedy"),
    [
        (approved(promoted_by_agent=True), "let group:leads run: gitops-bg promote shop/web"),
        (approved(promoted=True), "let group:leads approve it"),
    ],
)
def test_the_remedy_of_a_rule_with_proof_merge_is_what_can_still_be_done(facts: PolicyFacts, remedy: str) -> None:
    assert verdict(MERGE, facts).remedy == remedy


ASKED = {
    (MERGE,): AskedOfPeople(approvals=True, authors=True, merger=True),
    (Approvals(not_author=False, proof=Proof.MERGE), Approvals(not_author=False)): AskedOfPeople(True, merger=True),
    (): AskedOfPeople(),
    (WEEKEND,): AskedOfPeople(),
    (Approvals(),): AskedOfPeople(approvals=True, authors=True),
    (Approvals(not_author=False),): AskedOfPeople(approvals=True),
    (Approvals(not_author=False), Approvals()): AskedOfPeople(approvals=True, authors=True),
    (Approvals(), Approvals(not_author=False)): AskedOfPeople(approvals=True, authors=True),
    (Separation((Role.AUTHOR, Role.MERGER)),): AskedOfPeople(authors=True, merger=True),
    (Separation((Role.APPROVER, Role.AUTHOR)), WEEKEND): AskedOfPeople(approvals=True, authors=True),
    (Separation((Role.APPROVER, Role.MERGER)), Separation((Role.AUTHOR, Role.MERGER))): AskedOfPeople(True, True, True),
    (Separation((Role.AUTHOR, Role.MERGER)), Separation((Role.APPROVER, Role.MERGER))): AskedOfPeople(True, True, True),
    (Cel(Expression("size(approvals) > 0", lambda _: True)),): AskedOfPeople(approvals=True),
    (Cel(Expression("x", lambda _: True), until=Expression("approvals[0].at", lambda _: NOW)),): AskedOfPeople(
        approvals=True
    ),
    (Cel(Expression("x", lambda _: True)),): AskedOfPeople(),
}


@pytest.mark.parametrize("rules", ASKED)
def test_people_are_asked_about_only_where_a_rule_asks(rules: tuple[Rule, ...]) -> None:
    found = asked_of_people([Policy("p", rules)])
    assert found == ASKED[rules]
    assert bool(found) is any((found.approvals, found.authors, found.merger))
