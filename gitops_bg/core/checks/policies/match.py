"""Which policies are for which app, and what else they need to know. Globs; without any field, every app matches."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gitops_bg.core.model.policies.rules import (
    After,
    Approvals,
    Concurrency,
    Expression,
    Match,
    Message,
    Policy,
    Proof,
    Role,
    Scope,
    Separation,
)
from gitops_bg.core.model.version import AppKey

Labels = tuple[tuple[str, str], ...]


def matches(match: Match, app: AppKey, labels: Labels) -> bool:
    """Return whether a policy is for an app whose target has these labels.

    >>> matches(Match(namespaces=("pay-*",)), AppKey("pay-eu", "web"), ())
    True
    >>> matches(Match(labels=(("tier", "1"),)), AppKey("shop", "web"), (("tier", "2"),))
    False
    """
    return (
        _any(match.namespaces, app.namespace)
        and _any(match.apps, app.name)
        and all(any(key == name and fnmatchcase(value, glob) for key, value in labels) for name, glob in match.labels)
    )


def may_cover(match: Match, namespace: str) -> bool:
    """Return whether a policy may be for apps of a namespace; the empty one stands for all.

    >>> may_cover(Match(namespaces=("pay-*",)), "shop"), may_cover(Match(namespaces=("pay-*",)), "")
    (False, True)
    """
    return not namespace or _any(match.namespaces, namespace)


def matching(policies: Iterable[Policy], app: AppKey, labels: Labels) -> tuple[Policy, ...]:
    """Return the policies for an app, by name."""
    return tuple(sorted((each for each in policies if matches(each.match, app, labels)), key=lambda each: each.name))


def apps_asked_about(policies: Iterable[Policy], namespace: str) -> frozenset[AppKey]:
    """Return the other apps that rules of these policies name, for who is in a namespace."""
    named: set[AppKey] = set()
    for rule in _rules(policies):
        if isinstance(rule, After):
            named.add(rule.of(namespace))
        elif isinstance(rule, Expression):
            named |= rule.apps
    return frozenset(named)


def scopes_asked_about(policies: Iterable[Policy]) -> frozenset[tuple[Scope, str]]:
    """Return the scopes, each with its label, in which rules of these policies count apps together."""
    return frozenset((rule.scope, rule.label) for rule in _rules(policies) if isinstance(rule, Concurrency))


def asks_for_messages(policies: Iterable[Policy]) -> bool:
    """Return whether a rule asks for commit messages."""
    return any(isinstance(rule, Message | Expression) for rule in _rules(policies))


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
            case Expression():
                approvals = approvals or "approvals" in f"{rule.text} {rule.until_text}"
    return AskedOfPeople(approvals, authors, merger)


def asks_for_signed_override(policies: Iterable[Policy]) -> bool:
    """Return whether an override of one of these policies requires a signature."""
    return any(each.override is not None and each.override.proof is Proof.SIGNED for each in policies)


def _rules(policies: Iterable[Policy]) -> Iterable[object]:
    return (rule for policy in policies for rule in policy.rules)


def _any(globs: tuple[str, ...], name: str) -> bool:
    return not globs or any(fnmatchcase(name, glob) for glob in globs)
