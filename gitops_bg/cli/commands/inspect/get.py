"""`get`: the state of apps and release groups, one line each, or one as a tree; with -w, every change. It only reads.

The list is what people ask for all day: what only a tree or a watch needs is imported there (docs/reference/cli.md).
"""

import math
from typing import Annotated

import typer

from gitops_bg.cli.options import completion
from gitops_bg.cli.options.names import an_app_or_none
from gitops_bg.cli.options.options import LiveOptions, Watch, WatchTimeout
from gitops_bg.cli.session.live_session import LiveSession
from gitops_bg.cli.views.output import Output
from gitops_bg.cli.views.rows import AnyRow, list_of, rows_of
from gitops_bg.cluster.api.errors import Forbidden, NamespaceMissing, NotFound
from gitops_bg.cluster.api.kinds import APPS, RELEASE_GROUPS, Object
from gitops_bg.cluster.api.remedies import no_namespace
from gitops_bg.core.errors import GitopsBgError

Everywhere = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="Those of all namespaces; the default without -n.")
]


def get(
    at: LiveOptions,
    app: Annotated[
        str,
        typer.Argument(
            parser=an_app_or_none,
            metavar="[APP]",
            autocompletion=completion.apps_and_groups,
            help="NAME or NAMESPACE/NAME, of an app or a release group; none: a list of all.",
        ),
    ] = "",
    watch: Watch = False,
    everywhere: Everywhere = False,
    timeout: WatchTimeout = math.inf,
) -> None:
    """List apps and groups, or show one as a tree: its versions, pods and measurements, and what it waits for.

    Example: gitops-bg get shop/web -w
    """
    output = Output(at.out)
    with LiveSession(kube=at.kube, place=at.place) as session:
        if not app:
            show_all(Listed(session, output, "" if everywhere else at.place.namespace), at, timeout, watch=watch)
            return
        key = session.app(app)
        if watch:
            from gitops_bg.cli.commands.inspect.watch import watch_app

            watch_app(session, at, output, key, timeout)
        else:
            from gitops_bg.cli.commands.inspect.tree import show_app

            show_app(output, session, key)


class Listed:
    """The apps and groups of a namespace (empty: of all), or the groups alone; each look reads the cluster anew."""

    def __init__(self, session: LiveSession, output: Output, namespace: str, *, groups_only: bool = False) -> None:
        self.session = session
        self.output = output
        self.namespace = namespace
        self._groups_only = groups_only
        self._told = False

    def rows(self) -> tuple[AnyRow, ...]:
        """Return what there is now."""
        client = self.session.client
        if self._groups_only:
            return rows_of((), client.list(RELEASE_GROUPS, self.namespace))
        return rows_of(client.list(APPS, self.namespace), self._groups())

    def _groups(self) -> list[Object]:
        """Return the groups; none where the cluster has no such kind, or does not say: who asks may have no groups."""
        try:
            return list(self.session.client.list(RELEASE_GROUPS, self.namespace))
        except NotFound:
            return []
        except Forbidden as error:
            if not self._told:
                self.output.note(f"release groups are not listed: {error}")
            self._told = True
            return []


def show_all(listed: Listed, at: LiveOptions, timeout: float, *, watch: bool) -> None:
    """Show the list, once or on every change. Raises `NamespaceMissing`."""
    if watch:
        from gitops_bg.cli.commands.inspect.watch import watch_all

        watch_all(listed.rows, at, listed.output, listed.namespace, timeout)
        return
    rows, output, session = listed.rows(), listed.output, listed.session
    if listed.namespace and not rows and session.lacks_namespace(listed.namespace):
        raise NamespaceMissing(no_namespace(listed.namespace))
    if output.json:
        output.data({"items": [row.json() for row in rows]})
    elif rows:
        output.show(list_of(rows, session.now, wide=output.wide))
    else:
        output.note("nothing is here yet: the agent makes apps and groups from the repository")
    _show_holders(output, session)


def _show_holders(output: Output, session: LiveSession) -> None:
    """Show which agent works; nothing where the user may not read leases."""
    from gitops_bg.cluster.api.lease import holders

    try:
        found = holders(session.client)
    except GitopsBgError:
        return
    for lease, holder in found:
        output.note(f"lease {lease}: held by {holder}" if holder else f"lease {lease}: held by nobody, no agent works")
