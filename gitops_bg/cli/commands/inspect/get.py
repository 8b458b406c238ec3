"""`get`: the state of apps, one line each, or one app as a tree; with -w, every change. It only reads."""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Group

from gitops_bg.cli.options.app_names import an_app_or_none
from gitops_bg.cli.options.durations import positive_seconds
from gitops_bg.cli.options.options import LiveOptions
from gitops_bg.cli.session.connect import access
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.app_json import json_of
from gitops_bg.cli.views.app_row import Row, list_of, row_of
from gitops_bg.cli.views.app_view import AppView, look
from gitops_bg.cli.views.output import Output
from gitops_bg.cli.views.tree_view import picture_of
from gitops_bg.cli.views.watch_changes import changes
from gitops_bg.cli.views.watch_view import Frames, JsonLines, Screen, follow, terminal
from gitops_bg.cluster.api.kinds import APPS
from gitops_bg.cluster.api.lease import holders
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.version import AppKey


def get(
    at: LiveOptions,
    app: Annotated[
        str, typer.Argument(parser=an_app_or_none, metavar="[APP]", help="NAME or NAMESPACE/NAME; none: a list of all.")
    ] = "",
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Keep watching, and show each change until Ctrl-C.")
    ] = False,
    everywhere: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Apps of all namespaces; the default without -n.")
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            parser=positive_seconds, metavar="DURATION", show_default="none", help="Stop watching after this time."
        ),
    ] = math.inf,
) -> None:
    """List apps, or show one as a tree: its versions, their pods, their measurements, and what it waits for.

    Example: gitops-bg get shop/web -w
    """
    output = Output(at.out)
    namespace = "" if everywhere else at.place.namespace
    with Session(kube=at.kube, place=at.place) as session:
        key = session.app(app) if app else None
        if watch:
            _watch(session, at, output, key, key.namespace if key else namespace, timeout)
        elif key:
            show_app(output, look(session, key), session.now)
        else:
            _show_list(output, _rows(session, namespace), session.now)
            _show_holders(output, session)


def show_app(output: Output, app_view: AppView, now: datetime) -> None:
    """Show one app, in either format."""
    if output.json:
        output.data({"apps": [json_of(app_view)]})
    output.show(picture_of(app_view, now))


def _show_list(output: Output, rows: tuple[Row, ...], now: datetime) -> None:
    if output.json:
        output.data({"apps": [row.json() for row in rows]})
    elif rows:
        output.show(list_of(rows, now))
    else:
        output.note("no apps here yet: the agent makes them from the repository")


def _show_holders(output: Output, session: Session) -> None:
    """Show which agent works; nothing where the user may not read leases."""
    try:
        found = holders(session.cluster.client)
    except GitopsBgError:
        return
    for lease, holder in found:
        output.note(f"lease {lease}: held by {holder}" if holder else f"lease {lease}: held by nobody, no agent works")


def _rows(session: Session, namespace: str) -> tuple[Row, ...]:
    bodies: list[dict[str, Any]] = session.cluster.client.list(APPS, namespace)
    return tuple(sorted(map(row_of, bodies), key=lambda row: (row.namespace, row.name)))


# --- as it changes ---


def _watch(
    session: Session, at: LiveOptions, output: Output, app: AppKey | None, namespace: str, timeout: float
) -> None:
    """Show it again on every change that a watch reports, until Ctrl-C."""
    try:
        with changes(access(at.kube), namespace, app) as wait:
            if app:
                with _app_screen(output) as screen:
                    follow(lambda: look(session, app), screen, wait, timeout)
            else:
                with _list_screen(output) as screen:
                    follow(lambda: _rows(session, namespace), screen, wait, timeout)
    except KeyboardInterrupt:
        return


def _app_screen(output: Output) -> AbstractContextManager[Screen[AppView]]:
    if output.json:
        return _as_it_is(JsonLines(output, json_of))
    return terminal(output, picture_of) if output.console.is_terminal else _as_it_is(Frames(output, picture_of))


def _list_screen(output: Output) -> AbstractContextManager[Screen[tuple[Row, ...]]]:
    if output.console.is_terminal and not output.json:
        return terminal(output, _list)
    return _as_it_is(_Lines(output))


def _list(rows: tuple[Row, ...], now: datetime) -> Group:
    return list_of(rows, now)


@contextmanager
def _as_it_is(screen: Screen[Any]) -> Iterator[Screen[Any]]:
    yield screen


class _Lines:
    """Prints rows as they change: one JSON object or one text per line, as `kubectl get -w` does."""

    tick = math.inf

    def __init__(self, output: Output) -> None:
        self._output = output
        self._shown: set[Row] = set()

    def show(self, rows: tuple[Row, ...]) -> None:
        for row in rows:
            if row not in self._shown:
                self._say(row)
        self._shown = set(rows)

    def _say(self, row: Row) -> None:
        if self._output.json:
            self._output.data_line(row.json())
            return
        candidate = f"candidate v{row.candidate} {row.candidate_image}" if row.candidate else "no candidate"
        active = f"v{row.version} {row.color} {row.image}" if row.version else "nothing live"
        demands = ", ".join(each.type for each in row.demands)
        parts = (str(row.app), row.phase, active, candidate, row.promotion, demands)
        self._output.line("  ".join(part for part in parts if part))
