"""Judges policies: which are for an app, and for every rule of them whether it is open, why not, and until when; of
now, and of past promotions, each as of its own time (policies.md §3).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase

from gitops_bg.core.checks import policy_rules as of
from gitops_bg.core.checks.policy_people import approvals, separation
from gitops_bg.core.checks.release_choice import after_environments, not_proven
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InternalError, guarded
from gitops_bg.core.model.policy_facts import CommitFacts, Overriding, PolicyFacts, RuleVerdict
from gitops_bg.core.model.policy_rules import (
    After,
    Approvals,
    BreakGlass,
    Cel,
    Concurrency,
    Images,
    Match,
    Message,
    Mode,
    Policy,
    Proof,
    Role,
    Rule,
    Separation,
    Soak,
    Windows,
)
from gitops_bg.core.model.version import AppKey

Labels = tuple[tuple[str, str], ...]


def matches(match: Match, app: AppKey, labels: Labels, environment: str) -> bool:
    """Return whether a policy is for an app whose target has these labels, in an environment. Where the repository has
    none (empty), nobody can tell which is meant, and the policy is for the app: `gitops-bg check` names that mistake.

    >>> matches(Match(namespaces=("pay-*",)), AppKey("pay-eu", "web"), (), "")
    True
    >>> matches(Match(labels=(("tier", "1"),)), AppKey("shop", "web"), (("tier", "2"),), "")
    False
    >>> prod = Match(environments=("prod",))
    >>> [matches(prod, AppKey("shop", "web"), (), environment) for environment in ("prod", "dev", "")]
    [True, False, True]
    """
    return (
        _any(match.namespaces, app.namespace)
        and (not environment or _any(match.environments, environment))
        and _any(match.apps, app.name)
        and all(any(key == name and fnmatchcase(value, glob) for key, value in labels) for name, glob in match.labels)
    )


def may_cover(match: Match, namespace: str) -> bool:
    """Return whether a policy may be for apps of a namespace; the empty one stands for all.

    >>> may_cover(Match(namespaces=("pay-*",)), "shop"), may_cover(Match(namespaces=("pay-*",)), "")
    (False, True)
    """
    return not namespace or _any(match.namespaces, namespace)


def matching(policies: Iterable[Policy], app: AppKey, labels: Labels, environment: str) -> tuple[Policy, ...]:
    """Return the policies for an app in an environment, by name."""
    found = (each for each in policies if matches(each.match, app, labels, environment))
    return tuple(sorted(found, key=lambda each: each.name))


def apps_asked_about(policies: Iterable[Policy], namespace: str) -> frozenset[AppKey]:
    """Return the other apps that rules of these policies name, for who is in a namespace."""
    named: set[AppKey] = set()
    for rule in _rules(policies):
        if isinstance(rule, After):
            named |= {other} if (other := rule.of(namespace)) is not None else set()
        elif isinstance(rule, Cel):
            named |= rule.apps
    return frozenset(named)


def scopes_asked_about(policies: Iterable[Policy]) -> frozenset[str]:
    """Return the scopes in which rules of these policies count apps together."""
    return frozenset(rule.scope for rule in _rules(policies) if isinstance(rule, Concurrency))


def proofs_asked_for(policies: Iterable[Policy]) -> tuple[After, ...]:
    """Return the rules that ask whether a release is proven in environments before."""
    return tuple(rule for rule in _rules(policies) if isinstance(rule, After) and rule.from_)


def proofs_awaited(policies: Iterable[Policy], app: AppKey, labels: Labels, environment: str) -> tuple[After, ...]:
    """Return those of them that keep releases of an app out of an environment."""
    found = matching(policies, app, labels, environment)
    return proofs_asked_for(each for each in found if each.mode is Mode.ENFORCE)


def images_asked_about(policies: Iterable[Policy]) -> frozenset[str]:
    """Return the environments whose images rules ask for."""
    return frozenset(rule.same_as for rule in _rules(policies) if isinstance(rule, Images) and rule.same_as)


def asks_for_messages(policies: Iterable[Policy]) -> bool:
    """Return whether a rule asks for commit messages."""
    return any(isinstance(rule, Message | Cel) for rule in _rules(policies))


@dataclass(frozen=True, slots=True)
class AskedOfPeople:
    """What rules ask about people. All False: no rule asks anything."""

    approvals: bool = False
    authors: bool = False
    merger: bool = False

    def __bool__(self) -> bool:
        return self.approvals or self.authors or self.merger


def asked_of_people(policies: Iterable[Policy]) -> AskedOfPeople:
    """Return whether rules ask who approved, who the authors are, who merged.

    An expression that contains the word may ask; an unneeded answer costs one request and opens nothing.
    """
    approvals = authors = merger = False
    for rule in _rules(policies):
        match rule:
            case Approvals():
                approvals, authors = True, authors or rule.not_author
                merger = merger or rule.proof is Proof.MERGE
            case Separation():
                approvals = approvals or Role.APPROVER in rule.between
                authors = authors or Role.AUTHOR in rule.between
                merger = merger or Role.MERGER in rule.between
            case Cel():
                texts = f"{rule.expression.text} {rule.until and rule.until.text}"
                approvals = approvals or "approvals" in texts
    return AskedOfPeople(approvals, authors, merger)


def asks_for_signed_override(policies: Iterable[Policy]) -> bool:
    """Return whether an override of one of these policies requires a signature."""
    return any(each.override is not None and each.override.proof is Proof.SIGNED for each in policies)


def _rules(policies: Iterable[Policy]) -> Iterable[object]:
    return (rule for policy in policies for rule in policy.rules)


def _any(globs: tuple[str, ...], name: str) -> bool:
    return not globs or any(fnmatchcase(name, glob) for glob in globs)


Judging = Callable[..., of.RuleAnswer]

_JUDGES: dict[type, tuple[str, Judging]] = {
    Windows: ("windows", of.windows),
    Soak: ("soak", of.soak),
    Images: ("images", of.images),
    Message: ("message", of.message),
    Concurrency: ("concurrency", of.concurrency),
    After: ("after", lambda rule, *facts: (after_environments if rule.from_ else of.after)(rule, *facts)),
    Cel: ("cel", of.cel),
    Approvals: ("approvals", approvals),
    Separation: ("separation", separation),
}

NOT_FOR_THE_FIRST = (Soak, Approvals, Separation)
"""Not for a first deployment: no version serves yet that these rules could protect."""

OVERRIDE, REASON, SKIPPED = "Bg-Override", "Bg-Reason", "Bg-Skipped"
"""The trailers of a promotion commit, and of one that lets a release in, that override policies (policies.md §6)."""


def judge(policies: Iterable[Policy], facts: PolicyFacts, now: datetime) -> tuple[RuleVerdict, ...]:
    """Return the verdicts of all rules that count, in the order of the policies and of their rules. ``now`` is UTC."""
    return tuple(verdict for policy in policies for verdict in _of_policy(policy, facts, now))


def judge_each(policies: Iterable[Policy], facts: Callable[[], PolicyFacts], now: datetime) -> tuple[RuleVerdict, ...]:
    """Judge each policy for itself. One that hits a bug is shut, for its apps; rollbacks ask no policy and go on."""
    return tuple(verdict for policy in policies for verdict in _judged_alone(policy, facts, now))


def _judged_alone(policy: Policy, facts: Callable[[], PolicyFacts], now: datetime) -> tuple[RuleVerdict, ...]:
    try:
        with guarded("judging it"):
            return judge((policy,), facts(), now)
    except InternalError as error:
        remedy = f"change or remove {policy.name} in main, and report the bug"
        return (RuleVerdict(policy.name, "policy", open=False, reason=str(error), remedy=remedy, unknown=True),)


def name_of(rule: Rule) -> str:
    """Return the name of a rule in the file."""
    return _JUDGES[type(rule)][0]


def _of_policy(policy: Policy, facts: PolicyFacts, now: datetime) -> Iterator[RuleVerdict]:
    if policy.broken:
        remedy = "correct the file; `gitops-bg check` names the mistake"
        yield RuleVerdict(policy.name, "policy", open=False, reason=policy.broken, remedy=remedy)
        return
    overriding, why_not = _overriding(policy, facts, now)
    for rule in policy.rules:
        if facts.serving is None and isinstance(rule, NOT_FOR_THE_FIRST):
            continue
        verdict = _of_rule(policy, rule, facts, now)
        if not verdict.open and not overriding and isinstance(rule, After) and rule.from_:
            overriding, why_not = _skipping(policy, rule, facts, now)
        if not verdict.open and overriding:
            verdict = replace(verdict, overriding=overriding)
        elif not verdict.open and why_not:
            verdict = replace(verdict, reason=f"{verdict.reason}; {why_not}")
        yield verdict


def _of_rule(policy: Policy, rule: Rule, facts: PolicyFacts, now: datetime) -> RuleVerdict:
    name, judging = _JUDGES[type(rule)]
    answer = judging(rule, _counting(policy, facts) if isinstance(rule, Concurrency) else facts, now)
    return RuleVerdict(
        policy.name, name, answer.open, answer.reason, answer.until, policy.mode, None, answer.remedy, answer.unknown
    )


def _counting(policy: Policy, facts: PolicyFacts) -> PolicyFacts:
    """Keep only the others that the policy is for: only these compete for its places."""
    peers = {
        who: peer
        for who, peer in facts.others.peers.items()
        if any(matches(policy.match, app, labels, facts.environment) for app, labels in peer.apps)
    }
    return replace(facts, others=replace(facts.others, peers=peers))


def _overriding(policy: Policy, facts: PolicyFacts, now: datetime) -> tuple[Overriding | None, str]:
    """Return who overrides it by the promotion's own commit, for this digest only; or why that does not count."""
    promotion = facts.promotion
    if promotion is None or not facts.promoted or policy.name not in _named(promotion.trailer(OVERRIDE)):
        return None, ""
    return _overridden_by(policy, promotion, now)


def _skipping(policy: Policy, rule: After, facts: PolicyFacts, now: datetime) -> tuple[Overriding | None, str]:
    """Return who let the release in past all environments that have not proven it; or why that does not count."""
    entry = facts.entry
    if entry is None or not not_proven(rule, facts) <= _named(entry.trailer(SKIPPED)):
        return None, ""
    return _overridden_by(policy, entry, now)


def _overridden_by(policy: Policy, commit: CommitFacts, now: datetime) -> tuple[Overriding | None, str]:
    if policy.override is None:
        return None, "the policy has no override, so it can be changed only"
    reason = "; ".join(commit.trailer(REASON))
    if not reason:
        return None, f"its override says no {REASON}"
    person, why_not = (_signing if policy.override.proof is Proof.SIGNED else _writing)(policy.override, commit, now)
    if why_not:
        return None, why_not
    return Overriding(policy.name, person, reason, commit.commit, policy.override.proof), ""


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


UNTOLD = frozenset(["soak", "concurrency"])
"""The rules on facts that no ledger has: how long a version was available, and who else was on the move."""
_UNTOLD_AT_TIMES = frozenset(["approvals", "separation", "after"])
"""The rules on facts that the ledgers have at times: who merged and approved, if a forge was asked; which release was
proven where, not the state of other apps.
"""


AS_A_WHOLE = "policy"
"""The `RuleVerdict.rule` of a policy that could not be read: its rules are unknown."""


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
    facts: PolicyFacts


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
    matched = matching(policies, facts.app, facts.labels, facts.environment)
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
    untold = verdict.rule in UNTOLD or (verdict.rule in _UNTOLD_AT_TIMES and verdict.unknown)
    return f"the ledger does not tell ({verdict.rule})" if untold else verdict.reason
