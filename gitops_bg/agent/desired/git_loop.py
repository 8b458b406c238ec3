"""The one thread that talks to Git: it polls when told to, and writes what decisions want.

Traffic never waits for it. It schedules nothing itself: how long until the next poll is told to `polled`.
"""

import logging
import threading
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitops_bg.agent.desired.catalog import Catalog, Refresh
from gitops_bg.agent.desired.closed_refs import ClosedRefs
from gitops_bg.agent.desired.git_writes import GitChange, GitWriteResult, branch_of, only_ledger, write
from gitops_bg.agent.observability.logs import fields
from gitops_bg.agent.observability.metrics import Metrics
from gitops_bg.agent.runtime.backoff import Backoff
from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.core.errors import GitopsBgError, InternalError, WorldChanged, guarded
from gitops_bg.core.model.actions import GitAction
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.git.errors import MirrorBroken
from gitops_bg.repo.repository import Repository

LOGGER = logging.getLogger(__name__)

GATHER = timedelta(milliseconds=20)
"""How long a promotion waits for others to share its push."""
GATHER_LEDGER = timedelta(milliseconds=500)
"""The same for the ledger, which nobody waits for."""
REFUSED_FOR = timedelta(minutes=10)
"""How long a main that refused is believed to refuse; then it is asked again."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Whom the Git thread tells what it finds. Every function returns at once."""

    wake: Callable[[Iterable[AppKey]], None]
    """Git has news for these apps."""
    wake_later: Callable[[Iterable[AppKey], float], None]
    """Look at these apps again in so many seconds."""
    polled: Callable[[float | None], None]
    """A poll is over; the seconds until the next where the remote did not answer, else None."""
    crashed: Callable[[BaseException], None]
    """A bug ended the thread."""


class GitLoop:
    """Start it, tell it, stop it. ``clock`` gives UTC; ``may_write`` is asked before every batch: whether we lead."""

    def __init__(  # noqa: PLR0913 - the wiring, by keyword
        self,
        repository: Repository,
        catalog: Catalog,
        listener: Listener,
        metrics: Metrics,
        clock: Callable[[], datetime],
        *,
        backoff: Backoff[str],
        closed: ClosedRefs,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._repository = repository
        self._catalog = catalog
        self._listener = listener
        self._metrics = metrics
        self._clock = clock
        self._backoff = backoff
        self._closed = closed
        self._may_write = may_write
        catalog.refusal_of = closed.why
        self._changed = threading.Condition()
        self._changes_waiting: dict[AppKey, GitChange] = {}
        self._asked: dict[AppKey, tuple[GitAction, ...]] = {}
        self._flush_at: datetime | None = None
        self._poll_due = False
        self._stopping = False
        self._busy = False
        self._refused_at: datetime | None = None
        self._broken: dict[AppKey, InternalError] = {}
        self._thread = threading.Thread(target=self._run, name="git", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Write what waits, once, and end within ``timeout`` seconds."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(timeout)

    def stand_by(self) -> None:
        """This agent no longer leads: forget what waits to be written. It goes on reading."""
        with self._changed:
            self._changes_waiting, self._asked, self._flush_at = {}, {}, None

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    @property
    def idle(self) -> bool:
        """Whether nothing waits to be read or written, but for branches that the remote did not take lately."""
        with self._changed:
            ready = any(self._split(app, change)[0] for app, change in self._changes_waiting.items())
            return not (ready or self._poll_due or self._busy)

    def trouble(self, app: AppKey) -> InternalError | None:
        """The bug that kept the last change of an app from being written; it is tried again, later and later."""
        return self._broken.get(app)

    def poll_soon(self) -> None:
        """Look at the remote as soon as the thread is free; many calls are one poll."""
        with self._changed:
            self._poll_due = True
            self._changed.notify_all()

    def try_again(self) -> None:
        """Look at the remote, and try also what it refused, as soon as the thread is free: somebody asked."""
        self._closed.forgive()
        with self._changed:
            self._flush_at = self._clock()
        self.poll_soon()

    def submit(self, app: AppKey, change: GitChange) -> bool:
        """What the newest decision about an app wants of Git, in place of what an older one wanted.

        Returns whether it is another change than that of the decision before.
        """
        self._forget_branches(app, change)
        with self._changed:
            is_new = self._asked.get(app, ()) != change.actions
            if not change.actions:
                self._changes_waiting.pop(app, None)
                self._asked.pop(app, None)
                return is_new
            self._asked[app] = change.actions
            self._changes_waiting[app] = change
            due = self._clock() + (GATHER_LEDGER if change.only_ledger else GATHER)
            self._flush_at = min(self._flush_at or due, due)
            self._changed.notify_all()
            return is_new

    def _forget_branches(self, app: AppKey, change: GitChange) -> None:
        """What nobody wants to write any more is not in trouble any more."""
        unwanted = {promotion_branch(app)} - {branch_of(self._repository, app, each) for each in change.actions}
        if self._closed.taken(unwanted):
            self._listener.wake([app])

    # --- the thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._round():
                pass
        except BaseException as error:
            self._listener.crashed(error)

    def _round(self) -> bool:
        poll, changes, stopping = self._next()
        try:
            with guarded("working with the Git remote"):
                if poll:
                    self._poll()
                if changes:
                    self._write(changes)
        except GitopsBgError as error:
            self._decide_again(dict.fromkeys(changes, error))
        finally:
            with self._changed:
                self._busy = False
        return not stopping

    def _next(self) -> tuple[bool, dict[AppKey, GitChange], bool]:
        """Wait until there is something to do; what that is."""
        with self._changed:
            while not (self._stopping or self._poll_due or self._is_due()):
                self._changed.wait(self._patience())
            poll, self._poll_due = self._poll_due and not self._stopping, False
            changes: dict[AppKey, GitChange] = {}
            if self._stopping or self._is_due():
                changes = self._take_open()
            self._busy = True
            return poll, changes, self._stopping

    def _take_open(self) -> dict[AppKey, GitChange]:
        """What may be written now; the rest stays until its branches are to be tried again."""
        changes, self._changes_waiting, self._flush_at = self._changes_waiting, {}, None
        split = {app: self._split(app, change) for app, change in changes.items()}
        for app, (_, later) in split.items():
            self._put_back(app, replace(changes[app], actions=later))
        return {app: replace(changes[app], actions=ready) for app, (ready, _) in split.items() if ready}

    def _split(self, app: AppKey, change: GitChange) -> tuple[tuple[GitAction, ...], tuple[GitAction, ...]]:
        """The actions that may be carried out now, and those whose branch was not taken lately."""
        later = tuple(each for each in change.actions if self._closed.opens_at(branch_of(self._repository, app, each)))
        return tuple(each for each in change.actions if each not in later), later

    def _put_back(self, app: AppKey, change: GitChange) -> None:
        """Keep what is to be tried again, unless a newer decision wants something by now."""
        if not change.actions:
            return
        opens = (self._closed.opens_at(branch_of(self._repository, app, each)) for each in change.actions)
        due = min((moment for moment in opens if moment), default=self._clock())
        self._flush_at = min(self._flush_at or due, due)
        self._changes_waiting.setdefault(app, change)

    def _is_due(self) -> bool:
        return bool(self._changes_waiting) and self._flush_at is not None and self._flush_at <= self._clock()

    def _patience(self) -> float | None:
        if not self._changes_waiting or self._flush_at is None:
            return None
        return max(0.0, (self._flush_at - self._clock()).total_seconds())

    def _poll(self) -> None:
        started = self._clock()
        try:
            with guarded("reading the Git remote"):
                refresh = self._refresh()
        except GitopsBgError as error:
            self._away(error)
            self._metrics.polled(error.reason, (self._clock() - started).total_seconds())
            return
        self._metrics.polled("moved" if refresh.moved else "quiet", (self._clock() - started).total_seconds())
        self._back(refresh.dirty)
        self._listener.polled(None)

    def _refresh(self) -> Refresh:
        """A mirror that turns out to be damaged while main is read is cloned again by the next look: that is now."""
        try:
            return self._catalog.refresh()
        except MirrorBroken:
            return self._catalog.refresh()

    def _away(self, error: GitopsBgError) -> None:
        """The remote does not answer: say so, keep serving, ask again later."""
        if isinstance(error, InternalError):
            log_bug(error)
        news = self._catalog.unreachable != str(error)
        self._catalog.unreachable = str(error)
        if news:
            LOGGER.warning("the Git remote cannot be read: %s", error)
            self._listener.wake(self._catalog.apps())
        self._listener.wake(self._catalog.awaiting())
        self._listener.polled(self._backoff.failed("remote", getattr(error, "retry_after", None) or 0.0))

    def _back(self, dirty: frozenset[AppKey]) -> None:
        self._backoff.succeeded("remote")
        if self._catalog.unreachable:
            LOGGER.info("the Git remote answers again")
            self._catalog.unreachable = ""
            self._closed.forgive()
            with self._changed:
                self._flush_at = self._clock()
            dirty = dirty | self._catalog.apps()
        if self._refused_at and self._clock() - self._refused_at >= REFUSED_FOR:
            self._refused_at, self._catalog.main_refused = None, ""
            dirty = dirty | self._catalog.apps()
        self._listener.wake(dirty)

    def _write(self, changes: dict[AppKey, GitChange]) -> None:
        if not self._may_write():  # whoever leads now decides what Git is to get; what is told is in the records
            return
        if self._catalog.rewritten:  # what was decided before it was known is not built on what main is now
            changes = only_ledger(changes)
        written = write(self._repository, changes)
        self._note_bugs(changes, written)
        for pushed in written.pushed:
            self._metrics.git_wrote(pushed.kind, pushed.commits, pushed.seconds)
        if written.refused:
            LOGGER.warning("main refuses the agent's commit: %s", written.refused)
            self._refused_at, self._catalog.main_refused = self._clock(), written.refused
        concerned = self._take_note(changes, written)
        if written.touched:
            self._poll()
        self._listener.wake(written.touched | self._catalog.read_positions() | concerned)
        if written.failed:
            self.poll_soon()
        if written.incomplete:
            self._decide_again(written.incomplete)
        else:
            self._backoff.succeeded("incomplete")

    def _note_bugs(self, changes: Container[AppKey], written: GitWriteResult) -> None:
        """Keep what struck an app, so that its next pass says it; to begin with, soon."""
        before = self._broken
        struck = {app: each for app, each in written.incomplete.items() if isinstance(each, InternalError)}
        self._broken = {app: each for app, each in before.items() if app not in changes} | struck
        self._listener.wake(
            {app for app in before.keys() | struck.keys() if str(before.get(app)) != str(self._broken.get(app))}
        )

    def _take_note(self, changes: Mapping[AppKey, GitChange], written: GitWriteResult) -> frozenset[AppKey]:
        """Remember which branches are taken and which are not; the apps to which that is news."""
        moved = {name: each for name, each in written.failed.items() if isinstance(each, WorldChanged)}
        closed = {name: error for name, error in written.failed.items() if name not in moved}
        reopened, refused = self._closed.taken(written.taken), self._closed.failed(closed)
        for name, error in written.failed.items():
            LOGGER.log(logging.WARNING if refused else logging.DEBUG, "%s cannot be written: %s", name, error)
            self._metrics.push_failed(self._kind(name), error.reason)
        main = {"main": 1} if self._catalog.main_refused else {}
        self._metrics.refs_refused({**self._closed.counts(self._kind), **main})
        apps = {app for app, change in changes.items() if self._writes_one_of(app, change, written.failed)}
        with self._changed:
            for app in apps:
                late = (each for each in changes[app].actions if branch_of(self._repository, app, each) in closed)
                self._put_back(app, replace(changes[app], actions=tuple(late)))
        if moved:
            self._listener.wake_later(apps, self._backoff.failed("write"))
        else:
            self._backoff.succeeded("write")
        return frozenset(changes) if reopened or refused else frozenset()

    def _writes_one_of(self, app: AppKey, change: GitChange, branches: Container[str]) -> bool:
        return any(branch_of(self._repository, app, action) in branches for action in change.actions)

    def _kind(self, branch: str) -> str:
        """In a word, for metrics."""
        settings = self._repository.settings
        return {settings.branch: "main", settings.state_branch: "ledger"}.get(branch, "offer")

    def _decide_again(self, incomplete: Mapping[AppKey, GitopsBgError]) -> None:
        """The apps decide again later: what they want of Git may be another thing by then."""
        for app, error in incomplete.items():
            if isinstance(error, InternalError):
                log_bug(error, app)
            LOGGER.warning("writing to Git failed: %s", error, extra=fields(app=app, reason=error.reason))
        self._listener.wake_later(incomplete, self._backoff.failed("incomplete"))
