"""Promotion policies: rules, the apps they are for, and who may override them (policies.md §2). A rule is declared as
it is written (`core.written`); `gitops_bg.spec.policies` has the files.

Frozen data; no rule is judged here. Time zones are loaded and expressions compiled at the edge, and come in as values.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Annotated, Literal, Protocol

from annotated_types import MinLen

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.written import Conflict, DnsLabel, Glob, Matching, Positive, Text, WrittenAs

Names = Annotated[tuple[Text, ...], MinLen(1)]
Globs = Annotated[tuple[Glob, ...], MinLen(1)]


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
class DateSpan:
    """From one local time to another, once. Both are naive, in the zone of the rule. None: without an end."""

    start: datetime
    end: datetime | None = None
    reason: str = ""


Window = Weekly | Repeating | DateSpan


@dataclass(frozen=True, slots=True)
class Windows:
    """When traffic may move: in any of allow (always, where there is none) and in none of deny."""

    allow: Annotated[tuple[Window, ...], MinLen(1)] = ()
    deny: Annotated[tuple[Window, ...], MinLen(1)] = ()
    zone: Annotated[tzinfo, WrittenAs("timeZone")] = UTC
    """Of all its times, such as Europe/Berlin. Default UTC."""
    reason: Text = ""
    """Why, where the window itself does not say."""

    def check(self) -> None:
        """Raise `Conflict` where there is no window."""
        if not self.allow and not self.deny:
            raise Conflict("", "has neither allow nor deny", "add one of them")


# --- the other rules --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Soak:
    """How long this very version must be available without interruption before traffic may move to it."""

    period: Annotated[timedelta, WrittenAs("for")]
    """30m, 2h, 1d."""


@dataclass(frozen=True, slots=True)
class Images:
    """Where every image of the pod template must come from."""

    allow: Names = ()
    """Globs; each image must fit one."""
    deny: Names = ()
    """Globs; no image may fit one."""
    require_digest: bool = False
    """Each image is pinned by @sha256:…."""
    same_as: DnsLabel = ""
    """An environment that comes before: each image serves there, or served there."""

    def check(self) -> None:
        """Raise `Conflict` where it asks nothing."""
        if not (self.allow or self.deny or self.require_digest or self.same_as):
            raise Conflict("", "asks nothing", "add allow, deny, requireDigest or sameAs")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled regular expression, known by its text."""

    text: str
    matches: Matcher = field(compare=False)


@dataclass(frozen=True, slots=True)
class Message:
    """Required text in the message of the commit that brought the version, or of its promotion; one of the two
    suffices.
    """

    matches: Pattern | None = None
    """A regular expression (RE2's syntax), found anywhere in the message."""
    trailer: Annotated[str, Matching("[A-Za-z0-9][-A-Za-z0-9]*", "use letters, digits and -")] = ""
    """The name of a trailer that must have a value, such as Ticket."""

    def check(self) -> None:
        """Raise `Conflict` where it asks nothing."""
        if not (self.matches or self.trailer):
            raise Conflict("", "asks nothing", "add matches or trailer")


ALL = "all"
NAMESPACE = "namespace"
_OF_GROUP = "group:"
_SCOPES = rf"({ALL}|{NAMESPACE}|{_OF_GROUP}[A-Za-z0-9][-A-Za-z0-9_./]*)"


@dataclass(frozen=True, slots=True)
class Concurrency:
    """The maximum number of apps and release groups between their promotion and the end of their analysis."""

    most: Annotated[Positive, WrittenAs("max")]
    """How many; the promotions of others wait, in the order of their merges."""
    scope: Annotated[str, Matching(_SCOPES, "write all, namespace, or group:LABEL")] = NAMESPACE
    """all; namespace; or group:LABEL, apps whose targets have the same value of it."""

    @property
    def label(self) -> str:
        """The label by whose values apps count together; empty for another scope."""
        return self.scope.removeprefix(_OF_GROUP) if self.scope.startswith(_OF_GROUP) else ""


class ProvenIn(StrEnum):
    """In how many clusters of a former environment a release must be proven."""

    ALL = "all"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class After:
    """Another app must be in a certain state, or the release must be proven in environments before."""

    app: AppKey | None = None
    """namespace/name, or a name in the same namespace."""
    state: Literal["healthy"] = field(default="healthy", kw_only=True)
    """What it is to be."""
    at_least: Annotated[timedelta, WrittenAs("forAtLeast")] = timedelta()
    """For so long without a break."""
    same_version: bool = False
    """What it serves is called as the new version is: by the label app.kubernetes.io/version of the pod template, else
    by the tag of the first image.
    """
    from_: Annotated[tuple[DnsLabel, ...], MinLen(1), WrittenAs("from")] = field(default=(), kw_only=True)
    """Environments that come before, in place of an app: the release must be proven in all of them."""
    proven: timedelta = field(default=timedelta(), kw_only=True)
    """For how long it must have served there, healthy and without a break."""
    proven_in: ProvenIn = field(default=ProvenIn.ALL, kw_only=True)
    """Whether in all clusters of such an environment, or in any."""

    def check(self) -> None:
        """Raise `Conflict` where it is about both, or about nothing."""
        if (self.app is None) is not bool(self.from_):
            both = "names an app and environments" if self.from_ else "names neither an app nor environments"
            raise Conflict("", both, "write either app, or from: [staging]")
        of_app = self.at_least or self.same_version
        if self.from_ and of_app:
            raise Conflict("", "forAtLeast and sameVersion are about another app", "write proven: 2h")
        if self.app is not None and (self.proven or self.proven_in is ProvenIn.ANY):
            raise Conflict("", "proven and provenIn are about environments", "write forAtLeast, or from: [staging]")

    def of(self, namespace: str) -> AppKey | None:
        """Return the other app, for who is in a namespace; None where it is about environments."""
        return self.app if self.app is None or self.app.namespace else AppKey(namespace, self.app.name)


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression in CEL, known by its text."""

    text: str
    program: Program = field(compare=False)
    apps: frozenset[AppKey] = frozenset()
    """The other apps that it names."""


@dataclass(frozen=True, slots=True)
class Cel:
    """A condition of your own."""

    expression: Expression
    """CEL; true opens the gate."""
    message: Text = ""
    """Why it is shut."""
    until: Expression | None = None
    """CEL that gives the moment when to look again."""
    zone: Annotated[tzinfo, WrittenAs("timeZone")] = UTC
    """Of the variable local. Default UTC."""

    @property
    def apps(self) -> frozenset[AppKey]:
        """The other apps that it names."""
        return self.expression.apps | (self.until.apps if self.until else frozenset())


class Proof(StrEnum):
    """How strongly a person's act must be proven (policies.md §4), the weakest first."""

    MERGE = "merge"
    FORGE = "forge"
    SIGNED = "signed"


@dataclass(frozen=True, slots=True)
class Approvals:
    """Who must have approved this very version."""

    count: Positive = 1
    """How many of them."""
    by: Annotated[frozenset[Text], MinLen(1)] = frozenset()
    """Names of policies/people.yaml, and groups as group:leads."""
    not_author: bool = True
    """Authors of the change do not count."""
    distinct_groups: bool = False
    """No two of them count for the same group."""
    proof: Literal[Proof.FORGE, Proof.MERGE] = Proof.FORGE
    """What is believed of who it was."""
    max_age: timedelta = timedelta(days=14)
    """How old an approval may be."""


class Role(StrEnum):
    """What a person did for a promotion."""

    AUTHOR = "author"
    APPROVER = "approver"
    MERGER = "merger"


@dataclass(frozen=True, slots=True)
class Separation:
    """No person may have two of these roles."""

    between: Annotated[tuple[Role, ...], MinLen(2)]
    """Two or more of author, approver and merger."""


Rule = Windows | Soak | Images | Message | Concurrency | After | Cel | Approvals | Separation


OF_THE_VERSION = (Images, Message, Cel, Approvals, Separation)
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
    """Which apps the policy is for: every given field must match; without any, it matches every app."""

    namespaces: Globs = ()
    """Globs of namespaces."""
    apps: Globs = ()
    """Globs of names of apps."""
    labels: tuple[tuple[str, Glob], ...] = ()
    """Labels of the metadata of target.yaml; the values are globs."""
    environments: Globs = field(default=(), kw_only=True)
    """Globs of environments of environments.yaml."""


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
