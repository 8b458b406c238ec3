"""Converts the schemas of policies to the core's types: loads zones and compiles expressions."""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from gitops_bg.core.model import policy_rules as core
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.fields import whole_seconds
from gitops_bg.spec.patterns import compile_pattern
from gitops_bg.spec.policies import models
from gitops_bg.spec.policies.cron import read_cron
from gitops_bg.spec.policies.expressions import apps_named_in, compile_expression

GROUP = "group:"


def policy_of(name: str, spec: models.PolicySpec, people: Iterable[models.PersonEntry]) -> core.Policy:
    """Return a policy for the core. ``people`` are those of ``policies/people.yaml``."""
    return core.Policy(
        name=name,
        rules=tuple(_rule(each.given) for each in spec.rules),
        match=_match(spec.match) if spec.match else core.Match(),
        mode=core.Mode(spec.mode),
        override=_break_glass(spec.override, tuple(people)) if spec.override else None,
    )


def _match(written: models.Match) -> core.Match:
    labels = tuple(sorted((written.labels or {}).items()))
    return core.Match(tuple(written.namespaces or ()), tuple(written.apps or ()), labels)


def members(by: Iterable[str], people: Iterable[models.PersonEntry]) -> tuple[models.PersonEntry, ...]:
    """Return the people that names and groups stand for."""
    wanted = set(by)
    return tuple(
        person
        for person in people
        if person.name in wanted or any(f"{GROUP}{group}" in wanted for group in person.groups or ())
    )


def _break_glass(written: models.Override, people: tuple[models.PersonEntry, ...]) -> core.BreakGlass:
    allowed = members(written.by, people)
    emails = (email.lower() for person in allowed for email in person.emails or ())
    names = frozenset(person.name for person in allowed)
    return core.BreakGlass(tuple(written.by), frozenset(emails), core.Proof(written.proof), names)


def _rule(written: object) -> core.Rule:  # noqa: PLR0911 - one line for each kind
    match written:
        case models.Windows():
            return _windows(written)
        case models.Soak():
            return core.Soak(_period(written.for_))
        case models.Images():
            return core.Images(tuple(written.allow or ()), tuple(written.deny or ()), written.require_digest)
        case models.Message():
            return _message(written)
        case models.Concurrency():
            scope, _, label = written.scope.partition(":")
            return core.Concurrency(written.max, core.Scope(scope), label)
        case models.After():
            return _after(written)
        case models.Cel():
            return _expression(written)
        case models.Approvals():
            return _approvals(written)
        case models.Separation():
            return core.Separation(tuple(core.Role(each) for each in dict.fromkeys(written.between)))
    raise TypeError(f"{type(written).__name__} is no rule")


def _windows(written: models.Windows) -> core.Windows:
    name = written.time_zone or "UTC"
    return core.Windows(
        allow=tuple(map(_window, written.allow or ())),
        deny=tuple(map(_window, written.deny or ())),
        zone=_zone(written.time_zone),
        zone_name=name,
        reason=written.reason or "",
    )


def _zone(name: str | None) -> tzinfo:
    return ZoneInfo(name) if name else UTC


def _window(written: models.Window) -> core.Window:
    reason = written.reason or ""
    if written.cron is not None and written.duration is not None:
        return core.Repeating(read_cron(written.cron), _period(written.duration), reason)
    if written.start is not None:
        end = _wall(written.end, whole_day=True) if written.end else None
        return core.Span(_wall(written.start), end, reason)
    days = frozenset(models.DAYS.index(day) for day in written.days or models.DAYS)
    return core.Weekly(days, _minutes(written.from_ or "00:00"), _minutes(written.to or "24:00"), reason)


def _minutes(text: str) -> int:
    hours, _, minutes = text.partition(":")
    return 60 * int(hours) + int(minutes)


def _wall(text: str, *, whole_day: bool = False) -> datetime:
    moment = datetime.fromisoformat(text)
    is_day = len(text) == len("2026-12-20")
    return datetime.combine(moment.date(), time()) + timedelta(days=1) if is_day and whole_day else moment


def _period(written: int | str) -> timedelta:
    return timedelta(seconds=whole_seconds(written))


def _message(written: models.Message) -> core.Message:
    matcher = compile_pattern(written.matches) if written.matches else None
    return core.Message(written.matches or "", matcher, written.trailer or "")


def _after(written: models.After) -> core.After:
    namespace, slash, name = written.app.partition("/")
    app = AppKey(namespace, name) if slash else AppKey("", written.app)
    return core.After(app, _period(written.for_at_least or 0), written.same_version)


def _expression(written: models.Cel) -> core.Expression:
    until = written.until
    return core.Expression(
        text=written.expression,
        program=compile_expression(written.expression),
        message=written.message or "",
        until_text=until or "",
        until=compile_expression(until) if until else None,
        apps=apps_named_in(written.expression) | apps_named_in(until or ""),
        zone=_zone(written.time_zone),
    )


def _approvals(written: models.Approvals) -> core.Approvals:
    return core.Approvals(
        count=written.count,
        by=frozenset(written.by or ()),
        not_author=written.not_author,
        distinct_groups=written.distinct_groups,
        proof=core.Proof(written.proof),
        at_most=_period(written.max_age),
    )
