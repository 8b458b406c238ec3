"""The whole terminal as a page that follows what changes: scrolls, folds versions, goes to the next app, and asks
before it does something. Knows no app and reads no cluster.

The terminal is given back as it was, also where the process is asked to end; it is drawn again when its size changes.
"""

import os
import re
import select
import signal
import sys
import termios
import threading
import tty
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment, Segments

from gitops_bg.agent.runtime.signals import ended_by
from gitops_bg.core.dataclass import dataclass

Seen = TypeVar("Seen")
_SECOND = 1.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What of a picture is chosen, and what is the other way round: folded instead of unfolded, or the reverse."""

    chosen: int | None = None
    turned: frozenset[int] = frozenset()


NO_PARTS = Parts()


@dataclass(frozen=True, slots=True)
class Act:
    """What a key does once somebody has said yes: ``ask`` returns what would happen, and whether it can; ``do`` returns
    what has happened.
    """

    key: str
    name: str
    ask: Callable[[], tuple[str, bool]]
    do: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Page(Generic[Seen]):
    """What is drawn, and which keys there are besides those that scroll."""

    draw: Callable[[Seen, datetime, Parts], RenderableType]
    parts: Callable[[Seen], Sequence[int]] = lambda _seen: ()
    """What may be folded and unfolded, from top to bottom."""
    acts: tuple[Act, ...] = ()
    has_neighbours: bool = False


class LeavePage(Exception):
    """Somebody wants another page: ``step`` is 1 for the next, -1 for the one before."""

    def __init__(self, step: int) -> None:
        super().__init__(step)
        self.step = step


@contextmanager
def page_on(console: Console, page: Page[Seen], wake: Callable[[], None]) -> Iterator["PageScreen[Seen]"]:
    """Yield the page on the terminal; ``wake`` is called for every key and every change of size. At the end the last
    picture stays on the terminal, as all that other verbs print.
    """
    with ExitStack() as restoring:
        keys = restoring.enter_context(_keys(wake)) if sys.stdin.isatty() else deque[str]()
        shown = PageScreen(console, page, keys)
        with suppress(KeyboardInterrupt), _whole_terminal(console):
            yield shown
    console.print(shown.picture(), crop=False, overflow="ignore")
    if shown.unread:
        console.print(shown.unread.rstrip(), markup=False, highlight=False)


@contextmanager
def _whole_terminal(console: Console) -> Iterator[None]:
    console.set_alt_screen(True)
    console.show_cursor(False)
    console.file.write(_MARKS_PASTES)
    try:
        with ended_by(signal.SIGTERM, signal.SIGHUP):
            yield
    finally:
        console.file.write(_MARKS_NO_PASTES)
        console.show_cursor(True)
        console.set_alt_screen(False)


@contextmanager
def _ended_later() -> Iterator[None]:
    """Let the first signal to end wait until what was begun is done, and known; a second one does not wait."""
    arrived: list[int] = []

    def hold(number: int, frame: Any) -> None:
        handler = former[number]
        if arrived and callable(handler):
            handler(number, frame)
        arrived.append(number)

    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    former = {int(each): signal.signal(each, hold) for each in ends}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    for number in arrived:
        signal.raise_signal(number)


# --- keys ---

_MARKS_PASTES, _MARKS_NO_PASTES = "\x1b[?2004h", "\x1b[?2004l"
_PASTE, _PASTE_END = b"\x1b[200~", b"\x1b[201~"

_SEQUENCE = re.compile(rb"\x1b+(?:\[\[[A-E]|\[[0-?]*[ -/]*[@-~]|O[0-9;]*[@-~]|[^\x1b\[O])", re.DOTALL)
"""What one key sends, known to us or not: CSI and SS3 (ECMA-48, xterm), F1 to F5 of the Linux console, and Alt."""
_BEGUN = re.compile(rb"\x1b+(?:\[\[|\[[0-?]*[ -/]*|O[0-9;]*)")

_NAMES = {
    **{b"\x1b[A": "up", b"\x1bOA": "up", b"k": "up", b"\x1b[B": "down", b"\x1bOB": "down", b"j": "down"},
    **{b"\x1b[5~": "page up", b"b": "page up", b"\x1b[6~": "page down", b" ": "page down"},
    **{b"\x1b[H": "home", b"\x1bOH": "home", b"g": "home", b"\x1b[F": "end", b"\x1bOF": "end", b"G": "end"},
    **{b"\t": "tab", b"\x1b[Z": "back tab", b"\r": "enter", b"\n": "enter"},
}
"""The keys by what a terminal sends."""


@contextmanager
def _keys(wake: Callable[[], None]) -> Iterator[deque[str]]:
    """Yield the keys as they are pressed, unechoed and one by one; an empty one where the size has changed."""
    terminal, found = sys.stdin.fileno(), deque[str]()
    told, tell = os.pipe()
    former, on_resize = termios.tcgetattr(terminal), signal.getsignal(signal.SIGWINCH)
    thread = threading.Thread(target=_read_keys, args=(terminal, told, found, wake), name="keys", daemon=True)
    tty.setcbreak(terminal)
    mode = termios.tcgetattr(terminal)
    # Ctrl-Z and Ctrl-\ would leave the terminal as it is now to the shell.
    mode[6][termios.VSUSP] = mode[6][termios.VQUIT] = bytes([os.fpathconf(terminal, "PC_VDISABLE")])
    termios.tcsetattr(terminal, termios.TCSADRAIN, mode)
    try:
        # A handler may take no lock that the main thread has: it only writes a byte.
        signal.signal(signal.SIGWINCH, lambda _number, _frame: os.write(tell, b"r"))
        thread.start()
        yield found
    finally:
        signal.signal(signal.SIGWINCH, on_resize)
        os.write(tell, b"e")
        thread.join()
        termios.tcsetattr(terminal, termios.TCSADRAIN, former)
        os.close(told)
        os.close(tell)


def _read_keys(terminal: int, told: int, found: deque[str], wake: Callable[[], None]) -> None:
    keys = Keys()
    while True:
        ready, _, _ = select.select([terminal, told], [], [])
        if told in ready and b"e" in os.read(told, 64):
            return
        with suppress(OSError):
            data = os.read(terminal, 1024) if terminal in ready else b""
            if terminal in ready and not data:
                found.append("q")
            found.extend(keys.of(data))
        wake()


class Keys:
    """The keys in what a terminal sends, of which a read may end in the middle. What is pasted presses none."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_paste = False

    def of(self, data: bytes) -> Iterator[str]:
        """Yield the name of each key, or its character.

        >>> list(Keys().of(b"q\\x1b[Aj\\x1b[6~P"))
        ['q', 'up', 'down', 'page down', 'P']
        """
        data, self._rest = self._rest + data, b""
        while data:
            if self._is_paste:
                _, end, after = data.partition(_PASTE_END)
                self._is_paste = not end
                self._rest = b"" if end else data[1 - len(_PASTE_END) :]
                data = after
                continue
            if _BEGUN.fullmatch(data):
                self._rest = data
                return
            sequence = _SEQUENCE.match(data)
            key = sequence[0] if sequence else data[:1]
            data = data[len(key) :]
            self._is_paste = key == _PASTE
            if key in _NAMES or not sequence:
                yield _NAMES.get(key) or key.decode("ascii", "replace")


# --- the page ---

_HELP = (
    "↑ ↓ j k        one line",
    "space b        one page",
    "g G            top, bottom",
    "tab enter      choose a version; show what runs of it, or fold it",
    "n p            next, previous app",
    "q              leave",
)


@dataclass(slots=True)
class _Asked:
    act: Act
    text: str
    may: bool
    """Whether it is still to be answered."""


@dataclass(slots=True)
class PageScreen(Generic[Seen]):
    """See `watch_view.Screen`."""

    console: Console
    page: Page[Seen]
    keys: deque[str]
    tick: float = _SECOND
    _seen: Seen | None = None
    _top: int = 0
    _parts: Parts = NO_PARTS
    _asked: _Asked | None = None
    _helps: bool = False
    _may_choose: bool = False
    _follows_choice: bool = False
    _lines: Sequence[Sequence[Segment]] = field(default=())

    def show(self, seen: Seen) -> None:
        """Do what the keys ask for, and draw. Raises `LeavePage`, and what Ctrl-C raises."""
        self._seen, self._may_choose = seen, bool(self.page.parts(seen))
        self._render(seen)
        while self.keys:
            self._press(self.keys.popleft(), seen)
        self._render(seen)
        self._draw()

    def picture(self) -> RenderableType:
        """Return what was seen last, with nothing chosen."""
        return "" if self._seen is None else self._drawn(self._seen, Parts(turned=self._parts.turned))

    @property
    def unread(self) -> str:
        """What an act has done, where nobody has pressed a key since."""
        return self._asked.text if self._asked is not None and not self._asked.may else ""

    def _drawn(self, seen: Seen, parts: Parts) -> RenderableType:
        return self.page.draw(seen, datetime.now(UTC), parts)

    # --- keys ---

    def _press(self, key: str, seen: Seen) -> None:
        if self._asked is not None:
            self._answer(self._asked, key)
        elif self._helps:
            self._helps = False
        elif key in _STEPS:
            self._go_to(self._top + _STEPS[key](self._height))
        elif key in ("tab", "back tab", "enter"):
            self._choose(key, self.page.parts(seen))
        elif key in ("n", "p") and self.page.has_neighbours:
            raise LeavePage(1 if key == "n" else -1)
        elif key == "q":
            raise KeyboardInterrupt
        elif key == "?":
            self._helps = True
        else:
            self._ask(key)

    def _choose(self, key: str, parts: Sequence[int]) -> None:
        chosen, turned, self._follows_choice = self._parts.chosen, self._parts.turned, True
        if not parts:
            return
        if key == "enter" and chosen is not None and chosen in parts:
            self._parts = Parts(chosen, turned ^ {chosen})
            return
        step = -1 if key == "back tab" else 1
        place = parts.index(chosen) + step if chosen is not None and chosen in parts else 0
        self._parts = Parts(parts[place % len(parts)], turned)

    def _ask(self, key: str) -> None:
        act = next((each for each in self.page.acts if each.key == key), None)
        if act is None:
            return
        self._draw(f"{act.name} …")
        self._asked = _Asked(act, *act.ask())
        self.keys.clear()  # What was typed before the question was there is no answer to it.

    def _answer(self, asked: _Asked, key: str) -> None:
        if not asked.may or key not in ("y", "Y"):
            self._asked = None
            return
        self._draw(f"{asked.act.name} …")
        with _ended_later():
            asked.text, asked.may = asked.act.do(), False

    # --- drawing ---

    @property
    def _height(self) -> int:
        return max(1, self.console.size.height - 1)

    def _render(self, seen: Seen) -> None:
        self._lines = self._lines_of("\n".join(self._help()) if self._helps else self._drawn(seen, self._parts))
        if self._follows_choice and not self._helps:
            place = next((place for place, line in enumerate(self._lines) if _is_chosen(line)), self._top)
            self._top = min(place, max(self._top, place - 2 * self._height // 3))  # what it unfolds to has room below
            self._follows_choice = False
        self._go_to(self._top)

    def _go_to(self, top: int) -> None:
        self._top = max(0, min(top, len(self._lines) - self._height))

    def _help(self) -> Iterator[str]:
        yield from _HELP
        yield from (f"{each.key:<14} {each.name}" for each in self.page.acts)

    def _lines_of(self, shown: RenderableType) -> Sequence[Sequence[Segment]]:
        options: ConsoleOptions = self.console.options.update(height=None, highlight=False, markup=False)
        return self.console.render_lines(shown, options, pad=False)

    def _draw(self, doing: str = "") -> None:
        below = self._lines_of(doing or self._below())[: self.console.size.height]
        room = max(0, self.console.size.height - len(below))
        lines = [*self._lines[self._top : self._top + room]]
        lines += [[]] * (room - len(lines))
        drawn = "\n".join(f"{self._text(each)}\x1b[K" for each in (*lines, *below))
        self.console.file.write(f"\x1b[H{drawn}")
        self.console.file.flush()

    def _text(self, line: Sequence[Segment]) -> str:
        with self.console.capture() as captured:
            self.console.print(Segments(line), end="")
        return captured.get().rstrip("\n")

    def _below(self) -> str:
        if self._asked is not None:
            prompt = f"{self._asked.act.name}? y / n" if self._asked.may else "any key goes on"
            return f"{self._asked.text.rstrip()}\n{prompt}"
        total, width = len(self._lines), self.console.size.width
        end = min(total, self._top + self._height)
        where = f"{self._top + 1}-{end} of {total}" if total > self._height else f"{total} lines"
        keys = ["↑↓", "tab ⏎ versions" if self._may_choose else "", "n p apps" if self.page.has_neighbours else ""]
        keys += [*(f"{each.key} {each.name}" for each in self.page.acts), "? keys", "q quit"]
        return "  ".join(filter(None, (where, *keys)))[: width - 1]


def _is_chosen(line: Sequence[Segment]) -> bool:
    return any(each.style is not None and each.style.reverse for each in line)


_STEPS: dict[str, Callable[[int], int]] = {
    "up": lambda _: -1,
    "down": lambda _: 1,
    "page up": lambda height: -height,
    "page down": lambda height: height,
    "home": lambda _: -(10**9),
    "end": lambda _: 10**9,
}
