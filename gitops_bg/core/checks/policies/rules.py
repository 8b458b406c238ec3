"""One function for each rule except those on people: ``(rule, facts, now) -> Answer``. Every sentence says what to do.

An unknown fact shuts a rule, never opens it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from gitops_bg.core.checks.policies.values import values_of
from gitops_bg.core.checks.policies.windows import is_open, next_open, next_shut, why_shut
from gitops_bg.core.model.policies.facts import CommitFacts, Facts, Peer
from gitops_bg.core.model.policies.rules import (
    After,
    Concurrency,
    Expression,
    Images,
    Message,
    NoAnswer,
    Scope,
    Soak,
    Windows,
)

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


def windows(rule: Windows, _: Facts, now: datetime) -> RuleAnswer:
    """Return whether traffic may move now, and when it may next. The reason always names the zone."""
    if is_open(rule, now):
        return RuleAnswer(True, f"open ({rule.zone_name})", next_shut(rule, now))
    until = next_open(rule, now)
    end = f"until {_wall(until, rule)}" if until else f"with no end within a year ({rule.zone_name})"
    return RuleAnswer(False, f"{why_shut(rule, now)}: shut {end}", until, "wait, or change the policy in main")


def _wall(moment: datetime, rule: Windows) -> str:
    return f"{moment.astimezone(rule.zone):%a %Y-%m-%d %H:%M} {rule.zone_name}"


def soak(rule: Soak, facts: Facts, now: datetime) -> RuleAnswer:
    """Return whether this very version has been available for long enough."""
    asked = f"available for {length(rule.period)}"
    if facts.available_since is None:
        return RuleAnswer(False, f"{asked}, which begins when its pods are")
    until = facts.available_since + rule.period
    if now >= until:
        return RuleAnswer(True, asked)
    return RuleAnswer(False, f"{asked}, until {until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC", until)


def images(rule: Images, facts: Facts, _: datetime) -> RuleAnswer:
    """Return whether every image is from a permitted source, and pinned if required."""
    if facts.to.images is None:
        return RuleAnswer(False, "nobody can tell its images", unknown=True)
    for image in facts.to.images:
        if wrong := _wrong_with(image, rule):
            return RuleAnswer(False, f"{image} {wrong}", remedy=NEVER_BY_ITSELF)
    return RuleAnswer(True, "every image is allowed")


def _wrong_with(image: str, rule: Images) -> str:
    if rule.allow and not any(fnmatchcase(image, glob) for glob in rule.allow):
        return f"is none of {', '.join(rule.allow)}"
    if denying := next((glob for glob in rule.deny if fnmatchcase(image, glob)), ""):
        return f"is denied by {denying}"
    return "is not pinned by @sha256:…" if rule.require_digest and "@sha256:" not in image else ""


def message(rule: Message, facts: Facts, _: datetime) -> RuleAnswer:
    """Return whether the commit that brought the version, or its promotion, has the required text."""
    commits = [commit for commit in (facts.to.source, facts.promotion) if commit]
    if not commits:
        return RuleAnswer(False, "nobody can read its commits now", unknown=True)
    asked = f"a trailer {rule.trailer}: …" if rule.trailer else f"a message like {rule.pattern}"
    if any(_says(rule, commit) for commit in commits):
        return RuleAnswer(True, f"a commit has {asked}")
    said = " nor ".join(commit.commit[:10] for commit in commits)
    return RuleAnswer(False, f"it needs {asked}; {said} has none", remedy=f"promote it by a commit with {asked}")


def _says(rule: Message, commit: CommitFacts) -> bool:
    if rule.trailer and not any(commit.trailer(rule.trailer)):
        return False
    return rule.matches is None or rule.matches(commit.message)


def concurrency(rule: Concurrency, facts: Facts, _: datetime) -> RuleAnswer:
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


def _counts(rule: Concurrency, facts: Facts, peer: Peer) -> bool:
    if rule.scope is Scope.NAMESPACE:
        return peer.who.namespace == facts.app.namespace
    if rule.scope is Scope.GROUP:
        group = dict(facts.labels).get(rule.label)
        return group is not None and any(dict(labels).get(rule.label) == group for _, labels in peer.apps)
    return True


def after(rule: After, facts: Facts, now: datetime) -> RuleAnswer:
    """Return whether the other app has reached the required state."""
    other = rule.of(facts.app.namespace)
    peer = facts.others.peers.get(other)
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


def expression(rule: Expression, facts: Facts, now: datetime) -> RuleAnswer:
    """Return whether the expression is true; if it cannot be evaluated, it is shut."""
    if missing := sorted(str(app) for app in rule.apps if app not in facts.others.peers):
        return RuleAnswer(False, f"nobody has looked at {', '.join(missing)} yet", unknown=True)
    values = values_of(facts, now, rule.zone)
    try:
        answer = rule.program(values)
    except NoAnswer as error:
        return RuleAnswer(False, f"{rule.message or rule.text}: it cannot be evaluated: {error}")
    if answer is True:
        return RuleAnswer(True, rule.message or rule.text)
    if answer is not False:
        return RuleAnswer(False, f"{rule.text} is {answer!r}, neither true nor false")
    return RuleAnswer(False, rule.message or f"{rule.text} is false", _until(rule, values, now))


def _until(rule: Expression, values: dict[str, object], now: datetime) -> datetime | None:
    if rule.until is None:
        return None
    try:
        moment = rule.until(values)
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
