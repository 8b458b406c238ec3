"""The one thread that talks to Git: it polls when told to, and writes what decisions want.

Traffic never waits for it. It schedules nothing itself: how long until the next poll is told to `polled`.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from gitops_bg.agent.backoff import Backoff
from gitops_bg.agent.catalog import Catalog
from gitops_bg.agent.git_writes import Wish, write
from gitops_bg.agent.metrics import Metrics
from gitops_bg.core.actions import GitAction
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model import AppKey
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
    """Start it, tell it, stop it. ``clock`` gives UTC."""

    def __init__(
        self,
        repository: Repository,
        catalog: Catalog,
        listener: Listener,
        metrics: Metrics,
        clock: Callable[[], datetime],
        backoff: Backoff[str],
    ) -> None:
        self._repository = repository
        self._catalog = catalog
        self._listener = listener
        self._metrics = metrics
        self._clock = clock
        self._backoff = backoff
        self._changed = threading.Condition()
        self._wishes: dict[AppKey, Wish] = {}
        self._asked: dict[AppKey, tuple[GitAction, ...]] = {}
        self._flush_at: datetime | None = None
        self._poll_due = False
        self._stopping = False
        self._busy = False
        self._refused_at: datetime | None = None
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

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    @property
    def idle(self) -> bool:
        """Whether nothing waits to be read or written."""
        with self._changed:
            return not (self._wishes or self._poll_due or self._busy)

    def poll_soon(self) -> None:
        """Look at the remote as soon as the thread is free; many calls are one poll."""
        with self._changed:
            self._poll_due = True
            self._changed.notify_all()

    def submit(self, app: AppKey, wish: Wish) -> bool:
        """What the newest decision about an app wants of Git, in place of what an older one wanted.

        Returns whether it is another wish than that of the decision before.
        """
        with self._changed:
            is_new = self._asked.get(app, ()) != wish.actions
            if not wish.actions:
                self._wishes.pop(app, None)
                self._asked.pop(app, None)
                return is_new
            self._asked[app] = wish.actions
            self._wishes[app] = wish
            due = self._clock() + (GATHER_LEDGER if wish.only_ledger else GATHER)
            self._flush_at = min(self._flush_at or due, due)
            self._changed.notify_all()
            return is_new

    # --- the thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._round():
                pass
        except BaseException as error:
            self._listener.crashed(error)

    def _round(self) -> bool:
        poll, wishes, stopping = self._next()
        try:
            if poll:
                self._poll()
            if wishes:
                self._write(wishes)
        finally:
            with self._changed:
                self._busy = False
        return not stopping

    def _next(self) -> tuple[bool, dict[AppKey, Wish], bool]:
        """Wait until there is something to do; what that is."""
        with self._changed:
            while not (self._stopping or self._poll_due or self._is_due()):
                self._changed.wait(self._patience())
            poll, self._poll_due = self._poll_due and not self._stopping, False
            wishes: dict[AppKey, Wish] = {}
            if self._stopping or self._is_due():
                wishes, self._wishes, self._flush_at = self._wishes, {}, None
            self._busy = True
            return poll, wishes, self._stopping

    def _is_due(self) -> bool:
        return bool(self._wishes) and self._flush_at is not None and self._flush_at <= self._clock()

    def _patience(self) -> float | None:
        if not self._wishes or self._flush_at is None:
            return None
        return max(0.0, (self._flush_at - self._clock()).total_seconds())

    def _poll(self) -> None:
        started = self._clock()
        try:
            refresh = self._catalog.refresh()
        except GitopsBgError as error:
            self._away(error)
            self._metrics.polled(error.reason, (self._clock() - started).total_seconds())
            return
        self._metrics.polled("moved" if refresh.moved else "quiet", (self._clock() - started).total_seconds())
        self._back(refresh.dirty)
        self._listener.polled(None)

    def _away(self, error: GitopsBgError) -> None:
        """The remote does not answer: say so, keep serving, ask again later."""
        news = self._catalog.unreachable != str(error)
        self._catalog.unreachable = str(error)
        if news:
            LOGGER.warning("the Git remote cannot be read: %s", error)
            self._listener.wake(self._catalog.apps())
        self._listener.polled(self._backoff.failed("remote", getattr(error, "retry_after", None) or 0.0))

    def _back(self, dirty: frozenset[AppKey]) -> None:
        self._backoff.succeeded("remote")
        if self._catalog.unreachable:
            LOGGER.info("the Git remote answers again")
            self._catalog.unreachable = ""
            dirty = dirty | self._catalog.apps()
        if self._refused_at and self._clock() - self._refused_at >= REFUSED_FOR:
            self._refused_at, self._catalog.main_refused = None, ""
            dirty = dirty | self._catalog.apps()
        self._listener.wake(dirty)

    def _write(self, wishes: dict[AppKey, Wish]) -> None:
        started = self._clock()
        written = write(self._repository, wishes)
        self._count(wishes, (self._clock() - started).total_seconds())
        if written.refused:
            LOGGER.warning("main refuses the agent's commit: %s", written.refused)
            self._refused_at, self._catalog.main_refused = self._clock(), written.refused
        if written.touched:
            self._poll()
        self._listener.wake(written.touched | self._catalog.read_positions())
        if written.errors:
            self._try_again(wishes, written.errors)
        else:
            self._backoff.succeeded("write")

    def _try_again(self, wishes: Iterable[AppKey], errors: tuple[GitopsBgError, ...]) -> None:
        """The apps decide again later: what they want of Git may be another thing by then."""
        for error in errors:
            LOGGER.warning("writing to Git failed: %s", error)
        self._listener.wake_later(wishes, self._backoff.failed("write"))
        self.poll_soon()

    def _count(self, wishes: dict[AppKey, Wish], seconds: float) -> None:
        kinds = Counter(type(action).__name__ for wish in wishes.values() for action in wish.actions)
        for kind, count in kinds.items():
            self._metrics.git_wrote(kind, count, seconds)
