"""`get`: where apps are, one line each; with -w as it changes. Shows what the agent wrote last; computes nothing."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.live import Live

from gitops_bg.cli.durations import seconds
from gitops_bg.cli.errors import NoSuch
from gitops_bg.cli.following import changes
from gitops_bg.cli.glance import Row, row_of, table_of
from gitops_bg.cli.opening import access
from gitops_bg.cli.options import ClusterOptions, LiveOptions
from gitops_bg.cli.output import Output, clean
from gitops_bg.cli.session import Session
from gitops_bg.cluster.kinds import APPS


def get(
    at: LiveOptions,
    app: Annotated[str, typer.Argument(metavar="[APP]", help="NAME or NAMESPACE/NAME; none: all.")] = "",
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on showing what changes, until Ctrl-C.")] = False,
    everywhere: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Of all namespaces; so it is without -n, too.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(parser=seconds, metavar="DURATION", show_default="none", help="End --watch after it.")
    ] = 0.0,
) -> None:
    """List apps: phase, active version, candidate, and what its promotion waits for.

    Example: gitops-bg get -n shop -w
    """
    namespace, _, name = app.rpartition("/")
    namespace = namespace or ("" if everywhere else at.place.namespace)
    output = Output(at.out)
    with Session(kube=at.kube) as session:
        if watch:
            _watch(session, at.kube, output, (namespace, name), timeout)
            return
        rows = _rows(session, namespace, name)
        if app and not rows:
            raise NoSuch(f"the cluster runs no app {app}")
        if output.json:
            output.data({"apps": [row.json() for row in rows]})
        elif rows:
            output.show(table_of(rows, session.now))
        else:
            output.note("no apps here yet: the agent makes them from the repository")


def _rows(session: Session, namespace: str, name: str) -> list[Row]:
    bodies: list[dict[str, Any]] = session.cluster.client.list(APPS, namespace)
    rows = [row_of(body) for body in bodies if not name or body["metadata"]["name"] == name]
    return sorted(rows, key=lambda row: (row.namespace, row.name))


def _watch(session: Session, kube: ClusterOptions, output: Output, what: tuple[str, str], timeout: float) -> None:
    """Show the rows again whenever the watch says that something is different."""
    until = time.monotonic() + timeout if timeout else None
    try:
        with changes(access(kube), what[0]) as wait, _screen(session, output) as show:
            while wait(until and max(0.0, until - time.monotonic())):
                show(_rows(session, *what))
    except KeyboardInterrupt:
        return


@contextmanager
def _screen(session: Session, output: Output) -> Iterator[Callable[[list[Row]], None]]:
    """A table that is drawn anew on a terminal; elsewhere each row that is different, as a line."""
    if output.json or not output.console.is_terminal:
        yield _Lines(output.json).show
        return
    with Live(console=output.console, auto_refresh=False) as live:
        yield lambda rows: live.update(table_of(rows, session.now), refresh=True)


class _Lines:
    """Prints rows as they change: one JSON object or one text a line, as `kubectl get -w` does."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._shown: set[Row] = set()

    def show(self, rows: list[Row]) -> None:
        for row in rows:
            if row not in self._shown:
                sys.stdout.write(self._line(row) + "\n")
        sys.stdout.flush()
        self._shown = set(rows)

    def _line(self, row: Row) -> str:
        if self._as_json:
            return json.dumps(row.json(), ensure_ascii=False)
        candidate = f"candidate v{row.candidate} {row.candidate_image}" if row.candidate else "no candidate"
        active = f"v{row.version} {row.color} {row.image}" if row.version else "nothing live"
        return clean(f"{row.namespace}/{row.name}  {row.phase}  {active}  {candidate}  {row.promotion}".rstrip())
