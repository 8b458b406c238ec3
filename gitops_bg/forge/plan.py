"""What to write to the forge, and when: the difference between the desired and the known state, the rate that forges
allow, and the wait after failures. No I/O; the caller passes the time.

The plan is computed again before each write, from the apps' present wishes. Create comes before status before body
before close before comment before merge; within each the oldest first (forges.md §2).
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum

from gitops_bg.core.backoff import delay
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, Refused
from gitops_bg.core.model.journal import PullState
from gitops_bg.core.model.version import PullSubject
from gitops_bg.forge.known import ForgeKnowledge, Marker, marker_in
from gitops_bg.forge.offer import AnyOffer, Content, DesiredPull, Offer, PullSettings
from gitops_bg.forge.port import CheckState, CheckStatus, ForgeLimits, NotOnForge, Pull, PullRequestDraft
from gitops_bg.forge.wanted import Wanted, wanted, withdrawn

BETWEEN_EDITS = timedelta(seconds=30)
"""The shortest time between two edits of a body."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)

Render = Callable[[PullSubject, AnyOffer], Wanted]


class StepKind(IntEnum):
    """The kinds of writes, in order of importance."""

    CREATE = 0
    STATUS = 1
    BODY = 2
    CLOSE = 3
    COMMENT = 4
    MERGE = 5


@dataclass(frozen=True, slots=True)
class ForgeStep:
    """One write."""

    kind: StepKind
    app: PullSubject
    branch: str
    since: datetime
    """The age of its offer."""
    due: datetime
    """Not before this time."""
    draft: PullRequestDraft | None = None
    pull: Pull | None = None
    status: CheckStatus | None = None
    comment: str = ""

    @property
    def requests(self) -> int:
        """The maximum number of its requests."""
        if self.draft is None or self.kind is not StepKind.CREATE:
            return 1
        return 1 + bool(self.draft.labels or self.draft.assignees) + bool(self.draft.reviewers)

    @property
    def creating(self) -> int:
        """How many of them create something."""
        return self.requests if self.kind in (StepKind.CREATE, StepKind.STATUS, StepKind.COMMENT) else 0


@dataclass(frozen=True, slots=True)
class ForgePlan:
    """What to write, in order; what to read first; who waits for others."""

    steps: tuple[ForgeStep, ...] = ()
    missing: Mapping[str, datetime] = field(default_factory=dict)
    """The branches whose last ended pull request was not looked up yet, with the ages of their offers."""
    queued: Mapping[PullSubject, int] = field(default_factory=dict)
    """The apps beyond ``maxOpenPullRequests``, by their place."""


def plan(
    all_desired: Mapping[PullSubject, DesiredPull],
    known: ForgeKnowledge,
    settings: PullSettings,
    limits: ForgeLimits,
    render: Render,
    now: datetime,
) -> ForgePlan:
    """Return what to do now; nothing before the first list of open ones."""
    if not known.listed_once:
        return ForgePlan()
    planner = _Planner(known, limits, render, now)
    for app, desired in all_desired.items():
        planner.plan(app, desired)
    planner.steps += planner.creations(settings.max_open)
    steps = sorted(planner.steps, key=lambda step: (step.kind, step.since, step.branch))
    return ForgePlan(tuple(steps), planner.missing, planner.queued)


class _Planner:
    """One run of `plan`."""

    def __init__(self, known: ForgeKnowledge, limits: ForgeLimits, render: Render, now: datetime) -> None:
        self._known = known
        self._limits = limits
        self._render = render
        self._now = now
        self._new: list[tuple[datetime, PullSubject, AnyOffer]] = []
        self.steps: list[ForgeStep] = []
        self.missing: dict[str, datetime] = {}
        self.queued: dict[PullSubject, int] = {}

    def plan(self, app: PullSubject, desired: DesiredPull) -> None:
        """Look at what one app wants."""
        if desired.declined or not desired.settled:
            return
        if desired.offer is None:
            self.steps += self._farewell(app)
        elif desired.offer.branch in self._known.open:
            self.steps += self._differences(app, desired.offer, self._known.open[desired.offer.branch])
        elif desired.offer.only_status:
            return
        elif desired.offer.branch not in self._known.asked:
            self.missing[desired.offer.branch] = desired.offer.since
        elif self._may_open(desired, desired.offer):
            self._new.append((desired.offer.since, app, desired.offer))

    def creations(self, most: int) -> Iterator[ForgeStep]:
        """Yield the oldest, as many as may be opened; the others get a place in the queue."""
        room = max(0, most - len(self._known.open))
        for place, (since, app, offer) in enumerate(sorted(self._new, key=lambda each: (each[0], each[2].branch))):
            if place < room:
                draft = self._render(app, offer).draft
                yield ForgeStep(StepKind.CREATE, app, offer.branch, since, self._now, draft=draft)
            else:
                self.queued[app] = place - room + 1

    def _may_open(self, desired: DesiredPull, offer: AnyOffer) -> bool:
        """Return False for what somebody closed; and for what was merged, until main was looked at: Git has
        the result.
        """
        ended = self._known.ended.get(offer.branch)
        if ended is None or ended.offer != offer.id:
            return True
        if ended.pull.state is PullState.MERGED:
            return ended.seen_at.is_over(desired.looks)
        return not self._known.is_no(offer.branch, offer.id)

    def _differences(self, app: PullSubject, offer: AnyOffer, pull: Pull) -> Iterator[ForgeStep]:
        made, marker = self._render(app, offer), marker_in(pull.body)
        if self._known.statuses.get(offer.head) != made.status:
            yield ForgeStep(StepKind.STATUS, app, offer.branch, offer.since, self._now, status=made.status)
        if offer.only_status and not (marker and self._is_mine(app, marker)):
            return
        if _is_ours_to_write(marker, made.marker, offer) and not _says(marker, made):
            draft = made.draft if marker and marker.people != made.marker.people else replace(made.draft, reviewers=())
            yield self._edit(app, offer.since, pull, draft if marker else made.draft)
        if offer.merge and self._may_merge(offer, pull, made):
            yield ForgeStep(StepKind.MERGE, app, offer.branch, offer.since, self._now, pull=pull)
        if made.comment and self._known.comments.get(pull.number) != made.comment:
            yield ForgeStep(
                StepKind.COMMENT, app, offer.branch, offer.since, self._now, pull=pull, comment=made.comment
            )

    def _may_merge(self, offer: AnyOffer, pull: Pull, made: Wanted) -> bool:
        """Merge only a version with success in this cluster, at exactly the commit that it looked at, into main, once
        its status is set; never a draft.
        """
        is_said = self._known.statuses.get(offer.head) == made.status
        is_this = (pull.head, pull.base) == (offer.head, offer.base)
        return is_said and made.status.state is CheckState.SUCCESS and is_this and not pull.is_draft

    def _farewell(self, app: PullSubject) -> Iterator[ForgeStep]:
        """Say in a pull request of ours that it is no longer wanted, and close it."""
        branch = self._known.branch_of(app)
        ended = self._known.ended.get(branch)
        pull = self._known.open.get(branch) or (ended.pull if ended else None)
        marker = marker_in(pull.body) if pull else None
        if pull is None or marker is None or pull.state is PullState.MERGED or not self._is_mine(app, marker):
            return
        if marker.offer:
            draft = withdrawn(pull, marker, self._limits)
            yield replace(self._edit(app, _LONG_AGO, pull, draft), due=self._now)
        elif pull.state is PullState.OPEN:
            yield ForgeStep(StepKind.CLOSE, app, branch, _LONG_AGO, self._now, pull=pull)

    def _is_mine(self, app: PullSubject, marker: Marker) -> bool:
        return marker.app == str(app) and marker.cluster == self._known.cluster

    def _edit(self, app: PullSubject, since: datetime, pull: Pull, draft: PullRequestDraft) -> ForgeStep:
        last = self._known.written.get(pull.branch)
        due = max(self._now, last + BETWEEN_EDITS) if last else self._now
        return ForgeStep(StepKind.BODY, app, pull.branch, since, due, draft=draft, pull=pull)


def _is_ours_to_write(marker: Marker | None, made: Marker, offer: AnyOffer) -> bool:
    """Return whether it is ours to write: of two clusters with one branch, the author of the present text continues,
    as long as it has the same offer.

    Who offers nothing, and only describes the branch, leaves what the other one says of the same version.
    """
    if marker is None or marker.cluster == made.cluster:
        return True
    if isinstance(offer, Offer) and offer.content is not Content.OFFERED:
        return not marker.offer.startswith(f"{offer.to.digest}@")
    return marker.offer != made.offer


def _says(marker: Marker | None, made: Wanted) -> bool:
    """Return whether the text that was written last is as desired. What people change afterwards stays until then."""
    if marker is None:
        return False
    written = (marker.offer, marker.text, marker.people)
    return written == (made.marker.offer, made.marker.text, made.marker.people)


def renderer(settings: PullSettings, limits: ForgeLimits) -> Render:
    """Return `wanted`, computed once for each offer of an app."""
    made: dict[PullSubject, tuple[AnyOffer, Wanted]] = {}

    def render(app: PullSubject, offer: AnyOffer) -> Wanted:
        known = made.get(app)
        if known is None or known[0] != offer:
            known = made[app] = (offer, wanted(offer, settings, limits))
        return known[1]

    return render


# --- the rate of writes, by the published limits and what the forge itself says ---
# GitHub allows 80 creating requests a minute and 500 an hour, and asks for a second between two writes (forges.md §2).
# The others allow more; nothing but the view is delayed.

PER_MINUTE = 60
CREATING_PER_HOUR = 500
BETWEEN = timedelta(seconds=1)
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)


class WriteBudget:
    """Counts the writes. The caller passes the time, which never goes back."""

    def __init__(self) -> None:
        self._writes: deque[datetime] = deque()
        self._created: deque[datetime] = deque()
        self._free: datetime | None = None
        self._told: datetime | None = None

    def free_at(self, requests: int, creating: int, now: datetime) -> datetime:
        """Return when this many requests may be sent, ``creating`` of them creating something; ``now`` if at once."""
        moments = (
            self._room(self._writes, PER_MINUTE, requests, _MINUTE, now),
            self._room(self._created, CREATING_PER_HOUR, creating, _HOUR, now),
            self._free,
            self._told,
        )
        return max((now, *(moment for moment in moments if moment)))

    def spend(self, requests: int, creating: int, now: datetime) -> None:
        """Count sent requests, whatever their result."""
        self._writes.extend([now] * requests)
        self._created.extend([now] * creating)
        self._free = now + BETWEEN * requests

    def wait_until(self, moment: datetime) -> None:
        """Note that the forge asked for no requests before this moment."""
        self._told = max(moment, self._told or moment)

    def asked_to_wait(self, now: datetime) -> datetime | None:
        """Return until when the forge asked for no requests at all."""
        return self._told if self._told and self._told > now else None

    @staticmethod
    def _room(spent: deque[datetime], most: int, wanted: int, window: timedelta, now: datetime) -> datetime | None:
        """Return when ``wanted`` more fit into a window; None: now."""
        while spent and spent[0] <= now - window:
            spent.popleft()
        excess = len(spent) + wanted - most
        return spent[min(excess, len(spent)) - 1] + window if excess > 0 and wanted and spent else None


# --- what failed ---

LOGGER = logging.getLogger(__name__)

FIRST_RETRY, LONGEST_RETRY = 5.0, 900.0
"""Seconds until the next attempt; they double each time."""
REFUSED_RETRY = 60.0
"""The first wait after a refusal; what is not found may have been made only a moment ago."""
FAILURES_TOLD = 3
"""After how many consecutive failures a passing error is reported; a refusal is reported at once."""


@dataclass(slots=True)
class _Failure:
    error: GitopsBgError
    count: int
    until: datetime


class ForgeFailures:
    """Failures by key: the whole forge (empty), a kind of write, one write, or one question."""

    def __init__(self) -> None:
        self._known: dict[str, _Failure] = {}

    def failed(self, key: str, error: GitopsBgError, now: datetime) -> bool:
        """Count a failure; return whether to report it: the first one, or another reason."""
        before = self._known.get(key)
        count = before.count + 1 if before else 1
        first = REFUSED_RETRY if isinstance(error, Refused) and not isinstance(error, NotOnForge) else FIRST_RETRY
        seconds = max(delay(count, first, LONGEST_RETRY), getattr(error, "retry_after", None) or 0.0)
        self._known[key] = _Failure(error, count, now + timedelta(seconds=seconds))
        return before is None or before.error.reason != error.reason

    def over(self, key: str) -> None:
        """Forget the failure: it succeeded."""
        if self._known.pop(key, None) and not key:
            LOGGER.info("the forge answers again")

    def until(self, key: str, now: datetime) -> datetime | None:
        """Return when to try again; None: now."""
        known = self._known.get(key)
        return known.until if known and known.until > now else None

    def troubles(self) -> dict[str, str]:
        """Return what users are told: by branch, and under the empty name for the whole forge."""
        told = {key: str(each.error) for key, each in self._known.items() if _is_worth_telling(each)}
        of_all = told.get("") or next((said for key, said in told.items() if key in StepKind.__members__), "")
        found = {"": of_all} if of_all else {}
        for key, said in told.items():
            _, space, branch = key.partition(" ")
            if space:
                found[branch] = said
        return found


def _is_worth_telling(failure: _Failure) -> bool:
    return isinstance(failure.error, Refused) or failure.count >= FAILURES_TOLD
