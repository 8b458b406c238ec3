"""Words that everything shown has in common: durations and ages, the style of a phase, and reasons that stand only
once.
"""

from collections.abc import Iterable
from datetime import datetime

from gitops_bg.core.model.conditions import Phase


def spoken(duration: float) -> str:
    """Format a duration in its two largest units.

    >>> spoken(42), spoken(3661), spoken(90000), spoken(0.4)
    ('42s', '1h1m', '1d1h', '0s')
    """
    left = max(0, int(duration))
    if left < 60:
        return f"{left}s"
    sizes = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    first = next(index for index, (_, size) in enumerate(sizes) if left >= size)
    text = ""
    for unit, size in sizes[first : first + 2]:
        count, left = divmod(left, size)
        text += f"{count}{unit}" if count else ""
    return text


_STYLES = {
    Phase.HEALTHY: "green",
    Phase.HELD: "yellow",
    Phase.SCALED_TO_ZERO: "yellow",
    Phase.SUSPENDED: "yellow",
    Phase.PAUSED: "yellow",
    Phase.WAITING: "cyan",
    Phase.AWAITING_PROMOTION: "cyan",
    Phase.INVALID: "red",
    Phase.DEGRADED: "red",
    Phase.ROLLING_BACK: "magenta",
}


def style_of(phase: str) -> str:
    """Return the style in which a phase is printed."""
    return _STYLES.get(Phase(phase), "") if phase in set(Phase) else "dim"


def age(created: str, now: datetime) -> str:
    """Return how long ago a timestamp of Kubernetes was.

    >>> from datetime import UTC
    >>> age("2026-01-01T00:00:00Z", datetime(2026, 1, 1, 1, tzinfo=UTC))
    '1h'
    """
    return spoken((now - datetime.fromisoformat(created)).total_seconds()) if created else "-"


def without_repeated_reason(sentence: str, told: Iterable[str]) -> str:
    """Leave out the reason of a sentence, behind its first colon, and what follows a semicolon, where a line above has
    told it; all of it, where that line is the sentence itself.

    >>> without_repeated_reason("waiting for its 2 pods", ["waiting for its 2 pods"])
    ''
    >>> without_repeated_reason("on hold: aborted: 5xx", ["aborted: 5xx; `gitops-bg resume shop/web` lifts the hold"])
    'on hold'
    >>> without_repeated_reason("on hold: aborted: 5xx", ["waiting for its 2 pods"])
    'on hold: aborted: 5xx'
    >>> without_repeated_reason("waiting for its pod; it cannot start", ["v2 waits: it cannot start: ImagePullBackOff"])
    'waiting for its pod'
    """
    lines = tuple(told)
    if sentence in lines:
        return ""
    what, _, why = sentence.partition(": ")
    first, *others = (what if why and any(why in each for each in lines) else sentence).split("; ")
    return "; ".join([first, *(part for part in others if not any(part in each for each in lines))])
