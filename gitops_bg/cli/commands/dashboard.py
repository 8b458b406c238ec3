"""`dashboard`: the agent's pages, read through a person's kubeconfig and their clone; what is done there is done as
them: commits and requests, as by any other verb. Listens on this machine alone, and knows no users of it.
"""

import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import typer

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.groups.commands import GroupCommands
from gitops_bg.agent.operate.apps import AppCommands
from gitops_bg.agent.operate.personal_forge import PersonalForge
from gitops_bg.agent.runtime.cpu import collect_garbage_as_usual
from gitops_bg.agent.runtime.failures import log_bug
from gitops_bg.agent.runtime.signals import wait_interruptibly
from gitops_bg.cli.errors import CommandFailed, UsageError
from gitops_bg.cli.options.options import Author, ClusterOptions, GitOptions, OutputOptions, PlaceOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.user_git import author as person_named
from gitops_bg.cli.session.live_session import access
from gitops_bg.cli.session.location import ALL
from gitops_bg.cli.session.session import Session
from gitops_bg.cluster.api.access import is_in_pod
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.errors import GitopsBgError, guarded
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.web.access.guard import Login, is_loopback
from gitops_bg.web.access.person import Person, Via
from gitops_bg.web.server import parse_address

_POLL_SECONDS = 30.0
_SYNC_SECONDS = 60.0


def dashboard(
    git: GitOptions,
    kube: ClusterOptions,
    place: PlaceOptions,
    author: Author = "",
    address: Annotated[
        str, typer.Option("--address", metavar="HOST:PORT", help="Where it listens; only this machine may reach it.")
    ] = "127.0.0.1:8090",
    act_in_pod: Annotated[
        bool,
        typer.Option("--act-in-pod", help="Act as you in a pod, too: so does everybody who may forward a port to it."),
    ] = False,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
) -> None:
    """Show all apps in a browser, through your kubeconfig. Every user of this machine who reaches the port acts as you.

    In a pod it is for reading only: whoever may forward a port to that reaches it.

    Example: gitops-bg dashboard
    """
    host, port = parse_address(address, "--address")
    if not is_loopback(host):
        raise UsageError(f"--address: others reach {host}; `gitops-bg agent --dashboard` has logins")
    collect_garbage_as_usual()
    name, email = person_named(author)
    output = Output(OutputOptions())
    with (
        Session(git, kube, place, (name, email), about=ALL, with_ledger=True, note=output.notice) as session,
        _running(session, kube, place.namespace) as running,
    ):
        from gitops_bg.web.dashboard.app import dashboard_server

        you = Person(name, email, "loopback", frozenset(), Via.LOOPBACK)
        login = Login(loopback=you, in_pod=is_in_pod() and not act_in_pod)
        with dashboard_server(running, host, port, login, "--address") as server:
            output.line(server.url)
            if not no_open:
                webbrowser.open(server.url)
            wait_interruptibly(threading.Event(), None)


class _Running:
    """What stands for an agent: caches of the cluster, and main, which is read every half a minute. Decides nothing."""

    def __init__(self, session: Session, kube: ClusterOptions, namespace: str) -> None:
        self.listeners: list[Callable[[AppOrGroup], None]] = []
        namespaces = [namespace] if namespace else []
        self.catalog: Catalog = session.catalog(namespaces, of_groups=True)
        self.cluster = Cluster.watching(
            access(kube), self._changed, namespaces, us=session.follows, on_group=self._changed
        )
        self._unread = ""
        self._wake = threading.Event()
        self._stopped = threading.Event()
        clock = partial(datetime.now, UTC)
        self.app_commands = AppCommands(
            self.catalog, session.repository, self.cluster, lambda: session.cluster, self._wake.set, clock
        )
        live = self.cluster.release_groups
        self.group_commands = GroupCommands(
            self.catalog, session.repository, live, lambda: session.cluster, self._wake.set, clock
        )

    def _changed(self, subject: AppOrGroup) -> None:
        for listener in self.listeners:
            listener(subject)

    def readiness_problems(self) -> list[str]:
        """Return why what is shown may be no longer so."""
        troubles = [str(each) for each in self.cluster.caches.troubles()]
        return [*troubles, *([f"main cannot be read: {self._unread}"] if self._unread else [])]

    def account(self, _token: str, _issuer: str) -> PersonalForge:
        """Raise `CommandFailed`: nobody logs in here, so nobody has a token."""
        raise CommandFailed("nobody logs in here")

    def poll(self) -> None:
        """Read main now and then, and after each commit, until the end."""
        while not self._stopped.is_set():
            self._wake.wait(_POLL_SECONDS)
            self._wake.clear()
            try:
                with guarded("reading main"):
                    for subject in self.catalog.refresh().dirty if not self._stopped.is_set() else ():
                        self._changed(subject)
                self._unread = ""
            except GitopsBgError as error:
                log_bug(error)
                self._unread = str(error)

    def stop(self) -> None:
        """End polling."""
        self._stopped.set()
        self._wake.set()
        self.cluster.stop()


@contextmanager
def _running(session: Session, kube: ClusterOptions, namespace: str) -> Iterator[_Running]:
    running = _Running(session, kube, namespace)
    polling = threading.Thread(target=running.poll, name="main", daemon=True)
    try:
        running.cluster.start()
        running.cluster.demand_synced(_SYNC_SECONDS)
        polling.start()
        yield running
    finally:
        running.stop()
        if polling.is_alive():
            polling.join(_SYNC_SECONDS)
