"""The words for the state of an app or a release group: its phase, its conditions, and what the phase means to tools
for any kind of object (Flux, Argo CD, ``kubectl wait``).

What is the matter comes from a table of situations, and the first that holds counts: `core.checks.situations` for apps,
`core.status.groups` for groups. Ready, Reconciling and Stalled follow the rules of kstatus
(https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md): Stalled means failed, Reconciling
means on its way, not Ready means not arrived. Reconciling and Stalled exist only while True: an app that waits for a
person is not Ready, and has neither.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum, StrEnum
from typing import Generic, TypeVar

from gitops_bg.core.dataclass import dataclass


class Phase(StrEnum):
    """One word for the state of an app; the first match wins, see ``core.status.conditions``."""

    INVALID = "Invalid"
    SUSPENDED = "Suspended"
    ADOPTING = "Adopting"
    DEPLOYING = "Deploying"
    ROLLING_BACK = "RollingBack"
    DEGRADED = "Degraded"
    SCALED_TO_ZERO = "ScaledToZero"
    WAITING = "Waiting"
    PAUSED = "Paused"
    PROMOTING = "Promoting"
    RESTARTING = "Restarting"
    PROGRESSING = "Progressing"
    AWAITING_PROMOTION = "AwaitingPromotion"
    HELD = "Held"
    HEALTHY = "Healthy"


INVALID_SPEC, PROMOTION_REJECTED, DIVERGED = "InvalidSpec", "PromotionRejected", "Diverged"
FOLDER_MISSING = "FolderMissing"
"""The types, and a reason, of conditions that people are alerted to."""

SUSPENDED, ON_HOLD = "Suspended", "OnHold"
ANALYSIS_PASSED, LEDGER_TRUSTED, INTERNAL_ERROR = "AnalysisPassed", "LedgerTrusted", "InternalError"
GIT_REACHABLE, HISTORY_REWRITTEN, SOURCE_VERIFIED = "GitReachable", "HistoryRewritten", "SourceVerified"
"""The types of conditions that apps and groups have alike."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of the status; ``kubectl wait --for=condition=<type>`` reads it.

    Where a condition is absent, nothing of its kind is wrong, going on or asked for (``docs/reference/status.md``).
    The writer of the status keeps the time of the last transition; it is not part of the decision.
    """

    type: str
    status: bool | None
    """None: unknown at present, ``Unknown`` on Kubernetes."""
    reason: str
    message: str


class Who(StrEnum):
    """Who has to act; with ``NOBODY`` the app goes on by itself."""

    AUTHOR = "the author of the file"
    COMMITTER = "who pushed the commit"
    PROMOTER = "who promotes this app"
    OPERATOR = "who operates this app"
    PLATFORM = "who runs the cluster"
    REMOTE = "who runs the Git remote"
    NOBODY = "nobody"


_EXPLAIN = "gitops-bg explain {app}"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one condition means. ``traffic``: where requests go now. ``who`` must do ``what``; ``command`` helps, with
    NAMESPACE/NAME for ``{app}``, and its promotion branch for ``{branch}``.
    """

    traffic: str
    who: str
    what: str
    command: str = _EXPLAIN

    def of(self, app: object, branch: str) -> "Meaning":
        """Return the meaning for one app, or release group: what says NAMESPACE/NAME, and its promotion branch."""
        return replace(self, command=self.command.replace("{app}", str(app)).replace("{branch}", branch))

    @property
    def asks(self) -> bool:
        """Whether somebody must do something."""
        return self.who not in ("", Who.NOBODY)


Meanings = Mapping[tuple[str, str], Meaning]
"""Rows by the type and the reason of a condition."""
ANY = ""
"""Stands for every reason without a row of its own, where reasons come from Kubernetes or from hooks."""

CALM = Meaning("", "", "", "")
"""Nothing is to be done: not worth a line. (Where nothing else is to be said either, there is no condition.)"""
STAYS, NOTHING_YET = "stays with the live version", "nothing serves yet"
AS_BEFORE, TAKEN_OVER = "goes to the Deployment's pods as before", "goes to the pods of the app"
AS_IT_IS = (STAYS, NOTHING_YET, AS_BEFORE, TAKEN_OVER)
"""What is said of live traffic where it stays."""
RESUME_IT = Meaning(
    STAYS, Who.OPERATOR, "resume it when the reason is gone; going back works", "gitops-bg resume {app}"
)
BROKEN = Meaning(STAYS, Who.AUTHOR, "correct the line that is named, and push", "gitops-bg check")
"""What several conditions mean, of apps and of groups."""


def meaning_of(kind: str, reason: str, table: Meanings) -> Meaning | None:
    """Return the row of a condition's type and reason; None where this version does not know them."""
    return table.get((kind, reason)) or table.get((kind, ANY))


W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Situation(Generic[W]):
    """What may be the matter, in one row: what holds, in which phase that is, which condition says so, and what that
    means: for traffic, and who must do what.
    """

    condition: str
    """The type of the condition. Empty: nobody must act."""
    says: Callable[[W], str]
    """A sentence about a world; empty where the situation does not hold."""
    phase: Phase | None = None
    """The phase, where no row before it holds; None: it changes no phase."""
    reason: str = ""
    """Of the condition, which lasts as long as the situation; empty: the condition is made, and its meaning is said,
    with others of its type.
    """
    status: bool | None = True
    """Of the condition."""
    meaning: Meaning | None = None
    """Of a condition with a reason; `CALM` where nothing is to be done."""

    def means(self, traffic: str, who: str, what: str, command: str = _EXPLAIN) -> "Situation[W]":
        """Return the row with what it means (`Meaning`)."""
        return replace(self, meaning=Meaning(traffic, who, what, command))


@dataclass(frozen=True, slots=True)
class Standing:
    """The situation that counts: the phase, the sentence, and the condition that says who must act."""

    phase: Phase
    message: str
    condition: str


def first_that_holds(situations: Iterable[Situation[W]], world: W) -> Standing:
    """Return what is the matter, by a table from the most urgent situation to the calmest; the last row always
    holds.
    """
    found = ((row, row.phase, row.says(world)) for row in situations if row.phase is not None)
    return next(Standing(phase, said, row.condition) for row, phase, said in found if said)


def conditions_that_hold(situations: Iterable[Situation[W]], world: W) -> Iterator[Condition]:
    """Yield the conditions of a table: of each type the first that holds, and none where no row does."""
    shown = set[str]()
    for row in situations:
        if row.reason and row.condition not in shown and (said := row.says(world)):
            shown.add(row.condition)
            yield Condition(row.condition, row.status, row.reason, said)


def meanings_of(situations: Iterable[Situation[W]]) -> Meanings:
    """Return what the conditions of a table mean."""
    return {(row.condition, row.reason): row.meaning for row in situations if row.meaning is not None}


READY, RECONCILING, STALLED = "Ready", "Reconciling", "Stalled"
OF_THE_PHASE = ("Healthy", READY, RECONCILING, STALLED)
"""The types of the conditions that repeat the phase; groups have no ``Healthy``."""


class Health(Enum):
    """The health of an app in Argo CD's words, each with its meaning here."""

    HEALTHY = "what Git asks for is live"
    PROGRESSING = "it goes on by itself"
    SUSPENDED = "it waits for a person"
    DEGRADED = "it does not go on until somebody mends it"


HEALTH: Mapping[Phase, Health] = {
    Phase.HEALTHY: Health.HEALTHY,
    Phase.ADOPTING: Health.PROGRESSING,
    Phase.DEPLOYING: Health.PROGRESSING,
    Phase.PROGRESSING: Health.PROGRESSING,
    Phase.PROMOTING: Health.PROGRESSING,
    Phase.ROLLING_BACK: Health.PROGRESSING,
    Phase.RESTARTING: Health.PROGRESSING,
    Phase.AWAITING_PROMOTION: Health.SUSPENDED,
    Phase.WAITING: Health.SUSPENDED,
    Phase.PAUSED: Health.SUSPENDED,
    Phase.SUSPENDED: Health.SUSPENDED,
    Phase.SCALED_TO_ZERO: Health.SUSPENDED,
    Phase.HELD: Health.DEGRADED,
    Phase.INVALID: Health.DEGRADED,
    Phase.DEGRADED: Health.DEGRADED,
}


_PROGRESSING = frozenset(phase for phase, health in HEALTH.items() if health is Health.PROGRESSING)


def kstatus_of(phase: Phase, message: str) -> Iterator[Condition]:
    """Ready, and what else is so, with the phase as their reason; ``message`` says why the app is in it.

    >>> [(one.type, one.status) for one in kstatus_of(Phase.HELD, "v2 failed its analysis")]
    [('Ready', False), ('Stalled', True)]
    """
    health = HEALTH[phase]
    yield Condition(READY, health is Health.HEALTHY, phase.value, message)
    if health is Health.PROGRESSING:
        yield Condition(RECONCILING, True, phase.value, health.value)
    if health is Health.DEGRADED:
        yield Condition(STALLED, True, phase.value, health.value)


def progresses(phase: str) -> bool:
    """Return whether an app in this phase goes on by itself; not in one that only another release knows.

    >>> progresses("Promoting"), progresses("Healthy"), progresses("Dancing")
    (True, False, False)
    """
    return phase in _PROGRESSING
