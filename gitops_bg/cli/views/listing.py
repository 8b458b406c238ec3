"""The one kind of table: as wide as the terminal, so that no word is broken and no name is cut. Reads nothing.

Where the terminal is too narrow, columns go, the least important first. The last column is a sentence, which is never
cut: it is wrapped between words, beside the others or below them. What even then is wider stays as it is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from gitops_bg.core.dataclass import dataclass

GAP = 2
"""The columns between two columns."""
LEAST_BESIDE = 20
"""A sentence with less room stands below its line."""
ENDLESS = 4000
"""The columns where the output is no terminal, or is to be wide."""
ALWAYS = 0
NOTHING = ("", "-")
"""Cells that say nothing."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. Of those that may go, the one with the highest ``rank`` goes first; `ALWAYS` never goes."""

    title: str
    rank: int = ALWAYS
    wide: bool = False
    """Whether only ``-o wide`` shows it."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line: a cell for each column, the last a sentence, or several with line ends between them.

    ``below`` begins each line of a sentence that stands below.
    """

    cells: tuple[Text, ...]
    below: str = "  "


class Listing:
    """Lines below titles; for rich to print, or `laid_out` for a width."""

    def __init__(
        self,
        columns: Sequence[Column],
        lines: Iterable[Line],
        *,
        wide: bool = False,
        titles: bool = True,
        indent: int = 0,
    ) -> None:
        self._columns = tuple(columns)
        self._lines = tuple(lines)
        self._wide = wide
        self._titles = titles
        self._indent = indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines for the width of the console."""
        yield from self.laid_out(options.max_width)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return that any width will do."""
        return Measurement(1, options.max_width)

    def laid_out(self, width: int) -> Iterator[Text]:
        """Yield each line of text, for a terminal of so many columns."""
        room = (ENDLESS if self._wide else width) - self._indent
        shown = self._that_fit(room)
        widths = [self._width(place) for place in shown[:-1]]
        left = room - self._used_width(shown[:-1])
        beside = left >= self._least(shown)
        margin = " " * self._indent
        if self._titles:
            names = [Text(self._columns[place].title, "bold") for place in (shown if beside else shown[:-1])]
            yield _joined(margin, names, widths)
        for line in self._lines:
            cells = [line.cells[place] for place in shown]
            for text in _with_last_column(cells, widths, left) if beside else _below(cells, widths, line.below, room):
                yield _whole(Text(margin) + text)

    def _that_fit(self, room: int) -> list[int]:
        """Return the places of the columns that are shown; the last one, the sentence, always is."""
        shown = [place for place, each in enumerate(self._columns) if self._wide or not each.wide]
        mine = self._least(shown)
        if self._used_width(place for place in shown[:-1] if not self._columns[place].rank) + mine > room:
            mine = -GAP  # it stands below whatever goes
        droppable = sorted((place for place in shown[:-1] if self._columns[place].rank), key=self._rank)
        while droppable and self._used_width(shown[:-1]) + mine > room:
            shown.remove(droppable.pop())
        return shown

    def _least(self, shown: Sequence[int]) -> int:
        """Return the room that the sentence needs beside the others: no less than its longest word."""
        words = (cell_len(word) for line in self._lines for word in line.cells[-1].plain.split())
        return max(*words, 0, min(LEAST_BESIDE, self._width(shown[-1])))

    def _used_width(self, places: Iterable[int]) -> int:
        return sum(self._width(place) + GAP for place in places)

    def _rank(self, place: int) -> tuple[bool, int, int]:
        """Return how early a column goes: first one that says nothing."""
        silent = all(line.cells[place].plain in NOTHING for line in self._lines)
        return silent, self._columns[place].rank, place

    def _width(self, place: int) -> int:
        """Return the width of the widest cell, the title's with it."""
        title = self._columns[place].title if self._titles else ""
        cells = (part for line in self._lines for part in line.cells[place].plain.split("\n"))
        return max(map(cell_len, (title, *cells)))


def paragraph(text: Text, indent: int = 0) -> Listing:
    """Return a sentence alone, so many columns from the margin."""
    return Listing((Column(""),), (Line((text,)),), titles=False, indent=indent)


def facts(rows: Iterable[tuple[Text, Text]], indent: int = 0) -> Listing:
    """Return names, each with a sentence about it."""
    return Listing((Column(""), Column("")), map(Line, rows), titles=False, indent=indent)


def in_lines(listing: Listing, width: int) -> str:
    """Return a listing as plain text for a terminal of so many columns."""
    return "".join(f"{line.plain.rstrip()}\n" for line in listing.laid_out(width))


def sentence(text: Text, width: int) -> Iterator[Text]:
    """Yield the lines of a sentence, wrapped between words only: a word that is longer than the width stays whole."""
    for part in text.split("\n", allow_blank=True) or [text]:
        begin = end = 0
        for word in re.finditer(r"\S+", part.plain):
            if end and cell_len(part.plain[begin : word.end()]) > width:
                yield _whole(part[begin:end])
                begin = word.start()
            end = word.end()
        yield _whole(part[begin:end])


def _with_last_column(cells: Sequence[Text], widths: Sequence[int], left: int) -> Iterator[Text]:
    """Yield the line with its sentence in the last column; further lines of that have empty cells before it."""
    blank = Text(" " * sum(each + GAP for each in widths))
    for number, part in enumerate(sentence(cells[-1], left)):
        yield blank + part if number else _joined("", [*cells[:-1], part], widths)


def _below(cells: Sequence[Text], widths: Sequence[int], margin: str, room: int) -> Iterator[Text]:
    yield _joined("", cells[:-1], widths)
    if cells[-1].plain not in NOTHING:
        yield from (Text(margin) + line for line in sentence(cells[-1], room - cell_len(margin)))


def _joined(margin: str, cells: Sequence[Text], widths: Sequence[int]) -> Text:
    """Return the cells in one line, each but the last as wide as its column."""
    line = Text(margin)
    for place, cell in enumerate(cells):
        last = place == len(cells) - 1
        line += cell if last else cell + " " * (widths[place] - cell_len(cell.plain) + GAP)
    return _whole(line)


def _whole(text: Text) -> Text:
    """Return the text as rich must print it: neither wrapped nor cut."""
    text.no_wrap, text.overflow = True, "ignore"
    return text
