"""The conditions Ready, Reconciling and Stalled, which tools of any object understand: Flux, Argo CD, ``kubectl wait``.

Their rules are kstatus's (https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md): who is
Stalled has failed, who is Reconciling is on its way, who is not Ready has not arrived. An app that waits for a person
is neither of the three.
"""

from collections.abc import Mapping
from enum import Enum

from gitops_bg.core.decision import Condition, Phase

READY, RECONCILING, STALLED = "Ready", "Reconciling", "Stalled"


class Outlook(Enum):
    """Whether an app has arrived, and if not, whom that depends on."""

    ARRIVED = "what Git asks for is live"
    MOVING = "it goes on by itself"
    WAITING = "it waits for a person"
    STUCK = "it does not go on until somebody mends it"


OUTLOOKS: Mapping[Phase, Outlook] = {
    Phase.HEALTHY: Outlook.ARRIVED,
    Phase.DEPLOYING: Outlook.MOVING,
    Phase.PROGRESSING: Outlook.MOVING,
    Phase.PROMOTING: Outlook.MOVING,
    Phase.ROLLING_BACK: Outlook.MOVING,
    Phase.RESTARTING: Outlook.MOVING,
    Phase.AWAITING_PROMOTION: Outlook.WAITING,
    Phase.WAITING: Outlook.WAITING,
    Phase.PAUSED: Outlook.WAITING,
    Phase.SUSPENDED: Outlook.WAITING,
    Phase.SCALED_TO_ZERO: Outlook.WAITING,
    Phase.HELD: Outlook.STUCK,
    Phase.INVALID: Outlook.STUCK,
    Phase.DEGRADED: Outlook.STUCK,
}


def kstatus_of(phase: Phase, message: str) -> tuple[Condition, ...]:
    """The three, with the phase as their reason; ``message`` says why the app is in it.

    >>> [(one.type, one.status) for one in kstatus_of(Phase.HELD, "v2 failed its analysis")]
    [('Ready', False), ('Reconciling', False), ('Stalled', True)]
    """
    outlook = OUTLOOKS[phase]
    return (
        Condition(READY, outlook is Outlook.ARRIVED, phase.value, message),
        Condition(RECONCILING, outlook is Outlook.MOVING, phase.value, outlook.value),
        Condition(STALLED, outlook is Outlook.STUCK, phase.value, outlook.value),
    )
