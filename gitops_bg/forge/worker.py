"""Brings pull requests to their desired state, one request at a time: read, plan, write, as fast as the forge allows.

Level-triggered: it gets desired states, and reads the forge before it writes. It has no thread and no clock of its own
and decides nothing about rollouts; its errors only delay what people see.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import ParamSpec, Protocol, TypeVar

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InternalError, guarded
from gitops_bg.core.model.journal import AwaitsPoll, PullState, PullView
from gitops_bg.core.model.version import PullSubject
from gitops_bg.core.names import PULL_PREFIXES, promotion_branch
from gitops_bg.forge.asking import Answers, ForgeAnswer, ForgeQuestion
from gitops_bg.forge.known import Ended, ForgeKnowledge, by_branch, comment_marker
from gitops_bg.forge.offer import NOTHING, DesiredPull, PullSettings, context_of, views
from gitops_bg.forge.plan import BETWEEN, ForgeFailures, ForgePlan, ForgeStep, StepKind, WriteBudget, plan, renderer
from gitops_bg.forge.port import (
    Forge,
    HeadMoved,
    MergeRefused,
    Nonsense,
    NoRight,
    NotAccepted,
    Pull,
    RateLimited,
)
from gitops_bg.forge.port import NotOnForge as NotThere

P = ParamSpec("P")
T = TypeVar("T")

LOGGER = logging.getLogger(__name__)

IDLE = timedelta(minutes=10)
"""How often the list is read while no pull request is offered or open."""


class Counting(Protocol):
    """What is counted: the agent's metrics."""

    def forge_asked(self, call: str, outcome: str) -> None:
        """Count one call of the forge, by its outcome."""

    def forge_waits(self, count: int, oldest_seconds: float) -> None:
        """Set how many writes wait, and how long the oldest has waited."""

    def pulls_open(self, count: int) -> None:
        """Set how many pull requests of promotion branches are open."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The functions that the agent provides. Every one returns at once."""

    cluster: str
    seen_now: Callable[[PullSubject], AwaitsPoll]
    """The last look at main that has begun; the app is looked at again after the next one."""
    changed: Callable[[Mapping[PullSubject, PullView]], None]
    """These apps have a new view; `NOTHING` if there is none any more."""
    may_write: Callable[[], bool]
    """Whether this agent leads."""
    base: str = ""
    """The branch that promotions are merged into: main; empty where that is not known."""
    branch_of: Callable[[PullSubject], str] = promotion_branch
    """The promotion branch of an app or a group, in the environment of the agent."""


class PullRequests:
    """All pull requests of one repository on one forge. One thread uses it; any thread may read `view` and `heard`."""

    def __init__(
        self, forge: Forge, settings: PullSettings, around: Surroundings, counts: Counting, interval: float = 30.0
    ) -> None:
        self._forge = forge
        self._settings = settings
        self._around = around
        self._counts = counts
        self._interval = timedelta(seconds=interval)
        self._news: dict[PullSubject, DesiredPull | None] = {}
        self._all_desired: dict[PullSubject, DesiredPull] = {}
        self._known = ForgeKnowledge(around.cluster, around.base, around.branch_of)
        self._answers = Answers(forge.kind, self._known)
        self._unhurried_at: datetime | None = None
        self._budget = WriteBudget()
        self._failures = ForgeFailures()
        self._render = renderer(settings, forge.limits)
        self._listed_at: datetime | None = None
        self._made = ForgePlan()
        self._told: dict[PullSubject, PullView] = {}
        self._waiting: dict[tuple[StepKind, str], datetime] = {}

    def set_desired(self, app: PullSubject, desired: DesiredPull | None) -> None:
        """Set what the newest look at an app wants, replacing older wishes; None: the app is gone."""
        self._news[app] = desired

    def poll_soon(self) -> None:
        """Read the list in the next turn."""
        self._listed_at = None
        self._answers.poll_soon()

    def stand_by(self) -> None:
        """Forget what was desired and known: another agent leads."""
        self._news, self._all_desired = {}, {}
        self._known.forget()
        self._answers.forget()
        self._listed_at, self._made = None, ForgePlan()

    @property
    def view(self) -> Mapping[PullSubject, PullView]:
        """The last view of each app."""
        return self._told

    def answers_of(self, app: PullSubject) -> ForgeAnswer | None:
        """Return the forge's last answers about people for an app; None if there are none yet. For any thread."""
        return self._answers.heard.get(app)

    # --- a turn -----------------------------------------------------------------------------------------------------

    def turn(self, now: datetime) -> datetime:
        """Do what is due, at most one write; return when the next turn is due. Raises nothing of `core.errors`."""
        news = self._apply_wishes()
        if not self._around.may_write():
            return now + self._interval
        waits = max(filter(None, (self._budget.asked_to_wait(now), self._failures.until("", now))), default=None)
        if waits is not None:
            if news:
                self._publish(self._all_desired)
            return waits
        try:
            return self._turn(now)
        except GitopsBgError as error:
            self._keep_failure(error, "", now)
            self._publish(self._all_desired)
            return now

    def _turn(self, now: datetime) -> datetime:
        if self._list_due(now) <= now:
            self._list(now)
        if not self._made.steps:
            self._plan(now)
        due, step = self._next(now)
        question = self._question(now, is_idle=step is None)
        if question is not None and (question.urgent or self._is_unhurried(now)):
            self._answer(question, now)
            return now
        if step is not None and not self._around.may_write():  # Reading may have taken a while.
            return now + self._interval
        if step is not None:
            left = tuple(each for each in self._made.steps if each is not step)
            self._made = replace(self._made, steps=left)
            self._carry_out(step, now)
            self._publish((step.app,))
            due = now
        asks_at = self._unhurried_at if question is not None else None
        return min(filter(None, (due, self._list_due(now), asks_at)))

    def _apply_wishes(self) -> bool:
        """Take over new wishes; return whether there were any."""
        news, self._news = self._news, {}
        for app, desired in news.items():
            before, now = self._all_desired.get(app, DesiredPull()), desired or DesiredPull()
            if now.settled and not now.declined:
                was = before.offer.id if before.offer else ""
                self._known.offer_changed(self._known.branch_of(app), was, now.offer.id if now.offer else "")
            elif not now.settled:
                now = replace(now, offer=before.offer)  # The offer is still the last one.
            if before.offer and now.settled and now.offer is None:
                self._listed_at = None  # It may have been merged: read the list before any write to it.
            self._all_desired[app] = self._sound(app, now)
            self._answers.set_asks(app, now.asks)
        if news:
            self._made = ForgePlan()
        return bool(news)

    def _sound(self, app: PullSubject, desired: DesiredPull) -> DesiredPull:
        """Return the wish, if its text can be rendered; after a bug, this app's pull request stays as it is."""
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
        """Plan again for each list and all news; steps in between do not change the rest of the plan."""
        self._made = self._difference(now)
        if self._made.missing:
            self._find_ended(self._made.missing)
            self._made = self._difference(now)
        self._count(now)
        self._publish(self._all_desired)

    def _difference(self, now: datetime) -> ForgePlan:
        return plan(self._all_desired, self._known, self._settings, self._forge.limits, self._render, now)

    def _next(self, now: datetime) -> tuple[datetime | None, ForgeStep | None]:
        """Return the first step that is due now, else when the first is."""
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
        pulls = self._ask("open_pulls", self._forge.open_pulls, PULL_PREFIXES)
        self._failures.over("")
        for gone in self._known.listed(pulls).values():
            self._found(self._ask("pull", self._forge.pull, gone.number))
        self._made = ForgePlan()
        self._known.forget_statuses({desired.offer.head for desired in self._all_desired.values() if desired.offer})
        self._listed_at = now
        self._publish_people(self._answers.listed(now))
        self._counts.pulls_open(len(self._known.open))

    def _list_due(self, now: datetime) -> datetime:
        """Return when to read the list again: rarely if no pull request exists or is wanted."""
        if self._listed_at is None:
            return now
        busy = (
            self._known.open
            or self._answers
            or any(desired.offer or desired.declined for desired in self._all_desired.values())
        )
        return self._listed_at + (self._interval if busy else max(IDLE, self._interval))

    def _find_ended(self, missing: Mapping[str, datetime]) -> None:
        """Look up the last ended one of each of these branches, and who closed it."""
        since = min(missing.values())
        ended = self._ask("closed_pulls", self._forge.closed_pulls, PULL_PREFIXES, since)
        for pull in by_branch(ended, missing).values():
            is_closed = pull.state is PullState.CLOSED
            self._found(self._ask("pull", self._forge.pull, pull.number) if is_closed else pull)
        self._known.none_ended(missing)

    def _found(self, pull: Pull) -> None:
        app = next((app for app in self._all_desired if self._known.branch_of(app) == pull.branch), None)
        self._known.found(pull, self._around.seen_now(app) if app else AwaitsPoll())

    def _question(self, now: datetime, *, is_idle: bool) -> ForgeQuestion | None:
        """Return the next question: those that promotions wait for before all writes, the others while no
        write is due.
        """
        for question in self._answers.questions(now):
            if (question.urgent or is_idle) and self._failures.until(question.key, now) is None:
                return question
        return None

    def _is_unhurried(self, now: datetime) -> bool:
        """Return whether a second has passed for questions without urgency: a thousand promotions stay within the
        limits.
        """
        return self._unhurried_at is None or now >= self._unhurried_at

    def _answer(self, question: ForgeQuestion, now: datetime) -> None:
        if not question.urgent:
            self._unhurried_at = now + BETWEEN
        try:
            if question.pull is not None:
                reviews = self._ask("reviews", self._forge.reviews, question.pull)
                news = self._answers.reviewed(question, reviews, now)
            else:
                news = self._answers.merged(question, self._ask("merged", self._forge.merged, question.commit), now)
        except (NotAccepted, NotThere, NoRight, Nonsense) as error:
            if self._failures.failed(question.key, error, now):
                LOGGER.warning("the forge: %s", error)
            self._publish((question.app,))
            return
        self._failures.over(question.key)
        self._publish_people([question.app] if news else [])

    def _publish_people(self, apps: Iterable[PullSubject]) -> None:
        """Note news about people for these apps."""
        news = {app: self._told.get(app, NOTHING) for app in apps}
        if news:
            self._around.changed(news)

    # --- writing ----------------------------------------------------------------------------------------------------

    def _carry_out(self, step: ForgeStep, now: datetime) -> None:
        if step.kind is StepKind.STATUS and self._is_set_already(step):
            return
        self._budget.spend(step.requests, step.creating, now)
        try:
            self._write(step, now)
        except (NotAccepted, NotThere, NoRight, MergeRefused, HeadMoved) as error:
            self._keep_failure(error, step.kind.name if isinstance(error, NoRight) else _key(step), now)
            return
        for key in (_key(step), step.kind.name):
            self._failures.over(key)

    def _is_set_already(self, step: ForgeStep) -> bool:
        """Return whether the status is set: for statuses older than this process, ask the forge once."""
        status = step.status
        if status is None or step.branch not in self._known.inherited or status.commit in self._known.statuses:
            return False
        said = self._ask("reported", self._forge.reported, status.commit, context_of(self._around.cluster))
        self._known.inherited.discard(step.branch)
        if said is not None:
            self._known.statuses[status.commit] = replace(said, commit=status.commit, url=status.url)
        return said is not None

    def _write(self, step: ForgeStep, now: datetime) -> None:
        known, pull, draft = self._known, step.pull, step.draft
        match step.kind:
            case StepKind.CREATE if draft:
                made = self._ask("open", self._forge.open, draft)
                known.open[step.branch] = replace(made, body=draft.body)
                known.ended.pop(step.branch, None)
                known.written[step.branch] = now
                self._answers.opened(made)
                LOGGER.info("opened pull request #%s for %s: %s", made.number, step.app, made.url)
            case StepKind.STATUS if step.status:
                status = step.status
                self._ask("report", self._forge.report, status)
                known.statuses[status.commit] = status
            case StepKind.BODY if draft and pull:
                self._ask("edit", self._forge.edit, pull, draft)
                known.written[step.branch] = now
                self._edited(replace(pull, title=pull.titled(draft.title), body=draft.body))
            case StepKind.CLOSE if pull:
                self._ask("close", self._forge.close, pull)
                LOGGER.info("closed pull request #%s of %s: it is not wanted any more", pull.number, step.app)
                known.found(replace(pull, state=PullState.CLOSED), AwaitsPoll())
            case StepKind.COMMENT if pull:
                marker = comment_marker(str(step.app), self._around.cluster)
                self._ask("comment", self._forge.comment, pull, marker, step.comment)
                known.comments[pull.number] = step.comment
            case StepKind.MERGE if pull:
                self._ask("merge", self._forge.merge, pull, pull.head)
                LOGGER.info("merged pull request #%s of %s: every gate was open", pull.number, step.app)
                known.found(replace(pull, state=PullState.MERGED), self._around.seen_now(step.app))

    def _edited(self, pull: Pull) -> None:
        if pull.state is PullState.OPEN:
            self._known.open[pull.branch] = pull
        else:
            self._known.ended[pull.branch] = Ended(pull, self._known.ended[pull.branch].seen_at)

    # --- errors, and what apps are told
    # ---------------------------------------------------------------------------------

    def _ask(self, call: str, request: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        try:
            answer = request(*args, **named)
        except GitopsBgError as error:
            self._counts.forge_asked(call, error.reason)
            raise
        self._counts.forge_asked(call, "ok")
        return answer

    def _keep_failure(self, error: GitopsBgError, key: str, now: datetime) -> None:
        """Note a failure: schedule another attempt, and report it if necessary."""
        if isinstance(error, RateLimited):
            self._made = ForgePlan()
            self._budget.wait_until(error.until)
            LOGGER.warning("%s", error)
            return
        # It is unknown whether a write succeeded: read the list before the next one.
        self._listed_at, self._made = None, ForgePlan()
        if self._failures.failed(key, error, now):
            LOGGER.warning("the forge: %s", error)
        else:
            LOGGER.debug("the forge: %s, once more", error)

    def _publish(self, apps: Iterable[PullSubject]) -> None:
        """Publish the news about these apps."""
        troubles, all_desired = self._failures.troubles(), {app: self._all_desired[app] for app in apps}
        now = dict(views(all_desired, self._known, self._made.queued, troubles, self._settings.max_open))
        news = {app: view for app, view in now.items() if self._told.get(app, NOTHING) != view}
        self._told.update(now)
        if news:
            self._around.changed(news)

    def _count(self, now: datetime) -> None:
        """Count the waiting writes, and the age of the oldest."""
        made, keys = self._made, [(step.kind, step.branch) for step in self._made.steps]
        self._waiting = {key: self._waiting.get(key, now) for key in keys}
        oldest = min(self._waiting.values(), default=now)
        self._counts.forge_waits(len(made.steps) + len(made.queued), (now - oldest).total_seconds())


def _key(step: ForgeStep) -> str:
    return f"{step.kind.name} {step.branch}"
