"""`get -w`: one frame per change without a terminal, a picture redrawn every second on one."""

from __future__ import annotations

import io
import itertools
import json
import math
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from gitops_bg.cli.options.options import OutputOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.views.pager import Page, page_on
from gitops_bg.cli.views.watch_view import follow
from gitops_bg.core.errors import Refused, Transient
from tests.integration.cli.conftest import Cli
from tests.support.cluster.clusters import TestCluster
from tests.support.groups import Store
from tests.support.growing_files import GrowingFile
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually

SCRIPT = Path(sys.executable).with_name("gitops-bg")


@contextmanager
def running(cli: Cli, folder: Path, *arguments: str) -> Iterator[Path]:
    """A verb as a process of its own, ended by Ctrl-C; the file that it prints to."""
    printed = folder / "printed"
    with printed.open("wb") as file:
        # The child only resets a signal before it becomes another program: threads of ours do not matter.
        hear = {"preexec_fn": _hear_ctrl_c}
        process = subprocess.Popen(
            [SCRIPT, *arguments], stdout=file, stderr=file, env={**os.environ, **cli.env}, **hear
        )
        try:
            yield printed
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0, printed.read_text()
        finally:
            process.kill()
            process.wait()


def _hear_ctrl_c() -> None:
    """As in a shell at a terminal; what a runner starts in the background would ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(printed: Path, words: str, times: int = 1) -> str:
    def shown() -> str:
        return "\n".join(GrowingFile(printed).lines())

    eventually(lambda: shown().count(words) >= times, what=f"{words!r} is printed")
    return shown()


def test_get_watch_of_one_app_prints_a_frame_for_each_change_on_both_clusters(
    either_world: Scenario, cluster: TestCluster, tmp_path: Path
) -> None:
    cli = Cli(either_world.remote, cluster.kubeconfig, tmp_path)
    either_world.start()
    web = either_world.app().deploy("v1")
    with running(cli, tmp_path, "get", str(web.key), "-w") as printed:
        wait_for(printed, "✔ Healthy")
        web.push_image("v2")
        wait_for(printed, "॥ AwaitingPromotion")
        web.merge_promotion("v2")
        wait_for(printed, "registry.example/web:v2 (active, preview, green)")
        shown = wait_for(printed, "delay:4m")
    frames = shown.split("Name: ")[1:]
    assert all("⟳ web" in frame for frame in frames)
    assert len(set(frames)) == len(frames), "no frame comes twice"


def test_get_watch_of_one_app_as_json_is_one_object_a_line(cli: Cli, web: App, tmp_path: Path) -> None:
    """It ends after its time; and it hears of pods that nothing else tells of."""
    assert cli("get", str(web.key), "-w", "--timeout", "300ms").count("⟳ web") == 1
    assert "runs no app" in cli("get", f"{web.key.namespace}/nobody", "-w", code=5)
    with running(cli, tmp_path, "get", str(web.key), "-w", "-o", "json") as printed:
        wait_for(printed, '"phase": "Healthy"')
        web.push_image("bad")
        wait_for(printed, "ImagePullBackOff")
        web.push_image("v3")
        shown = wait_for(printed, '"phase": "AwaitingPromotion"')
    assert [each["version"] for each in json.loads(shown.splitlines()[-1])["versions"]] == [1, 2, 3]


@pytest.mark.parametrize("more", [[], ["--no-color"]], ids=["colors", "no colors"])
def test_on_a_terminal_one_picture_is_drawn_over_and_over(cli: Cli, web: App, more: list[str]) -> None:
    ours, theirs = pty.openpty()
    env = {**os.environ, **cli.env, "TERM": "xterm-256color"}
    arguments = [SCRIPT, "get", str(web.key), "-w", "--timeout", "2500ms", *more]
    process = subprocess.Popen(arguments, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown = b"".join(_chunks(ours)).decode()
    os.close(ours)
    assert process.wait(10) == 0, shown
    assert shown.count("⟳ web") >= 3, "at once, and after each second"
    assert "\x1b[H" in shown, "over the last one"
    assert shown.partition("\x1b[?1049l")[2].count("⟳ web") == 1, "and the last one stays"
    assert ("\x1b[1;32m" in shown) == (not more)


def _chunks(terminal_end: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(terminal_end, 65536)
        except OSError:  # Linux says so where the other end is closed
            return
        if not chunk:
            return
        yield chunk


# --- the loop itself, without a cluster ---


class Seen:
    """A screen that remembers what it showed."""

    def __init__(self, tick: float = math.inf) -> None:
        self.tick = tick
        self.shown: list[str] = []

    def show(self, seen: str) -> None:
        self.shown.append(seen)


class Waits:
    """What a watch says, one answer after the other; then Ctrl-C."""

    def __init__(self, *news: bool) -> None:
        self.news = list(news)
        self.asked: list[float | None] = []

    def __call__(self, seconds: float | None) -> bool:
        self.asked.append(seconds)
        if not self.news:
            raise KeyboardInterrupt
        return self.news.pop(0)


def followed(screen: Seen, waits: Waits, *reads: str | Exception, seconds: float = math.inf) -> list[str]:
    answers = list(reads)

    def read() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(KeyboardInterrupt):
        follow(read, screen, waits, seconds)
    return screen.shown


def test_what_is_shown_each_second_is_read_only_when_it_changed() -> None:
    waits = Waits(True, False, False, True)
    assert followed(Seen(tick=1.0), waits, "a", "b") == ["a", "a", "a", "b"]
    assert waits.asked == [1.0] * 5


def test_without_a_clock_to_show_only_changes_are_waited_for() -> None:
    waits = Waits(True, True)
    assert followed(Seen(), waits, "a", "b") == ["a", "b"]
    assert waits.asked == [None] * 3


def test_a_read_that_fails_in_passing_keeps_the_last_picture_and_is_repeated() -> None:
    waits = Waits(True, True, False)
    assert followed(Seen(), waits, "a", Transient("away"), "b") == ["a", "a", "b"]
    assert waits.asked == [None, None, 1.0, None]


@pytest.mark.parametrize("error", [Transient("away"), Refused("no")])
def test_a_first_read_that_fails_is_an_error(error: Exception) -> None:
    def read() -> str:
        raise error

    with pytest.raises(type(error)):
        follow(read, Seen(), Waits(True), math.inf)


def test_a_terminal_shows_the_present_time_with_what_was_seen() -> None:
    output = Output(OutputOptions())
    output.console = Console(file=io.StringIO(), force_terminal=True, width=80)
    times: list[datetime] = []

    def draw(seen: str, now: datetime, _parts: object) -> Text:
        times.append(now)
        return Text(seen)

    with page_on(output.console, Page(draw), lambda: None) as screen:
        screen.show("once")
        screen.show("once")
    assert len(set(times)) == len(times) > 2
    assert times == sorted(times)
    assert isinstance(output.console.file, io.StringIO)
    assert "once" in output.console.file.getvalue()


def test_a_group_is_shown_again_on_each_change(cli: Cli, world: Scenario, tmp_path: Path) -> None:
    store = Store(world)
    store.begin()
    assert "the cluster has no group other" in cli("group", "get", "other", "-w", code=5)
    with running(cli, tmp_path, "get", f"{world.namespace}/store", "-w") as printed:
        wait_for(printed, "store: Healthy: v1 serves")
        store.activate("v2")
        shown = wait_for(printed, "store: Healthy: v2 serves")
    frames = shown.split(f"{world.namespace}/store: ")[1:]
    assert all("⟳ cart-v2" in frame for frame in frames), "each is the whole tree"
    assert len(set(frames)) == len(frames), "no frame comes twice"


def test_the_list_prints_only_apps_and_groups_that_changed_as_text_or_json(
    cli: Cli, world: Scenario, tmp_path: Path
) -> None:
    store = Store(world)
    store.begin()
    web = world.app().deploy("v1")
    with running(cli, tmp_path, "get", "-w", "-n", world.namespace, "-o", "json") as printed:
        wait_for(printed, '"active": "v1"')
        store.activate("v2")
        wait_for(printed, '"active": "v2"')
        web.push_image("v2")
        wait_for(printed, '"candidate": 2')
    rows = [json.loads(line) for line in printed.read_text().splitlines()]
    of_group = [row for row in rows if row["kind"] == "group"]
    assert {row["name"] for row in of_group} == {"store"}
    assert {row["name"] for row in rows if row["kind"] == "app"} >= {"web", "cart-v1", "cart-v2"}
    assert all("record" not in row for row in of_group)
    assert all(before != after for before, after in itertools.pairwise(of_group))
    text = cli("group", "get", "-w", "-n", world.namespace, "--timeout", "1s")
    assert [line.split()[0] for line in text.splitlines()] == [f"{world.namespace}/store"]
