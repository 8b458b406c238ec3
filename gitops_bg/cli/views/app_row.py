"""One app at a glance: its row of `get`, from the live object alone. Shows what the agent wrote; decides nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.text import Text

from gitops_bg.cli.options.durations import spoken
from gitops_bg.cli.output import said
from gitops_bg.cli.views.condition_meanings import json_of
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
    group: str | None = None
    """The release group that it is a member of; empty where it is of none, None where nobody asked."""

    @property
    def key(self) -> AppKey:
        """The app of the row."""
        return AppKey(self.namespace, self.name)

    @property
    def called(self) -> str:
        """What it is, in a list of apps and groups."""
        return f"app of {self.group}" if self.group else "app"

    def cells(self, now: datetime) -> dict[str, Text]:
        """Return what stands below the titles of a list; no text where there is nothing to say."""
        return {
            "ACTIVE": said(f"v{self.version}" if self.version else ""),
            "DIGEST": said(short(self.digest) if self.digest else ""),
            "COLOR": said(self.color, self.color if self.color in ("blue", "green") else ""),
            "IMAGE": said(self.image),
            "CANDIDATE": said(f"v{self.candidate}" if self.candidate else ""),
            "CANDIDATE IMAGE": said(self.candidate_image),
            "PULL REQUEST": said(self.pull_request),
            "AGE": said(age(self.created, now)),
            "PROMOTION": said(self.promotion),
        }

    @property
    def line(self) -> str:
        """The row as a line of text."""
        candidate = f"candidate v{self.candidate} {self.candidate_image}" if self.candidate else "no candidate"
        active = f"v{self.version} {self.color} {self.image}" if self.version else "nothing live"
        asked = ", ".join(each.type for each in self.demands)
        parts = (str(self.key), self.phase, active, candidate, self.promotion, asked)
        return "  ".join(part for part in parts if part)

    def json(self) -> dict[str, Any]:
        """Return the row for programs."""
        from gitops_bg.spec.codec import to_json

        demands = [json_of(each, self.key) for each in self.demands]
        return {"kind": "app", **to_json(self), "demands": demands}


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


def _promotion(gates: Sequence[GateGlance]) -> str:
    """Return how many gates are open, and the first that is closed."""
    if not gates:
        return ""
    shut = [gate.kind for gate in gates if not gate.open]
    opened = f"{len(gates) - len(shut)}/{len(gates)}"
    return f"{opened}, waits for {shut[0]}" if shut else opened


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
