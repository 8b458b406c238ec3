"""One release group at a glance: its row of `get`, from the live object alone. Decides nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.text import Text

from gitops_bg.cli.output import said
from gitops_bg.cli.views.app_row import age, branch_of
from gitops_bg.cli.views.condition_meanings import demanded
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.glance import GroupGlance


@dataclass(frozen=True, slots=True)
class GroupRow:
    """What is shown of one group. Two are equal if nothing changed that is shown."""

    namespace: str
    name: str
    glance: GroupGlance
    status: Mapping[str, Any]
    """As it is live, without the agent's record."""
    created: str = ""
    demands: tuple[Condition, ...] = ()
    """The conditions that demand an action of somebody."""
    branch: str = ""
    """The branch that is followed; empty where the live object does not say."""

    @property
    def key(self) -> GroupKey:
        """The group of the row."""
        return GroupKey(self.namespace, self.name)

    @property
    def called(self) -> str:
        """What it is, in a list of apps and groups."""
        return "group"

    @property
    def phase(self) -> str:
        """One word for where it is."""
        return self.glance.phase or "Unknown"

    @property
    def members(self) -> tuple[str, ...]:
        """The apps of its services."""
        return self.glance.members

    def json(self) -> dict[str, Any]:
        """Return the row for programs."""
        from gitops_bg.spec.groups.status import GroupStatus

        place = {"kind": "group", "namespace": self.namespace, "name": self.name, "branch": self.branch}
        return {**place, **GroupStatus.read(self.status).stored()}

    def cells(self, now: datetime) -> dict[str, Text]:
        """Return what stands below the titles of a list; no text where there is nothing to say."""
        return {
            "ACTIVE": said(self.glance.active),
            "CANDIDATE": said(", ".join(self.glance.candidates)),
            "PULL REQUEST": said(self.glance.pull_request),
            "AGE": said(age(self.created, now)),
            "PROMOTION": said(self.glance.message),
        }

    @property
    def line(self) -> str:
        """The row as a line of text."""
        return "  ".join(part for part in self._parts() if part)

    def _parts(self) -> Iterator[str]:
        seen = self.glance
        yield from (str(self.key), self.phase)
        yield f"{seen.active} serves" if seen.active else "nothing serves"
        yield f"back to {seen.legacy}" if seen.legacy else ""
        yield f"candidates {', '.join(seen.candidates)}" if seen.candidates else ""
        yield seen.message


def group_row_of(body: Mapping[str, Any]) -> GroupRow:
    """Return the row of a live ReleaseGroup."""
    metadata, status = body["metadata"], body.get("status") or {}
    seen, key = GroupGlance.read(status), GroupKey(metadata["namespace"], metadata["name"])
    return GroupRow(
        namespace=key.namespace,
        name=key.name,
        glance=seen,
        status={name: each for name, each in status.items() if name != "record"},
        created=metadata.get("creationTimestamp") or "",
        demands=tuple(demanded(key, seen.conditions)),
        branch=branch_of(metadata),
    )
