"""Hooks: whom to ask or notify outside, what they answered, and when to call again (flagger.md §3.4).

Frozen data and arithmetic on one hook; it knows no versions and no traffic (`core.delivery` does). Nothing
is called here: `Decision.calls` lists the calls that are due, `Observed.calls` their answers.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from gitops_bg.core.backoff import delay
from gitops_bg.core.dataclass import dataclass

LONGEST_BACKOFF = 30
"""The longest wait between two tries, in seconds, as in Flagger (1 to 30 s)."""

LONGEST_ANSWER = timedelta(seconds=10)
"""How long a confirmation counts while it is asked for again."""


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
    """A message to people, by a provider of ``alerts/``; not a type of Flagger, but sent like one."""

    @property
    def confirms(self) -> bool:
        """Whether the hook is a gate that is asked until it opens, however often it refuses."""
        return self in (HookType.CONFIRM_ROLLOUT, HookType.CONFIRM_PROMOTION)

    @property
    def counts_refusals(self) -> bool:
        """Whether a refusal counts as a failed check, of which too many abort the rollout."""
        return self in (HookType.PRE_ROLLOUT, HookType.ROLLOUT)


class Severity(StrEnum):
    """The severity of an alert, in Flagger's words, in ascending order."""

    INFO = "info"
    WARN = "warn"
    ERROR = "error"

    def reaches(self, least: "Severity") -> bool:
        """Return whether this severity is ``least`` or worse.

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
    """The hook has no address: a person answers with `gitops-bg gate open|close`."""
    interval: int = 30
    retries: int = 0
    """How often a refusal that may pass (5xx) is retried before it counts."""
    iterations: int = 1
    """Of a rollout hook: how many good answers open its gate."""
    failure_limit: int = 0
    """Of a pre-rollout or rollout hook: how many refusals are tolerated. Flagger's threshold is one more."""
    deadline: int | None = None
    """Confirm hooks: how long the gate may stay shut. Others: how long the backend may be down. None: for ever."""
    mute_alert: bool = False
    severity: Severity = Severity.INFO
    """Of an alert: the lowest severity that it reports."""
    namespace: str = ""
    """The namespace of the Secrets that the request names; empty: the app's."""
    unknown: str = ""
    """Why the request is not known; messages to the hook wait meanwhile."""

    @property
    def key(self) -> str:
        """The unique key of the hook in the app. An alert may share the name of a hook; no hook's name has a slash."""
        return f"alert/{self.name}" if self.type is HookType.ALERT else self.name

    @property
    def title(self) -> str:
        """The name of the hook in a sentence."""
        return f"alert {self.name}" if self.type is HookType.ALERT else f"{self.type} hook {self.name}"


class HookAnswer(StrEnum):
    """The result of a call."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNANSWERED = "unanswered"


def answer_of(status: int) -> HookAnswer:
    """Translate an HTTP status; 0 stands for no answer at all (refused connection, timeout, broken TLS).

    Any 2xx accepts, 204 included. An answer of a proxy or an overloaded backend counts as none; every other status
    refuses.

    >>> [answer_of(status).value for status in (200, 204, 403, 500, 503, 0)]
    ['accepted', 'accepted', 'refused', 'refused', 'unanswered', 'unanswered']
    """
    if 200 <= status < 300:
        return HookAnswer.ACCEPTED
    return HookAnswer.UNANSWERED if status in (0, 429, 502, 503, 504) else HookAnswer.REFUSED


@dataclass(frozen=True, slots=True)
class Alert:
    """The content of an alert: one sentence, facts by title, and addresses of pages by title."""

    severity: Severity
    text: str
    at: datetime
    facts: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HookCall:
    """A call that is due, with the facts of Flagger's payload. ``key`` is the same for every try of one call."""

    id: str
    key: str
    hook: Hook
    phase: str
    checksum: str
    metadata: tuple[tuple[str, str], ...] = ()
    """Added to the metadata that the author gave the hook."""
    alert: Alert | None = None
    """Of an alert: its content, instead of a payload."""


@dataclass(frozen=True, slots=True)
class HookResponse:
    """The response to a call. ``text`` is what is shown of the body, free of secrets, or why there was none."""

    id: str
    status: int
    at: datetime
    text: str = ""


@dataclass(frozen=True, slots=True)
class HookRun:
    """The answers of one hook for one rollout."""

    hook: str
    type: HookType
    digest: str
    rollout: int
    since: datetime
    """When the agent began to ask it, or when it last accepted."""
    final: bool = False
    """Of a confirm-promotion hook: it is asked once more, at the moment when traffic would move."""
    accepted: int = 0
    refused: int = 0
    tries: int = 0
    """How many tries in a row had no result: no answer, or a refusal that is retried."""
    unanswered_since: datetime | None = None
    last_at: datetime | None = None
    answer: HookAnswer | None = None
    status: int = 0
    text: str = ""
    expired: bool = False
    """The deadline has passed, and the hook is not called any more."""


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """One message to one hook that only listens (post-rollout, event, alert), kept until it is delivered."""

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
    """Return how long to wait after this many tries in a row.

    >>> [backoff(tries).seconds for tries in (1, 2, 3, 9)]
    [1, 2, 4, 30]
    """
    return timedelta(seconds=delay(tries, first=1.0, longest=LONGEST_BACKOFF))


def is_retried(hook: Hook, status: int, tries: int) -> bool:
    """Return whether a refusal is retried before it counts: Flagger's ``retries``, on 5xx other than 501."""
    return status >= 500 and status != 501 and tries < hook.retries


# --- one run ---


def key_of(run: HookRun, epoch: str) -> str:
    """Return the key of the next call of a run: the same for every try of that call, and of no other call.

    A run may be dropped and begun again in the same rollout: what was asked since then is another question.
    """
    moment, since = "final" if run.final else run.type.value, int(run.since.timestamp() * 1000)
    return f"{epoch}.{run.rollout}.{moment}.{run.hook}.{since}.{run.accepted + run.refused}"


def id_of(run: HookRun, epoch: str) -> str:
    """Return the id of the next try of the next call."""
    return f"{key_of(run, epoch)}.{run.tries}"


def with_answer(run: HookRun, hook: Hook, called: HookResponse) -> HookRun:
    """Return the run with one more answer."""
    answer = answer_of(called.status)
    run = replace(run, answer=answer, status=called.status, text=called.text, last_at=called.at)
    if answer is HookAnswer.UNANSWERED:
        return replace(run, tries=run.tries + 1, unanswered_since=run.unanswered_since or called.at)
    run = replace(run, unanswered_since=None)
    if answer is HookAnswer.REFUSED and is_retried(hook, called.status, run.tries):
        return replace(run, tries=run.tries + 1)
    if answer is HookAnswer.REFUSED:
        return replace(run, tries=0, refused=run.refused + 1)
    return replace(run, tries=0, accepted=run.accepted + 1, since=called.at)


def satisfied(run: HookRun, hook: Hook, now: datetime) -> bool:
    """Return whether the gate of the hook is open: it has accepted as often as it must, and what it said still
    counts.
    """
    return has_accepted(run, hook) and not is_old(run, hook, now)


def is_old(run: HookRun, hook: Hook, now: datetime) -> bool:
    """Return whether a confirmation should long have been asked for again, as after a suspension: that is done
    first.
    """
    if hook.type is not HookType.CONFIRM_PROMOTION or not has_accepted(run, hook):
        return False
    moment = due_at(run, hook)
    return moment is not None and moment + LONGEST_ANSWER <= now


def has_accepted(run: HookRun, hook: Hook) -> bool:
    """Return whether the hook has accepted as often as its gate needs, however long ago."""
    if hook.type is HookType.CONFIRM_PROMOTION:
        return run.answer is HookAnswer.ACCEPTED
    return run.accepted >= (hook.iterations if hook.type is HookType.ROLLOUT else 1)


def failure_limit_exceeded(run: HookRun, hook: Hook) -> bool:
    """Return whether the hook has refused more often than it may, so that the rollout has to end."""
    return hook.type.counts_refusals and run.refused > hook.failure_limit


def expires_at(run: HookRun, hook: Hook, resumed_at: datetime | None) -> datetime | None:
    """Return when the agent gives up on a gate that does not open, or on a backend that does not answer; None where
    never.

    ``resumed_at``: when the last suspension ended; nobody was asked during it. What had expired before stays so.
    """
    begins = run.since if hook.type.confirms and not has_accepted(run, hook) else run.unanswered_since
    if hook.deadline is None or begins is None or hook.type is HookType.ROLLBACK:
        return None
    if resumed_at and not run.expired:
        begins = max(begins, resumed_at)
    return begins + timedelta(seconds=hook.deadline)


def due_at(run: HookRun, hook: Hook, *, goes_on: bool = False) -> datetime | None:
    """Return when the hook is to be called next; None where never.

    ``goes_on``: call a rollout hook even while its gate is open.
    """
    once = hook.type in (HookType.CONFIRM_ROLLOUT, HookType.PRE_ROLLOUT, HookType.ROLLOUT)
    if (
        hook.manual
        or run.expired
        or failure_limit_exceeded(run, hook)
        or (once and has_accepted(run, hook) and not goes_on)
    ):
        return None
    if run.last_at is None:
        return run.since
    return run.last_at + (backoff(run.tries) if run.tries else timedelta(seconds=hook.interval))
