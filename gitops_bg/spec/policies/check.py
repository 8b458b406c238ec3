"""What `gitops-bg check` reports on policies beyond each file: names, their apps, whether they can ever open.

Errors are rules that would keep a promotion waiting for ever, and unknown names; notes name what has no effect.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from gitops_bg.core.checks.policies.match import matches
from gitops_bg.core.checks.policies.windows import next_open
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policies.rules import After, Expression, Mode, Span, Windows
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.app.models import Settings
from gitops_bg.spec.policies.load import PolicyFolder, WrittenPolicy
from gitops_bg.spec.yaml.reader import Document


@dataclass(frozen=True, slots=True)
class CheckedPolicies:
    """The result of a check."""

    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()


def check_policies(
    folder: PolicyFolder,
    configs: Iterable[AppConfig],
    settings: tuple[Settings, Document] | None,
    now: datetime | None = None,
) -> CheckedPolicies:
    """Return all problems and notes. ``now``: windows must open within a year from then; None: this is not checked."""
    apps = {config.app: config.labels for config in configs}
    problems = (
        *folder.problems,
        *_twice(folder.written),
        *(_required(folder, *settings) if settings else ()),
        *(problem for each in folder.written for problem in _unknown_apps(each, apps)),
        *(problem for each in folder.written if now for problem in _never_open(each, now)),
        *_cycles(folder.written, apps),
    )
    return CheckedPolicies(problems, tuple(_for_nobody(folder.written, apps)))


def _twice(written: Iterable[WrittenPolicy]) -> Iterator[Problem]:
    seen: dict[str, WrittenPolicy] = {}
    for each in written:
        first = seen.setdefault(each.policy.name, each)
        if first is not each:
            message = f"there is a policy {each.policy.name} in {first.document.file} already: both count"
            yield each.document.problem(("metadata", "name"), message, "rename one of the two")


def _required(folder: PolicyFolder, settings: Settings, document: Document) -> Iterator[Problem]:
    known = {name for file in folder.files.values() for name in file.names}
    for number, name in enumerate(settings.require or ()):
        if name not in known:
            message = f"there is no policy {name} in policies/, so nothing is promoted"
            yield document.problem(("require", number), message, f"known: {', '.join(sorted(known)) or 'none'}")


def _unknown_apps(written: WrittenPolicy, apps: Mapping[AppKey, object]) -> Iterator[Problem]:
    for number, rule in enumerate(written.policy.rules):
        path = ("spec", "rules", number)
        if isinstance(rule, After):
            named = (
                {rule.of(app.namespace) for app in _matched(written, apps)} if not rule.app.namespace else {rule.app}
            )
            for app in sorted(named - apps.keys()):
                message = f"there is no app {app}, so it never opens"
                yield written.document.problem((*path, "after", "app"), message, "name one of apps/")
        if isinstance(rule, Expression):
            for app in sorted(rule.apps - apps.keys()):
                message = f"there is no app {app}, so it has no answer"
                yield written.document.problem((*path, "cel", "expression"), message, "name one of apps/")


def _matched(written: WrittenPolicy, apps: Mapping[AppKey, object]) -> list[AppKey]:
    return [app for app, labels in apps.items() if matches(written.policy.match, app, labels)]  # type: ignore[arg-type]


def _never_open(written: WrittenPolicy, now: datetime) -> Iterator[Problem]:
    """Report rules that never open, except windows that deny without an end: a freeze intends that."""
    for number, rule in enumerate(written.policy.rules):
        if isinstance(rule, Windows):
            deny = tuple(each for each in rule.deny if not (isinstance(each, Span) and each.end is None))
            if next_open(replace(rule, deny=deny), now) is None:
                path = ("spec", "rules", number, "windows")
                yield written.document.problem(path, "never opens within a year", "change its windows, or remove it")


def _for_nobody(written: Iterable[WrittenPolicy], apps: Mapping[AppKey, object]) -> Iterator[Problem]:
    for each in written:
        if apps and not _matched(each, apps):
            yield each.document.problem(("spec", "match"), "is for no app, so it does nothing", "change spec.match")


def _cycles(written: Iterable[WrittenPolicy], apps: Mapping[AppKey, object]) -> Iterator[Problem]:
    """Report apps that wait for one another: each must be healthy before the other, and none is while it has a
    candidate.
    """
    edges: dict[AppKey, dict[AppKey, tuple[WrittenPolicy, int]]] = {}
    for each in written:
        for number, rule in enumerate(each.policy.rules):
            if isinstance(rule, After) and each.policy.mode is Mode.ENFORCE:
                for app in _matched(each, apps):
                    edges.setdefault(app, {})[rule.of(app.namespace)] = (each, number)
    told: set[frozenset[AppKey]] = set()
    for start in sorted(edges):
        circle = _circle(start, edges)
        if circle and frozenset(circle) not in told:
            told.add(frozenset(circle))
            policy, number = edges[start][circle[1]]
            message = f"{' waits for '.join(map(str, circle))}: none of them is ever promoted"
            yield policy.document.problem(("spec", "rules", number, "after"), message, "take one of them out")


def _circle(start: AppKey, edges: Mapping[AppKey, Mapping[AppKey, object]]) -> list[AppKey]:
    """Return the shortest path from an app back to itself; empty where there is none."""
    ways, seen = [[start]], {start}
    while ways:
        way = ways.pop(0)
        for following in sorted(edges.get(way[-1], ())):
            if following == start:
                return [*way, start]
            if following not in seen:
                seen.add(following)
                ways.append([*way, following])
    return []
