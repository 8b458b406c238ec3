"""Waiting for what will be true in a moment, with a deadline and a useful last word."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds. It ends a test that fails; one that passes is done long before, but for a machine on which all else runs.

Nor is a real control plane always quick: its garbage collector rests for half a minute where a kind comes or goes.
No test waits for less, but one whose claim is how long something takes.
"""


HANGS = 600.0
"""Seconds after which a process of a test counts as one that never ends: a busy machine is slow."""


def stretched(seconds: float) -> float:
    """So many seconds, as long as they are for a process on this machine now: others may be busy beside it."""
    begin, used = time.monotonic(), time.process_time()
    while time.process_time() - used < _SAMPLE:
        pass
    return seconds * max(1.0, (time.monotonic() - begin) / _SAMPLE)


_SAMPLE = 0.1
_FIRST, _GROWTH = 0.01, 1.3
"""Seconds until the second look; each pause is longer: who looks all the time slows down what is looked at."""
_NO_NEWS = 0.25
"""Seconds between two looks while nothing new is heard: a probe may look at more than that."""


def eventually(
    probe: Callable[[], T],
    timeout: float = PATIENCE,
    every: float = 0.08,
    what: str = "",
    heard: Callable[[], object] | None = None,
    first: float = _FIRST,
) -> T:
    """Call `probe` until what it returns is true, and return that; its AssertionErrors count as "not yet".

    The second look is `first` seconds after the first one, no two are more than `every` seconds apart; with `heard`,
    whose answer costs nothing and changes with most of what `probe` looks at, there is one look after each change.
    After `timeout` seconds: an AssertionError that names `what`, and the last answer or error.
    """
    deadline, pause = time.monotonic() + timeout, first
    while True:
        before = heard() if heard else None
        try:
            answer = probe()
            last: object = answer
            if answer:
                return answer
        except AssertionError as error:
            last = error
        if time.monotonic() > deadline:
            cause = last if isinstance(last, AssertionError) else None
            raise AssertionError(f"not within {timeout} s: {what or 'the condition'}; last: {last!r}") from cause
        time.sleep(pause)
        pause = min(every, pause * _GROWTH)
        until = time.monotonic() + _NO_NEWS
        while heard and heard() == before and time.monotonic() < until:
            time.sleep(_FIRST)
