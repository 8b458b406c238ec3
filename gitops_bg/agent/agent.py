"""The running agent: threads, timers and wiring. The only place that knows real clocks and real randomness.

    webhooks ──poll──▶ Git thread ──dirty apps──▶ queue ──▶ workers: gather → decide → act
                            ▲                       ▲               │
                            └──── what Git is to get ┼───────────────┤
                                  watches ───────────┘  timers ◀─────┘ wake_at

Nothing here knows a rule about rollouts.
"""

import logging
import os
import random
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path

from gitops_bg.agent.desired.batching import ClosedRefs
from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.environments import Watchfulness
from gitops_bg.agent.desired.git_loop import GitLoop, Listener
from gitops_bg.agent.desired.lineage import main_of_live
from gitops_bg.agent.forge_thread import ForgeThread, Wiring, connect_as, connect_with
from gitops_bg.agent.groups.commands import GroupCommands
from gitops_bg.agent.groups.kind import GroupKind
from gitops_bg.agent.groups.members import Members
from gitops_bg.agent.logs import mask
from gitops_bg.agent.metrics import Metrics
from gitops_bg.agent.operate.apps import AppCommands
from gitops_bg.agent.operate.personal_forge import PersonalForge
from gitops_bg.agent.reconcile.apps import AppKind
from gitops_bg.agent.reconcile.background import Background, MeasurementRunner, alert_composer, secret_reader
from gitops_bg.agent.reconcile.event_recorder import EventRecorder
from gitops_bg.agent.reconcile.kind import Urgency, is_to_move_traffic, moves_requests, urgency_of, urgency_of_group
from gitops_bg.agent.reconcile.reconciler import Reconciler, ReconcileResult
from gitops_bg.agent.runtime.failures import LOOK_SECONDS, AwaitedNamespaces, Failures, log_bug, log_missing, quietly
from gitops_bg.agent.runtime.leadership import Leadership, Lease, identity
from gitops_bg.agent.runtime.schedule import COMPARE_SECONDS, ClockWatch, Recurring, SteadyClock, Timers, utc_now
from gitops_bg.agent.runtime.workers import HangingPasses, Workers, WorkQueue
from gitops_bg.agent.settings import AgentSettings
from gitops_bg.agent.tracing import tracer_from
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.observation.ownership import Ownership
from gitops_bg.core.backoff import Backoff
from gitops_bg.core.errors import GitopsBgError, guarded
from gitops_bg.core.groups.record import MemberState
from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.core.model.main import Main
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey, SubjectKind
from gitops_bg.core.names import page_url, promotion_branch
from gitops_bg.hooks import HookCaller
from gitops_bg.repo.git.transport import repository_name
from gitops_bg.repo.read.main_verifier import VerifiedBefore
from gitops_bg.repo.repository import Repository

LOGGER = logging.getLogger(__name__)

STALE = 120.0
"""Seconds after which knowledge of the cluster is stale: the API server sends a bookmark each minute."""
REFUSED_FIRST = 2.0
"""Seconds after which a branch that the remote refused is tried again; doubled each time."""
POLL_JITTER = 0.2
"""The jitter of each poll interval, as a share of it, so that the polls of many agents do not coincide."""
POLLS_IN_VAIN = 2
"""The number of polls after which what is known of main is stale."""


class Agent:
    """One agent for one repository and one cluster. Use `start`, `wait`, `stop`, or `run_once`.

    ``clock`` gives UTC, and may be set; ``steady`` only goes on.
    """

    def __init__(
        self,
        settings: AgentSettings,
        clock: Callable[[], datetime] = utc_now,
        steady: Callable[[], datetime] | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.webhook_secret = _secret(settings.webhook_secret_file)
        self.api_token = _secret(settings.api_token_file)
        self._clock = clock
        self._steady = steady or SteadyClock()
        self._random = random.Random()  # noqa: S311 - spreads load; nothing secret
        self._stopped = threading.Event()
        self._stood: tuple[bool, str, bool] | None = None
        self._crash: BaseException | None = None
        self.listeners: list[Callable[[AppOrGroup], None]] = []
        """Each is called with what may be shown otherwise from now on: it was looked at, or changed. On any thread."""
        self.queue = WorkQueue()
        self.leadership = Leadership(_lease(settings, self.metrics), self._led)
        self._timers = Timers(clock, self._wake_one, self._crashed)
        self.cluster = self._watched_cluster()
        retries: Backoff[AppOrGroup] = Backoff(self._random.random, first=0.05, longest=300.0)
        namespaces = AwaitedNamespaces(self.cluster.is_open, self.wake_all)
        self._failures = Failures(
            self.cluster,
            self.metrics,
            retries,
            self._wake_later,
            clock,
            await_namespace=namespaces.wait_for,
            moves_traffic=self._is_to_move_traffic,
        )
        self._recurring = Recurring()
        clocks = ClockWatch(clock, self._steady, self._clock_was_set)
        self._recurring.every(COMPARE_SECONDS, clocks.compare, "comparing the clocks")
        self._recurring.every(LOOK_SECONDS, namespaces.check, "looking for namespaces")
        self._recurring.every(settings.resync_seconds, self._resync, "a resync")
        self.repository = Repository(settings.repository, clock=clock, sleep=self._pause)
        self.catalog = Catalog(self.repository, settings.namespaces, self._remembered_mains, clock)
        self.catalog.board.wake = self.wake_all
        age = lambda: self.cluster.caches.age  # noqa: E731 - it is not there yet
        self._watchfulness = Watchfulness(settings.poll_seconds, STALE, age, clock)
        self.catalog.environments.watched_since = self._watchfulness.since
        self.repository.remember(self._verified_before)
        self.git = self._git_loop()
        composers = {
            HookType.ALERT: alert_composer(
                settings.repository.cluster,
                self.catalog.commit_url,
                settings.addresses,
                partial(page_url, settings.public_url),
            )
        }
        self.hooks = HookCaller(secret_reader(self.cluster), self._wake_one, clock, composers, settings.addresses)
        self.measurements = MeasurementRunner(
            cluster=self.cluster,
            timers=self._timers,
            metrics=self.metrics,
            wake=self._wake_one,
            clock=clock,
            steady=self._steady,
            threads=settings.measuring_threads,
            addresses=settings.addresses,
        )
        self.forge = self._forge_thread()
        self.members = Members(self.catalog, self.cluster)
        self.catalog.member_state_of = self.members.state
        self.group_commands = self._group_commands()
        self.app_commands = self._app_commands()
        self._tracer = tracer_from(os.environ, settings.repository.cluster)
        recorder = EventRecorder(self.cluster, self.metrics, clock, self._tracer)
        self._apps = AppKind(
            catalog=self.catalog, cluster=self.cluster, git=self.git, timers=self._timers, recorder=recorder
        )
        self._reconciler = self._wired_reconciler(recorder)
        waits = self.cluster.client.is_asking
        self._workers = Workers(self.queue, self._work_on, settings.workers, self._crashed, waits=waits)
        self._hanging = HangingPasses(self._workers, self._failures.failed, self._crashed)
        self.metrics.ask_at_each_scrape(self.readiness_problems, self.queue)

    def _watched_cluster(self) -> Cluster:
        """Return a cluster on the machine's clock, even where a test sets the agent's clock forward: its cluster does
        not follow.
        """
        return Cluster.watching(
            self.settings.access,
            self._on_change,
            self.settings.namespaces,
            on_crash=self._crashed,
            us=allegiance_of(self.settings),
            may_write=self.leadership.require,
            clock=utc_now,
            count=self.metrics.kubernetes_request,
            on_group=self._wake_one,
        )

    def _git_loop(self) -> GitLoop:
        listener = Listener(self.wake_all, self._wake_later, self._polled, self._crashed)
        first = self.settings.poll_seconds / 4
        return GitLoop(
            self.repository,
            self.catalog,
            listener,
            self.metrics,
            self._steady,
            backoff=Backoff(self._random.random, first=first, longest=300.0),
            closed=ClosedRefs(Backoff(self._random.random, first=REFUSED_FIRST, longest=300.0), self._steady),
            may_write=lambda: self.leadership.holds,
        )

    def _wired_reconciler(self, recorder: EventRecorder) -> Reconciler:
        groups = GroupKind(
            catalog=self.catalog,
            cluster=self.cluster,
            members=self.members,
            metrics=self.metrics,
            wake=self.wake_all,
        )
        return Reconciler(
            catalog=self.catalog,
            kinds={SubjectKind.APP: self._apps, SubjectKind.GROUP: groups},
            git=self.git,
            timers=self._timers,
            recorder=recorder,
            beside=Background(self.measurements, self.hooks, self.forge),
            clock=self._clock,
        )

    def _group_commands(self) -> GroupCommands:
        live = self.cluster.release_groups
        wake = self.git.poll_soon
        return GroupCommands(
            self.catalog, self.repository, live, lambda: self._asking, wake, self._clock, self._pull_of
        )

    def _app_commands(self) -> AppCommands:
        return AppCommands(
            self.catalog,
            self.repository,
            self.cluster,
            lambda: self._asking,
            self.git.poll_soon,
            self._clock,
            self._pull_of,
        )

    def account(self, token: str, issuer: str) -> PersonalForge:
        """Return the account of a person at the forge, by their token there, which ``issuer`` gave."""
        access, repository = self.settings.forge, self.settings.repository
        wanted = self.catalog.reading.settings.forge
        return PersonalForge(
            partial(connect_as, repository, access, wanted, token, issuer, self._clock), repository.branch
        )

    @cached_property
    def _asking(self) -> Cluster:
        """The cluster as a command line reaches it: to ask the agent that works for something needs no lease."""
        return Cluster.live(self.settings.access, self.settings.namespaces)

    def _pull_of(self, subject: AppOrGroup) -> PullRequest | None:
        shown = self.forge.view(subject)
        return shown.pull if shown is not None else None

    def _forge_thread(self) -> ForgeThread:
        repository = self.settings.repository
        return ForgeThread(
            Wiring(
                catalog=self.catalog,
                metrics=self.metrics,
                connect=connect_with(repository, self.settings.forge, self._clock),
                cluster=repository.cluster,
                base=repository.branch,
                interval=self.settings.poll_seconds,
                clock=self._steady,
                may_write=lambda: self.leadership.holds,
                wake=self.wake_all,
                poll_soon=self.git.poll_soon,
                crashed=self._crashed,
                dashboard=self.settings.public_url,
            )
        )

    # --- life -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to watch the cluster, Git and the lease. Work begins with `lead`, at once where there is no lease.

        Raises ``Refused`` or ``Transient`` where the cluster cannot be watched in time.
        """
        self.cluster.start()
        self.cluster.demand_synced(self.settings.sync_timeout_seconds)
        log_missing(self.settings.namespaces, self.cluster.has_namespace)
        self._recurring.start()
        self._timers.start()
        self.git.start()
        self.forge.start()
        self._hanging.start()
        self.git.poll_soon()
        self.leadership.start()
        if self.settings.lease is None:
            self._led(holds=True, holder="")

    def lead(self) -> None:
        """Begin to work: look at every app and group, and write to the cluster and to Git, until `stand_by`.

        For an agent that holds the lease, or needs none; may alternate with `stand_by` any number of times.
        """
        self._workers.begin()
        self.git.poll_soon()
        self.forge.poll_soon()
        self._resync()

    def stand_by(self) -> None:
        """Begin no further look or write, and drop what waits to be written; watching goes on. Returns at once."""
        self._workers.end()
        self.git.stand_by()
        self.forge.stand_by()

    def stop(self, timeout: float = 4.0) -> None:
        """Begin nothing new, finish the work under way, write to Git what waits: within ``timeout`` seconds."""
        until = self._steady() + timedelta(seconds=timeout)
        self._stopped.set()
        if self._recurring.running:
            self._recurring.pause()
        self.git.poll_no_more()
        self.queue.stop()
        self.measurements.stop()
        self._timers.stop(self._left(until))
        self._hanging.stop(self._left(until))
        self._workers.join(lambda: self._left(until))
        self.git.stop(self._left(until))
        self.forge.stop(self._left(until))
        if self._recurring.running:
            self._recurring.shutdown()
        self.hooks.stop()
        self.leadership.stop()
        self.cluster.stop()
        if "_asking" in vars(self):
            self._asking.stop()
        self._tracer.stop(self._left(until))
        self.repository.close()

    def wait(self) -> None:
        """Wait until `finish` is called, or until the agent cannot go on; raises why (decision 26)."""
        self._stopped.wait()
        if self._crash is not None:
            raise self._crash

    def finish(self) -> None:
        """Let `wait` return. Not for a signal handler, which may have interrupted `wait` itself (`runtime.signals`)."""
        self._stopped.set()

    def run_once(self, timeout: float) -> frozenset[AppOrGroup]:
        """Work until nothing more can be done at once, and return the apps and groups that failed. For `--once`.

        What is only noted is saved at the end: the next run is another process.
        """
        until = self._steady() + timedelta(seconds=timeout)
        self.rest(self._left(until))
        if noted := self._apps.save_notes():
            self.wake_all(noted)
            self.rest(self._left(until))
        return frozenset(self._failures.apps)

    def rest(self, timeout: float) -> None:
        """Work until nothing more can be done at once."""
        until = self._steady() + timedelta(seconds=timeout)
        while not self._stopped.is_set() and self._left(until) > 0:
            idle = self.catalog.seen or bool(self.catalog.unreachable)
            if idle and self._nothing_to_do():
                break
            self.queue.wait_idle(self._left(until))
            self._stopped.wait(0.02)
        if self._crash is not None:
            raise self._crash

    def _nothing_to_do(self) -> bool:
        """Return whether all is idle. The queue is asked twice: the others may have added to it in between."""
        return self.queue.idle and self.git.idle and self.measurements.idle and self.queue.idle

    def _pause(self, seconds: float) -> None:
        self._stopped.wait(seconds)

    def _left(self, until: datetime) -> float:
        return max(0.0, (until - self._steady()).total_seconds())

    def _crashed(self, error: BaseException) -> None:
        LOGGER.critical("the agent cannot go on", exc_info=error)
        self._crash = error
        self._stopped.set()

    def _shown_anew(self, subject: AppOrGroup) -> None:
        """Tell who shows it. A bug of theirs keeps no pass and no wake."""
        for listener in self.listeners:
            try:
                with guarded(f"telling pages of {subject}"):
                    listener(subject)
            except GitopsBgError as error:
                log_bug(error, subject)

    # --- what wakes ---------------------------------------------------------------------------------------------

    def wake(self, reason: str) -> None:
        """Look at Git now, because of a webhook. Calls during a look make one more, once it ends."""
        LOGGER.debug("woken: %s", reason)
        self.git.poll_soon()

    def poll_forge(self, reason: str) -> None:
        """Look at the forge now, because of a webhook."""
        LOGGER.debug("looking at the forge: %s", reason)
        self.forge.poll_soon()

    def _on_change(self, app: AppKey) -> None:
        """Queue an app that changed in the cluster; where somebody asked for a look (`reconcile`), read Git as well."""
        state = self.cluster.bgd(app)
        asked = state.reconcile if state else ""
        if self.catalog.asked_looks.add(app, asked):
            self.git.try_again()
            self.forge.poll_soon()
        self._shown_anew(app)
        self._wake_one(app)
        group = self.members.group_of(app)
        if group is not None:
            self._wake_one(group)

    def _others_wait(self, subject: AppOrGroup) -> bool:
        """Return whether apps that changed come before one that has just written; they do not where its traffic is to
        move.
        """
        return self.queue.has_before(Urgency.WROTE) and not self._is_to_move_traffic(subject)

    def wake_all(self, those: Iterable[AppOrGroup]) -> None:
        """Put apps and groups on the queue, the urgent ones first. What concerns all of main makes none of them
        urgent.
        """
        urgencies = [(self._urgency(each), each) for each in those]
        at_the_latest = Urgency.CHANGED if len(urgencies) < len(self.catalog.subjects()) else Urgency.AT_REST
        for urgency, each in sorted(urgencies, key=lambda pair: (pair[0], promotion_branch(pair[1]))):
            self.queue.add(each, min(at_the_latest, urgency))

    def _wake_one(self, subject: AppOrGroup) -> None:
        """Put an app or a group on the queue: something happened, or may have happened."""
        if isinstance(subject, AppKey | GroupKey):
            self.queue.add(subject, min(Urgency.CHANGED, self._urgency(subject)))

    def _urgency(self, subject: AppOrGroup) -> Urgency:
        reading = self.catalog.reading
        if isinstance(subject, GroupKey):
            return urgency_of_group(self.members.record(subject), reading.groups.get(subject))
        try:
            return urgency_of(self.cluster.bgd(subject), reading.entry(subject))
        except GitopsBgError:  # Its look says what is wrong.
            return Urgency.AT_REST

    def _is_to_move_traffic(self, subject: AppOrGroup) -> bool:
        reading = self.catalog.reading
        if isinstance(subject, GroupKey):
            return moves_requests(self.members.record(subject), reading.groups.get(subject))
        try:
            return is_to_move_traffic(self.cluster.bgd(subject), reading.entry(subject))
        except GitopsBgError:  # Its look says what is wrong.
            return False

    def _wake_later(self, subjects: Iterable[AppOrGroup], seconds: float) -> None:
        moment = self._clock() + timedelta(seconds=seconds)
        for each in subjects:
            self._timers.schedule(each, moment, "retry")

    def _polled(self, backoff_seconds: float | None) -> None:
        """Schedule the next poll. Until one is answered, queue the apps known from the cluster as well."""
        if backoff_seconds is None:
            self._watchfulness.looked()
        self.forge.main_was_read()
        self.wake_all(self._groups())
        stood, self._stood = self._stood, self.catalog.standing
        if not self.catalog.seen or stood != self._stood:
            self._resync()
        spread = 1 + POLL_JITTER * (2 * self._random.random() - 1)
        seconds = backoff_seconds if backoff_seconds is not None else self.settings.poll_seconds * spread
        self.git.poll_later(seconds)

    def _clock_was_set(self, by: timedelta) -> None:
        """Decide on everything anew: what waits for a moment in UTC, waits longer or less long than before."""
        how = "forward" if by > timedelta() else "back"
        LOGGER.warning("the machine's clock was set %s by %.1f s", how, abs(by).total_seconds())
        self._timers.clock_was_set(by)
        self._resync()

    def _groups(self) -> Iterable[GroupKey]:
        """Return all groups of main, and those that left it, as far as they are known: nothing else tells them of
        main.
        """
        known = (*self.catalog.reading.groups, *self.members.groups(), *self.cluster.known_groups())
        return dict.fromkeys(known)

    def _resync(self) -> None:
        """Queue every app and group, in case a watch has silently missed a change."""
        apps = self.catalog.apps() | set(self.cluster.apps())
        self.metrics.resources(len(apps), len(self.catalog.reading.groups))
        for app in apps:
            entry = self.catalog.reading.entry(app)
            with quietly(f"a resync of {app}", app):
                self.cluster.recheck(app, entry.config if entry else None)
        self.wake_all((*apps, *self._groups()))

    def _remembered_mains(self) -> Iterable[Main]:
        """Return the mains that live records were decided from, as far as they can be read."""
        mains: set[Main] = set()
        for app, state in self.cluster.bgds().items():
            with quietly(f"reading the record of {app}", app):
                if self.catalog.cares_for(app):
                    mains.add(main_of_live(state))
        with quietly("reading the records of release groups"):
            mains.update(self.cluster.release_groups.mains(self.catalog.namespaces))
        return frozenset(mains)

    def _verified_before(self) -> VerifiedBefore:
        """Return the mains of `_remembered_mains` by their commits, and whether no record is missing."""
        commits, is_complete = set(), self.cluster.caches.knows_all
        for state in (state for app, state in self.cluster.bgds().items() if self.catalog.cares_for(app)):
            try:
                commits.add(main_of_live(state).commit)
            except GitopsBgError:
                is_complete = False
        return VerifiedBefore(frozenset(filter(None, commits)), is_complete)

    def _led(self, holds: bool, holder: str) -> None:
        """Follow the lease, on its thread: it was acquired or lost, or another agent holds it now."""
        self.metrics.leads(holds, holder)
        if holds:
            self.lead()
        else:
            self.stand_by()

    # --- workers ------------------------------------------------------------------------------------------------

    def _work_on(self, subject: AppOrGroup) -> None:
        waits = isinstance(subject, AppKey) and self.members.state(subject) is MemberState.PENDING
        if self.leadership.holds and (self.catalog.seen or self.catalog.unreachable) and not waits:
            self._reconcile(subject)
        else:
            self.queue.rest(subject)

    def _reconcile(self, subject: AppOrGroup) -> None:
        """Look at an app or a group. It keeps its place in the queue only while it goes on by itself and within its
        turn.
        """
        try:
            look = self._reconciler.reconcile(subject, partial(self._others_wait, subject))
        except GitopsBgError as error:
            self.queue.rest(subject)
            self._failures.failed(subject, error)
            return
        finally:
            self._shown_anew(subject)
        if look is ReconcileResult.WROTE:  # Whether all is well, the pass that follows says.
            self.queue.add(subject, Urgency.WROTE)
            return
        if look is not ReconcileResult.ON_ITS_WAY:
            self.queue.rest(subject)
        if look is ReconcileResult.INTERRUPTED:
            self._wake_one(subject)
        self._failures.succeeded(subject)

    # --- health ---------------------------------------------------------------------------------------------------

    def liveness_problems(self) -> list[str]:
        """Return why the process should be restarted; empty while all loops run."""
        reasons = self._workers.problems()
        if not self.git.alive:
            reasons.append("the Git thread ended")
        if not self.forge.alive:
            reasons.append("the forge's thread ended")
        if not self._timers.alive:
            reasons.append("the thread of the timers ended")
        if not self._recurring.alive:
            reasons.append("the scheduler ended")
        if not self._hanging.alive:
            reasons.append("the thread that looks for hanging looks ended")
        if not self.leadership.alive:
            reasons.append("the lease thread ended")
        if not self.cluster.alive:
            reasons.append("a watch ended")
        return reasons

    def readiness_problems(self) -> list[str]:
        """Return why the agent does not manage its apps yet, or decides on what may be no longer so; empty once it
        does.
        """
        caches = self.cluster.caches
        reasons = [] if caches.synced else ["the caches of the cluster are not filled yet"]
        if caches.synced and caches.age > STALE:
            why = next((f": {error}" for error in caches.troubles()), "")
            reasons.append(f"the API server last confirmed {caches.age:.0f} s ago what is known of the cluster{why}")
        return [*reasons, *self._ignorance_of_main()]

    def _ignorance_of_main(self) -> Iterable[str]:
        """Yield why what is known of main may be no longer so: a look was in vain, or two polls went by without an
        answer.
        """
        look, seen = self.catalog.last_look, self.catalog.seen
        age, unread = look.age.total_seconds(), look.unread
        if unread:
            yield f"main cannot be read: {unread}"
        elif not seen:
            yield "the repository was not read yet"
        elif age > POLLS_IN_VAIN * self.settings.poll_seconds * (1 + POLL_JITTER):
            yield f"main was last read {age:.0f} s ago, and the Git remote has not answered since"

    def unmanaged(self) -> list[str]:
        """Return in which namespaces the agent can do nothing at present, and why. It manages the others."""
        return [f"namespace {name}: {why}" for name, why in self.cluster.caches.unmanaged().items() if name]


def _lease(settings: AgentSettings, metrics: Metrics) -> Lease | None:
    """Return the lease, over its own connection, whose timeout is no longer than an attempt may take."""
    wanted = settings.lease
    if wanted is None:
        return None
    patience = max(0.5, min(2.0, wanted.renew_deadline / 4))
    access = replace(settings.access, connect_timeout=patience, read_timeout=patience, pool_size=1)
    return Lease(Client(access, count=metrics.kubernetes_request), wanted, identity())


def allegiance_of(settings: AgentSettings) -> Ownership:
    """Return the repository, cluster and branch that the agent follows, as live objects name them."""
    repository = settings.repository
    return Ownership(repository_name(repository.url), repository.cluster, repository.branch)


def _secret(file: Path | None) -> bytes | None:
    if file is None:
        return None
    secret = file.read_bytes().strip()
    mask(secret)
    return secret
