"""The shapes of what the agent answers over HTTP, as docs/reference/api.md shows them. Nothing runs here."""

from typing import NotRequired

from typing_extensions import TypedDict


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
