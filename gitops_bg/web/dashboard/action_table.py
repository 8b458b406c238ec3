"""The one table of what people do on the dashboard: to apps and to release groups, and who may."""

from dataclasses import replace

from gitops_bg.agent.operate.asked import AppCommand
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.version import AppKey, AppOrGroup
from gitops_bg.web.access.person import Access, Person, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action on an app."""

    command: AppCommand
    label: str
    """The words of its button."""
    role: Role
    """Who may."""
    needs_reason: bool = False
    at_forge: bool = False
    """Whether it is done there under the person's own account, so that who has none cannot."""
    effect: str
    """What it does, in one sentence."""


ACTIONS = {
    action.command: action
    for action in (
        Action(
            command=AppCommand.PROMOTE,
            label="Promote",
            role=Role.OPERATOR,
            effect="Commits the candidate's checked snapshot as primary.yaml. Live traffic follows once every gate is "
            "open.",
        ),
        Action(
            command=AppCommand.ROLL_BACK,
            label="Roll back",
            role=Role.OPERATOR,
            needs_reason=True,
            effect="Commits the older primary.yaml. Live traffic follows as soon as main has the commit; no gate "
            "stands in the way. The version that it leaves is on hold.",
        ),
        Action(
            command=AppCommand.ABORT,
            label="Abort",
            role=Role.OPERATOR,
            needs_reason=True,
            effect="Puts the candidate on hold, and takes traffic back from a version that is not proven yet. This "
            "works without Git, and is written to Git afterwards.",
        ),
        Action(
            command=AppCommand.RETRY,
            label="Retry",
            role=Role.OPERATOR,
            effect="Starts a new rollout of the target with fresh checks, whatever held or paused the last one.",
        ),
        Action(
            command=AppCommand.SUSPEND,
            label="Suspend",
            role=Role.OPERATOR,
            needs_reason=True,
            effect="No candidate and no promotion until it is resumed. Live traffic stays, and rollbacks still work.",
        ),
        Action(
            command=AppCommand.RESUME,
            label="Resume",
            role=Role.OPERATOR,
            effect="Ends the suspension, and lets the target be promoted again if it is on hold.",
        ),
        Action(
            command=AppCommand.OPEN_GATE,
            label="Open the gate",
            role=Role.APPROVER,
            effect="The gate stays open, also for later versions and across restarts, until somebody closes it.",
        ),
        Action(
            command=AppCommand.CLOSE_GATE,
            label="Close the gate",
            role=Role.APPROVER,
            effect="The gate is shut from now on. What it has let through is not taken back; abort does that.",
        ),
        Action(
            command=AppCommand.APPROVE,
            label="Approve",
            role=Role.APPROVER,
            at_forge=True,
            effect="Writes a review that approves, under your account at the forge. It counts for this content: other "
            "content needs another one.",
        ),
        Action(
            command=AppCommand.WITHDRAW_APPROVAL,
            label="Withdraw approval",
            role=Role.APPROVER,
            at_forge=True,
            effect="Takes your review at the forge back. What was promoted stays.",
        ),
    )
}
"""Every action on an app, by what is asked for, which is also the last part of its path."""

OF_GROUPS = {
    action.command: action
    for action in (
        replace(
            ACTIONS[AppCommand.PROMOTE],
            effect="Names the version active in group.yaml, for all its services together. Requests follow once every "
            "gate is open.",
        ),
        replace(
            ACTIONS[AppCommand.ROLL_BACK],
            effect="Names the version before active in group.yaml again. Requests follow as soon as main has the "
            "commit; no gate stands in the way.",
        ),
        replace(
            ACTIONS[AppCommand.ABORT],
            effect="Puts the version that is on its way on hold, and takes requests back from one that is not proven "
            "yet. An agent does this, and writes it to Git afterwards.",
        ),
        replace(
            ACTIONS[AppCommand.RETRY],
            effect="Tries the version that group.yaml names again with fresh checks, whatever held or paused it.",
        ),
        replace(
            ACTIONS[AppCommand.SUSPEND],
            effect="Nothing of the group is promoted until it is resumed. Requests stay, and rollbacks still work.",
        ),
        replace(
            ACTIONS[AppCommand.RESUME],
            effect="Ends the suspension, and lets what group.yaml names be tried again if it is on hold.",
        ),
        ACTIONS[AppCommand.OPEN_GATE],
        ACTIONS[AppCommand.CLOSE_GATE],
        ACTIONS[AppCommand.APPROVE],
        ACTIONS[AppCommand.WITHDRAW_APPROVAL],
    )
}
"""Every action on a release group."""


def actions_for(person: Person | None, access: Access, subject: AppOrGroup) -> tuple[Action, ...]:
    """Return what somebody may do to an app or a release group."""
    table = ACTIONS if isinstance(subject, AppKey) else OF_GROUPS
    return tuple(each for each in table.values() if access.may(person, each.role, subject.namespace))
