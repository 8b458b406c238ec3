"""Makes pull requests what they should be, one request at a time: read, plan, write, as fast as the forge allows.

Level-triggered: it is handed states, and reads what is there before it writes. It has no thread and no clock of its
own, decides nothing about rollouts, and whatever goes wrong here delays a decoration.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ParamSpec, Protocol, TypeVar

from gitops_bg.core.errors import GitopsBgError, InternalError, Refused, guarded
from gitops_bg.core.model.looks import Awaited
from gitops_bg.core.model.pulls import PullView
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import PROMOTION_PREFIX, promotion_branch
from gitops_bg.forge.budget import Budget
from gitops_bg.forge.errors import HeadMoved, MergeRefused, NoRight, NotAccepted, RateLimited
from gitops_bg.forge.errors import NotFound as NotThere
from gitops_bg.forge.known import Ended, Known, by_branch
from gitops_bg.forge.offer import DesiredPull, PullSettings
from gitops_bg.forge.plan import Kind, Plan, Step, plan, renderer
from gitops_bg.forge.port import Forge, Pull, PullState
from gitops_bg.forge.views import NOTHING, views
from gitops_bg.forge.wanted import context_of

P = ParamSpec("P")
T = TypeVar("T")

LOGGER = logging.getLogger(__name__)

IDLE = timedelta(minutes=10)
"""How often the list is read while nothing is offered and nothing is open."""
FIRST_RETRY, LONGEST_RETRY = 5.0, 900.0
"""Seconds until what failed is tried again: twice as long each time."""
REFUSED_RETRY = 60.0
"""The same to begin with where the forge said no."""
FAILURES_TOLD = 3
"""What passes is told to people once it has failed so often in a row; what is refused at once."""


class Counting(Protocol):
    """What is counted; the agent's metrics."""

    def forge_asked(self, call: str, outcome: str) -> None:
        """One call of the forge came to this."""

    def forge_waits(self, count: int, oldest_seconds: float) -> None:
        """So many writes wait, the oldest for so long."""

    def pulls_open(self, count: int) -> None:
        """So many pull requests of promotion branches are open."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the agent does for it. Every function returns at once."""

    cluster: str
    seen_now: Callable[[AppKey], Awaited]
    """The last look at main that has begun; the app is looked at again after the next one."""
    changed: Callable[[Mapping[AppKey, PullView]], None]
    """These apps are told something new; `NOTHING` where there is nothing to tell any more."""
    may_write: Callable[[], bool]
    """Whether this agent leads."""


class PullRequests:
    """All pull requests of one repository on one forge. Any thread may call ``set_desired``, one thread ``turn``."""

    def __init__(
        self, forge: Forge, settings: PullSettings, around: Surroundings, counts: Counting, interval: float = 30.0
    ) -> None:
        self._forge = forge
        self._settings = settings
        self._around = around
        self._counts = counts
        self._interval = timedelta(seconds=interval)
        self._lock = threading.Lock()
        self._news: dict[AppKey, DesiredPull | None] = {}
        self._all_desired: dict[AppKey, DesiredPull] = {}
        self._known = Known(around.cluster)
        self._budget = Budget()
        self._failures = _Failures()
        self._render = renderer(settings, forge.limits)
        self._list_at: datetime | None = None
        self._made = Plan()
        self._told: dict[AppKey, PullView] = {}
        self._waiting: dict[tuple[Kind, str], datetime] = {}

    def set_desired(self, app: AppKey, desired: DesiredPull | None) -> bool:
        """What the newest look at an app wants, in place of what an older one wanted; None: the app is gone.

        Returns whether that is news.
        """
        with self._lock:
            if self._news.get(app, self._all_desired.get(app)) == desired:
                return False
            self._news[app] = desired
            return True

    def look_soon(self) -> None:
        """Read the list with the next turn."""
        self._list_at = None

    def stand_by(self) -> None:
        """Another agent leads: forget what was desired and known."""
        with self._lock:
            self._news, self._all_desired = {}, {}
        self._known.forget()
        self._list_at, self._made = None, Plan()

    def take_over(self, before: "PullRequests") -> None:
        """Go on with what apps wanted of another forge, or with other settings."""
        with before._lock:
            self._news = {**before._all_desired, **before._news}

    @property
    def view(self) -> Mapping[AppKey, PullView]:
        """What each app was told last."""
        return self._told

    # --- a turn -----------------------------------------------------------------------------------------------------

    def turn(self, now: datetime) -> datetime:
        """Do what is due, at most one write; when the next turn is due. Raises nothing of `core.errors`."""
        news = self._take_news()
        if not self._around.may_write():
            return now + self._interval
        waits = max(filter(None, (self._budget.told_to_wait(now), self._failures.until("", now))), default=None)
        if waits is not None:
            if news:
                self._publish(self._all_desired)
            return waits
        try:
            return self._turn(now)
        except GitopsBgError as error:
            self._note(error, "", now)
            self._publish(self._all_desired)
            return now

    def _turn(self, now: datetime) -> datetime:
        if self._list_at is None or self._list_at <= now:
            self._list(now)
        if not self._made.steps:
            self._plan(now)
        due, step = self._next(now)
        if step is not None and not self._around.may_write():  # Reading may have taken a while.
            return now + self._interval
        if step is not None:
            left = tuple(each for each in self._made.steps if each is not step)
            self._made = replace(self._made, steps=left)
            self._carry_out(step, now)
            self._publish((step.app,))
            due = now
        return min(filter(None, (due, self._list_at)))

    def _take_news(self) -> bool:
        """Whether there were any."""
        with self._lock:
            news, self._news = self._news, {}
        for app, desired in news.items():
            before, now = self._all_desired.get(app, DesiredPull()), desired or DesiredPull()
            if now.settled and not now.declined:
                was = before.offer.id if before.offer else ""
                self._known.offer_changed(promotion_branch(app), was, now.offer.id if now.offer else "")
            elif not now.settled:
                now = replace(now, offer=before.offer)  # Still the last one that was offered.
            if before.offer and now.settled and now.offer is None:
                self._list_at = None  # It may have been merged: that is looked at before anything is written there.
            self._all_desired[app] = self._sound(app, now)
        if news:
            self._made = Plan()
        return bool(news)

    def _sound(self, app: AppKey, desired: DesiredPull) -> DesiredPull:
        """What is desired, where its text can be made; a bug leaves the pull request of this app as it is."""
        if desired.offer is None:
            return desired
        try:
            with guarded(f"the text of the pull request of {app}"):
                self._render(app, desired.offer)
        except InternalError:
            LOGGER.exception("the pull request of %s stays as it is", app)
            return replace(desired, settled=False)
        return desired

    def _plan(self, now: datetime) -> None:
        """Anew with each list and all news; what is carried out in between takes nothing away from the rest of it."""
        self._made = self._difference(now)
        if self._made.missing:
            self._look_up(self._made.missing)
            self._made = self._difference(now)
        self._count(now)
        self._publish(self._all_desired)

    def _difference(self, now: datetime) -> Plan:
        return plan(self._all_desired, self._known, self._settings, self._forge.limits, self._render, now)

    def _next(self, now: datetime) -> tuple[datetime | None, Step | None]:
        """The first step that may be carried out now, else when the first may be."""
        soonest = self._budget.free_at(1, 0, now)
        if self._made.steps and soonest > now:
            return soonest, None
        moments = []
        for step in self._made.steps:
            retry = self._failures.until(_key(step), now) or self._failures.until(step.kind.name, now)
            free = self._budget.free_at(step.requests, step.creating, now)
            moment = max(step.due, free, retry or now)
            if moment <= now:
                return now, step
            moments.append(moment)
        return min(moments, default=None), None

    # --- reading ----------------------------------------------------------------------------------------------------

    def _list(self, now: datetime) -> None:
        pulls = self._ask("open_pulls", self._forge.open_pulls, PROMOTION_PREFIX)
        self._failures.over("")
        for gone in self._known.listed(pulls).values():
            self._found(self._ask("pull", self._forge.pull, gone.number))
        self._made = Plan()
        self._known.forget_statuses({desired.offer.head for desired in self._all_desired.values() if desired.offer})
        busy = self._known.open or any(desired.offer or desired.declined for desired in self._all_desired.values())
        self._list_at = now + (self._interval if busy else max(IDLE, self._interval))
        self._counts.pulls_open(len(self._known.open))

    def _look_up(self, missing: Mapping[str, datetime]) -> None:
        """The last ended one of each of these branches, and who closed it."""
        since = min(missing.values())
        ended = self._ask("closed_pulls", self._forge.closed_pulls, PROMOTION_PREFIX, since)
        for pull in by_branch(ended, missing).values():
            is_closed = pull.state is PullState.CLOSED
            self._found(self._ask("pull", self._forge.pull, pull.number) if is_closed else pull)
        self._known.none_ended(missing)

    def _found(self, pull: Pull) -> None:
        app = next((app for app in self._all_desired if promotion_branch(app) == pull.branch), None)
        self._known.found(pull, self._around.seen_now(app) if app else Awaited())

    # --- writing ----------------------------------------------------------------------------------------------------

    def _carry_out(self, step: Step, now: datetime) -> None:
        if step.kind is Kind.STATUS and self._is_said_already(step):
            return
        self._budget.spend(step.requests, step.creating, now)
        try:
            self._write(step, now)
        except (NotAccepted, NotThere, NoRight, MergeRefused, HeadMoved) as error:
            self._note(error, step.kind.name if isinstance(error, NoRight) else _key(step), now)
            return
        for key in (_key(step), step.kind.name):
            self._failures.over(key)

    def _is_said_already(self, step: Step) -> bool:
        """Whether the status is there: of what is older than this process, the forge is asked once."""
        status = step.status
        if status is None or step.branch not in self._known.inherited or status.commit in self._known.statuses:
            return False
        said = self._ask("reported", self._forge.reported, status.commit, context_of(self._around.cluster))
        self._known.inherited.discard(step.branch)
        if said is not None:
            self._known.statuses[status.commit] = replace(said, commit=status.commit, url=status.url)
        return said is not None

    def _write(self, step: Step, now: datetime) -> None:
        known, pull, draft = self._known, step.pull, step.draft
        match step.kind:
            case Kind.CREATE if draft:
                made = self._ask("open", self._forge.open, draft)
                known.open[step.branch] = replace(made, title=draft.title, body=draft.body)
                known.ended.pop(step.branch, None)
                known.written[step.branch] = now
                LOGGER.info("opened pull request #%s for %s: %s", made.number, step.app, made.url)
            case Kind.STATUS if step.status:
                status = step.status
                self._ask("report", self._forge.report, status)
                known.statuses[status.commit] = status
            case Kind.BODY if draft and pull:
                self._ask("edit", self._forge.edit, pull, draft)
                known.written[step.branch] = now
                self._edited(replace(pull, title=draft.title, body=draft.body))
            case Kind.CLOSE if pull:
                self._ask("close", self._forge.close, pull)
                LOGGER.info("closed pull request #%s of %s: it is not wanted any more", pull.number, step.app)
                known.found(replace(pull, state=PullState.CLOSED), Awaited())
            case Kind.COMMENT if pull:
                self._ask("comment", self._forge.comment, pull, f"<!-- gitops-bg: {step.app} -->", step.comment)
                known.comments[step.branch] = step.comment
            case Kind.MERGE if pull:
                self._ask("merge", self._forge.merge, pull, pull.head)
                LOGGER.info("merged pull request #%s of %s: every gate was open", pull.number, step.app)
                known.found(replace(pull, state=PullState.MERGED), self._around.seen_now(step.app))

    def _edited(self, pull: Pull) -> None:
        if pull.state is PullState.OPEN:
            self._known.open[pull.branch] = pull
        else:
            self._known.ended[pull.branch] = Ended(pull, self._known.ended[pull.branch].seen_at)

    # --- what goes wrong, and what is told --------------------------------------------------------------------------

    def _ask(self, call: str, request: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        try:
            answer = request(*args, **named)
        except GitopsBgError as error:
            self._counts.forge_asked(call, error.reason)
            raise
        self._counts.forge_asked(call, "ok")
        return answer

    def _note(self, error: GitopsBgError, key: str, now: datetime) -> None:
        """Something failed: it is tried again later, and told where that is worth it."""
        if isinstance(error, RateLimited):
            self._made = Plan()
            self._budget.wait_until(error.until)
            LOGGER.warning("%s", error)
            return
        # Whether a write came through is unknown: what is there is read before the next one.
        self._list_at, self._made = None, Plan()
        if self._failures.failed(key, error, now):
            LOGGER.warning("the forge: %s", error)
        else:
            LOGGER.debug("the forge: %s, once more", error)

    def _publish(self, apps: Iterable[AppKey]) -> None:
        """Tell what is news about these apps."""
        troubles, all_desired = self._failures.troubles(), {app: self._all_desired[app] for app in apps}
        now = dict(views(all_desired, self._known, self._made.queued, troubles, self._settings.max_open))
        news = {app: view for app, view in now.items() if self._told.get(app, NOTHING) != view}
        self._told.update(now)
        if news:
            self._around.changed(news)

    def _count(self, now: datetime) -> None:
        """How many writes wait, and since when the oldest of them has been known."""
        made, keys = self._made, [(step.kind, step.branch) for step in self._made.steps]
        self._waiting = {key: self._waiting.get(key, now) for key in keys}
        oldest = min(self._waiting.values(), default=now)
        self._counts.forge_waits(len(made.steps) + len(made.queued), (now - oldest).total_seconds())


def _key(step: Step) -> str:
    return f"{step.kind.name} {step.branch}"


@dataclass(slots=True)
class _Failure:
    error: GitopsBgError
    count: int
    until: datetime


class _Failures:
    """What fails, by key: all of the forge (empty), a kind of write, or one write."""

    def __init__(self) -> None:
        self._known: dict[str, _Failure] = {}

    def failed(self, key: str, error: GitopsBgError, now: datetime) -> bool:
        """Once more; whether it is worth telling: the first time, or another reason."""
        before = self._known.get(key)
        count = before.count + 1 if before else 1
        first = REFUSED_RETRY if isinstance(error, Refused) else FIRST_RETRY
        seconds = min(LONGEST_RETRY, first * 2 ** min(count - 1, 20))
        seconds = max(seconds, getattr(error, "retry_after", None) or 0.0)
        self._known[key] = _Failure(error, count, now + timedelta(seconds=seconds))
        return before is None or before.error.reason != error.reason

    def over(self, key: str) -> None:
        """It went through."""
        if self._known.pop(key, None) and not key:
            LOGGER.info("the forge answers again")

    def until(self, key: str, now: datetime) -> datetime | None:
        """When it may be tried again; None: now."""
        known = self._known.get(key)
        return known.until if known and known.until > now else None

    def troubles(self) -> dict[str, str]:
        """What people are told: by branch, and under the empty name of all."""
        told = {key: str(each.error) for key, each in self._known.items() if _is_worth_telling(each)}
        of_all = told.get("") or next((said for key, said in told.items() if key in Kind.__members__), "")
        found = {"": of_all} if of_all else {}
        for key, said in told.items():
            _, space, branch = key.partition(" ")
            if space:
                found[branch] = said
        return found


def _is_worth_telling(failure: _Failure) -> bool:
    return isinstance(failure.error, Refused) or failure.count >= FAILURES_TOLD
