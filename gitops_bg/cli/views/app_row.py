"""One app at a glance: the row of `get`, from the live object alone. Shows what the agent wrote; decides nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Group
from rich.text import Text

from gitops_bg.cli.options.durations import spoken
from gitops_bg.cli.views.condition_meanings import drawn_together, json_of
from gitops_bg.cli.views.listing import Column, Line, Listing
from gitops_bg.cli.views.output import said
from gitops_bg.core import names
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.meanings import demands
from gitops_bg.repo.settings import MAIN
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
    digest: str = ""
    """What the active version is."""
    demands: tuple[Condition, ...] = ()
    """The conditions that demand an action of somebody."""
    branch: str = ""
    """The branch that is followed; empty where the live object does not say."""

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
        digest=active.digest,
        demands=tuple(demands(status.conditions)),
        branch=branch_of(metadata),
    )


def branch_of(metadata: Mapping[str, Any]) -> str:
    """Return the branch that a live app or group follows; empty where it says none."""
    return str((metadata.get("annotations") or {}).get(names.BRANCH, ""))


def tells_branches(followed: Iterable[str]) -> bool:
    """Return whether branches are worth a column: something follows another one than the default."""
    return any(branch not in ("", MAIN) for branch in followed)


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


def list_of(rows: Iterable[Row], now: datetime, *, wide: bool = False) -> Group:
    """Return the rows as a table, followed by what somebody has to do; ``wide``: with all that is known of each."""
    shown = tuple(rows)
    together = drawn_together((row.app, row.demands) for row in shown)
    return Group(table_of(shown, now, wide=wide), *(part for group in together for part in ("", group)))


_COLUMNS = (
    Column("NAMESPACE"),
    Column("NAME"),
    Column("PHASE"),
    Column("ACTIVE"),
    Column("DIGEST", 8, wide=True),
    Column("COLOR", 5),
    Column("IMAGE", 5),
    Column("CANDIDATE", 1),
    Column("CANDIDATE IMAGE", 2),
    Column("PULL REQUEST", 7, wide=True),
    Column("AGE", 4),
    Column("PROMOTION"),
)
_BESIDE_THE_NAME = 2


def table_of(rows: Iterable[Row], now: datetime, *, wide: bool = False) -> Listing:
    """Return the rows as a table."""
    shown = tuple(rows)
    columns, branches = list(_COLUMNS), tells_branches(row.branch for row in shown)
    if branches:
        columns.insert(_BESIDE_THE_NAME, Column("BRANCH"))
    return Listing(columns, (Line(tuple(_cells(row, now, branches=branches))) for row in shown), wide=wide)


def _cells(row: Row, now: datetime, *, branches: bool) -> Iterator[Text]:
    yield said(row.namespace)
    yield said(row.name, "bold")
    if branches:
        yield said(row.branch or "-")
    yield said(row.phase, style_of(row.phase))
    yield said(f"v{row.version}" if row.version else "-")
    yield said(short(row.digest) if row.digest else "-")
    yield said(row.color or "-", row.color if row.color in ("blue", "green") else "")
    yield said(row.image or "-")
    yield said(f"v{row.candidate}" if row.candidate else "-")
    yield said(row.candidate_image or "-")
    yield said(row.pull_request or "-")
    yield said(age(row.created, now))
    yield said(row.promotion or "-")


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
