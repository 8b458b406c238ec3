"""Judges policies: `judge(policies, facts, now)` returns for every rule whether it is open, why not, and until when.

Pure. All rules of all policies must be open; there is no priority, and nothing is guessed: an unknown fact shuts its
rule, and the reason says so (policies.md §3).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from gitops_bg.core.checks.policies import rules as of
from gitops_bg.core.checks.policies.match import matches
from gitops_bg.core.checks.policies.people import approvals, separation
from gitops_bg.core.errors import InternalError, guarded
from gitops_bg.core.model.policies.facts import CommitFacts, Facts, Overriding, RuleVerdict
from gitops_bg.core.model.policies.rules import (
    After,
    Approvals,
    BreakGlass,
    Concurrency,
    Expression,
    Images,
    Message,
    Policy,
    Proof,
    Rule,
    Separation,
    Soak,
    Windows,
)

Judging = Callable[..., of.RuleAnswer]

_JUDGES: dict[type, tuple[str, Judging]] = {
    Windows: ("windows", of.windows),
    Soak: ("soak", of.soak),
    Images: ("images", of.images),
    Message: ("message", of.message),
    Concurrency: ("concurrency", of.concurrency),
    After: ("after", of.after),
    Expression: ("cel", of.expression),
    Approvals: ("approvals", approvals),
    Separation: ("separation", separation),
}

NOT_FOR_THE_FIRST = (Soak, Approvals, Separation)
"""Not for a first deployment: no version serves yet that these rules could protect."""

OVERRIDE, REASON = "Bg-Override", "Bg-Reason"
"""The trailers of a promotion commit that override policies (policies.md §6)."""


def judge(policies: Iterable[Policy], facts: Facts, now: datetime) -> tuple[RuleVerdict, ...]:
    """Return the verdicts of all rules that count, in the order of the policies and of their rules. ``now`` is UTC."""
    return tuple(verdict for policy in policies for verdict in _of_policy(policy, facts, now))


def judge_each(policies: Iterable[Policy], facts: Callable[[], Facts], now: datetime) -> tuple[RuleVerdict, ...]:
    """Judge each policy for itself. One that hits a bug is shut, for its apps; rollbacks ask no policy and go on."""
    return tuple(verdict for policy in policies for verdict in _judged_alone(policy, facts, now))


def _judged_alone(policy: Policy, facts: Callable[[], Facts], now: datetime) -> tuple[RuleVerdict, ...]:
    try:
        with guarded("judging it"):
            return judge((policy,), facts(), now)
    except InternalError as error:
        remedy = f"change or remove {policy.name} in main, and report the bug"
        return (RuleVerdict(policy.name, "policy", open=False, reason=str(error), remedy=remedy, unknown=True),)


def name_of(rule: Rule) -> str:
    """Return the name of a rule in the file."""
    return _JUDGES[type(rule)][0]


def _of_policy(policy: Policy, facts: Facts, now: datetime) -> Iterator[RuleVerdict]:
    if policy.broken:
        remedy = "correct the file; `gitops-bg check` names the mistake"
        yield RuleVerdict(policy.name, "policy", open=False, reason=policy.broken, remedy=remedy)
        return
    overriding, why_not = _overriding(policy, facts, now)
    for rule in policy.rules:
        if facts.serving is None and isinstance(rule, NOT_FOR_THE_FIRST):
            continue
        verdict = _of_rule(policy, rule, facts, now)
        if not verdict.open and overriding:
            verdict = replace(verdict, overriding=overriding)
        elif not verdict.open and why_not:
            verdict = replace(verdict, reason=f"{verdict.reason}; {why_not}")
        yield verdict


def _of_rule(policy: Policy, rule: Rule, facts: Facts, now: datetime) -> RuleVerdict:
    name, judging = _JUDGES[type(rule)]
    answer = judging(rule, _counting(policy, facts) if isinstance(rule, Concurrency) else facts, now)
    return RuleVerdict(
        policy.name, name, answer.open, answer.reason, answer.until, policy.mode, None, answer.remedy, answer.unknown
    )


def _counting(policy: Policy, facts: Facts) -> Facts:
    """Keep only the others that the policy is for: only these compete for its places."""
    peers = {
        who: peer
        for who, peer in facts.others.peers.items()
        if any(matches(policy.match, app, labels) for app, labels in peer.apps)
    }
    return replace(facts, others=replace(facts.others, peers=peers))


def _overriding(policy: Policy, facts: Facts, now: datetime) -> tuple[Overriding | None, str]:
    """Return who overrides it by the promotion's own commit, for this digest only; or why that does not count."""
    promotion = facts.promotion
    if promotion is None or not facts.promoted or policy.name not in _named(promotion.trailer(OVERRIDE)):
        return None, ""
    if policy.override is None:
        return None, "the policy has no override, so it can be changed only"
    reason = "; ".join(promotion.trailer(REASON))
    if not reason:
        return None, f"its override says no {REASON}"
    person, why_not = (_signing if policy.override.proof is Proof.SIGNED else _writing)(policy.override, promotion, now)
    if why_not:
        return None, why_not
    return Overriding(policy.name, person, reason, promotion.commit, policy.override.proof), ""


def _writing(lets: BreakGlass, promotion: CommitFacts, _: datetime) -> tuple[str, str]:
    """Return the author of the commit, as Git has it."""
    allowed = (each for each in (promotion.committer, promotion.author) if each.email.lower() in lets.emails)
    person = next(allowed, None)
    if person is None:
        return "", _not_among(str(promotion.committer), lets)
    return str(person), ""


def _signing(lets: BreakGlass, promotion: CommitFacts, now: datetime) -> tuple[str, str]:
    """Return whose signature the commit has, whoever its author is."""
    signed = promotion.signed
    if signed is None or not signed.name:
        why = signed.why_not if signed else "nobody can check its signature"
        return "", f"its override counts only signed, and {why}: `gitops-bg promote --override … --sign`"
    if signed.expires is not None and signed.expires <= now:
        return "", f"the key by which {signed.name} signed its override has expired"
    return (signed.name, "") if signed.name in lets.names else ("", _not_among(signed.name, lets))


def _not_among(who: str, lets: BreakGlass) -> str:
    return f"{who} may not override it: that is for {', '.join(lets.by)} (policies/people.yaml)"


def _named(trailers: tuple[str, ...]) -> set[str]:
    return {name.strip() for trailer in trailers for name in trailer.replace(",", " ").split()}
