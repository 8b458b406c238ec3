"""The thread that talks to the forge. Nothing waits for it: Git carries every promotion (decision 31).

It passes the wishes of workers to `forge.worker`, and stores the results for the next facts. The repository's settings
name the forge, and the command line has the credentials; without a forge, it does nothing.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired_pull import awaits_poll, desired_entry_of, desired_pull_of, has_left
from gitops_bg.agent.groups.facts import GroupFacts
from gitops_bg.agent.metrics import Metrics
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.runtime.failures import log_bug, quietly
from gitops_bg.agent.runtime.workers import BackgroundThread
from gitops_bg.agent.settings import ForgeAccess
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InternalError, guarded
from gitops_bg.core.groups.record import GroupDecision
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.journal import AwaitsPoll, PullView, awaited
from gitops_bg.core.model.version import AppKey, AppOrGroup, EntryKey, PullSubject
from gitops_bg.forge import connect
from gitops_bg.forge.adapters.rest_forge import RestForge
from gitops_bg.forge.asking import ForgeAnswer
from gitops_bg.forge.offer import DesiredPull, PullSettings
from gitops_bg.forge.port import Forge
from gitops_bg.forge.worker import PullRequests, Surroundings
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.spec.app.settings import ForgeSettings

LOGGER = logging.getLogger(__name__)

CONNECT_AGAIN = timedelta(seconds=60)
"""After this time, connecting to a failed forge is tried again."""


@dataclass(frozen=True, slots=True)
class ForgeConnection:
    """A connected forge."""

    forge: Forge
    close: Callable[[], None]
    remaining: Callable[[], int | None] = lambda: None
    """How many requests remain until its limit; None where it does not say."""


Connect = Callable[[ForgeSettings], ForgeConnection]
"""Connects to a forge; raises the errors of ``core.errors``."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """What the agent provides to the thread. Every function returns at once."""

    catalog: Catalog
    metrics: Metrics
    connect: Connect
    cluster: str
    base: str
    """The branch that promotions are merged into."""
    interval: float
    clock: Callable[[], datetime]
    may_write: Callable[[], bool]
    wake: Callable[[Iterable[AppOrGroup]], None]
    """Have these apps and groups looked at."""
    poll_soon: Callable[[], None]
    """Look at main as soon as possible."""
    crashed: Callable[[BaseException], None]
    dashboard: str = ""
    """The address of the dashboard, where others reach it."""


class ForgeThread(BackgroundThread):
    """Start it, set what is desired, stop it."""

    def __init__(self, wiring: Wiring) -> None:
        super().__init__("forge", wiring.crashed)
        self._wiring = wiring
        self._all_desired: dict[PullSubject, DesiredPull] = {}
        self._news: dict[PullSubject, DesiredPull] = {}
        """Those of them that the worker does not have yet."""
        self._entries: dict[AppKey, EntryKey] = {}
        """The apps that take releases in, each with what asks for them."""
        self._due: datetime | None = None
        self._look = self._forgotten = False
        self._wanted: ForgeSettings | None = None
        self._connection: ForgeConnection | None = None
        self._worker: PullRequests | None = None
        self._trouble = ""
        wiring.catalog.connect_forge(self.view, self.answers_of)

    def update(self, facts: Facts | GroupFacts, decision: Decision | GroupDecision, now: datetime) -> None:
        """Take over a finished look at an app or a group. Without a forge, nothing is computed."""
        wiring = self._wiring
        if wiring.catalog.reading.settings.forge is None:
            return
        if isinstance(facts, Facts) and awaits_poll(facts) and wiring.catalog.waits_for_poll(facts.app):
            wiring.poll_soon()
        with quietly(f"looking what {facts.subject} wants of the forge"):
            desired = desired_pull_of(facts, decision, now, wiring.cluster, wiring.base)
            if desired is not None:
                self.set_desired(facts.subject, desired)
            if isinstance(facts, Facts) and isinstance(decision, Decision):
                self._update_entry(facts, decision, now)

    def _update_entry(self, facts: Facts, decision: Decision, now: datetime) -> None:
        """Take over what the branch of the app wants that asks for a release in its environment."""
        wiring, app = self._wiring, facts.app
        before, environment = self._entries.get(app), facts.desired.environment
        if before is not None and has_left(facts.desired, before.environment):
            self._forget_entry(app)
        if environment is None or not environment.formers:
            return
        entering = wiring.catalog.environments.entering(
            app, facts.desired.commit, facts.desired.tree, facts.config.release
        )
        desired = desired_entry_of(facts, decision, entering, now, wiring.cluster, wiring.base)
        if desired is not None:
            key = self._entries[app] = EntryKey(app, environment.name)
            self._set_desired(key, desired)

    def set_desired(self, app: AppOrGroup, desired: DesiredPull | None) -> None:
        """Set what the newest look at an app wants, replacing older wishes; None: the app is gone."""
        if desired is None and isinstance(app, AppKey):
            self._forget_entry(app)
        self._set_desired(app, desired)

    def _forget_entry(self, app: AppKey) -> None:
        key = self._entries.pop(app, None)
        if key is not None:
            self._set_desired(key, None)

    def _set_desired(self, app: PullSubject, desired: DesiredPull | None) -> None:
        wanted = desired or DesiredPull()
        with self._changed:
            if self._all_desired.get(app) == wanted:
                return
            self._all_desired[app] = self._news[app] = wanted
            if self._worker is not None:
                self._due = None
                self._changed.notify_all()

    def stand_by(self) -> None:
        """Forget what was desired: this agent no longer leads."""
        with self._changed:
            self._all_desired, self._news = {}, {}
            self._forgotten = True
            self._changed.notify_all()

    def poll_soon(self) -> None:
        """Read the list soon: a webhook arrived, or somebody asked."""
        with self._changed:
            self._look, self._due = True, None
            self._changed.notify_all()

    def main_was_read(self) -> None:
        """Read the repository's settings again: they may name another forge."""
        with self._changed:
            if self._wiring.catalog.reading.settings.forge != self._wanted:
                self._due = None
                self._changed.notify_all()

    def view(self, app: PullSubject) -> PullView | None:
        """Return the forge's view of an app; None if it was not asked, empty if there is none any more."""
        catalog = self._wiring.catalog
        if catalog.seen and catalog.reading.settings.forge is None:
            return PullView()
        if self._trouble and self._worker is None:
            desired = self._all_desired.get(app)
            return PullView(trouble=self._trouble) if desired and desired.needs_the_forge else None
        worker = self._worker
        return worker.view.get(app) if worker else None

    def answers_of(self, app: AppOrGroup) -> ForgeAnswer | None:
        """Return the forge's answers on who approved and who merged; None if it was not asked."""
        worker = self._worker
        return worker.answers_of(app) if worker else None

    # --- the thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._wait():
                self._turn()
        finally:
            self._disconnect()

    def _wait(self) -> bool:
        """Wait until something is due; return False to end."""
        with self._changed:
            while not self._stopping and not self._is_due():
                self._changed.wait(self._patience())
            return not self._stopping

    def _is_due(self) -> bool:
        return self._due is None or self._due <= self._wiring.clock()

    def _patience(self) -> float:
        return max(0.0, (self._due - self._wiring.clock()).total_seconds()) if self._due else 0.0

    def _turn(self) -> None:
        now = self._wiring.clock()
        with self._changed:
            self._due = now + timedelta(days=1)  # News from here on resets it.
            look, self._look = self._look, False
        self._follow_settings()
        worker = self._worker
        if worker is None:
            self._next(now + CONNECT_AGAIN if self._trouble else None)
            return
        self._pass_news(worker)
        if look:
            worker.poll_soon()
        try:
            with guarded("working with the forge"):
                self._next(worker.turn(now))
        except InternalError as error:
            log_bug(error)
            self._next(now + CONNECT_AGAIN)
        self._measure()

    def _pass_news(self, worker: PullRequests) -> None:
        """Pass on, in one moment, what was desired since the last turn: nothing that comes meanwhile is lost."""
        with self._changed:
            forgotten, self._forgotten = self._forgotten, False
            news, self._news = self._news, {}
        if forgotten:
            worker.stand_by()
        for app, desired in news.items():
            worker.set_desired(app, desired)

    def _next(self, moment: datetime | None) -> None:
        with self._changed:
            if moment is not None and self._due is not None:
                self._due = min(self._due, moment)

    # --- which forge ------------------------------------------------------------------------------------------

    def _follow_settings(self) -> None:
        """Connect to the forge in the settings, if that has changed."""
        wanted = self._wiring.catalog.reading.settings.forge
        if wanted == self._wanted and (self._worker is not None or not self._trouble):
            return
        self._disconnect()
        self._wanted = wanted
        before, self._trouble = self._trouble, ""
        if wanted is not None:
            self._connect(wanted, before)
        if self._trouble != before:
            self._wake(app for app, desired in self._all_desired.items() if desired.needs_the_forge)

    def _connect(self, wanted: ForgeSettings, before: str) -> None:
        try:
            with guarded("connecting to the forge"):
                connection = self._wiring.connect(wanted)
        except GitopsBgError as error:
            self._trouble = str(error)
            if self._trouble != before:
                LOGGER.warning("there are no pull requests: %s", error)
            return
        wiring = self._wiring
        around = Surroundings(
            wiring.cluster, self._seen_now, self._publish, wiring.may_write, wiring.base, wiring.catalog.branch_of
        )
        settings = PullSettings(
            tuple(wanted.labels),
            tuple(wanted.reviewers),
            tuple(wanted.assignees),
            wanted.comment,
            wanted.max_open_pull_requests,
            wiring.dashboard,
        )
        worker = PullRequests(connection.forge, settings, around, self._wiring.metrics, self._wiring.interval)
        with self._changed:
            self._news = dict(self._all_desired)
            self._connection, self._worker = connection, worker
        LOGGER.info("pull requests are looked after")

    def _disconnect(self) -> None:
        with self._changed:
            connection, worker = self._connection, self._worker
            self._connection = self._worker = None
        if connection is not None:
            connection.close()
        if worker is not None:
            self._wake(app for app, view in worker.view.items() if view != PullView())

    # --- what it reports -------------------------------------------------------------------------------------------

    def _seen_now(self, subject: PullSubject) -> AwaitsPoll:
        """Return the next look: what main has after that existed when this was seen, or is newer."""
        seen_at, app = awaited(self._wiring.catalog.poll_count()), _of(subject)
        if isinstance(app, AppKey):  # Groups are looked at after each look at main.
            self._wiring.catalog.waits_for_poll(app)
        self._wiring.poll_soon()
        return seen_at

    def _publish(self, news: Mapping[PullSubject, PullView]) -> None:
        self._wake(news)

    def _wake(self, subjects: Iterable[PullSubject]) -> None:
        self._wiring.wake(dict.fromkeys(map(_of, subjects)))

    def _measure(self) -> None:
        remaining = self._connection.remaining() if self._connection else None
        if remaining is not None:
            self._wiring.metrics.forge_remaining(remaining)


def _of(subject: PullSubject) -> AppOrGroup:
    return subject.app if isinstance(subject, EntryKey) else subject


def connect_as(
    repository: RepositorySettings,
    access: ForgeAccess,
    wanted: ForgeSettings | None,
    token: str,
    issuer: str,
    clock: Callable[[], datetime],
) -> RestForge:
    """Connect to the forge of the repository by a person's own token, which ``issuer`` gave, for one thread."""
    return connect.connect(replace(_server(repository, access, wanted), token=token, issuer=issuer), clock)


def connect_with(repository: RepositorySettings, access: ForgeAccess, clock: Callable[[], datetime]) -> Connect:
    """Connect with these credentials to whichever forge the settings of the repository name."""

    def connected(wanted: ForgeSettings) -> ForgeConnection:
        app = connect.AppSettings(access.app_id, access.app_key_file) if access.app_id and access.app_key_file else None
        endpoint = replace(_server(repository, access, wanted), token_file=access.token_file, app=app)
        forge = connect.connect(endpoint, clock)
        return ForgeConnection(forge, forge.close_connections, lambda: forge.rate().remaining)

    return connected


def _server(repository: RepositorySettings, access: ForgeAccess, wanted: ForgeSettings | None) -> connect.ForgeEndpoint:
    """Return where the forge is, and which other server may get a token; without any."""
    kind, url = (wanted.type or "", wanted.url or "") if wanted else ("", "")
    return connect.ForgeEndpoint(remote=repository.url, kind=kind, url=url, ca_file=access.ca_file, host=access.host)
