"""`group get`: the stages of groups, once or, with -w, as they change. It only reads."""

import math
from typing import Annotated

import typer

from gitops_bg.cli.commands.group.arguments import a_group_or_none
from gitops_bg.cli.commands.group.live import live_groups
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.app_names import app_name
from gitops_bg.cli.options.options import LiveOptions, Watch, WatchTimeout
from gitops_bg.cli.session.live_session import access
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.groups.rows import GroupRow, line_of, list_of, picture_of, row_of
from gitops_bg.cli.views.output import Output
from gitops_bg.cli.views.watching.watch_changes import group_changes
from gitops_bg.cli.views.watching.watch_view import follow, list_screen, picture_screen


def get(
    at: LiveOptions,
    group: Annotated[
        str,
        typer.Argument(
            parser=a_group_or_none,
            metavar="[GROUP]",
            autocompletion=completion.groups,
            help="NAME or NAMESPACE/NAME; none: all of them.",
        ),
    ] = "",
    watch: Watch = False,
    timeout: WatchTimeout = math.inf,
) -> None:
    """Show the stages of groups: which version serves, which a rollback leads to, which may be promoted.

    Example: gitops-bg group get shop/store -w
    """
    output = Output(at.out)
    with Session(kube=at.kube, place=at.place) as session:
        if watch:
            _watch(session, at, output, group, timeout)
        else:
            _show(output, _rows(session, at, group), group, session)


def _rows(session: Session, at: LiveOptions, group: str) -> tuple[GroupRow, ...]:
    return tuple(map(row_of, live_groups(session.cluster.client, at.place.namespace, group)))


def _show(output: Output, rows: tuple[GroupRow, ...], group: str, session: Session) -> None:
    if output.json:
        output.data({"groups": [row.json() for row in rows]})
    elif not rows:
        output.note("no groups here yet: the agent makes them from the repository")
    else:
        output.show(picture_of(rows[0], session.now) if group else list_of(rows, session.now, wide=output.wide))


def _watch(session: Session, at: LiveOptions, output: Output, group: str, timeout: float) -> None:
    """Show it again on every change that a watch reports, until Ctrl-C."""
    namespace = (app_name(group)[0] if group else "") or at.place.namespace
    try:
        with group_changes(access(at.kube), namespace) as wait:
            if group:
                with picture_screen(output, picture_of, GroupRow.json) as one:
                    follow(lambda: _rows(session, at, group)[0], one, wait, timeout)
            else:
                with list_screen(output, list_of, GroupRow.json, line_of) as every:
                    follow(lambda: _rows(session, at, ""), every, wait, timeout)
    except KeyboardInterrupt:
        return
