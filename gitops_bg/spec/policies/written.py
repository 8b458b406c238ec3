"""What policies write in another form than the core has it: windows, zones, apps, expressions and patterns.

Zones are loaded and expressions compiled on the way. `spec.declared` has the table of all such forms.
"""

import re
from datetime import datetime, time, timedelta
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from gitops_bg.core.model.policy_rules import (
    DateSpan,
    Expression,
    Pattern,
    Repeating,
    Weekly,
    Window,
)
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.written import DNS_LABEL, Conflict, Text
from gitops_bg.spec.app.fields import Model, Period, whole_seconds
from gitops_bg.spec.expressions import BadExpression, compile_pattern
from gitops_bg.spec.policies.expressions import apps_named_in, compile_expression, read_cron
from gitops_bg.spec.yaml.scalars import nearest

LONGEST_WINDOW = 31 * 86400
"""The maximum duration, in seconds, of a window with a cron expression."""

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[str, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d|24:00", re.ASCII)
_WALL = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?", re.ASCII)


def _time(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise PydanticCustomError("time_of_day", 'must be a time of the day from "00:00" to "24:00", quoted')
    return text


_YEARS = (1970, 9000)
"""Years beyond these leave no room for a zone, or for a look ahead."""


def _wall(text: str) -> str:
    try:
        wall = datetime.fromisoformat(text if _WALL.fullmatch(text) else "")
    except ValueError:
        message = 'must be a day or a local time, quoted: "2026-12-20" or "2026-12-20T18:00"; the zone is timeZone'
        raise PydanticCustomError("wall_time", message) from None
    if not _YEARS[0] <= wall.year <= _YEARS[1]:
        message = f"must lie between the years {_YEARS[0]} and {_YEARS[1]}; leave end out for a window without an end"
        raise PydanticCustomError("wall_time", message)
    return text


def zone_of(text: str) -> ZoneInfo:
    """Return the time zone of a name; raise pydantic's error with the nearest one."""
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        close = nearest(text, available_timezones())
        hint = f"; did you mean {close}?" if close else ", such as Europe/Berlin"
        raise PydanticCustomError("zone", "{text} is no time zone{hint}", {"text": repr(text), "hint": hint}) from None


def _cron(text: str) -> str:
    try:
        read_cron(text)
    except ValueError as error:
        raise PydanticCustomError("cron", "{why}", {"why": str(error)}) from error
    return text


def expression_of(text: str) -> Expression:
    """Return an expression of CEL, compiled; raise pydantic's error with what is wrong with it."""
    try:
        return Expression(text, compile_expression(text), apps_named_in(text))
    except BadExpression as error:
        raise PydanticCustomError("expression", "{why}", {"why": str(error)}) from error


def pattern_of(text: str) -> Pattern:
    """Return a regular expression, compiled; raise pydantic's error with what is wrong with it."""
    try:
        return Pattern(text, compile_pattern(text))
    except BadExpression as error:
        raise PydanticCustomError("pattern", "{why}", {"why": str(error)}) from error


def app_of(text: str) -> AppKey:
    """Return the app that a text names, without a namespace where it names none; raise pydantic's error."""
    if not re.fullmatch(rf"({DNS_LABEL}/)?{DNS_LABEL}", text):
        raise PydanticCustomError("app", "must name an app: namespace/name, or a name in the namespace of each app")
    namespace, _, name = text.rpartition("/")
    return AppKey(namespace, name)


Time = Annotated[str, AfterValidator(_time)]
Wall = Annotated[str, AfterValidator(_wall)]


class WindowEntry(Model):
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

    @property
    def window(self) -> Window:
        """The window of the core."""
        reason = self.reason or ""
        if self.cron is not None and self.duration is not None:
            return Repeating(read_cron(self.cron), timedelta(seconds=whole_seconds(self.duration)), reason)
        if self.start is not None:
            return DateSpan(_moment(self.start), _moment(self.end, whole_day=True) if self.end else None, reason)
        days = frozenset(DAYS.index(day) for day in self.days or DAYS)
        return Weekly(days, _minutes(self.from_ or "00:00"), _minutes(self.to or "24:00"), reason)


def _minutes(text: str) -> int:
    hours, _, minutes = text.partition(":")
    return 60 * int(hours) + int(minutes)


def _moment(text: str, *, whole_day: bool = False) -> datetime:
    moment = datetime.fromisoformat(text)
    is_day = len(text) == len("2026-12-20")
    return datetime.combine(moment.date(), time()) + timedelta(days=1) if is_day and whole_day else moment


def _ends_later(start: str, end: str) -> bool:
    return end >= start if len(end) == len("2026-12-20") else end.replace(" ", "T") > start.replace(" ", "T")
