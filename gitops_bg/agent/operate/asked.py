"""What somebody asks of an app or a release group over HTTP, what would be done, and what became of it; and what they
have in common that is done by a request to the agent that works.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum

from gitops_bg.agent.operate.personal_forge import PersonalForge
from gitops_bg.agent.operate.requests import gate_named, new_gate_request
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import CommandFailed
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import HookState
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.repo.write.commits import Requester


class AppCommand(StrEnum):
    """What can be asked of an app."""

    PROMOTE = "promote"
    ROLL_BACK = "rollback"
    ABORT = "abort"
    RETRY = "retry"
    SUSPEND = "suspend"
    RESUME = "resume"
    OPEN_GATE = "open-gate"
    CLOSE_GATE = "close-gate"
    APPROVE = "approve"
    WITHDRAW_APPROVAL = "withdraw-approval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What somebody asks of an app or a release group, and what they saw when they did."""

    command: AppCommand
    by: Requester
    reason: str = ""
    digest: str = ""
    """The candidate that they saw; empty: any."""
    head: str = ""
    """The commit of main that they saw; empty: any."""
    version: int | None = None
    """Of a rollback: to which; None: the last good one."""
    version_of_group: str = ""
    """Of a promotion of a release group: which."""
    gate: str = ""
    """Which gate; not needed where there is only one."""
    until: datetime | None = None
    """Of a suspension: its end."""
    overrides: tuple[str, ...] = ()
    """Of a promotion: the policies in spite of which."""
    account: PersonalForge | None = None
    """Their account at the forge, where they logged in with that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of it."""

    says: str
    commit: str = ""
    """Empty where none was made."""
    branch: str = ""
    """Where it waits for its merge, because main takes no commit from the agent; else empty."""
    pull: str = ""
    """The address of the pull request of that branch, once the forge has one; else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCommand:
    """What would be done, before anybody is sure."""

    says: str
    carry_out: Callable[[], Answer]
    """Does it. Raises the errors of ``core.errors``: `WorldChanged` where somebody was faster."""
    waits: tuple[str, ...] = ()
    """What traffic would wait for."""
    changes: tuple[str, ...] = ()
    """The changes of ConfigMaps and Secrets that come with it."""
    digest: str = ""
    """The version that it is about; empty where it is about none."""
    head: str = ""
    """The commit of main that it was planned from."""
    overridable: tuple[str, ...] = ()
    """The policies in spite of which the person may do it, and does not yet."""


Send = Callable[[Request], object]
"""Leaves a request for the agent that works."""


def by_request(request: Request, send: Send, says: str, digest: str = "") -> PlannedCommand:
    """Return what is done by a request; ``says`` is that as a sentence."""

    def carry_out() -> Answer:
        send(request)
        return Answer(says=f"{says}: the agent was asked, and does it now")

    return PlannedCommand(says=says, carry_out=carry_out, digest=digest)


def gate_command(
    about: AppOrGroup, asked: Asked, gates: Sequence[Hook], hooks: HookState, file: str, send: Send
) -> PlannedCommand:
    """Return the opening or closing of one of these manual gates, which ``file`` has. Raises `ObjectNotFound`, and
    `CommandFailed` where it is so already.
    """
    opens, hook = asked.command is AppCommand.OPEN_GATE, gate_named(about, gates, asked.gate, file)
    if (hooks.gate(hook.name) is not None) is opens:
        raise CommandFailed(f"{about}: the gate {hook.name} is {'open' if opens else 'closed'} already")
    verb = OperatorCommand.OPEN_GATE if opens else OperatorCommand.CLOSE_GATE
    request = new_gate_request(verb, str(asked.by), asked.reason, hook.name)
    return by_request(request, send, f"{about}: would {'open' if opens else 'close'} the gate {hook.name}")
