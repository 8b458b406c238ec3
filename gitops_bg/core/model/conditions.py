"""The words for the state of an app or a release group: its phase, its conditions, and what the phase means to tools
for any kind of object (Flux, Argo CD, ``kubectl wait``).

What is the matter comes from a table of situations, and the first that holds counts: `core.checks.situations` for apps,
`core.status.groups` for groups. Ready, Reconciling and Stalled follow the rules of kstatus
(https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md): Stalled means failed, Reconciling
means on its way, not Ready means not arrived. Reconciling and Stalled exist only while True: an app that waits for a
person is not Ready, and has neither.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, StrEnum
from typing import Generic, TypeVar

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.actions import CommitPrimary


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
ANALYSIS_PASSED, LEDGER_TRUSTED = "AnalysisPassed", "LedgerTrusted"
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


AUTHOR = "the author of the file"
COMMITTER = "who pushed the commit"
PROMOTER = "who promotes this app"
OPERATOR = "who operates this app"
PLATFORM = "who runs the cluster"
REMOTE = "who runs the Git remote"
NOBODY = "nobody"
"""Who has to act; with NOBODY the app goes on by itself."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one condition means. ``traffic``: where requests go now. ``who`` must do ``what``; ``command`` helps."""

    traffic: str
    who: str
    what: str
    command: str = "gitops-bg explain {app}"

    def of(self, app: object) -> "Meaning":
        """The meaning for one app, or release group: what says NAMESPACE/NAME."""
        return Meaning(self.traffic, self.who, self.what, self.command.replace("{app}", str(app)))

    @property
    def asks(self) -> bool:
        """Whether somebody must do something."""
        return self.who not in ("", NOBODY)


W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Situation(Generic[W]):
    """What may be the matter, in one row: what holds, in which phase that is, and which condition says so."""

    condition: str
    """The type of the condition; with its reason, a row of ``core.status.meanings`` says who must act. Empty: nobody
    must.
    """
    says: Callable[[W], str]
    """A sentence about a world; empty where the situation does not hold."""
    phase: Phase | None = None
    """The phase, where no row before it holds; None: it changes no phase."""
    reason: str = ""
    """Of the condition, which lasts as long as the situation; empty: the condition is made with others of its type."""
    status: bool | None = True
    """Of the condition."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The situation that counts: the phase, the sentence, and the condition that says who must act."""

    phase: Phase
    message: str
    condition: str


def first_that_holds(situations: Iterable[Situation[W]], world: W) -> Standing:
    """What is the matter, by a table from the most urgent situation to the calmest; the last row always holds."""
    found = ((row, row.phase, row.says(world)) for row in situations if row.phase is not None)
    return next(Standing(phase, said, row.condition) for row, phase, said in found if said)


def conditions_that_hold(situations: Iterable[Situation[W]], world: W) -> Iterator[Condition]:
    """The conditions of a table: of each type the first that holds, and none where no row does."""
    shown = set[str]()
    for row in situations:
        if row.reason and row.condition not in shown and (said := row.says(world)):
            shown.add(row.condition)
            yield Condition(row.condition, row.status, row.reason, said)


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
    """Whether an app in this phase goes on by itself; not in one that only another release knows.

    >>> progresses("Promoting"), progresses("Healthy"), progresses("Dancing")
    (True, False, False)
    """
    return phase in _PROGRESSING


def goes_on_by_itself(phase: Phase, actions: Iterable[object]) -> bool:
    """Whether it needs nobody and no later time to go on, by what was decided: it is progressing, or Git is about to
    promote it.
    """
    return progresses(phase) or any(isinstance(action, CommitPrimary) for action in actions)
