"""The one thread that talks to Git: it polls when it is time or somebody asks, and writes what decisions ask for.

Traffic never waits for it. Whoever hears that a poll has ended (`polled`) says when the next is.
"""

import logging
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from time import monotonic

from gitops_bg.agent.desired.batching import ClosedRefs, Gathering
from gitops_bg.agent.desired.catalog import Catalog, Refresh
from gitops_bg.agent.desired.git_writes import AnyGitAction, GitChange, GitWriteResult, branch_of, only_ledger, write
from gitops_bg.agent.logs import fields
from gitops_bg.agent.metrics import Metrics
from gitops_bg.agent.runtime.failures import log_bug, quietly
from gitops_bg.agent.runtime.workers import BackgroundThread
from gitops_bg.core.backoff import Backoff
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InternalError, InvalidInput, WorldChanged, guarded
from gitops_bg.core.model.actions import PublishLedger
from gitops_bg.core.model.main import VerificationFailure
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.repo.git.errors import MainNotVerified, MirrorBroken, RemoteMoved
from gitops_bg.repo.repository import Repository

LOGGER = logging.getLogger(__name__)

REFUSED_FOR = timedelta(minutes=10)
"""How long a refusal of main counts; then main is tried again."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Callbacks for what the Git thread finds. Every function returns at once."""

    wake: Callable[[Iterable[AppOrGroup]], None]
    """Git has changes for these apps and groups."""
    wake_later: Callable[[Iterable[AppOrGroup], float], None]
    """Look at these again after this many seconds."""
    polled: Callable[[float | None], None]
    """A poll has ended; the seconds until the next where the remote did not answer, else None."""
    crashed: Callable[[BaseException], None]
    """A bug ended the thread."""


class GitLoop(BackgroundThread):
    """The Git thread; stopped, it writes once more what waits. ``clock`` gives UTC; ``may_write`` is asked before every
    batch: whether this agent leads.
    """

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
        super().__init__("git", listener.crashed)
        self._repository = repository
        self._catalog = catalog
        self._listener = listener
        self._metrics = metrics
        self._clock = clock
        self._backoff = backoff
        self._closed = closed
        self._may_write = may_write
        catalog.refusal_of = closed.why
        catalog.waits_to_tell = self._has_unwritten_history
        self._changes_waiting: dict[AppOrGroup, GitChange] = {}
        self._left_behind: set[AppOrGroup] = set()
        """Those of which what waits is the history that their last batch left behind, and no newer decision."""
        self._asked: dict[AppOrGroup, tuple[AnyGitAction, ...]] = {}
        self._gathering = Gathering()
        self._writing: Mapping[AppOrGroup, GitChange] = {}
        self._poll_at: float | None = None
        """When to poll, by the clock of the process, as whatever recurs: not by the one that decisions go by."""
        self._polls = True
        self._policies_due, self._policies_trouble = True, ""
        self._busy = False
        self._told_of_signatures: list[str] = []
        self._told_of_ledger: list[str] = []
        self._refused_at: datetime | None = None
        self._broken: dict[AppOrGroup, InternalError | InvalidInput] = {}

    def stand_by(self) -> None:
        """Drop what waits to be written, because this agent no longer leads. Reading goes on."""
        with self._changed:
            self._changes_waiting, self._asked = {}, {}
            self._left_behind.clear()
            self._gathering.drop()

    @property
    def idle(self) -> bool:
        """Whether nothing waits to be read or written, except for branches that the remote refused lately."""
        with self._changed:
            ready = any(self._split(app, change)[0] for app, change in self._changes_waiting.items())
            return not (ready or self._is_poll_due() or self._busy)

    def trouble(self, app: AppOrGroup) -> InternalError | InvalidInput | None:
        """Return the bug, or the mistake in a file, that kept the last change of an app from being written; the write
        is retried with backoff. None once nothing is wanted of Git any more.
        """
        return self._broken.get(app) if app in self._asked else None

    def _has_unwritten_history(self, subject: AppOrGroup) -> bool:
        """Return whether the ledger is still to get something that was decided before."""
        with self._changed:
            changes = (self._changes_waiting.get(subject), self._writing.get(subject))
            return any(change is not None and change.tells_ledger for change in changes)

    def poll_soon(self) -> None:
        """Look at the remote as soon as the thread is free; many calls make one poll."""
        self.poll_later(0.0)

    def poll_later(self, seconds: float) -> None:
        """Look at the remote after so many seconds, or before."""
        moment = monotonic() + seconds
        with self._changed:
            self._poll_at = min(self._poll_at or moment, moment)
            self._changed.notify_all()

    def poll_no_more(self) -> None:
        """Begin no further poll: the agent stops, and only writes what is decided."""
        with self._changed:
            self._polls = False

    def try_again(self) -> None:
        """Look at the remote as soon as the thread is free, and retry refused branches: somebody asked."""
        self._closed.forgive()
        with self._changed:
            self._gathering.at_once(self._clock())
        self.poll_soon()

    def submit(self, app: AppOrGroup, change: GitChange) -> bool:
        """Replace what an older decision about an app or a group wanted of Git by what the newest wants.

        Return whether it differs from the decision before.
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
            self._left_behind.discard(app)
            self._gathering.add(self._clock(), urgent=not change.only_ledger, history=change.tells_ledger)
            self._changed.notify_all()
            return is_new

    def _forget_branches(self, app: AppOrGroup, change: GitChange) -> None:
        """Clear the failures of branches that nobody wants to write any more."""
        unwanted = {self._repository.branch_of(app)} - {
            branch_of(self._repository, app, each) for each in change.actions
        }
        if self._closed.mark_written(unwanted):
            self._listener.wake([app])

    # --- the thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while self._round():
            pass

    def _round(self) -> bool:
        poll, changes, stopping = self._next()
        try:
            with guarded("working with the Git remote"):
                if poll:
                    self._poll()
                if changes:
                    self._write(changes)
        except GitopsBgError as error:
            log_bug(error)
            self._decide_again(dict.fromkeys(changes, error))
            if poll:
                self.poll_later(self._backoff.failed("remote"))
        else:
            self._tidy()
        finally:
            with self._changed:
                self._busy, self._writing = False, {}
        return not stopping

    def _tidy(self) -> None:
        """Tidy the mirror where it is due; while something waits, only where it is long due."""
        with self._changed:
            stopping, waits = self._stopping, self._is_poll_due() or self._is_due()
        if not stopping:
            with quietly("tidying the mirror"):
                self._repository.tidy(hurried=waits)

    def _next(self) -> tuple[bool, dict[AppOrGroup, GitChange], bool]:
        """Wait until there is something to do, and return it."""
        with self._changed:
            while not (self._stopping or self._is_poll_due() or self._is_due()):
                self._changed.wait(self._patience())
            poll = self._is_poll_due() and not self._stopping
            self._poll_at = None if poll else self._poll_at
            changes: dict[AppOrGroup, GitChange] = {}
            if self._stopping or self._is_due():
                changes = self._open_changes()
            self._busy, self._writing = True, changes
            return poll, changes, self._stopping

    def _open_changes(self) -> dict[AppOrGroup, GitChange]:
        """Take the changes that may be written now; the others stay until their branches are tried again. In a crowd,
        history stays until it is due.
        """
        changes, self._changes_waiting = self._changes_waiting, {}
        self._left_behind.clear()
        with_history = self._gathering.begin(self._clock()) or self._stopping
        taken: dict[AppOrGroup, GitChange] = {}
        for app, change in changes.items():
            ready, later = self._split(app, change)
            self._put_back(app, replace(change, actions=later))
            kept = () if with_history else tuple(each for each in ready if isinstance(each, PublishLedger))
            if kept:
                self._changes_waiting[app] = replace(change, actions=(*later, *kept))
                self._left_behind.add(app)
            if now := tuple(each for each in ready if each not in kept):
                taken[app] = replace(change, actions=now)
        return taken

    def _split(self, app: AppOrGroup, change: GitChange) -> tuple[tuple[AnyGitAction, ...], tuple[AnyGitAction, ...]]:
        """Return the actions that may be carried out now, and those whose branch was refused lately."""
        later = tuple(each for each in change.actions if self._closed.opens_at(branch_of(self._repository, app, each)))
        return tuple(each for each in change.actions if each not in later), later

    def _put_back(self, app: AppOrGroup, change: GitChange) -> None:
        """Keep a change to retry, unless a newer decision has replaced it."""
        if not change.actions:
            return
        opens = (self._closed.opens_at(branch_of(self._repository, app, each)) for each in change.actions)
        self._gathering.by(min((moment for moment in opens if moment), default=self._clock()))
        behind = self._changes_waiting.get(app)
        if behind is None:
            self._changes_waiting[app] = change
        elif app in self._left_behind:
            self._changes_waiting[app] = replace(change, actions=(*change.actions, *behind.actions))

    def _is_due(self) -> bool:
        return bool(self._changes_waiting) and self._gathering.is_due(self._clock())

    def _is_poll_due(self) -> bool:
        return self._polls and self._poll_at is not None and self._poll_at <= monotonic()

    def _patience(self) -> float | None:
        """Return the seconds until there is something to do; None where nothing is known to come."""
        now = self._clock()
        batch = self._gathering.patience(now) if self._changes_waiting else None
        poll = max(0.0, self._poll_at - monotonic()) if self._polls and self._poll_at is not None else None
        return min((each for each in (batch, poll) if each is not None), default=None)

    def _poll(self) -> None:
        started = self._clock()
        try:
            with guarded("reading the Git remote"):
                refresh = self._refresh()
        except GitopsBgError as error:
            self._away(error)
            answered = isinstance(error, MainNotVerified)
            self._metrics.poll_failed(error.reason, (self._clock() - started).total_seconds(), answered=answered)
            self._metrics.main_verified(not self._catalog.held)
            self._go_on_checking()
            return
        self._metrics.polled("moved" if refresh.moved else "quiet", (self._clock() - started).total_seconds())
        self._log_verification()
        self._log_ledger()
        self._go_on_checking()
        self._back(refresh.dirty)
        self._listener.polled(None)
        self._write_policy_history(refresh)

    def _go_on_checking(self) -> None:
        """Look again at once where commits wait to be checked: what is checked stays so."""
        verification = self._catalog.verification
        if verification and verification.held and verification.held.doubt is VerificationFailure.PENDING:
            self.poll_soon()

    def _log_verification(self) -> None:
        """Count, and log once, what keeps main from being read to its head, and what is wrong with the keys."""
        self._metrics.main_verified(not self._catalog.held)
        verification = self._catalog.verification
        said = [*filter(None, [self._catalog.held, verification.keys_trouble if verification else ""])]
        for each in said:
            if each not in self._told_of_signatures:
                LOGGER.warning("signatures of main: %s", each)
        if self._told_of_signatures and not said:
            LOGGER.info("signatures of main: all that is new is verified")
        self._told_of_signatures = said

    def _log_ledger(self) -> None:
        """Log once what of the ledger has no condition: the file of policies, and that its commits cannot be judged."""
        said = [*filter(None, [self._catalog.policy_log_doubt, self._catalog.ledger_trouble])]
        for each in said:
            if each not in self._told_of_ledger:
                LOGGER.warning("the ledger: %s", each)
        self._told_of_ledger = said

    def _write_policy_history(self, refresh: Refresh) -> None:
        """Write to the ledger what became of ``policies/``. Nobody waits for it: what fails is tried at later polls."""
        self._policies_due = self._policies_due or refresh.moved
        if not self._policies_due or self._catalog.rewritten or not self._may_write():
            return
        try:
            with guarded("writing to the ledger what became of policies"):
                self._repository.policy_log.publish(self._repository.head)
                self._policies_due, self._policies_trouble = False, ""
        except GitopsBgError as error:
            news = self._policies_trouble != str(error)
            self._policies_trouble = str(error)
            LOGGER.log(logging.WARNING if news else logging.DEBUG, "the ledger lacks changes of policies: %s", error)

    def _refresh(self) -> Refresh:
        """Read main. A mirror that turns out to be damaged is cloned again by the next look, which follows at once; so
        does one where the remote moved during the first.
        """
        try:
            return self._catalog.refresh()
        except (MirrorBroken, RemoteMoved):
            return self._catalog.refresh()

    def _away(self, error: GitopsBgError) -> None:
        """Report that the remote does not answer, keep serving, schedule a retry."""
        log_bug(error)
        if self._catalog.last_look.was_in_vain(error, self._catalog.commit):
            what = "main is not read" if isinstance(error, MainNotVerified) else "the Git remote cannot be read"
            LOGGER.warning("%s: %s", what, error)
            self._listener.wake(self._catalog.apps())
        self._listener.wake(self._catalog.awaiting())
        self._listener.polled(self._backoff.failed("remote", getattr(error, "retry_after", None) or 0.0))

    def _back(self, dirty: frozenset[AppOrGroup]) -> None:
        self._backoff.succeeded("remote")
        if self._catalog.last_look.was_answered():
            LOGGER.info("the Git remote answers again")
            self._closed.forgive()
            with self._changed:
                self._gathering.at_once(self._clock())
            dirty = dirty | self._catalog.apps()
        if self._refused_at and self._clock() - self._refused_at >= REFUSED_FOR:
            self._refused_at, self._catalog.main_refused = None, ""
            dirty = dirty | self._catalog.apps()
        self._listener.wake(dirty)

    def _write(self, changes: dict[AppOrGroup, GitChange]) -> None:
        if not self._may_write():  # the agent that leads now decides what to write; the records hold the ledger entries
            return
        if self._catalog.rewritten or self._catalog.held:  # a decision made before must not build on the present main
            changes = only_ledger(changes)
        written = write(self._repository, changes)
        with self._changed:
            self._gathering.wrote(len(changes), self._clock())
        self._keep_bugs(changes, written)
        for pushed in written.pushed:
            self._metrics.git_wrote(pushed.kind, pushed.commits, pushed.seconds)
        if written.refused:
            LOGGER.warning("main refuses the agent's commit: %s", written.refused)
            self._refused_at, self._catalog.main_refused = self._clock(), written.refused
        concerned = self._keep_results(changes, written)
        if written.touched:
            self._poll()
        self._listener.wake(written.touched | self._catalog.read_positions() | concerned)
        if written.failed:
            self.poll_soon()
        if written.incomplete:
            self._decide_again(written.incomplete)
        else:
            self._backoff.succeeded("incomplete")

    def _keep_bugs(self, changes: Container[AppOrGroup], written: GitWriteResult) -> None:
        """Keep what hit an app and does not pass, so that its next pass, which comes soon, reports it."""
        before = self._broken
        struck = {
            app: each for app, each in written.incomplete.items() if isinstance(each, InternalError | InvalidInput)
        }
        self._broken = {app: each for app, each in before.items() if app not in changes} | struck
        self._listener.wake(
            {app for app in before.keys() | struck.keys() if str(before.get(app)) != str(self._broken.get(app))}
        )

    def _keep_results(self, changes: Mapping[AppOrGroup, GitChange], written: GitWriteResult) -> frozenset[AppOrGroup]:
        """Note which branches were accepted and which were not; return those whose status changes by it."""
        moved = {name: each for name, each in written.failed.items() if isinstance(each, WorldChanged)}
        closed = {name: error for name, error in written.failed.items() if name not in moved}
        reopened, refused = self._closed.mark_written(written.taken), self._closed.failed(closed)
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

    def _writes_one_of(self, app: AppOrGroup, change: GitChange, branches: Container[str]) -> bool:
        return any(branch_of(self._repository, app, action) in branches for action in change.actions)

    def _kind(self, branch: str) -> str:
        """Return the kind of a branch in one word, for metrics."""
        settings = self._repository.settings
        return {settings.branch: "main", settings.state_branch: "ledger"}.get(branch, "offer")

    def _decide_again(self, incomplete: Mapping[AppOrGroup, GitopsBgError]) -> None:
        """Make the apps decide again later: they may want something else of Git by then."""
        for app, error in incomplete.items():
            if isinstance(error, InternalError):
                log_bug(error, app)
            else:
                LOGGER.warning("writing to Git failed: %s", error, extra=fields(app=app, reason=error.reason))
        self._listener.wake_later(incomplete, self._backoff.failed("incomplete"))
