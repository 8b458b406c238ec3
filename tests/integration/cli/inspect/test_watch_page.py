"""`get -w` on a terminal of 80 × 24: its keys, its question, and the terminal as it was afterwards."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from gitops_bg.cli.views.pager import NO_PARTS, Act, Keys, LeavePage, Page, PageScreen, Parts, page_on
from tests.integration.cli.conftest import AUTHOR, Cli
from tests.support.scenario import App, Scenario
from tests.support.waiting import HANGS, eventually

SCRIPT = Path(sys.executable).with_name("gitops-bg")


class Terminal:
    """A pseudo-terminal with a program in it."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path | None = None) -> None:
        self._ours, self.theirs = pty.openpty()
        self.resize(24, 80)
        self.before = termios.tcgetattr(self.theirs)
        self._printed = b""
        ends = {"stdin": self.theirs, "stdout": self.theirs, "stderr": self.theirs}
        self.process = subprocess.Popen(command, env=environment, cwd=folder, start_new_session=True, **ends)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while data := os.read(self._ours, 65536):
            self._printed += data

    @property
    def printed(self) -> str:
        return self._printed.decode(errors="replace")

    @property
    def frame(self) -> list[str]:
        """The lines of the last whole picture."""
        whole = [each for each in self.printed.split("\x1b[H") if each.count("\x1b[K") >= 2]
        return [Text.from_ansi(each.rstrip("\r")).plain for each in whole[-1].split("\n")] if whole else []

    def shows(self, words: str) -> None:
        eventually(lambda: any(words in line for line in self.frame), what=f"{words!r} is shown")

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self) -> int:
        code = self.process.wait(HANGS)
        eventually(lambda: "\x1b[?1049l" in self.printed, what="the screen is given back")
        assert termios.tcgetattr(self.theirs) == self.before
        assert "\x1b[?25h" in self.printed, "the cursor is back"
        return code


@contextmanager
def watched(cli: Cli, *arguments: str, folder: Path | None = None) -> Iterator[Terminal]:
    environment = {**os.environ, **cli.env, "TERM": "xterm-256color", "COLUMNS": "", "LINES": ""}
    made = Terminal([str(SCRIPT), "get", *arguments, "-w"], environment, folder)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()


def test_what_does_not_fit_is_counted_and_a_key_away(cli: Cli, web: App) -> None:
    for tag in ("v2", "v3", "v4"):
        web.push_and_promote(tag)
    with watched(cli, str(web.key)) as terminal:
        terminal.shows("Name:      ")
        assert len(terminal.frame) == 24
        total = int(terminal.frame[-1].partition(" of ")[2].split()[0])
        terminal.press("G")
        terminal.shows(f"of {total}  ")
        terminal.shows("web-preview")
        terminal.press("g\t\t\t\t\r")
        terminal.shows("ReplicaSet" if total > 80 else "web-v1-")
        terminal.press("?")
        terminal.shows("choose a version")
        terminal.press("xq")
        assert terminal.end() == 0
        assert "web-preview" in terminal.printed.partition("\x1b[?1049l")[2], "all of it stays"


def test_the_picture_fits_a_terminal_that_becomes_smaller(cli: Cli, web: App) -> None:
    with watched(cli, str(web.key)) as terminal:
        terminal.shows("Name:      ")
        terminal.resize(9, 60)
        terminal.process.send_signal(signal.SIGWINCH)
        eventually(lambda: len(terminal.frame) == 9, what="nine lines")
        assert all(len(line) <= 60 for line in terminal.frame)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_process_that_is_told_to_end_gives_the_terminal_back(cli: Cli, web: App, number: signal.Signals) -> None:
    with watched(cli, str(web.key)) as terminal:
        terminal.shows("Name:      ")
        terminal.process.send_signal(number)
        assert terminal.end() == (0 if number is signal.SIGINT else 128 + number)


def test_keys_that_would_stop_the_process_leave_the_terminal_to_it(cli: Cli, web: App) -> None:
    with watched(cli, str(web.key)) as terminal:
        terminal.shows("Name:      ")
        terminal.press("\x1a\x1c?")
        terminal.shows("choose a version")
        terminal.press("xq")
        assert terminal.end() == 0


def test_n_and_p_go_through_the_apps(cli: Cli, world: Scenario, web: App) -> None:
    world.app("api").deploy("v1")
    with watched(cli, str(web.key), "-n", web.key.namespace) as terminal:
        terminal.shows(f"{web.key.namespace}/web")
        terminal.press("n")
        terminal.shows(f"{web.key.namespace}/api")
        terminal.press("p")
        terminal.shows(f"{web.key.namespace}/web")


def test_promote_asks_says_what_will_happen_and_does_what_the_verb_does(cli: Cli, web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    web.wait_phase("AwaitingPromotion")
    name, mail = AUTHOR[:-1].split(" <")
    cli.env |= {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": mail}
    with watched(cli, str(web.key)) as terminal:
        terminal.shows("AwaitingPromotion")
        terminal.press("P")
        terminal.shows("promote? y / n")
        terminal.shows("main would name v2 (v2)")
        terminal.press("n")
        terminal.shows("q quit")
        assert web.live_tag() == "v1"
        terminal.press("P")
        terminal.shows("promote? y / n")
        terminal.press("y")
        terminal.shows("any key goes on")
        web.wait_live("v2")
        terminal.press("q")
        terminal.shows("q quit")
        terminal.press("P")
        terminal.shows("any key goes on")
        assert not any("y / n" in line for line in terminal.frame), "there is nothing to promote any more"


def test_a_module_that_others_pushed_into_the_current_folder_is_not_run(cli: Cli, web: App, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in ("typer.py", "signal.py"):
        (clone / name).write_text(f"open({str(clone / 'ran')!r}, 'w')\n")
    with watched(cli, str(web.key), folder=clone) as terminal:
        terminal.shows("Name:      ")
        terminal.press("P")
        terminal.shows("any key goes on")
    assert not (clone / "ran").exists()


# --- the page itself, without a terminal ---


def page(*keys: str, acts: tuple[Act, ...] = ()) -> tuple[PageScreen[int], io.StringIO]:
    printed = io.StringIO()
    console = Console(file=printed, force_terminal=True, width=40, height=10, no_color=True)

    def draw(lines: int, _now: datetime, parts: Parts) -> Text:
        styled = {parts.chosen: "reverse"}
        return Text("\n").join(Text(f"line {each}", styled.get(each, "")) for each in range(lines))

    made = Page(draw, parts=lambda _lines: [1, 20], acts=acts, has_neighbours=True)
    return PageScreen(console, made, deque(keys)), printed


def last_frame(printed: io.StringIO) -> list[str]:
    return [Text.from_ansi(each).plain for each in printed.getvalue().split("\x1b[H")[-1].split("\n")]


@pytest.mark.parametrize(
    ("keys", "first"),
    [
        ("", 0),
        ("down down up", 1),
        ("page down", 9),
        ("end", 21),
        ("end page up", 12),
        ("end home", 0),
        ("up", 0),
        ("tab tab", 14),
        ("tab tab tab", 0),
        ("back tab", 0),
    ],
)
def test_keys_scroll_within_the_picture(keys: str, first: int) -> None:
    words = keys.replace("page ", "page_").replace("back ", "back_").split()
    screen, printed = page(*(each.replace("_", " ") for each in words))
    screen.show(30)
    assert last_frame(printed)[0] == f"line {first}"
    assert last_frame(printed)[-1].startswith(f"{first + 1}-{first + 9} of 30")


def test_a_key_typed_before_the_question_is_no_answer_to_it() -> None:
    done: list[str] = []
    act = Act("P", "promote", lambda: ("it would", True), lambda: done.append("done") or "it did")
    screen, printed = page("P", "y", acts=(act,))
    screen.show(3)
    assert last_frame(printed)[-2:] == ["it would", "promote? y / n"]
    assert done == []
    screen.keys.append("y")
    screen.show(3)
    assert last_frame(printed)[-2:] == ["it did", "any key goes on"]
    assert done == ["done"]


def test_what_cannot_be_done_is_not_asked() -> None:
    screen, printed = page("P", acts=(Act("P", "promote", lambda: ("nothing waits", False), lambda: "it did"),))
    screen.show(3)
    screen.keys.append("y")
    screen.show(3)
    assert "it did" not in printed.getvalue()
    assert screen.page.draw(1, datetime.now(), NO_PARTS).plain == "line 0"


@pytest.mark.parametrize(("key", "step"), [("n", 1), ("p", -1)])
def test_another_page_is_left_to_whoever_knows_it(key: str, step: int) -> None:
    screen, _ = page(key)
    with pytest.raises(LeavePage) as left:
        screen.show(3)
    assert left.value.step == step


@pytest.mark.parametrize(
    "sent",
    [
        b"\x1bOP",
        b"\x1bO5P",
        b"\x1b[[A",
        b"\x1b[15~",
        b"\x1b[1;5P",
        b"\x1bP",
        b"\x1b[200~Pyq\x1b[AP\x1b[201~",
    ],
)
def test_what_is_no_key_of_ours_is_none_at_all_wherever_a_read_ends(sent: bytes) -> None:
    assert [*Keys().of(sent + b"j")] == ["down"]
    for end in range(2, len(sent)):
        keys = Keys()
        assert [*keys.of(sent[:end]), *keys.of(sent[end:] + b"j")] == ["down"], (sent[:end], sent[end:])


def test_escape_is_a_key_and_nothing_waits_for_the_end_of_what_has_none() -> None:
    assert [*Keys().of(b"\x1b")] == ["\x1b"]
    assert [*Keys().of(b"\x1b\x1b[Aj")] == ["down"]
    assert [*Keys().of(b"\x1b[\rq")][-1] == "q"


def test_an_act_that_was_begun_is_done_before_an_interrupt_and_told_after_it() -> None:
    def act() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "it did"

    screen, printed = page("P", acts=(Act("P", "promote", lambda: ("it would", True), act),))
    with page_on(screen.console, screen.page, lambda: None) as shown:
        for key in ("P", "y"):
            shown.keys.append(key)
            shown.show(3)
        pytest.fail("the interrupt is lost")
    assert "it did" in printed.getvalue().rpartition("line 2")[2]
