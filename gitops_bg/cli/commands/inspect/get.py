"""`get`: the state of apps, one line each, or one app as a tree; with -w, every change. It only reads."""

import math
from datetime import datetime
from typing import Annotated, Any

import typer

from gitops_bg.cli.options.app_names import an_app_or_none
from gitops_bg.cli.options.options import LiveOptions, Watch, WatchTimeout
from gitops_bg.cli.session.connect import access
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.app_json import json_of
from gitops_bg.cli.views.app_row import Row, list_of, row_of
from gitops_bg.cli.views.app_view import AppView, look
from gitops_bg.cli.views.output import Output
from gitops_bg.cli.views.tree_view import picture_of
from gitops_bg.cli.views.watch_changes import changes
from gitops_bg.cli.views.watch_view import follow, list_screen, picture_screen
from gitops_bg.cluster.api.kinds import APPS
from gitops_bg.cluster.api.lease import holders
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.version import AppKey


def get(
    at: LiveOptions,
    app: Annotated[
        str, typer.Argument(parser=an_app_or_none, metavar="[APP]", help="NAME or NAMESPACE/NAME; none: a list of all.")
    ] = "",
    watch: Watch = False,
    everywhere: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Apps of all namespaces; the default without -n.")
    ] = False,
    timeout: WatchTimeout = math.inf,
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
                with picture_screen(output, picture_of, json_of) as screen:
                    follow(lambda: look(session, app), screen, wait, timeout)
            else:
                with list_screen(output, list_of, Row.json, _line) as screen:
                    follow(lambda: _rows(session, namespace), screen, wait, timeout)
    except KeyboardInterrupt:
        return


def _line(row: Row) -> str:
    candidate = f"candidate v{row.candidate} {row.candidate_image}" if row.candidate else "no candidate"
    active = f"v{row.version} {row.color} {row.image}" if row.version else "nothing live"
    demands = ", ".join(each.type for each in row.demands)
    parts = (str(row.app), row.phase, active, candidate, row.promotion, demands)
    return "  ".join(part for part in parts if part)
