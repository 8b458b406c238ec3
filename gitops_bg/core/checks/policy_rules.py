"""What each rule of a policy answers, except those on people: ``(rule, facts, now) -> Answer``, with windows of time
and the variables of expressions (policies.md §2). Every sentence says what to do.

Windows are half-open intervals in UTC, made from local times of a zone. The variables are plain mappings, lists, texts
and moments.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fnmatch import fnmatchcase

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.policy_facts import CommitFacts, PastMove, Peer, PolicyFacts, VersionFacts
from gitops_bg.core.model.policy_rules import (
    NAMESPACE,
    After,
    Cel,
    Concurrency,
    Cron,
    DateSpan,
    Images,
    Message,
    NoAnswer,
    Repeating,
    Soak,
    Weekly,
    Window,
    Windows,
)
from gitops_bg.core.model.version import AppKey

VARIABLES = ("app", "from", "to", "promotion", "approvals", "preview", "history", "apps", "now", "local")
"""``from`` is a reserved word in some dialects of CEL, not in ours."""
MOST_HISTORY = 50


def values_of(facts: PolicyFacts, now: datetime, zone: tzinfo) -> dict[str, object]:
    """Return all variables, by name."""
    local = now.astimezone(zone)
    preview: dict[str, object] = {
        "healthy": facts.available_since is not None,
        "available_since": facts.available_since,
    }
    return _known(
        {
            "app": {
                "namespace": facts.app.namespace,
                "name": facts.app.name,
                "labels": dict(facts.labels),
                "annotations": dict(facts.annotations),
            },
            "from": _version(facts.serving) if facts.serving else {},
            "to": _version(facts.to),
            "promotion": _commit(facts.promotion) if facts.promotion else {},
            "approvals": _approvals(facts, now),
            "preview": _known(preview),
            "history": {"promotions": _moves(facts.promotions), "rollbacks": _moves(facts.rollbacks)},
            "apps": {str(who): _peer(peer) for who, peer in facts.others.peers.items() if isinstance(who, AppKey)},
            "now": now,
            "local": {
                "weekday": ("mon", "tue", "wed", "thu", "fri", "sat", "sun")[local.weekday()],
                "hour": local.hour,
                "minute": local.minute,
                "date": f"{local:%Y-%m-%d}",
            },
        }
    )


def _approvals(facts: PolicyFacts, now: datetime) -> list[dict[str, object]] | None:
    """Return the approvals that may now count for this very version; None where it is unknown who approved."""
    if facts.approvals is None:
        return None
    return [
        {"by": each.by, "groups": sorted(each.groups), "at": each.at, "proof": str(each.proof)}
        for each in facts.approvals
        if not each.void and each.digest == facts.to.digest and not each.untimely(now)
    ]


def _version(version: VersionFacts) -> dict[str, object]:
    source: dict[str, object] = {"commit": version.source_commit}
    if version.source:
        source |= _commit(version.source)
    images = None if version.images is None else list(version.images)
    return _known(
        {
            "version": version.number,
            "version_label": version.label,
            "digest": version.digest,
            "images": images,
            "source": source,
        }
    )


def _commit(commit: CommitFacts) -> dict[str, object]:
    trailers = dict(reversed(commit.trailers))
    return _known(
        {
            "commit": commit.commit,
            "author": str(commit.author),
            "by": str(commit.committer),
            "at": commit.at,
            "message": commit.message,
            "trailers": trailers,
        }
    )


def _peer(peer: Peer) -> dict[str, object]:
    active = {"version": peer.number, "version_label": peer.label, "digest": peer.digest}
    return _known(
        {"active": active, "phase": peer.phase, "since": peer.healthy_since, "healthy": peer.healthy_since is not None}
    )


def _moves(moves: tuple[PastMove, ...]) -> list[dict[str, object]]:
    return [{"at": each.at, "digest": each.digest, "reason": each.reason} for each in moves[:MOST_HISTORY]]


def _known(values: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in values.items() if value is not None}


DAY = timedelta(days=1)
HORIZON = timedelta(days=366)
"""How far ahead the next moment is searched for."""
_MOST_STEPS = 400
"""How many consecutive windows are examined: a bound on time, not on what files may contain."""

_FURTHEST_JUMP = 3
"""The largest clock change, in hours, on the day of the change."""

Interval = tuple[datetime, datetime | None]


def is_open(windows: Windows, at: datetime) -> bool:
    """Return whether any allowed window is open (or none is required), and no denying one."""
    allowed = not windows.allow or any(_end_of(each, windows.zone, at) for each in windows.allow)
    return allowed and not any(_end_of(each, windows.zone, at) for each in windows.deny)


def next_open(windows: Windows, at: datetime) -> datetime | None:
    """Return the first moment from ``at`` on at which they are open; None if there is none within a year."""
    moment, last = at, at + HORIZON
    for _ in range(_MOST_STEPS):
        if moment > last:
            return None
        following = _step(windows, moment)
        if following == moment:
            return moment
        if following is None:
            return None
        moment = following
    return None


def next_shut(windows: Windows, at: datetime) -> datetime | None:
    """Return when windows that are open at ``at`` may shut next; None if not within a year.

    Of several allowing windows the last to end counts: one suffices.
    """
    starts = (_next_start(each, windows.zone, at) for each in windows.deny)
    last = max((_end_of(each, windows.zone, at) or at for each in windows.allow), default=_NEVER)
    return min((each for each in (*starts, last) if each and each < _NEVER), default=None)


def why_shut(windows: Windows, at: datetime) -> str:
    """Return the reason in the file: of the window that denies, else of the rule."""
    denying = [each for each in windows.deny if _end_of(each, windows.zone, at)]
    said = next((each.reason for each in denying if each.reason), "") or windows.reason
    return said or ("a window that denies is open" if denying else "outside of the windows that are allowed")


def _step(windows: Windows, at: datetime) -> datetime | None:
    """Return ``at`` if it is open then; else the next moment to examine; None where there is none."""
    ends = [end for each in windows.deny if (end := _end_of(each, windows.zone, at))]
    if ends:
        furthest = max(ends)
        return None if furthest >= _NEVER else furthest
    if not windows.allow or any(_end_of(each, windows.zone, at) for each in windows.allow):
        return at
    starts = (_next_start(each, windows.zone, at) for each in windows.allow)
    return min((each for each in starts if each), default=None)


_NEVER = datetime.max.replace(tzinfo=UTC)


def _end_of(window: Window, zone: tzinfo, at: datetime) -> datetime | None:
    """Return when the window that is open at ``at`` ends, the latest of several; None where it is shut."""
    if isinstance(window, Repeating):
        start = _last_start(window, zone, at)
        return start + window.duration if start and at < start + window.duration else None
    day = at.astimezone(zone).date()
    around = _intervals(window, zone, _days(day - 2 * DAY, day + DAY))
    ends = (end or _NEVER for start, end in around if start <= at and (end is None or at < end))
    return max(ends, default=None)


def _last_start(window: Repeating, zone: tzinfo, at: datetime) -> datetime | None:
    """Return its last start up to ``at``, if it can still be open then; far earlier hours are not examined."""
    wall = at.astimezone(zone)
    for back in range(-1, window.duration // DAY + 2):
        day = wall.date() - back * DAY
        if not begins_on(window.cron, day):
            continue
        latest = wall.hour + _FURTHEST_JUMP if back == 0 else 24
        for start in _starts(window.cron, zone, day, latest):
            if start <= at:
                return start
    return None


def _next_start(window: Window, zone: tzinfo, at: datetime) -> datetime | None:
    """Return when it opens next, after ``at``, within the horizon."""
    day = at.astimezone(zone).date()
    for start, end in _intervals(window, zone, _days(day - DAY, day + HORIZON + DAY)):
        if start > at and (end is None or end > start):
            return start
    return None


def _days(first: date, last: date) -> Iterator[date]:
    for number in range((last - first).days + 1):
        yield first + number * DAY


def _intervals(window: Window, zone: tzinfo, days: Iterator[date]) -> Iterator[Interval]:
    """Yield the intervals that begin on these days, in order. A span is one, whatever the days."""
    match window:
        case DateSpan():
            yield starts_at(window.start, zone), ends_at(window.end, zone) if window.end else None
        case Weekly():
            for day in days:
                if day.weekday() in window.days:
                    yield _of_day(window, zone, day)
        case Repeating():
            for day in days:
                if begins_on(window.cron, day):
                    for start in reversed(tuple(_starts(window.cron, zone, day))):
                        yield start, start + window.duration


def _of_day(window: Weekly, zone: tzinfo, day: date) -> Interval:
    over = window.until if window.until > window.start else window.until + 1440
    midnight = datetime.combine(day, time())
    start, end = (midnight + timedelta(minutes=minutes) for minutes in (window.start, over))
    return starts_at(start, zone), ends_at(end, zone)


def begins_on(cron: Cron, day: date) -> bool:
    """Return whether it begins on this day at all."""
    if day.month not in cron.months:
        return False
    of_month, of_week = day.day in cron.days, day.weekday() in cron.weekdays
    return of_month or of_week if cron.either_day else of_month and of_week


def _starts(cron: Cron, zone: tzinfo, day: date, latest: int = 24) -> Iterator[datetime]:
    """Yield the starts on a day up to an hour, the last one first."""
    for hour in sorted((each for each in cron.hours if each <= latest), reverse=True):
        for minute in sorted(cron.minutes, reverse=True):
            yield starts_at(datetime.combine(day, time(hour, minute)), zone)


def starts_at(wall: datetime, zone: tzinfo) -> datetime:
    """Return the moment at which a window with this local start begins: the first of two, or the jump if
    none exists.
    """
    return _moment(wall, zone, fold=0)


def ends_at(wall: datetime, zone: tzinfo) -> datetime:
    """Return the moment at which a window with this local end ends: the second of two, or the jump if none exists."""
    return _moment(wall, zone, fold=1)


def _moment(wall: datetime, zone: tzinfo, *, fold: int) -> datetime:
    moment = wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)
    exists = moment.astimezone(zone).replace(tzinfo=None) == wall
    return moment if exists else _jump(wall, zone)


def _jump(wall: datetime, zone: tzinfo) -> datetime:
    """Return the moment at which clocks skipped a local time: between its values by the offsets after and before."""
    low, high = sorted(wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    offset = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
        low, high = (middle, high) if middle.astimezone(zone).utcoffset() == offset else (low, middle)
    return high


NEVER_BY_ITSELF = "push another version: this one will not pass by waiting"


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """The answer of a rule about a version."""

    open: bool
    reason: str = ""
    until: datetime | None = None
    """When time alone changes the answer, if that is known."""
    remedy: str = ""
    unknown: bool = False


def windows(rule: Windows, _: PolicyFacts, now: datetime) -> RuleAnswer:
    """Return whether traffic may move now, and when it may next. The reason always names the zone."""
    if is_open(rule, now):
        return RuleAnswer(True, f"open ({rule.zone})", next_shut(rule, now))
    until = next_open(rule, now)
    end = f"until {_wall(until, rule)}" if until else f"with no end within a year ({rule.zone})"
    return RuleAnswer(False, f"{why_shut(rule, now)}: shut {end}", until, "wait, or change the policy in main")


def _wall(moment: datetime, rule: Windows) -> str:
    return f"{moment.astimezone(rule.zone):%a %Y-%m-%d %H:%M} {rule.zone}"


def soak(rule: Soak, facts: PolicyFacts, now: datetime) -> RuleAnswer:
    """Return whether this very version has been available for long enough."""
    asked = f"available for {length(rule.period)}"
    if facts.available_since is None:
        return RuleAnswer(False, f"{asked}, which begins when its pods are")
    until = facts.available_since + rule.period
    if now >= until:
        return RuleAnswer(True, asked)
    return RuleAnswer(False, f"{asked}, until {until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC", until)


def images(rule: Images, facts: PolicyFacts, _: datetime) -> RuleAnswer:
    """Return whether every image is from a permitted source, and pinned if required."""
    if facts.to.images is None:
        return RuleAnswer(False, "nobody can tell its images", unknown=True)
    for image in facts.to.images:
        if wrong := _wrong_with(image, rule):
            return RuleAnswer(False, f"{image} {wrong}", remedy=NEVER_BY_ITSELF)
    return _same(rule, facts, facts.to.images) if rule.same_as else RuleAnswer(True, "every image is allowed")


def _same(rule: Images, facts: PolicyFacts, images: tuple[str, ...]) -> RuleAnswer:
    served = facts.served.get(rule.same_as)
    if served is None:
        return RuleAnswer(False, f"nobody can tell the images that served in {rule.same_as}", unknown=True)
    other = next((image for image in images if image not in served), "")
    if other:
        return RuleAnswer(
            False, f"{other} never served in {rule.same_as}", remedy=f"let it serve in {rule.same_as} first"
        )
    return RuleAnswer(True, f"every image served in {rule.same_as}")


def _wrong_with(image: str, rule: Images) -> str:
    if rule.allow and not any(fnmatchcase(image, glob) for glob in rule.allow):
        return f"is none of {', '.join(rule.allow)}"
    if denying := next((glob for glob in rule.deny if fnmatchcase(image, glob)), ""):
        return f"is denied by {denying}"
    return "is not pinned by @sha256:…" if rule.require_digest and "@sha256:" not in image else ""


def message(rule: Message, facts: PolicyFacts, _: datetime) -> RuleAnswer:
    """Return whether the commit that brought the version, or its promotion, has the required text."""
    commits = [commit for commit in (facts.to.source, facts.promotion) if commit]
    if not commits:
        return RuleAnswer(False, "nobody can read its commits now", unknown=True)
    asked = f"a trailer {rule.trailer}: …" if rule.trailer else f"a message like {rule.matches and rule.matches.text}"
    if any(_says(rule, commit) for commit in commits):
        return RuleAnswer(True, f"a commit has {asked}")
    said = " nor ".join(commit.commit[:10] for commit in commits)
    return RuleAnswer(False, f"it needs {asked}; {said} has none", remedy=f"promote it by a commit with {asked}")


def _says(rule: Message, commit: CommitFacts) -> bool:
    if rule.trailer and not any(commit.trailer(rule.trailer)):
        return False
    return rule.matches is None or rule.matches.matches(commit.message)


def concurrency(rule: Concurrency, facts: PolicyFacts, _: datetime) -> RuleAnswer:
    """Return whether it is its turn, from the number of others that move and that come before it. What has begun keeps
    its turn: else it would wait for those that wait for it.
    """
    if facts.has_begun:
        return RuleAnswer(True, "it has had its turn")
    if facts.others.not_looked_at:
        return RuleAnswer(False, f"{facts.others.not_looked_at} others were not looked at yet", unknown=True)
    others = [peer for peer in facts.others.peers.values() if peer.who != facts.who and _counts(rule, facts, peer)]
    moving = sorted(str(peer) for peer in others if peer.moving)
    ahead = sum(not peer.moving and peer.queued is not None and peer.queued < facts.queue for peer in others)
    if len(moving) + ahead < rule.most:
        return RuleAnswer(True, f"{len(moving)} of {rule.most} others are on the move")
    who = f": {', '.join(moving[:3])}{' …' if len(moving) > 3 else ''}" if moving else ""
    place = ahead + 1
    return RuleAnswer(False, f"{len(moving)} of {rule.most} are on the move{who}; place {place} in the queue")


def _counts(rule: Concurrency, facts: PolicyFacts, peer: Peer) -> bool:
    if rule.scope == NAMESPACE:
        return peer.who.namespace == facts.app.namespace
    if rule.label:
        group = dict(facts.labels).get(rule.label)
        return group is not None and any(dict(labels).get(rule.label) == group for _, labels in peer.apps)
    return True


def after(rule: After, facts: PolicyFacts, now: datetime) -> RuleAnswer:
    """Return whether the other app has reached the required state."""
    other = rule.of(facts.app.namespace)
    peer = facts.others.peers.get(other) if other is not None else None
    if peer is None:
        return RuleAnswer(False, f"nobody has looked at {other} yet", unknown=True)
    if peer.healthy_since is None:
        return RuleAnswer(False, f"{other} is {peer.phase or 'not healthy'}")
    if rule.same_version and peer.label != facts.to.label:
        return RuleAnswer(False, f"{other} serves {peer.label or 'no version that it names'}, not {facts.to.label}")
    until = peer.healthy_since + rule.at_least
    if now < until:
        return RuleAnswer(False, f"{other} is healthy, and is to be so for {length(rule.at_least)}", until)
    return RuleAnswer(True, f"{other} is healthy")


def cel(rule: Cel, facts: PolicyFacts, now: datetime) -> RuleAnswer:
    """Return whether the expression is true; if it cannot be evaluated, it is shut."""
    if missing := sorted(str(app) for app in rule.apps if app not in facts.others.peers):
        return RuleAnswer(False, f"nobody has looked at {', '.join(missing)} yet", unknown=True)
    values, text = values_of(facts, now, rule.zone), rule.expression.text
    try:
        answer = rule.expression.program(values)
    except NoAnswer as error:
        return RuleAnswer(False, f"{rule.message or text}: it cannot be evaluated: {error}")
    if answer is True:
        return RuleAnswer(True, rule.message or text)
    if answer is not False:
        return RuleAnswer(False, f"{text} is {answer!r}, neither true nor false")
    return RuleAnswer(False, rule.message or f"{text} is false", _until(rule, values, now))


def _until(rule: Cel, values: dict[str, object], now: datetime) -> datetime | None:
    if rule.until is None:
        return None
    try:
        moment = rule.until.program(values)
    except NoAnswer:
        return None
    is_moment = isinstance(moment, datetime) and moment.tzinfo is not None and moment > now
    return moment if is_moment else None  # type: ignore[return-value]


def length(period: timedelta) -> str:
    """Format a period for people.

    >>> length(timedelta(hours=1, minutes=30)), length(timedelta(days=2)), length(timedelta())
    ('1h30m', '2d', '0s')
    """
    seconds, parts = round(period.total_seconds()), []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, seconds = divmod(seconds, size)
        parts += [f"{number}{unit}"] if number else []
    return "".join(parts) or "0s"
