"""Hooks: what may be asked or told to the outside, what it answered, and when to ask again (flagger.md §3.4).

Frozen data and arithmetic on one hook; it knows no versions and no traffic (`hook_gates`, `notifications` do).
Nothing is called here: `Decision.calls` says what is due, `Observed.calls` what came of it.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

LONGEST_BACKOFF = 30
"""Seconds between two tries at the most, as Flagger's (1 to 30 s)."""


class HookType(StrEnum):
    """When a hook is called; the types of Flagger."""

    CONFIRM_ROLLOUT = "confirm-rollout"
    PRE_ROLLOUT = "pre-rollout"
    ROLLOUT = "rollout"
    CONFIRM_PROMOTION = "confirm-promotion"
    ROLLBACK = "rollback"
    POST_ROLLOUT = "post-rollout"
    EVENT = "event"
    ALERT = "alert"
    """A message to people, by a provider of ``alerts/``: no type of Flagger's hooks, told like one (`event_text`)."""

    @property
    def confirms(self) -> bool:
        """Whether it is a gate that is asked until it opens, however often it refuses."""
        return self in (HookType.CONFIRM_ROLLOUT, HookType.CONFIRM_PROMOTION)

    @property
    def counts_refusals(self) -> bool:
        """Whether a refusal is a failed check, and too many abort the rollout."""
        return self in (HookType.PRE_ROLLOUT, HookType.ROLLOUT)


class Severity(StrEnum):
    """How grave an alert is, in Flagger's words; in this order."""

    INFO = "info"
    WARN = "warn"
    ERROR = "error"

    def reaches(self, least: "Severity") -> bool:
        """Whether somebody who wants to hear of ``least``, and of what is worse, hears of this.

        >>> Severity.ERROR.reaches(Severity.WARN), Severity.INFO.reaches(Severity.WARN)
        (True, False)
        """
        order = list(Severity)
        return order.index(self) >= order.index(least)


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook of an app. Times in seconds.

    ``request`` is what to call (address, headers, metadata) as canonical JSON: the core only carries it.
    """

    name: str
    type: HookType
    request: str = "{}"
    manual: bool = False
    """It has no address: a person answers, `gitops-bg gate open|close`."""
    interval: int = 30
    retries: int = 0
    """How often a refusal that may pass (5xx) is asked again before it counts."""
    iterations: int = 1
    """Of a rollout hook: how many good answers open its gate."""
    failure_limit: int = 0
    """Of a pre-rollout or rollout hook: how many refusals do no harm. Flagger's threshold is one more."""
    deadline: int | None = None
    """Confirm: how long it may stay shut. Others: how long its backend may be down. None: for ever."""
    mute_alert: bool = False
    severity: Severity = Severity.INFO
    """Of an alert: it is told what is as grave as this, or worse."""
    namespace: str = ""
    """Where the Secrets are that its request names; the app's where empty."""
    unknown: str = ""
    """Why it is not known what to call: its messages wait."""

    @property
    def key(self) -> str:
        """What tells it from all others of the app: an alert may be called as a hook is; no hook's name has a slash."""
        return f"alert/{self.name}" if self.type is HookType.ALERT else self.name

    @property
    def title(self) -> str:
        """How sentences call it."""
        return f"alert {self.name}" if self.type is HookType.ALERT else f"{self.type} hook {self.name}"


class Answer(StrEnum):
    """What a call came to."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNANSWERED = "unanswered"


def answer_of(status: int) -> Answer:
    """What an HTTP status means; 0 stands for no answer at all (refused connection, timeout, broken TLS).

    Any 2xx is good, 204 too. What a proxy or an overloaded backend says is no answer; all else is a refusal.

    >>> [answer_of(status).value for status in (200, 204, 403, 500, 503, 0)]
    ['accepted', 'accepted', 'refused', 'refused', 'unanswered', 'unanswered']
    """
    if 200 <= status < 300:
        return Answer.ACCEPTED
    return Answer.UNANSWERED if status in (0, 429, 502, 503, 504) else Answer.REFUSED


@dataclass(frozen=True, slots=True)
class Alert:
    """What an alert says: one sentence, and facts by title."""

    severity: Severity
    text: str
    at: datetime
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HookCall:
    """A call that is due, with the facts of Flagger's payload. ``key`` is the same for every try of one call."""

    id: str
    key: str
    hook: Hook
    phase: str
    checksum: str
    metadata: tuple[tuple[str, str], ...] = ()
    """Added to the metadata that the author of the hook gave it."""
    alert: Alert | None = None
    """Of an alert: what it says, instead of a payload."""


@dataclass(frozen=True, slots=True)
class HookResponse:
    """What a call came to. ``text`` is the body, cut and free of secrets, or why there was no answer."""

    id: str
    status: int
    at: datetime
    text: str = ""


@dataclass(frozen=True, slots=True)
class HookRun:
    """What one hook has answered for one rollout."""

    hook: str
    type: HookType
    digest: str
    rollout: int
    since: datetime
    """When it began to be asked, or said yes last."""
    final: bool = False
    """Of a confirm-promotion hook: asked again, at the moment when traffic would move."""
    accepted: int = 0
    refused: int = 0
    tries: int = 0
    """In a row without a result: no answer, or a refusal that is asked again."""
    unanswered_since: datetime | None = None
    last_at: datetime | None = None
    answer: Answer | None = None
    status: int = 0
    text: str = ""
    expired: bool = False
    """Its deadline passed: it is not asked any more."""


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """One message for one hook that only listens (post-rollout, event, alert), until it has got it."""

    hook: str
    number: int
    at: datetime
    phase: str
    checksum: str = ""
    message: str = ""
    severity: Severity = Severity.INFO
    tries: int = 0
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class OpenGate:
    """A manual gate that somebody opened."""

    name: str
    by: str
    at: datetime
    reason: str = ""


def backoff(tries: int) -> timedelta:
    """How long to wait after so many tries in a row.

    >>> [backoff(tries).seconds for tries in (1, 2, 3, 9)]
    [1, 2, 4, 30]
    """
    return timedelta(seconds=min(LONGEST_BACKOFF, 2 ** (min(tries, LONGEST_BACKOFF) - 1)))


def is_retried(hook: Hook, status: int, tries: int) -> bool:
    """Whether a refusal is asked again before it counts: Flagger's ``retries``, on 5xx other than 501."""
    return status >= 500 and status != 501 and tries < hook.retries


# --- one run ---


def key_of(run: HookRun, epoch: str) -> str:
    """The name of the next call of a run: the same for every try of it."""
    moment = "final" if run.final else run.type.value
    return f"{epoch}.{run.rollout}.{moment}.{run.hook}.{run.accepted + run.refused}"


def id_of(run: HookRun, epoch: str) -> str:
    """The name of the next try."""
    return f"{key_of(run, epoch)}.{run.tries}"


def take(run: HookRun, hook: Hook, called: HookResponse) -> HookRun:
    """The run with one more answer."""
    answer = answer_of(called.status)
    run = replace(run, answer=answer, status=called.status, text=called.text, last_at=called.at)
    if answer is Answer.UNANSWERED:
        return replace(run, tries=run.tries + 1, unanswered_since=run.unanswered_since or called.at)
    run = replace(run, unanswered_since=None)
    if answer is Answer.REFUSED and is_retried(hook, called.status, run.tries):
        return replace(run, tries=run.tries + 1)
    if answer is Answer.REFUSED:
        return replace(run, tries=0, refused=run.refused + 1)
    return replace(run, tries=0, accepted=run.accepted + 1, since=called.at)


def satisfied(run: HookRun, hook: Hook) -> bool:
    """Whether it has said all the good it has to say for traffic to go on."""
    if hook.type is HookType.CONFIRM_PROMOTION:
        return run.answer is Answer.ACCEPTED
    return run.accepted >= (hook.iterations if hook.type is HookType.ROLLOUT else 1)


def failure_limit_exceeded(run: HookRun, hook: Hook) -> bool:
    """Whether it has refused more often than it may: the rollout is to end."""
    return hook.type.counts_refusals and run.refused > hook.failure_limit


def expires_at(run: HookRun, hook: Hook) -> datetime | None:
    """When it is given up: a gate that does not open, or a backend that does not answer; None where never."""
    begins = run.since if hook.type.confirms and not satisfied(run, hook) else run.unanswered_since
    if hook.deadline is None or begins is None or hook.type is HookType.ROLLBACK:
        return None
    return begins + timedelta(seconds=hook.deadline)


def due_at(run: HookRun, hook: Hook, *, goes_on: bool = False) -> datetime | None:
    """When it is to be called next; None where it is not. ``goes_on``: a rollout hook whose gate is open, too."""
    once = hook.type in (HookType.CONFIRM_ROLLOUT, HookType.PRE_ROLLOUT, HookType.ROLLOUT)
    if (
        hook.manual
        or run.expired
        or failure_limit_exceeded(run, hook)
        or (once and satisfied(run, hook) and not goes_on)
    ):
        return None
    if run.last_at is None:
        return run.since
    return run.last_at + (backoff(run.tries) if run.tries else timedelta(seconds=hook.interval))
