"""The conditions Ready, Reconciling and Stalled, which tools for any kind of object read: Flux, Argo CD, ``kubectl
wait``.

Their rules are kstatus's (https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md): Stalled
means failed, Reconciling means on its way, not Ready means not arrived. Reconciling and Stalled exist only while True:
an app that waits for a person is not Ready, and has neither.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from gitops_bg.core.model.actions import CommitPrimary
from gitops_bg.core.model.conditions import Condition, Phase

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
