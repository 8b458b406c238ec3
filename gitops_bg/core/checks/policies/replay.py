"""What policies would have said of promotions that have been, each judged as of its own time (policies.md §3).

What the past does not say is unknown, and counted apart: never as allowed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.checks.policies.judge import judge
from gitops_bg.core.checks.policies.match import matching
from gitops_bg.core.model.policies.facts import Facts, Verdict
from gitops_bg.core.model.policies.rules import Policy
from gitops_bg.core.model.version import AppKey

UNTOLD = frozenset(["soak", "concurrency", "after", "approvals", "separation"])
"""The rules on what no ledger tells: how long a version was up, how other apps were, who approved."""


class Outcome(StrEnum):
    """What would have become of a promotion; the last that holds of several policies counts."""

    ALLOWED = "allowed"
    OVERRIDDEN = "overridden"
    UNKNOWN = "unknown"
    WAITED = "waited"
    REFUSED = "refused"


_GRAVITY = tuple(Outcome)


@dataclass(frozen=True, slots=True)
class PastPromotion:
    """One that has been, and what is known of it."""

    at: datetime
    commit: str
    facts: Facts


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of one."""

    app: AppKey
    at: datetime
    commit: str
    outcome: Outcome
    until: datetime | None = None
    """When it would have gone on, where it would have waited."""
    policies: tuple[tuple[str, Outcome], ...] = ()
    """By the names of those that match."""
    untils: tuple[tuple[str, datetime], ...] = ()
    """When each policy that would have had it wait would have let it go."""
    reasons: tuple[str, ...] = ()


def replay(policies: Iterable[Policy], past: Iterable[PastPromotion]) -> list[Replayed]:
    """Every promotion, judged as of its own time by the policies that are for its app."""
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


def _outcome(verdict: Verdict) -> Outcome:
    if verdict.overriding:
        return Outcome.OVERRIDDEN
    if not verdict.holds:
        return Outcome.ALLOWED
    if verdict.unknown or verdict.rule in UNTOLD:
        return Outcome.UNKNOWN
    return Outcome.WAITED if verdict.until else Outcome.REFUSED


def _why(verdict: Verdict) -> str:
    return f"the ledger does not tell ({verdict.rule})" if verdict.rule in UNTOLD else verdict.reason
