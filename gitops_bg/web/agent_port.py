"""The web's view of the agent: a few questions and one request, and the shapes of what it answers over HTTP, as
docs/reference/api.md shows them. The web must use nothing else of the agent.
"""

from typing import NotRequired, Protocol

from typing_extensions import TypedDict

from gitops_bg.agent.groups.commands import GroupCommands
from gitops_bg.agent.metrics import Metrics


class AgentView(Protocol):
    """The agent as the web sees it. All calls come from the web's thread and must not block."""

    @property
    def metrics(self) -> Metrics:
        """The metrics for /metrics."""
        ...

    @property
    def webhook_secret(self) -> bytes | None:
        """The secret that signs webhooks; None or empty where none is configured: then no webhook is accepted."""
        ...

    @property
    def api_token(self) -> bytes | None:
        """The token that the API of groups asks for; None or empty where none is configured: then it is off."""
        ...

    @property
    def group_commands(self) -> GroupCommands:
        """What may be asked of groups. Its calls take a while: they are made in threads of their own."""
        ...

    def liveness_problems(self) -> list[str]:
        """Return why the process should be restarted (a loop that no longer ticks); empty while it is alive."""
        ...

    def readiness_problems(self) -> list[str]:
        """Return what the agent still needs before it can work (a cache, the first look at Git); empty when ready."""
        ...

    def unmanaged(self) -> list[str]:
        """Return in which namespaces the agent can do nothing at present, and why, although it manages the others."""
        ...

    def wake(self, reason: str) -> None:
        """Look at Git now instead of at the next poll. Calls during a look make one more, once it ends."""
        ...

    def poll_forge(self, reason: str) -> None:
        """Look at the forge now. Its requests are counted and limited, so do not ask often."""
        ...


class HealthAnswer(TypedDict):
    """Of /healthz."""

    ok: bool
    reasons: list[str]


class ReadyAnswer(HealthAnswer):
    """Of /readyz."""

    unmanaged: list[str]
    """Namespaces in which the agent can do nothing at present, and why. It manages the others."""


class MessageAnswer(TypedDict):
    """Of the webhook, and of what was not done."""

    message: str
    reason: NotRequired[str]


class VersionRow(TypedDict):
    """One version of a group."""

    version: str
    stage: str
    updatedWhen: str


class Where(TypedDict):
    """Where a change of a group is."""

    commit: str
    branch: NotRequired[str]
    """The branch to merge, where main takes no commit from the agent."""
    pullRequest: NotRequired[str]


class AskedAnswer(Where):
    """Of a promotion or a rollback of a group."""

    versions: list[VersionRow]


class DeletedAnswer(Where, VersionRow):
    """Of the deletion of a version of a group."""
