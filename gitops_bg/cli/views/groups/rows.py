"""Groups at a glance: the rows and the picture of `group get`, from the live objects alone. Decides nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Group
from rich.text import Text

from gitops_bg.cli.views.app_row import branch_of, style_of, tells_branches
from gitops_bg.cli.views.listing import Column, Line, Listing
from gitops_bg.cli.views.output import said
from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.groups.model import GroupKey
from gitops_bg.spec.groups.status import GroupStatus


@dataclass(frozen=True, slots=True)
class GroupRow:
    """What is shown of one group. Two are equal if nothing changed that is shown."""

    group: GroupKey
    status: GroupStatus
    """Without the agent's record."""
    branch: str = ""
    """The branch that is followed; empty where the live object does not say."""

    def json(self) -> dict[str, Any]:
        """Return the group for programs."""
        return {
            "namespace": self.group.namespace,
            "name": self.group.name,
            "branch": self.branch,
            **self.status.stored(),
        }


def row_of(body: Object) -> GroupRow:
    """Return the row of a live ReleaseGroup."""
    status = GroupStatus.read(body.get("status")).model_copy(update={"record": None})
    metadata = body["metadata"]
    return GroupRow(GroupKey(metadata["namespace"], metadata["name"]), status, branch_of(metadata))


_COLUMNS = (
    Column("GROUP"),
    Column("ACTIVE"),
    Column("LEGACY", 1),
    Column("CANDIDATES"),
    Column("PHASE"),
    Column("MESSAGE", wide=True),
)


def list_of(rows: Iterable[GroupRow], _now: datetime, *, wide: bool = False) -> Listing:
    """Return groups as a table."""
    shown = tuple(rows)
    columns, branches = list(_COLUMNS), tells_branches(row.branch for row in shown)
    if branches:
        columns.insert(1, Column("BRANCH"))
    return Listing(columns, (_line(row, branches=branches) for row in shown), wide=wide)


def _line(row: GroupRow, *, branches: bool) -> Line:
    status, followed = row.status, ((row.branch or "-",) if branches else ())
    cells = (row.group, *followed, status.active or "-", status.legacy or "-", _candidates(row) or "-")
    phase = said(status.phase or "-", style_of(status.phase or ""))
    return Line((*map(said, cells), phase, said(status.message or "-")))


def line_of(row: GroupRow) -> str:
    """Return one group as a line of text."""
    status = row.status
    active = f"{status.active} serves" if status.active else "nothing serves"
    legacy = f"back to {status.legacy}" if status.legacy else ""
    candidates = f"candidates {_candidates(row)}" if status.candidates else ""
    moving = f"{status.transition.kind}: {status.transition.step}" if status.transition else ""
    parts = (str(row.group), status.phase or "Unknown", active, legacy, candidates, moving, status.message or "")
    return "  ".join(part for part in parts if part)


def _candidates(row: GroupRow) -> str:
    return ", ".join(row.status.candidates or ())


def picture_of(row: GroupRow, _now: datetime) -> Group:
    """Return one group: its versions with their services, what moves, and what it waits for."""
    return Group(*_lines(row))


def _lines(row: GroupRow) -> Iterator[Text]:
    status, phase = row.status, row.status.phase or ""
    yield said(f"{row.group}  {phase}  {status.message or ''}", style_of(phase))
    for version in status.versions or ():
        yield said(f"  {version.name}  {version.stage}  {', '.join(version.services or ())}")
    if status.transition is not None:
        moving = status.transition
        yield said(f"  {moving.kind} {moving.source} -> {moving.target}: {moving.step}")
    for gate in status.gates or ():
        yield said(f"  {'open' if gate.open else 'shut'}  {gate.kind}: {gate.reason or ''}")
