"""The timeline on the terminal: what the user typed, what happened, who answers. It must check and wait for nothing."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from gitops_bg.cli.demo.report import Findings

_BAR = 24
_COLORS = ("blue", "green", "magenta", "cyan", "yellow")


class Screen:
    """Prints line by line; on a terminal, with a table of the last second below."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._known: dict[str, str] = {}

    def title(self, text: str) -> None:
        """Begin a story."""
        self._line(f"[bold]{escape(text)}[/]")

    def step(self, number: int, name: str) -> None:
        """Begin a step."""
        self._line("")
        self._line(f"[bold]{number}. {escape(name)}[/]")

    def print_note(self, text: str) -> None:
        """Print one note."""
        self._line(f"  {escape(text)}")

    def typed(self, *words: str) -> None:
        """Show a command that the user typed."""
        self._line(f"  [bold cyan]$ {escape(shlex.join(words))}[/]")

    def command(self, why: str, command: str) -> None:
        """Show a command to try, on its own line so that it can be copied; without ``why`` it belongs to
        the last one.
        """
        if why:
            self._line(f"  [dim]# {escape(why)}[/]")
        self._line(f"  {escape(command)}")

    def edited(self, file: str, text: str) -> None:
        """Show a change that the user made in an editor."""
        self._line(f"  [bold cyan]edit {escape(file)}:[/] {escape(text)}".rstrip())

    def output(self, text: str) -> None:
        """Show what a command printed, unchanged."""
        for line in text.splitlines():
            self._line(f"    [dim]{escape(line)}[/]")

    def met(self, seconds: float, text: str) -> None:
        """Report an expectation that was met, ``seconds`` after the push."""
        self._line(f"  [green]✓[/] {seconds:5.2f} s  {escape(text)}")

    def missed(self, text: str) -> None:
        """Report an expectation that was not met."""
        first, *more = text.splitlines()
        self._line(f"  [bold red]✗[/]          {escape(first)}")
        self.output("\n".join(more))

    def shares(self, answered: Counter[str], cluster: str = "") -> None:
        """Show who answered the requests of a step; ``cluster`` says where, if there are several."""
        if cluster and not answered:
            return
        where = f" in {escape(cluster)}" if cluster else ""
        parts = [f"{self._painted(version)} {_percent(answered, version)}" for version in self._ordered(answered)]
        self._line(f"    live traffic{where}: {', '.join(parts)} of {answered.total()} requests")

    def summary(self, findings: Findings) -> None:
        """Show the table of switches and the last line."""
        table = Table(box=None, padding=(0, 2), header_style="dim")
        clusters = len({timed.cluster for timed in findings.switches}) > 1
        for column in (*(["cluster"] if clusters else []), "commit", "event", "from", "to", "push to first answer"):
            table.add_column(column)
        for timed in findings.switches:
            told = timed.switched.line
            span = (timed.switched.came_from or "-", timed.switched.went_to)
            where = [timed.cluster] if clusters else []
            table.add_row(*where, told.commit[:10], str(told.event), *span, f"{timed.seconds:.2f} s")
        seconds = sum(step.seconds for step in findings.steps)
        verdict = "[bold green]everything was as expected[/]" if findings.ok else "[bold red]not as expected[/]"
        self._line("")
        if findings.switches:
            self._console.print(table)
            self._line("")
        asked = f"{findings.requests} requests, {findings.failed_requests} failed"
        self._line(f"{len(findings.steps)} steps in {seconds:.0f} s, {asked}: {verdict}")

    @contextmanager
    def watching(self, lately: Callable[[], Mapping[str, Counter[str]]]) -> Iterator[None]:
        """Show below the timeline who answers in each cluster, while the block runs; nothing outside a terminal."""
        if not self._console.is_terminal:
            yield
            return
        with Live(
            get_renderable=lambda: Group(*(self._table(*each) for each in lately().items())),
            console=self._console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ):
            yield

    def _table(self, cluster: str, answered: Counter[str]) -> RenderableType:
        table = Table(box=None, padding=(0, 1), show_header=False)
        for version in self._ordered(answered):
            bar = "█" * max(1, round(_BAR * answered[version] / answered.total()))
            table.add_row(self._painted(version), f"[{self._color(version)}]{bar}[/]", _percent(answered, version))
        where = f" in {escape(cluster)}" if cluster else ""
        return Group("", f"[dim]who answered {answered.total()} requests in the last second{where}[/]", table)

    def _painted(self, version: str) -> str:
        return f"[{self._color(version)}]{escape(version)}[/]"

    def _color(self, version: str) -> str:
        return self._known.setdefault(version, _COLORS[len(self._known) % len(_COLORS)])

    def _ordered(self, answered: Counter[str]) -> list[str]:
        return sorted(version for version in answered)

    def _line(self, markup: str) -> None:
        self._console.print(markup, soft_wrap=True)


def _percent(answered: Counter[str], version: str) -> str:
    return f"{100 * answered[version] / answered.total():.0f} %"
