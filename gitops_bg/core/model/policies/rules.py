"""What promotion policies say, as the core sees it: rules, whom they are for, who may override them (policies.md §2).

Frozen data, no rule is judged here. Time zones are loaded and expressions compiled at the edge, and come in as values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Protocol

from gitops_bg.core.model.version import AppKey


class Mode(StrEnum):
    """What a shut rule does: it holds traffic, or it is only shown."""

    ENFORCE = "enforce"
    WARN = "warn"


class NoAnswer(Exception):
    """An expression cannot be evaluated on what is known; says why. It is never read as an answer."""


class Program(Protocol):
    """A compiled expression. Pure: the same values give the same answer, within a bound that was checked before."""

    def __call__(self, values: Mapping[str, object]) -> object:
        """The answer; raises `NoAnswer`."""


class Matcher(Protocol):
    """A compiled pattern over text, whose time grows no faster than the text."""

    def __call__(self, text: str) -> bool:
        """Whether the text fits."""


# --- windows ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Weekly:
    """Some days of each week, Monday is 0, from one wall time to another, in minutes of the day.

    Where ``until`` is not after ``start`` it ends on the day after. 1440 is the end of the day.
    """

    days: frozenset[int]
    start: int = 0
    until: int = 1440
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cron:
    """When something begins, again and again, as the five fields of cron; with both days given, either is enough."""

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
    """It begins by a cron expression and lasts for ``duration``."""

    cron: Cron
    duration: timedelta
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """From one wall time to another, once. Naive: they are of the zone of the rule. None: without an end."""

    start: datetime
    end: datetime | None = None
    reason: str = ""


Window = Weekly | Repeating | Span


@dataclass(frozen=True, slots=True)
class Windows:
    """Open in any of ``allow`` (always, where there is none) and in none of ``deny``."""

    allow: tuple[Window, ...] = ()
    deny: tuple[Window, ...] = ()
    zone: tzinfo = UTC
    zone_name: str = "UTC"
    reason: str = ""


# --- the other rules --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Soak:
    """A version, known by its digest, has been available for so long without a break."""

    period: timedelta


@dataclass(frozen=True, slots=True)
class Images:
    """Every image of the version fits one of ``allow`` (globs; all, where there is none) and none of ``deny``."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    require_digest: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """What the message of the commit that brought the version says, or that of its promotion: one is enough."""

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
    """So many apps at most between their promotion and the end of their analysis."""

    most: int
    scope: Scope = Scope.NAMESPACE
    label: str = ""
    """Of `Scope.GROUP`: apps whose targets have the same value of it count together."""


@dataclass(frozen=True, slots=True)
class After:
    """Another app is healthy, for so long, and, where ``same_version``, serves the same version label."""

    app: AppKey
    """Without a namespace: in that of the app that the policy is for."""
    at_least: timedelta = timedelta()
    same_version: bool = False

    def of(self, app: AppKey) -> AppKey:
        """The other app, where the policy is for ``app``."""
        return self.app if self.app.namespace else AppKey(app.namespace, self.app.name)


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
    """Of ``local``."""


class Proof(StrEnum):
    """What is believed of who did something (policies.md §4), the weakest first."""

    MERGE = "merge"
    FORGE = "forge"
    SIGNED = "signed"


@dataclass(frozen=True, slots=True)
class Approvals:
    """So many people said yes to this very digest."""

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
    """What somebody did for a promotion."""

    AUTHOR = "author"
    APPROVER = "approver"
    MERGER = "merger"


@dataclass(frozen=True, slots=True)
class Separation:
    """Nobody has two of these roles."""

    between: tuple[Role, ...]


Rule = Windows | Soak | Images | Message | Concurrency | After | Expression | Approvals | Separation


OF_THE_VERSION = (Images, Message, Expression, Approvals, Separation)
"""The rules on what is promoted, and by whom. The others say when traffic moves: only those of now count there."""


@dataclass(frozen=True, slots=True)
class BreakGlass:
    """Who may promote in spite of a policy: people by the e-mail addresses that their commits are by."""

    by: tuple[str, ...]
    """As it is written."""
    emails: frozenset[str] = frozenset()
    """Of all of them, in small letters."""


# --- the policy -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """Whom a policy is for: all that is given must match; nothing given matches everything. Names are globs."""

    namespaces: tuple[str, ...] = ()
    apps: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    """Of the metadata of ``target.yaml``."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One `PromotionPolicy`. All rules of all policies that match must be open."""

    name: str
    rules: tuple[Rule, ...] = ()
    match: Match = Match()
    mode: Mode = Mode.ENFORCE
    override: BreakGlass | None = None
    broken: str = ""
    """Why nobody knows what it says; it is shut then, for all that it could match."""


@dataclass(frozen=True, slots=True)
class PoliciesThen:
    """What policies said of an app at the first parent of the commit that promotes it (policies.md §5)."""

    commit: str
    """The promotion."""
    policies: tuple[Policy, ...] = ()
    """Those of its first parent that match."""
    changed_with_it: bool = False
    """The same commit changes policies: it would be its own judge."""
    unread: str = ""
    """Why nobody can tell now; the rest is empty then."""
