"""`get` and `tree`: apps and release groups, one line each, or one as a tree; with -w, on every change. They only read.

The list is what people ask for all day: what only a tree or a watch needs is imported there (docs/reference/cli.md).
"""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_bg.cli.errors import OK
from gitops_bg.cli.itself import itself
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.groups import Group, OptionalGroup, live_groups
from gitops_bg.cli.options.options import AppOrGroup, GetOptions, Watch, WatchTimeout
from gitops_bg.cli.options.values import an_app_or_none
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.live_session import LiveSession, access
from gitops_bg.cli.views.rows import list_of
from gitops_bg.cluster.api.errors import Forbidden, NamespaceMissing, NotFound, no_namespace
from gitops_bg.cluster.api.kinds import APPS, RELEASE_GROUPS, Object
from gitops_bg.core import names
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.version import AppKey
from gitops_bg.views.rows import AnyRow, rows_of

if TYPE_CHECKING:
    import subprocess

    from gitops_bg.cli.session.watch import Changes
    from gitops_bg.cli.views.pager import Act
    from gitops_bg.views.group_tree import GroupView

Everywhere = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="Those of all namespaces; the default without -n.")
]


def get(
    at: GetOptions,
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
    output = _output(at)
    with LiveSession(kube=at.kube, place=at.place) as session:
        if not app:
            _show_list(_Listed(session, output, "" if everywhere else at.place.namespace), at, timeout, watch=watch)
            return
        key = session.app(app)
        if watch:
            _watch_app(session, at, output, key, timeout)
        else:
            _show_app(output, session, key)


def tree(app: AppOrGroup, at: GetOptions) -> None:
    """Show one app as a tree: the same as `get APP`.

    Example: gitops-bg tree shop/web
    """
    with LiveSession(kube=at.kube, place=at.place) as session:
        _show_app(_output(at), session, session.app(app))


def of_group(
    at: GetOptions,
    group: OptionalGroup = "",
    watch: Watch = False,
    everywhere: Everywhere = False,
    timeout: WatchTimeout = math.inf,
) -> None:
    """List groups, or show one as a tree: the same as `get`, of groups alone.

    Example: gitops-bg group get shop/store -w
    """
    output = _output(at)
    with LiveSession(kube=at.kube, place=at.place) as session:
        if not group:
            namespace = "" if everywhere else at.place.namespace
            _show_list(_Listed(session, output, namespace, groups_only=True), at, timeout, watch=watch)
        elif watch:
            _watch_group(session, at, output, group, timeout)
        else:
            _show_group(output, session, at.place.namespace, group)


def tree_of_group(group: Group, at: GetOptions) -> None:
    """Show a group as a tree: its versions, their services with ReplicaSets and pods, its Services, routes and gates.

    Example: gitops-bg group tree shop/store
    """
    with LiveSession(kube=at.kube, place=at.place) as session:
        _show_group(_output(at), session, at.place.namespace, group)


def _output(at: GetOptions) -> Output:
    """Return where it is printed."""
    return Output(at.out.ordinary, template=at.out.template)


class _Listed:
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
                self.output.notice(f"release groups are not listed: {error}")
            self._told = True
            return []


def _show_list(listed: _Listed, at: GetOptions, timeout: float, *, watch: bool) -> None:
    """Show the list, once or on every change. Raises `NamespaceMissing`."""
    if watch:
        _watch_list(listed.rows, at, listed.output, listed.namespace, timeout)
        return
    rows, output, session = listed.rows(), listed.output, listed.session
    if listed.namespace and not rows and session.lacks_namespace(listed.namespace):
        raise NamespaceMissing(no_namespace(listed.namespace))
    if output.json:
        output.data({"items": [row.json() for row in rows]})
    elif rows:
        output.show(list_of(rows, session.now, wide=output.wide))
    else:
        output.notice("nothing is here yet: the agent makes apps and groups from the repository")
    _show_holders(output, session)


def _show_holders(output: Output, session: LiveSession) -> None:
    """Show that no agent works, and with -v which one does; nothing where the user may not read leases."""
    from gitops_bg.agent.runtime.leadership import holders

    try:
        found = holders(session.client)
    except GitopsBgError:
        return
    for lease, holder in found:
        if not holder:
            output.notice(f"lease {lease}: held by nobody, no agent works")
        else:
            output.detail(f"lease {lease}: held by {holder}")


def _watch_list(
    rows: Callable[[], tuple[AnyRow, ...]], at: GetOptions, output: Output, namespace: str, timeout: float
) -> None:
    """Keep showing the apps and groups of a namespace (empty: all), for ``timeout`` seconds."""
    from gitops_bg.cli.views.pager import Page
    from gitops_bg.cli.views.watch_view import follow, list_screen

    page = Page[tuple[AnyRow, ...]](lambda shown, now, _parts: list_of(shown, now, wide=output.wide))
    with (
        _changes(at, namespace) as wait,
        list_screen(output, page, lambda row: row.json(), lambda row: row.line, wait.wake) as screen,
    ):
        follow(rows, screen, wait, timeout)


def _show_app(output: Output, session: LiveSession, app: AppKey) -> None:
    from gitops_bg.cli.views.subject import picture_of
    from gitops_bg.views.tree import json_tree_of_app

    app_view = session.app_view(app)
    if output.json:
        output.one(json_tree_of_app(app_view))
    output.show(picture_of(app_view, session.now, wide=output.wide))


def _watch_app(session: LiveSession, at: GetOptions, output: Output, app: AppKey, timeout: float) -> None:
    """Keep showing the app, and whichever somebody goes on to, for ``timeout`` seconds each."""
    from gitops_bg.cli.views.pager import LeavePage

    while True:
        try:
            return _watch_one_app(session, at, output, app, timeout)
        except LeavePage as left:
            app = _neighbour(session, at.place.namespace, app, left.step)


def _watch_one_app(session: LiveSession, at: GetOptions, output: Output, app: AppKey, timeout: float) -> None:
    from gitops_bg.agent.live_views import pod_labels
    from gitops_bg.cli.views.subject import page_of
    from gitops_bg.cli.views.watch_view import follow, picture_screen
    from gitops_bg.views.tree import json_tree_of_app

    page = page_of(_promotion(session, at, app), wide=output.wide)
    with (
        _changes(at, app.namespace, pod_labels(app)) as wait,
        picture_screen(output, page, json_tree_of_app, wait.wake) as screen,
    ):
        follow(lambda: session.app_view(app), screen, wait, timeout)


def _neighbour(session: LiveSession, namespace: str, app: AppKey, step: int) -> AppKey:
    """Return the app so many places further in the list, which begins anew at its end."""
    try:
        bodies = session.client.list(APPS, namespace)
    except Forbidden:
        bodies = session.client.list(APPS, app.namespace)
    apps = sorted({app, *(AppKey(each["metadata"]["namespace"], each["metadata"]["name"]) for each in bodies)})
    return apps[(apps.index(app) + step) % len(apps)]


def _promotion(session: LiveSession, at: GetOptions, app: AppKey) -> "Act":
    """Return what `promote` does, of the version that was the newest when somebody asked."""
    from gitops_bg.cli.views.pager import Act

    asked_about = ""

    def ask() -> tuple[str, bool]:
        nonlocal asked_about
        newest = session.app_view(app).newest
        if newest is None:
            return f"{app}: there is no version to promote", False
        asked_about = f"v{newest.number}"
        done = _called(at, "promote", str(app), "--to", asked_about, "--dry-run")
        return done.stdout.partition("nothing was written")[0] + done.stderr, done.returncode == OK

    def promote() -> str:
        done = _called(at, "promote", str(app), "--to", asked_about)
        return done.stdout + done.stderr

    return Act("P", "promote", ask, promote)


def _called(at: GetOptions, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run another verb on the same cluster, which asks nothing and leaves the terminal alone."""
    import signal
    import subprocess

    kube = {"--kubeconfig": at.kube.kubeconfig, "--context": at.kube.context}
    options = [word for option, value in kube.items() if value for word in (option, str(value))]
    command = itself(*arguments, *options)
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "COLUMNS": "", "NO_COLOR": "1"}
    environment.pop("GPG_TTY", None)
    # Its own session has no terminal: Ctrl-C does not reach it, and ssh and gpg find none to ask on.
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            printed, complained = process.communicate()
        except BaseException:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGTERM)
            raise
    return subprocess.CompletedProcess(command, process.returncode, printed, complained)


def _show_group(output: Output, session: LiveSession, namespace: str, group: str) -> None:
    from gitops_bg.cli.views.subject import drawn_group
    from gitops_bg.views.group_tree import json_tree_of_group

    view = _group_view(session, namespace, group)
    if output.json:
        output.one(json_tree_of_group(view))
    output.show(drawn_group(view, session.now))


def _watch_group(session: LiveSession, at: GetOptions, output: Output, group: str, timeout: float) -> None:
    from gitops_bg.cli.views.pager import Page
    from gitops_bg.cli.views.subject import drawn_group
    from gitops_bg.cli.views.watch_view import follow, picture_screen
    from gitops_bg.views.group_tree import json_tree_of_group

    def read() -> "GroupView":
        return _group_view(session, at.place.namespace, group)

    with (
        _changes(at, read().group.namespace, names.APP) as wait,
        picture_screen(output, Page["GroupView"](drawn_group), json_tree_of_group, wait.wake) as screen,
    ):
        follow(read, screen, wait, timeout)


def _group_view(session: LiveSession, namespace: str, group: str) -> "GroupView":
    from gitops_bg.agent.live_views import read_group

    (body,) = live_groups(session.client, namespace, group)
    return read_group(session.cluster, body)


@contextmanager
def _changes(at: GetOptions, namespace: str, pods: str = "") -> Iterator["Changes"]:
    """Report every change of a namespace until Ctrl-C."""
    from gitops_bg.cli.session.watch import changes

    yielded = False
    try:
        with changes(access(at.kube), namespace, pods, groups=True) as wait:
            yielded = True
            yield wait
    except KeyboardInterrupt:
        if not yielded:
            raise
