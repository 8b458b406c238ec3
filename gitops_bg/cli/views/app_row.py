"""One app at a glance: the row of `get`, from the live object alone. Shows what the agent wrote; decides nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Group
from rich.table import Table

from gitops_bg.cli.options.durations import spoken
from gitops_bg.cli.views.condition_meanings import drawn_together, json_of
from gitops_bg.cli.views.output import said
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.meanings import demands
from gitops_bg.spec.glance import GateGlance, Glance

_STYLES = {
    Phase.HEALTHY: "green",
    Phase.HELD: "yellow",
    Phase.SCALED_TO_ZERO: "yellow",
    Phase.SUSPENDED: "yellow",
    Phase.PAUSED: "yellow",
    Phase.WAITING: "cyan",
    Phase.AWAITING_PROMOTION: "cyan",
    Phase.INVALID: "red",
    Phase.DEGRADED: "red",
    Phase.ROLLING_BACK: "magenta",
}


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
    demands: tuple[Condition, ...] = ()
    """The conditions that demand an action of somebody."""

    @property
    def app(self) -> AppKey:
        """The app of the row."""
        return AppKey(self.namespace, self.name)

    def json(self) -> dict[str, Any]:
        """Return the row for programs."""
        from gitops_bg.spec.codec import to_json

        return to_json(self) | {"demands": [json_of(each, self.app) for each in self.demands]}


def row_of(body: Mapping[str, Any]) -> Row:
    """Return the row of a live BlueGreenDeployment."""
    status, metadata = Glance.read(body.get("status")), body["metadata"]
    active, candidate = status.active, status.candidate
    return Row(
        namespace=metadata["namespace"],
        name=metadata["name"],
        phase=status.phase or "Unknown",
        version=active.number,
        color=active.color,
        image=active.image,
        candidate=candidate.number,
        candidate_image=candidate.image,
        promotion=_promotion(status.gates),
        message=status.message,
        created=metadata.get("creationTimestamp") or "",
        pull_request=status.pull_request,
        demands=tuple(demands(status.conditions)),
    )


def rows_of(bodies: Iterable[Mapping[str, Any]]) -> tuple[Row, ...]:
    """Return the rows of live BlueGreenDeployments, by namespace and name."""
    return tuple(sorted(map(row_of, bodies), key=lambda row: (row.namespace, row.name)))


def _promotion(gates: Sequence[GateGlance]) -> str:
    """Return how many gates are open, and the first that is closed."""
    if not gates:
        return ""
    shut = [gate.kind for gate in gates if not gate.open]
    opened = f"{len(gates) - len(shut)}/{len(gates)}"
    return f"{opened}, waits for {shut[0]}" if shut else opened


def list_of(rows: Iterable[Row], now: datetime) -> Group:
    """Return the rows as a table, followed by what somebody has to do."""
    shown = tuple(rows)
    together = drawn_together((row.app, row.demands) for row in shown)
    return Group(table_of(shown, now), *(part for group in together for part in ("", group)))


def table_of(rows: Iterable[Row], now: datetime) -> Table:
    """Return the rows as a table."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("NAMESPACE", "NAME", "PHASE", "ACTIVE", "COLOUR", "IMAGE", "CANDIDATE", "PROMOTION", "AGE"):
        table.add_column(title, no_wrap=title in ("NAME", "PHASE"), overflow="fold")
    for row in rows:
        table.add_row(*cells(row, now))
    return table


def cells(row: Row, now: datetime) -> Iterator[Any]:
    """Yield the cells of one row."""
    yield said(row.namespace)
    yield said(row.name, "bold")
    yield said(row.phase, style_of(row.phase))
    yield said(f"v{row.version}" if row.version else "-")
    yield said(row.color or "-", row.color if row.color in ("blue", "green") else "")
    yield said(row.image or "-")
    yield said(f"v{row.candidate} {row.candidate_image}" if row.candidate else "-")
    yield said(row.promotion or "-")
    yield said(age(row.created, now))


def style_of(phase: str) -> str:
    """Return the style in which a phase is printed."""
    return _STYLES.get(Phase(phase), "") if phase in set(Phase) else "dim"


def age(created: str, now: datetime) -> str:
    """Return how long ago a timestamp of Kubernetes was.

    >>> from datetime import UTC
    >>> age("2026-01-01T00:00:00Z", datetime(2026, 1, 1, 1, tzinfo=UTC))
    '1h'
    """
    return spoken((now - datetime.fromisoformat(created)).total_seconds()) if created else "-"
