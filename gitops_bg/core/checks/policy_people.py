"""The rules on people: who approved this digest, and whether a person has two roles. Facts come as plain data.

As long as it is unknown who approved, they are shut, and the reason says so (policies.md §4).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import combinations

from gitops_bg.core.checks.policy_rules import RuleAnswer, length
from gitops_bg.core.model.policy_facts import Approval, PolicyFacts
from gitops_bg.core.model.policy_rules import Approvals, Proof, Role, Separation

_STRENGTH = {Proof.MERGE: 0, Proof.FORGE: 1}
_NOBODY_TELLS = "nobody tells who approved: connect a forge"
_GROUP = "group:"


def standing(approvals: tuple[Approval, ...] | None) -> tuple[Approval, ...] | None:
    """Void the approvals that their own people took back by asking for changes, and those that may count twice.

    Both are about all approvals of an app, by whatever proof: who merges and who reviews may be one person.

    >>> at = datetime(2026, 1, 1)
    >>> given, refused = Approval("ana", "d", at), Approval("ana", "d", at, void="no", objection=True)
    >>> [each.void for each in standing((given, refused))]
    ['ana asks for changes', 'no']
    """
    if approvals is None:
        return None
    refused = [each for each in approvals if each.objection]
    left = tuple(_superseding_refusal(each, refused) for each in approvals)
    return tuple(_repeated(each, left) for each in left)


def _superseding_refusal(approval: Approval, refused: Iterable[Approval]) -> Approval:
    by = next((each.by for each in refused if each.at >= approval.at and each.people & approval.people), "")
    return replace(approval, void=f"{by} asks for changes") if by and not approval.void else approval


def _repeated(approval: Approval, others: Iterable[Approval]) -> Approval:
    """Void what an account approves that may be of somebody who approved the same under their name."""
    alike = (each for each in others if each.digest == approval.digest and not each.void)
    same = sorted(each.by for each in alike if each.by in approval.may_be)
    if not same or approval.void:
        return approval
    return replace(approval, void=f"{approval.by} may be {same[0]}: give {same[0]} this account in people.yaml")


def approvals(rule: Approvals, facts: PolicyFacts, now: datetime) -> RuleAnswer:
    """Return whether enough people approved this digest: none of its authors, and not too long ago.

    While it is open, ``until`` says when the first approval that it needs becomes too old.
    """
    given = _given(rule, facts)
    if given is None:
        return _unknown(facts, _NOT_KNOWN[Role.MERGER] if rule.proof is Proof.MERGE else _NOBODY_TELLS)
    if rule.not_author and facts.authors is None:
        return _unknown(facts, "nobody can tell its authors")
    counted, others = _judged(rule, facts, given, now)
    by = f" of {', '.join(sorted(rule.by))}" if rule.by else ""
    who = f": {', '.join(each.by for each in counted)}" if counted else ""
    said = "; ".join([f"{len(counted)} of {rule.count} approvals{by}{who}", *others, *filter(None, [facts.unheard])])
    if len(counted) >= rule.count:
        return RuleAnswer(True, said, _too_old_at(counted, rule))
    if _is_left_to_merger(rule, facts) and len(counted) == rule.count - 1:
        until = min((_ends(each, rule) for each in counted), default=None)
        return RuleAnswer(True, f"{said}; who merges it is the last", until)
    whom = " or ".join(sorted(rule.by)) or "somebody who did not write it"
    return RuleAnswer(False, said, remedy=f"let {whom} {_how(rule, facts)}")


def _given(rule: Approvals, facts: PolicyFacts) -> tuple[Approval, ...] | None:
    """Return the approvals, and, for a rule with proof merge, who merged it as one more; None: unknown."""
    if rule.proof is not Proof.MERGE:
        return facts.approvals
    if facts.merge is None:
        return () if facts.approvals is None and not facts.promoted else facts.approvals
    return standing((*(facts.approvals or ()), facts.merge))


def _is_left_to_merger(rule: Approvals, facts: PolicyFacts) -> bool:
    """Return whether a person will merge it: a branch that demands this rule of its own merge could never be merged."""
    return rule.proof is Proof.MERGE and not facts.promoted and not facts.promoted_by_agent


def _too_old_at(counted: list[Approval], rule: Approvals) -> datetime:
    """Return when so many of them are too old that the remaining ones do not suffice."""
    return sorted(_ends(each, rule) for each in counted)[len(counted) - rule.count]


def _how(rule: Approvals, facts: PolicyFacts) -> str:
    if rule.proof is Proof.MERGE and not facts.promoted:
        return "merge it" if facts.group else f"run: gitops-bg promote {facts.app}"
    return "approve it"


def _ends(approval: Approval, rule: Approvals) -> datetime:
    """Return when an approval is too old to count."""
    return approval.at + rule.max_age + timedelta.resolution


def _judged(
    rule: Approvals, facts: PolicyFacts, given: Iterable[Approval], now: datetime
) -> tuple[list[Approval], list[str]]:
    """Return the approvals that count, one per person, the oldest first; and why others do not count."""
    counted: list[Approval] = []
    others: dict[str, str] = {}
    groups: set[str] = set()
    for each in sorted(given, key=lambda approval: approval.at):
        why = _why_not(rule, each, facts, now) or _same_group(rule, each, groups)
        if why:
            others[each.by] = why
        elif each.by not in {one.by for one in counted}:
            counted.append(each)
            groups |= _groups(rule, each)
    people = {each.by for each in counted}
    return counted, [why for by, why in others.items() if by not in people]


def _why_not(rule: Approvals, approval: Approval, facts: PolicyFacts, now: datetime) -> str:
    """Return why an approval does not count; empty where it does."""
    by = approval.by
    if approval.void:
        return approval.void
    if approval.digest != facts.to.digest:
        return f"{by} approved other content"
    if rule.not_author and (written := approval.people & (facts.authors or frozenset())):
        return f"{by} is an author" if by in written else f"{by} may be {min(written)}, an author"
    if untimely := _untimely(rule, approval, now):
        return untimely
    if _STRENGTH[approval.proof] < _STRENGTH[rule.proof]:
        return f"{by} is known by {approval.proof} only, not {rule.proof}"
    named = {by, *(f"{_GROUP}{name}" for name in approval.groups)}
    return "" if not rule.by or named & rule.by else f"{by} is none of them"


def _untimely(rule: Approvals, approval: Approval, now: datetime) -> str:
    if now - approval.at > rule.max_age:
        return f"the approval of {approval.by} is older than {length(rule.max_age)}"
    return approval.untimely(now)


def _same_group(rule: Approvals, approval: Approval, groups: set[str]) -> str:
    if rule.distinct_groups and _groups(rule, approval) & groups:
        return f"{approval.by} is of the same group"
    return ""


def _groups(rule: Approvals, approval: Approval) -> set[str]:
    """Return the groups of a person that the rule distinguishes."""
    named = {f"{_GROUP}{name}" for name in approval.groups}
    return named & rule.by if rule.by else named


def separation(rule: Separation, facts: PolicyFacts, _: datetime) -> RuleAnswer:
    """Return whether no person has two of the roles. The merger is known only after the merge."""
    for role, known in _known(rule.between, facts):
        if not known:
            return _unknown(facts, _NOT_KNOWN[role])
    people = {
        Role.AUTHOR: facts.authors or frozenset(),
        Role.APPROVER: frozenset(
            by
            for each in facts.approvals or ()
            if each.digest == facts.to.digest and not each.void
            for by in each.people
        ),
        Role.MERGER: frozenset([facts.merger] if facts.merger else []),
    }
    for one, other in combinations(dict.fromkeys(rule.between), 2):
        if both := people[one] & people[other]:
            return RuleAnswer(
                False, f"{', '.join(sorted(both))} is {one} and {other}", remedy=f"let another be {other}"
            )
    return RuleAnswer(True, "nobody has two roles")


_NOT_KNOWN = {
    Role.AUTHOR: "nobody can tell its authors",
    Role.APPROVER: _NOBODY_TELLS,
    Role.MERGER: "nobody can tell who merged it",
}


def _known(between: Iterable[Role], facts: PolicyFacts) -> Iterator[tuple[Role, bool]]:
    """Yield whether each role is known; a version that is not promoted yet has no merger."""
    known = {
        Role.AUTHOR: facts.authors is not None,
        Role.APPROVER: facts.approvals is not None,
        Role.MERGER: facts.merger is not None or not facts.promoted,
    }
    return ((role, known[role]) for role in between)


def _unknown(facts: PolicyFacts, said: str) -> RuleAnswer:
    """Return shut, because a fact is unknown; with why, if it could be known."""
    if facts.unheard:
        said = f"{said.partition(':')[0]}: {facts.unheard}"
    return RuleAnswer(False, said, unknown=True)
