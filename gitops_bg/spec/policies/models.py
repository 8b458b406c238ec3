"""What users write in ``policies/*.yaml``: the schemas of `PromotionPolicy` and `People`. Descriptions are for users.

Decides nothing; `to_core` converts them to the core's types, `load` reads files.
"""

import re
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from gitops_bg.spec.analysis.expressions import BadExpression, compile_pattern
from gitops_bg.spec.app.fields import DnsLabel, Model, Period, Positive, Text, whole_seconds
from gitops_bg.spec.app.validation import Conflict, Matching, nearest
from gitops_bg.spec.policies.expressions import compile_expression, read_cron

LONGEST_WINDOW = 31 * 86400
"""The maximum duration, in seconds, of a window with a cron expression."""

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[str, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d|24:00", re.ASCII)
_WALL = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?", re.ASCII)


def _glob(text: str) -> str:
    opened = re.sub(r"\[!?[^\]]+\]", "", text)
    if not text or "[" in opened or "]" in opened or " " in text:
        raise PydanticCustomError("glob", "is no glob: use names with *, ? and [abc], such as pay-*")
    return text


def _time(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise PydanticCustomError("time_of_day", 'must be a time of the day from "00:00" to "24:00", quoted')
    return text


_YEARS = (1970, 9000)
"""Years beyond these leave no room for a zone, or for a look ahead."""


def _wall(text: str) -> str:
    from datetime import datetime

    try:
        wall = datetime.fromisoformat(text if _WALL.fullmatch(text) else "")
    except ValueError:
        message = 'must be a day or a local time, quoted: "2026-12-20" or "2026-12-20T18:00"; the zone is timeZone'
        raise PydanticCustomError("wall_time", message) from None
    if not _YEARS[0] <= wall.year <= _YEARS[1]:
        message = f"must lie between the years {_YEARS[0]} and {_YEARS[1]}; leave end out for a window without an end"
        raise PydanticCustomError("wall_time", message)
    return text


def _zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        close = nearest(text, available_timezones())
        hint = f"; did you mean {close}?" if close else ", such as Europe/Berlin"
        raise PydanticCustomError("zone", "{text} is no time zone{hint}", {"text": repr(text), "hint": hint}) from None
    return text


def _cron(text: str) -> str:
    try:
        read_cron(text)
    except ValueError as error:
        raise PydanticCustomError("cron", "{why}", {"why": str(error)}) from error
    return text


def _expression(text: str) -> str:
    try:
        compile_expression(text)
    except BadExpression as error:
        raise PydanticCustomError("expression", "{why}", {"why": str(error)}) from error
    return text


def _pattern(text: str) -> str:
    try:
        compile_pattern(text)
    except BadExpression as error:
        raise PydanticCustomError("pattern", "{why}", {"why": str(error)}) from error
    return text


def _app(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(/[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?", text):
        raise PydanticCustomError("app", "must name an app: namespace/name, or a name in the namespace of each app")
    return text


Glob = Annotated[str, AfterValidator(_glob)]
Time = Annotated[str, AfterValidator(_time)]
Wall = Annotated[str, AfterValidator(_wall)]
Zone = Annotated[str, AfterValidator(_zone)]
Expr = Annotated[str, AfterValidator(_expression)]
Names = Annotated[list[Text], Field(min_length=1)]
Globs = Annotated[list[Glob], Field(min_length=1)]


class PolicyMetadata(Model):
    """The name of the policy, here and in `require`."""

    name: DnsLabel
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Match(Model):
    """Which apps the policy is for: every given field must match; without any, it matches every app."""

    namespaces: Globs | None = Field(None, description="Globs of namespaces.")
    apps: Globs | None = Field(None, description="Globs of names of apps.")
    labels: dict[str, Glob] | None = Field(
        None, description="Labels of the metadata of target.yaml; the values are globs."
    )


class Window(Model):
    """Exactly one of: days with from and to; cron with duration; start with end."""

    days: Annotated[list[Day], Field(min_length=1)] | None = Field(None, description="Days of each week.")
    from_: Time | None = Field(None, alias="from", description='When it begins on these days. Default "00:00".')
    to: Time | None = Field(
        None, description='When it ends; not after from: on the day after. Default "24:00", the end of the day.'
    )
    cron: Annotated[str, AfterValidator(_cron)] | None = Field(None, description="When it begins: five fields of cron.")
    duration: Period | None = Field(None, description="How long it lasts then: 30m, 12h, 3d; at most 31d.")
    start: Wall | None = Field(None, description='A day, or a local time: "2026-12-20" or "2026-12-20T18:00".')
    end: Wall | None = Field(
        None, description="When it ends; a day counts to its end. Where absent it does not end by itself."
    )
    reason: Text | None = Field(None, description="Why; shown wherever it holds something up.")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        weekly = self.days is not None or self.from_ is not None or self.to is not None
        repeating = self.cron is not None or self.duration is not None
        once = self.start is not None or self.end is not None
        if weekly + repeating + once != 1:
            remedy = "write {days, from, to}, or {cron, duration}, or {start, end}"
            raise Conflict("", "must be one kind of window", remedy)
        if repeating and (self.cron is None or self.duration is None):
            missing = "cron" if self.cron is None else "duration"
            raise Conflict(missing, "is required beside the other", "write cron and duration")
        if once and self.start is None:
            raise Conflict("start", "is required beside end", "say when it begins")
        self._can_be()
        return self

    def _can_be(self) -> None:
        if self.from_ == "24:00":
            raise Conflict("from", "24:00 is the end of the day", 'write "00:00" of the day after')
        if self.from_ is not None and self.from_ == (self.to or "24:00"):
            raise Conflict("to", f"{self.to} is when it begins", "write another time, or neither for the whole day")
        if self.start and self.end and not _ends_later(self.start, self.end):
            raise Conflict("end", f"{self.end} is not after {self.start}", "write a later day or time")
        seconds = whole_seconds(self.duration) if self.duration is not None else 1
        if not 0 < seconds <= LONGEST_WINDOW:
            raise Conflict("duration", f"{self.duration} is not from 1s to 31d", "write start and end for a long one")


def _ends_later(start: str, end: str) -> bool:
    return end >= start if len(end) == len("2026-12-20") else end.replace(" ", "T") > start.replace(" ", "T")


class Windows(Model):
    """When traffic may move: in any of allow (always, where there is none) and in none of deny."""

    allow: Annotated[list[Window], Field(min_length=1)] | None = None
    deny: Annotated[list[Window], Field(min_length=1)] | None = None
    time_zone: Zone | None = Field(None, description="Of all its times, such as Europe/Berlin. Default UTC.")
    reason: Text | None = Field(None, description="Why, where the window itself does not say.")

    @model_validator(mode="after")
    def _has_some(self) -> Self:
        if not self.allow and not self.deny:
            raise Conflict("", "has neither allow nor deny", "add one of them")
        return self


class Soak(Model):
    """How long this very version must be available without interruption before traffic may move to it."""

    for_: Period = Field(alias="for", description="30m, 2h, 1d.")


class Images(Model):
    """Where every image of the pod template must come from."""

    allow: Names | None = Field(None, description="Globs; each image must fit one.")
    deny: Names | None = Field(None, description="Globs; no image may fit one.")
    require_digest: bool = Field(False, description="Each image is pinned by @sha256:….")

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not (self.allow or self.deny or self.require_digest):
            raise Conflict("", "asks nothing", "add allow, deny or requireDigest")
        return self


class Message(Model):
    """Required text in the message of the commit that brought the version, or of its promotion; one of the two
    suffices.
    """

    matches: Annotated[str, AfterValidator(_pattern)] | None = Field(
        None, description="A regular expression (RE2's syntax), found anywhere in the message."
    )
    trailer: Annotated[str, Matching("[A-Za-z0-9][-A-Za-z0-9]*", "use letters, digits and -")] | None = Field(
        None, description="The name of a trailer that must have a value, such as Ticket."
    )

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not (self.matches or self.trailer):
            raise Conflict("", "asks nothing", "add matches or trailer")
        return self


class Concurrency(Model):
    """The maximum number of apps and release groups between their promotion and the end of their analysis."""

    max: Positive
    scope: Annotated[
        str, Matching(r"(all|namespace|group:[A-Za-z0-9][-A-Za-z0-9_./]*)", "write all, namespace, or group:LABEL")
    ] = Field("namespace", description="all; namespace; or group:LABEL, apps whose targets have the same value of it.")


class After(Model):
    """Another app must be in a certain state."""

    app: Annotated[str, AfterValidator(_app)] = Field(description="namespace/name, or a name in the same namespace.")
    state: Literal["healthy"] = Field("healthy", description="What it is to be.")
    for_at_least: Period | None = Field(None, description="For so long without a break.")
    same_version: bool = Field(
        False,
        description="What it serves is called as the new version is: by the label app.kubernetes.io/version of the "
        "pod template, else by the tag of the first image.",
    )


class Cel(Model):
    """A condition of your own."""

    expression: Expr = Field(description="CEL; true opens the gate.")
    message: Text | None = Field(None, description="Why it is shut.")
    until: Expr | None = Field(None, description="CEL that gives the moment when to look again.")
    time_zone: Zone | None = Field(None, description="Of the variable local. Default UTC.")


class Approvals(Model):
    """Who must have approved this very version."""

    count: Positive = 1
    by: Names | None = Field(None, description="Names of policies/people.yaml, and groups as group:leads.")
    not_author: bool = Field(True, description="Authors of the change do not count.")
    distinct_groups: bool = Field(False, description="No two of them count for the same group.")
    proof: Literal["forge", "merge"] = Field("forge", description="What is believed of who it was.")
    max_age: Period = Field("14d", description="How old an approval may be.")


class Separation(Model):
    """No person may have two of these roles."""

    between: Annotated[list[Literal["author", "approver", "merger"]], Field(min_length=2)]


class Rule(Model):
    """Exactly one of these."""

    windows: Windows | None = None
    soak: Soak | None = None
    images: Images | None = None
    message: Message | None = None
    concurrency: Concurrency | None = None
    after: After | None = None
    cel: Cel | None = None
    approvals: Approvals | None = None
    separation: Separation | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            known = ", ".join(type(self).model_fields)
            found = " and ".join(given) or "none"
            raise Conflict("", f"a rule is exactly one of {known}; found {found}", "begin a new `- ` for each")
        return self

    @property
    def given(self) -> Any:
        """The one that is given."""
        return next(each for name in type(self).model_fields if (each := getattr(self, name)) is not None)


class Override(Model):
    """Who may promote in spite of the policy: each time with a reason, which the ledger shows to all."""

    by: Names = Field(description="Names of policies/people.yaml, and groups as group:incident.")
    proof: Literal["merge", "signed"] = Field(
        "merge",
        description="What is believed of who it was: merge, the e-mail address that the promotion is by; signed, the "
        "SSH key that signed the promotion.",
    )


class PolicySpec(Model):
    """What must hold before traffic moves to a new version. No policy stops a rollback."""

    match: Match | None = None
    mode: Literal["enforce", "warn"] = Field("enforce", description="warn: it is shown, and nothing waits.")
    rules: Annotated[list[Rule], Field(min_length=1)] = Field(description="All of them must be open.")
    override: Override | None = None


class PromotionPolicy(Model):
    """A document of a file of ``policies/``."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["PromotionPolicy"]
    metadata: PolicyMetadata
    spec: PolicySpec


FORGES = {"github": ("github",), "gitlab": ("gitlab",), "gitea": ("gitea", "forgejo"), "forgejo": ("forgejo", "gitea")}
"""The keys of ``forge`` in people.yaml, each with its equivalents: Forgejo is a Gitea with another name."""


class PersonEntry(Model):
    """A person, and how others identify them."""

    name: Text
    emails: list[Text] | None = Field(None, description="Addresses that their commits are by.")
    forge: dict[str, str | int] | None = Field(
        None,
        description="Their stable ids, by forge: {github: 12345}.",
        json_schema_extra={"propertyNames": {"enum": list(FORGES)}},
    )
    bot: bool = Field(False, description="It is a program: it may write changes, and approves none.")
    signers: list[Text] | None = Field(None, description="Names in policies/allowed_signers.")
    groups: list[DnsLabel] | None = Field(None, description="The groups that they are in.")

    @model_validator(mode="after")
    def _by_ids(self) -> Self:
        for kind, number in (self.forge or {}).items():
            if kind not in FORGES:
                raise Conflict(f"forge.{kind}", f"{kind} is no forge", f"write one of {', '.join(FORGES)}")
            if not re.fullmatch(r"[1-9][0-9]{0,18}", str(number)):
                remedy = "write the number that the forge has for the account: a login can be taken over"
                raise Conflict(f"forge.{kind}", f"{number} is no id", remedy)
        return self

    def known_by(self) -> set[str]:
        """The names, addresses and ids that identify them."""
        ids = {f"{kind} id {number}" for key, number in (self.forge or {}).items() for kind in FORGES[key]}
        keys = {f"signer {name}" for name in self.signers or ()}
        return ids | keys | {email.lower() for email in self.emails or ()}


class People(Model):
    """``policies/people.yaml``: who is who."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["People"]
    people: Annotated[list[PersonEntry], Field(min_length=1)]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        names = [person.name for person in self.people]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise Conflict(f"people.{place}.name", f"{name} is there twice", "rename one, or join the two")
        self._check_unique()
        return self

    def _check_unique(self) -> None:
        seen: dict[str, str] = {}
        for place, person in enumerate(self.people):
            for known in sorted(person.known_by()):
                if known in seen:
                    message = f"{known} is that of {seen[known]}, too"
                    raise Conflict(f"people.{place}", message, "leave it with one of the two")
            seen |= dict.fromkeys(person.known_by(), person.name)
