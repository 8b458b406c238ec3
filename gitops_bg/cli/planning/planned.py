"""A plan as plain data, from which its texts are made: what would be done with each app, what it waits for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is written; lines count from 1."""

    file: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class PlannedApp:
    """One app."""

    app: AppKey
    phase: str
    actions: tuple[str, ...] = ()
    """What would be done, one sentence each."""
    gates: tuple[GateResult, ...] = ()
    problems: tuple[Problem, ...] = ()
    folder: str = ""
    """The app's folder; empty: that of an app in no release group."""
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
    policies: Mapping[str, Place] = field(default_factory=dict)
    """Where each policy is written, by name."""

    def place_of(self, gate: GateResult) -> Place | None:
        """Return where the policy of a gate is written; None for a gate that no file of ``policies/`` shuts."""
        if gate.kind != GateKind.POLICY:
            return None
        return self.policies.get(gate.reason.partition(":")[0])


def until(gate: GateResult) -> str:
    """Return when a shut gate opens by itself, as a text; empty where it does not, or where that is unknown."""
    return f"{gate.until:%Y-%m-%d %H:%M} UTC" if gate.until and not gate.open else ""
