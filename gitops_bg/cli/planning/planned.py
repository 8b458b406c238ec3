"""A plan as plain data, from which its texts are made: what would be done with each app, what it waits for."""

from dataclasses import dataclass

from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey


@dataclass(frozen=True, slots=True)
class PlannedApp:
    """One app."""

    app: AppKey
    phase: str
    actions: tuple[str, ...] = ()
    """What would be done, one sentence each."""
    gates: tuple[GateResult, ...] = ()
    problems: tuple[Problem, ...] = ()
    refused: str = ""
    """Why nothing of it is done now, and what mends that; empty where nothing stands in the way."""

    @property
    def shut(self) -> tuple[GateResult, ...]:
        """The shut gates."""
        return tuple(gate for gate in self.gates if not gate.open)


@dataclass(frozen=True, slots=True)
class Planned:
    """The whole plan."""

    commit: str
    """The commit of main that was planned."""
    apps: tuple[PlannedApp, ...] = ()


def until(gate: GateResult) -> str:
    """Return when a shut gate opens by itself, as a text; empty where it does not, or where that is unknown."""
    return f"{gate.until:%Y-%m-%d %H:%M} UTC" if gate.until and not gate.open else ""
