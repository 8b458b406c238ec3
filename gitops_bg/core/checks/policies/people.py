"""The rules on people: who approved this digest, and whether somebody has two roles. Facts come as plain data.

Until somebody tells who approved, they are shut, and say so (policies.md §4).
"""

from datetime import datetime

from gitops_bg.core.checks.policies.rules import Answer
from gitops_bg.core.model.policies.facts import Approval, Facts
from gitops_bg.core.model.policies.rules import Approvals, Proof, Role, Separation

_STRENGTH = {Proof.MERGE: 0, Proof.FORGE: 1, Proof.SIGNED: 2}
_NOBODY_TELLS = "nobody tells who approved: connect a forge, or sign approvals"


def approvals(rule: Approvals, facts: Facts, now: datetime) -> Answer:
    """Whether enough people said yes to this digest: none of its authors, none too long ago."""
    if facts.approvals is None:
        return Answer(False, _NOBODY_TELLS, unknown=True)
    if rule.not_author and facts.authors is None:
        return Answer(False, "nobody can tell its authors", unknown=True)
    counted = _counted(rule, facts, now)
    who = ", ".join(sorted(counted)) or "nobody"
    by = f" of {', '.join(sorted(rule.by))}" if rule.by else ""
    asked = f"{rule.count} approvals{by}; so far {who}"
    if len(counted) >= rule.count:
        return Answer(True, asked)
    return Answer(False, f"it needs {asked}", remedy="ask somebody to approve it")


def _counted(rule: Approvals, facts: Facts, now: datetime) -> set[str]:
    people: set[str] = set()
    groups: set[str] = set()
    for each in sorted(facts.approvals or (), key=lambda approval: approval.at):
        if each.by in people or not _counts(rule, each, facts, now):
            continue
        of = {f"group:{name}" for name in each.groups} & (rule.by or {f"group:{name}" for name in each.groups})
        if rule.distinct_groups and of & groups:
            continue
        people.add(each.by)
        groups |= of
    return people


def _counts(rule: Approvals, approval: Approval, facts: Facts, now: datetime) -> bool:
    if approval.digest != facts.to.digest or now - approval.at > rule.at_most:
        return False
    if rule.not_author and approval.by in (facts.authors or ()):
        return False
    if _STRENGTH[approval.proof] < _STRENGTH[rule.proof]:
        return False
    named = {approval.by, *(f"group:{name}" for name in approval.groups)}
    return not rule.by or bool(named & rule.by)


def separation(rule: Separation, facts: Facts, _: datetime) -> Answer:
    """Whether nobody has two of the roles. The merger is known only once somebody merged."""
    if facts.approvals is None or facts.authors is None:
        return Answer(False, _NOBODY_TELLS, unknown=True)
    people = {
        Role.AUTHOR: facts.authors,
        Role.APPROVER: frozenset(each.by for each in facts.approvals if each.digest == facts.to.digest),
        Role.MERGER: frozenset([facts.merger] if facts.merger else []),
    }
    for place, one in enumerate(rule.between):
        for other in rule.between[place + 1 :]:
            if both := people[one] & people[other]:
                return Answer(
                    False, f"{', '.join(sorted(both))} is {one} and {other}", remedy=f"let another be {other}"
                )
    return Answer(True, "nobody has two roles")
