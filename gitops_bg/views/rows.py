"""Apps and release groups at a glance: a row of each, from the live object alone, and all of them in one list. Shows
what the agent wrote; decides nothing.

A member of a group stands below its group, which it names: it is an app like any other, and what it lacks is seen here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.version import AppKey, GroupKey, short
from gitops_bg.repo.settings import MAIN
from gitops_bg.spec.status import Gate, GroupStatus, Status, VersionStatus, conditions_of
from gitops_bg.views.conditions import Advised, demanded, json_of_condition
from gitops_bg.views.words import age


@dataclass(frozen=True, slots=True)
class Row:
    """What one line shows. ``version`` and ``candidate`` are numbers; 0 if there is none."""

    namespace: str
    name: str
    phase: str
    version: int
    color: str
    image: str
    candidate: int
    candidate_image: str
    promotion: str
    message: str
    created: str
    pull_request: str = ""
    """Number, address and state; empty where there is no pull request."""
    digest: str = ""
    """What the active version is."""
    demands: tuple[Condition, ...] = ()
    """The conditions that demand an action of somebody."""
    environment: str = ""
    """The environment of the repository that it is in; empty where that has none."""
    release: str = ""
    """The release that the active version is of, in an environment."""
    branch: str = ""
    """The branch that is followed; empty where the live object does not say."""
    active_name: str = ""
    candidate_name: str = ""
    group: str | None = None
    """The release group that it is a member of; empty where it is of none, None where nobody asked."""

    @property
    def key(self) -> AppKey:
        """The app of the row."""
        return AppKey(self.namespace, self.name)

    @property
    def advised(self) -> Advised:
        """What its advice is about."""
        return Advised(self.key, self.environment)

    @property
    def called(self) -> str:
        """What it is, in a list of apps and groups."""
        return f"app of {self.group}" if self.group else "app"

    def cells(self, now: datetime) -> dict[str, str]:
        """Return what stands below the titles of a list; empty where there is nothing to say."""
        return {
            "ACTIVE": self.active_name,
            "DIGEST": short(self.digest) if self.digest else "",
            "COLOR": self.color,
            "IMAGE": self.image,
            "CANDIDATE": self.candidate_name,
            "CANDIDATE IMAGE": self.candidate_image,
            "PULL REQUEST": self.pull_request,
            "AGE": age(self.created, now),
            "PROMOTION": self.promotion,
            "ENVIRONMENT": self.environment,
            "RELEASE": self.release,
        }

    @property
    def line(self) -> str:
        """The row as a line of text."""
        candidate = f"candidate {self.candidate_name}" if self.candidate else "no candidate"
        active = f"{self.active_name} {self.color}" if self.version else "nothing live"
        asked = ", ".join(each.type for each in self.demands)
        parts = (str(self.key), self.phase, active, candidate, self.promotion, asked)
        return "  ".join(part for part in parts if part)

    def json(self) -> dict[str, Any]:
        """Return the row for programs."""
        from gitops_bg.spec.codec import to_json

        demands = [json_of_condition(each, self.advised) for each in self.demands]
        return {"kind": "app", **to_json(self), "demands": demands}


def row_of(body: Mapping[str, Any]) -> Row:
    """Return the row of a live BlueGreenDeployment."""
    status, metadata = Status.read(body.get("status")), body["metadata"]
    key = AppKey(metadata["namespace"], metadata["name"])
    active, candidate = status.active or VersionStatus(), status.candidate or VersionStatus()
    return Row(
        namespace=key.namespace,
        name=key.name,
        phase=status.phase or "Unknown",
        version=active.version or 0,
        color=active.color or "",
        image=active.image or "",
        candidate=candidate.version or 0,
        candidate_image=candidate.image or "",
        promotion=_promotion(status.gates or ()),
        message=status.message or "",
        created=metadata.get("creationTimestamp") or "",
        pull_request=str(status.pull_request or ""),
        digest=active.digest or "",
        active_name=active.name or "",
        candidate_name=candidate.name or "",
        demands=tuple(demanded(key, conditions_of(status))),
        environment=status.environment or "",
        release=active.release or "",
        branch=branch_of(metadata),
    )


def branch_of(metadata: Mapping[str, Any]) -> str:
    """Return the branch that a live app or group follows; empty where it says none."""
    return str((metadata.get("annotations") or {}).get(names.BRANCH, ""))


def tells_branches(followed: Iterable[str]) -> bool:
    """Return whether branches are worth a column: something follows another one than the default."""
    return any(branch not in ("", MAIN) for branch in followed)


def _promotion(gates: Sequence[Gate]) -> str:
    """Return how many gates are open, and the first that is closed."""
    if not gates:
        return ""
    shut = [gate.kind for gate in gates if not gate.open]
    opened = f"{len(gates) - len(shut)}/{len(gates)}"
    return f"{opened}, waits for {shut[0]}" if shut else opened


@dataclass(frozen=True, slots=True)
class GroupRow:
    """What is shown of one group. Two are equal if nothing changed that is shown."""

    namespace: str
    name: str
    status: GroupStatus
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
    def advised(self) -> Advised:
        """What its advice is about."""
        return Advised(self.key)

    @property
    def called(self) -> str:
        """What it is, in a list of apps and groups."""
        return "group"

    @property
    def phase(self) -> str:
        """One word for where it is."""
        return self.status.phase or "Unknown"

    @property
    def members(self) -> tuple[str, ...]:
        """The apps of its services."""
        return tuple(dict.fromkeys(app for each in self.status.versions or () for app in each.services or ()))

    def json(self) -> dict[str, Any]:
        """Return the row for programs."""
        place = {"kind": "group", "namespace": self.namespace, "name": self.name, "branch": self.branch}
        return {**place, **self.status.stored()}

    def cells(self, now: datetime) -> dict[str, str]:
        """Return what stands below the titles of a list; empty where there is nothing to say."""
        return {
            "ACTIVE": self.status.active or "",
            "CANDIDATE": ", ".join(self.status.candidates or ()),
            "PULL REQUEST": str(self.status.pull_request or ""),
            "AGE": age(self.created, now),
            "PROMOTION": self.status.message or "",
        }

    @property
    def line(self) -> str:
        """The row as a line of text."""
        return "  ".join(part for part in self._parts() if part)

    def _parts(self) -> Iterator[str]:
        seen = self.status
        yield from (str(self.key), self.phase)
        yield f"{seen.active} serves" if seen.active else "nothing serves"
        yield f"back to {seen.legacy}" if seen.legacy else ""
        yield f"candidates {', '.join(seen.candidates)}" if seen.candidates else ""
        yield seen.message or ""


def group_row_of(body: Mapping[str, Any]) -> GroupRow:
    """Return the row of a live ReleaseGroup."""
    metadata, status = body["metadata"], GroupStatus.read(body.get("status"))
    key = GroupKey(metadata["namespace"], metadata["name"])
    return GroupRow(
        namespace=key.namespace,
        name=key.name,
        status=msgspec.structs.replace(status, record=None),
        created=metadata.get("creationTimestamp") or "",
        demands=tuple(demanded(key, conditions_of(status))),
        branch=branch_of(metadata),
    )


AnyRow = Row | GroupRow


def rows_of(apps: Iterable[Mapping[str, Any]], groups: Iterable[Mapping[str, Any]] = ()) -> tuple[AnyRow, ...]:
    """Return the rows of live BlueGreenDeployments and ReleaseGroups, by namespace and name; members below their
    group.
    """
    return in_order(map(row_of, apps), map(group_row_of, groups))


def in_order(apps: Iterable[Row], groups: Iterable[GroupRow]) -> tuple[AnyRow, ...]:
    """Return all of them by namespace and name, each app with its group, and below it."""
    of_groups = tuple(groups)
    of = {AppKey(each.namespace, app): each.name for each in of_groups for app in each.members}
    of_apps = (replace(row, group=of.get(row.key, "")) for row in apps)
    return tuple(sorted((*of_apps, *of_groups), key=_place))


def _place(row: AnyRow) -> tuple[str, str, bool, str]:
    group = row.group if isinstance(row, Row) else ""
    return row.namespace, group or row.name, bool(group), row.name
