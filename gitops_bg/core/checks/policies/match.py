"""Which policies are for which app, and what they need to know beyond it. Globs; nothing given matches everything."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from gitops_bg.core.model.policies.rules import After, Concurrency, Expression, Match, Message, Policy, Scope
from gitops_bg.core.model.version import AppKey

Labels = tuple[tuple[str, str], ...]


def matches(match: Match, app: AppKey, labels: Labels) -> bool:
    """Whether a policy is for an app whose target has these labels.

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


def matching(policies: Iterable[Policy], app: AppKey, labels: Labels) -> tuple[Policy, ...]:
    """Those that are for an app, by name."""
    return tuple(sorted((each for each in policies if matches(each.match, app, labels)), key=lambda each: each.name))


def apps_asked_about(policies: Iterable[Policy], app: AppKey) -> frozenset[AppKey]:
    """The other apps that rules of these policies name, where they are for ``app``."""
    named: set[AppKey] = set()
    for rule in _rules(policies):
        if isinstance(rule, After):
            named.add(rule.of(app))
        elif isinstance(rule, Expression):
            named |= rule.apps
    return frozenset(named)


def scopes_asked_about(policies: Iterable[Policy]) -> frozenset[tuple[Scope, str]]:
    """The scopes, each with its label, whose apps count together by a rule of these policies."""
    return frozenset((rule.scope, rule.label) for rule in _rules(policies) if isinstance(rule, Concurrency))


def asks_for_messages(policies: Iterable[Policy]) -> bool:
    """Whether a rule asks what commits say."""
    return any(isinstance(rule, Message | Expression) for rule in _rules(policies))


def _rules(policies: Iterable[Policy]) -> Iterable[object]:
    return (rule for policy in policies for rule in policy.rules)


def _any(globs: tuple[str, ...], name: str) -> bool:
    return not globs or any(fnmatchcase(name, glob) for glob in globs)
