"""What policies would have said of past promotions, each judged as of its own time (policies.md §3).

Facts that the past does not have are unknown, and counted separately: never as allowed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.checks.policies.judge import judge
from gitops_bg.core.checks.policies.match import matching
from gitops_bg.core.model.policies.facts import Facts, RuleVerdict
from gitops_bg.core.model.policies.rules import Policy
from gitops_bg.core.model.version import AppKey

UNTOLD = frozenset(["soak", "concurrency", "after"])
"""The rules on facts that no ledger has: how long a version was available, and the state of other apps."""
_OF_PEOPLE = frozenset(["approvals", "separation"])
"""The rules on facts that the ledger has if a forge was asked who merged and approved."""


AS_A_WHOLE = "policy"
"""The `Verdict.rule` of a policy that could not be read: its rules are unknown."""


class Outcome(StrEnum):
    """The outcome of a promotion; with several policies, the last that applies counts."""

    ALLOWED = "allowed"
    OVERRIDDEN = "overridden"
    UNKNOWN = "unknown"
    WAITED = "waited"
    REFUSED = "refused"


_GRAVITY = tuple(Outcome)


@dataclass(frozen=True, slots=True)
class PastPromotion:
    """A past promotion, and what is known of it."""

    at: datetime
    commit: str
    facts: Facts


@dataclass(frozen=True, slots=True)
class Replayed:
    """The outcome of one promotion."""

    app: AppKey
    at: datetime
    commit: str
    outcome: Outcome
    until: datetime | None = None
    """When it would have continued, if it would have waited."""
    policies: tuple[tuple[str, Outcome], ...] = ()
    """By the names of the matching policies."""
    untils: tuple[tuple[str, datetime], ...] = ()
    """For each policy that would have made it wait: until when."""
    reasons: tuple[str, ...] = ()


def replay(policies: Iterable[Policy], past: Iterable[PastPromotion]) -> list[Replayed]:
    """Return every promotion, judged as of its own time by the policies for its app."""
    given = tuple(policies)
    return [_replayed(given, each) for each in past]


def _replayed(policies: tuple[Policy, ...], past: PastPromotion) -> Replayed:
    facts = past.facts
    matched = matching(policies, facts.app, facts.labels)
    verdicts = judge(matched, facts, past.at)
    outcomes = {policy.name: Outcome.ALLOWED for policy in matched}
    for verdict in verdicts:
        outcomes[verdict.policy] = max(outcomes[verdict.policy], _outcome(verdict), key=_GRAVITY.index)
    outcome = max(outcomes.values(), key=_GRAVITY.index, default=Outcome.ALLOWED)
    held = [verdict for verdict in verdicts if _outcome(verdict) is not Outcome.ALLOWED]
    waited = [(each.policy, each.until) for each in held if each.until and _outcome(each) is Outcome.WAITED]
    untils = {name: max(until for policy, until in waited if policy == name) for name, _ in waited}
    return Replayed(
        facts.app,
        past.at,
        past.commit,
        outcome,
        max(untils.values()) if outcome is Outcome.WAITED else None,
        tuple(sorted(outcomes.items())),
        tuple(sorted(untils.items())),
        tuple(f"{verdict.policy}: {_why(verdict)}" for verdict in held),
    )


def _outcome(verdict: RuleVerdict) -> Outcome:
    if verdict.overriding:
        return Outcome.OVERRIDDEN
    if not verdict.holds:
        return Outcome.ALLOWED
    if verdict.unknown or verdict.rule in UNTOLD or verdict.rule == AS_A_WHOLE:
        return Outcome.UNKNOWN
    return Outcome.WAITED if verdict.until else Outcome.REFUSED


def _why(verdict: RuleVerdict) -> str:
    untold = verdict.rule in UNTOLD or (verdict.rule in _OF_PEOPLE and verdict.unknown)
    return f"the ledger does not tell ({verdict.rule})" if untold else verdict.reason
