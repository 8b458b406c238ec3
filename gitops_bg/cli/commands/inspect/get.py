"""`get`: the state of apps, one line each, or one app as a tree; with -w, every change. It only reads.

The list is what people ask for all day: what only a tree or a watch needs is imported there (docs/reference/cli.md).
"""

import math
from datetime import datetime
from typing import Annotated

import typer

from gitops_bg.cli.options import completion
from gitops_bg.cli.options.app_names import an_app_or_none
from gitops_bg.cli.options.options import LiveOptions, Watch, WatchTimeout
from gitops_bg.cli.session.live_session import LiveSession
from gitops_bg.cli.views.app_row import Row, list_of, rows_of
from gitops_bg.cli.views.output import Output
from gitops_bg.cluster.api.errors import NamespaceMissing
from gitops_bg.cluster.api.kinds import APPS
from gitops_bg.cluster.api.remedies import no_namespace
from gitops_bg.core.errors import GitopsBgError


def get(
    at: LiveOptions,
    app: Annotated[
        str,
        typer.Argument(
            parser=an_app_or_none,
            metavar="[APP]",
            autocompletion=completion.apps_and_groups,
            help="NAME or NAMESPACE/NAME, of an app or a release group; none: a list of all apps.",
        ),
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
    with LiveSession(kube=at.kube, place=at.place) as session:
        key = session.app(app) if app else None
        if watch:
            from gitops_bg.cli.commands.inspect.watch_apps import watch_apps

            watch_apps(session, at, output, key, key.namespace if key else namespace, timeout)
        elif key:
            from gitops_bg.cli.commands.inspect.tree import show_app

            show_app(output, session, key)
        else:
            rows = rows_of(session.client.list(APPS, namespace))
            if namespace and not rows and session.lacks_namespace(namespace):
                raise NamespaceMissing(no_namespace(namespace))
            _show_list(output, rows, session.now)
            _show_holders(output, session)


def _show_list(output: Output, rows: tuple[Row, ...], now: datetime) -> None:
    if output.json:
        output.data({"apps": [row.json() for row in rows]})
    elif rows:
        output.show(list_of(rows, now, wide=output.wide))
    else:
        output.note("no apps here yet: the agent makes them from the repository")


def _show_holders(output: Output, session: LiveSession) -> None:
    """Show which agent works; nothing where the user may not read leases."""
    from gitops_bg.cluster.api.lease import holders

    try:
        found = holders(session.client)
    except GitopsBgError:
        return
    for lease, holder in found:
        output.note(f"lease {lease}: held by {holder}" if holder else f"lease {lease}: held by nobody, no agent works")
