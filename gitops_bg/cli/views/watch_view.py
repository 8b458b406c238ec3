"""Keeps showing what changes: draws on every change, and on a terminal every second (`pager`). Knows no app."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any, Generic, Protocol, TypeVar

from gitops_bg.cli.output import Output
from gitops_bg.cli.views.pager import NO_PARTS, Page, page_on
from gitops_bg.core.errors import Transient

_SECOND = 1.0

Seen = TypeVar("Seen")
Row = TypeVar("Row")
_Shown_contra = TypeVar("_Shown_contra", contravariant=True)


class Screen(Protocol[_Shown_contra]):
    """Where the state is shown. ``tick`` is after how many seconds the same state is shown again."""

    tick: float

    def show(self, seen: _Shown_contra) -> None:
        """Show the present state."""


def follow(
    read: Callable[[], Seen], screen: Screen[Seen], wait: Callable[[float | None], bool], seconds: float
) -> None:
    """Read and show on every change that ``wait`` reports, for ``seconds``. A read that fails is repeated."""
    until, seen, behind = time.monotonic() + seconds, None, False
    while (left := until - time.monotonic()) > 0:
        pause = min(left, _SECOND if behind else screen.tick)
        if wait(None if math.isinf(pause) else pause) or behind:
            try:
                seen, behind = read(), False
            except Transient:
                if seen is None:
                    raise
                behind = True
        if seen is not None:
            screen.show(seen)


def picture_screen(
    output: Output, page: Page[Seen], value: Callable[[Seen], Any], wake: Callable[[], None]
) -> AbstractContextManager[Screen[Seen]]:
    """Return where one thing is shown: a page on a terminal, frames elsewhere, lines of JSON for programs."""
    if output.json:
        return _as_it_is(JsonLines(output, value))
    return page_on(output.console, page, wake) if _has_terminal(output) else _as_it_is(Frames(output, page))


def list_screen(
    output: Output,
    page: Page[tuple[Row, ...]],
    value: Callable[[Row], Any],
    text: Callable[[Row], str],
    wake: Callable[[], None],
) -> AbstractContextManager[Screen[tuple[Row, ...]]]:
    """Return where a list is shown: a page on a terminal, elsewhere one line for each row that changed."""
    if _has_terminal(output) and not output.json:
        return page_on(output.console, page, wake)
    return _as_it_is(RowLines(output, value, text))


def _has_terminal(output: Output) -> bool:
    return output.console.is_terminal and not output.console.is_dumb_terminal


@contextmanager
def _as_it_is(screen: Screen[Any]) -> Iterator[Screen[Any]]:
    yield screen


class Frames(Generic[Seen]):
    """Pictures one below the other, each only where more than the time changed."""

    tick = math.inf

    def __init__(self, output: Output, page: Page[Seen]) -> None:
        self._output = output
        self._page = page
        self._last = ""
        self._last_at = datetime.now(UTC)

    def show(self, seen: Seen) -> None:
        """Show the state, unless the picture would equal the last one at the time of that."""
        if self._output.drawn(self._page.draw(seen, self._last_at, NO_PARTS)) == self._last:
            return
        if self._last:
            self._output.line("")
        self._last_at = datetime.now(UTC)
        picture = self._page.draw(seen, self._last_at, NO_PARTS)
        self._last = self._output.drawn(picture)
        self._output.show(picture)


class JsonLines(Generic[Seen]):
    """One JSON object per line, for each change."""

    tick = math.inf

    def __init__(self, output: Output, value: Callable[[Seen], Any]) -> None:
        self._output = output
        self._value = value
        self._last: Any = None

    def show(self, seen: Seen) -> None:
        """Show the state, unless it is told as the last one was."""
        value = self._value(seen)
        if value != self._last:
            self._last = value
            self._output.data_line(value)


class RowLines(Generic[Row]):
    """Prints rows as they change: one JSON object or one text per line, as `kubectl get -w` does."""

    tick = math.inf

    def __init__(self, output: Output, value: Callable[[Row], Any], text: Callable[[Row], str]) -> None:
        self._output = output
        self._value = value
        self._text = text
        self._shown: tuple[Row, ...] = ()

    def show(self, rows: tuple[Row, ...]) -> None:
        """Show the rows that are new or different."""
        for row in rows:
            if row not in self._shown:
                self._print(row)
        self._shown = rows

    def _print(self, row: Row) -> None:
        if self._output.json:
            self._output.data_line(self._value(row))
        else:
            self._output.line(self._text(row))
