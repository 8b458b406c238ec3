"""Promotion policies in the core: rules, the apps they are for, and who may override them (policies.md §2).

Frozen data; no rule is judged here. Time zones are loaded and expressions compiled at the edge, and come in as values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Protocol

from gitops_bg.core.model.version import AppKey


class Mode(StrEnum):
    """The effect of a shut rule: it holds traffic, or it is only shown."""

    ENFORCE = "enforce"
    WARN = "warn"


class NoAnswer(Exception):
    """An expression cannot be evaluated on the known values; the message says why. It never counts as an answer."""


class Program(Protocol):
    """A compiled expression.

    Pure: the same values give the same answer, within a bound on its cost that was checked before.
    """

    def __call__(self, values: Mapping[str, object]) -> object:
        """Return the answer; raise `NoAnswer`."""


class Matcher(Protocol):
    """A compiled pattern over text, in time linear in the text."""

    def __call__(self, text: str) -> bool:
        """Return whether the text matches."""


# --- windows ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Weekly:
    """Some days of each week (Monday is 0), from one local time to another, in minutes of the day.

    Where ``until`` is not after ``start`` it ends on the day after. 1440 is the end of the day.
    """

    days: frozenset[int]
    start: int = 0
    until: int = 1440
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cron:
    """When something begins repeatedly: the five fields of cron; if both kinds of days are given, either suffices."""

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """Monday is 0."""
    either_day: bool = False


@dataclass(frozen=True, slots=True)
class Repeating:
    """A window that begins by a cron expression and lasts for ``duration``."""

    cron: Cron
    duration: timedelta
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """From one local time to another, once. Both are naive, in the zone of the rule. None: without an end."""

    start: datetime
    end: datetime | None = None
    reason: str = ""


Window = Weekly | Repeating | Span


@dataclass(frozen=True, slots=True)
class Windows:
    """Open in any window of ``allow`` (always, if there is none) and in none of ``deny``."""

    allow: tuple[Window, ...] = ()
    deny: tuple[Window, ...] = ()
    zone: tzinfo = UTC
    zone_name: str = "UTC"
    reason: str = ""


# --- the other rules --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Soak:
    """A version, known by its digest, has been available for this long without interruption."""

    period: timedelta


@dataclass(frozen=True, slots=True)
class Images:
    """Every image of the version matches one of ``allow`` (globs; all, if there is none) and none of ``deny``."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    require_digest: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """Required text in the message of the commit that brought the version, or of its promotion: one suffices."""

    pattern: str = ""
    matches: Matcher | None = field(default=None, compare=False)
    trailer: str = ""


class Scope(StrEnum):
    """Which apps count together."""

    ALL = "all"
    NAMESPACE = "namespace"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Concurrency:
    """The maximum number of apps and release groups between their promotion and the end of their analysis."""

    most: int
    scope: Scope = Scope.NAMESPACE
    label: str = ""
    """The label of `Scope.GROUP`: apps whose targets have the same value of it count together."""


@dataclass(frozen=True, slots=True)
class After:
    """Another app is healthy, for this long, and, with ``same_version``, serves the same version label."""

    app: AppKey
    """Without a namespace: in the namespace of the app that the policy is for."""
    at_least: timedelta = timedelta()
    same_version: bool = False

    def of(self, namespace: str) -> AppKey:
        """Return the other app, for who is in a namespace."""
        return self.app if self.app.namespace else AppKey(namespace, self.app.name)


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition in CEL that must be true."""

    text: str
    program: Program = field(compare=False)
    message: str = ""
    until_text: str = ""
    until: Program | None = field(default=None, compare=False)
    apps: frozenset[AppKey] = frozenset()
    """The other apps that it names."""
    zone: tzinfo = UTC
    """The zone of ``local``."""


class Proof(StrEnum):
    """How strongly a person's act must be proven (policies.md §4), the weakest first."""

    MERGE = "merge"
    FORGE = "forge"
    SIGNED = "signed"


@dataclass(frozen=True, slots=True)
class Approvals:
    """A number of people must have approved this very digest."""

    count: int = 1
    by: frozenset[str] = frozenset()
    """Names, and groups as ``group:leads``; empty: anybody."""
    not_author: bool = True
    distinct_groups: bool = False
    """No two of them count for the same group of ``by``."""
    proof: Proof = Proof.FORGE
    at_most: timedelta = timedelta(days=14)
    """How old an approval may be."""


class Role(StrEnum):
    """What a person did for a promotion."""

    AUTHOR = "author"
    APPROVER = "approver"
    MERGER = "merger"


@dataclass(frozen=True, slots=True)
class Separation:
    """No person has two of these roles."""

    between: tuple[Role, ...]


Rule = Windows | Soak | Images | Message | Concurrency | After | Expression | Approvals | Separation


OF_THE_VERSION = (Images, Message, Expression, Approvals, Separation)
"""The rules on what is promoted, and by whom. The others say when traffic moves: of those only the present
ones count.
"""


@dataclass(frozen=True, slots=True)
class BreakGlass:
    """Who may promote in spite of a policy: people, by the addresses of their commits or by their keys."""

    by: tuple[str, ...]
    """As written in the file."""
    emails: frozenset[str] = frozenset()
    """The addresses of all of them, in lower case."""
    proof: Proof = Proof.MERGE
    names: frozenset[str] = frozenset()
    """The names of all of them in ``people.yaml``."""


# --- the policy -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """Which apps a policy is for: every given field must match; without any, it matches every app. Names are globs."""

    namespaces: tuple[str, ...] = ()
    apps: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    """The labels of the metadata of ``target.yaml``."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One `PromotionPolicy`. All rules of all policies that match must be open."""

    name: str
    rules: tuple[Rule, ...] = ()
    match: Match = Match()
    mode: Mode = Mode.ENFORCE
    override: BreakGlass | None = None
    broken: str = ""
    """Why its content is unknown; it is then shut for all apps that it could match."""


@dataclass(frozen=True, slots=True)
class PoliciesThen:
    """The policies for an app that main had before the commit that promotes it (policies.md §5)."""

    commit: str
    """The promotion."""
    policies: tuple[Policy, ...] = ()
    """The matching policies before it."""
    changed_with_it: bool = False
    """Whether the same commit changes policies: it would judge itself."""
    beside: tuple[str, ...] = ()
    """Files besides ``primary.yaml`` that it brought from the promotion branch; a few of them."""
    unread: str = ""
    """Why they cannot be read now; the rest is empty then."""
