"""A plan as plain data, from which its texts are made: what would be done with each app or group, what it waits for."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppOrGroup, GroupKey


@dataclass(frozen=True, slots=True)
class PlannedSubject:
    """One app, or one release group."""

    key: AppOrGroup
    phase: Phase
    actions: tuple[object, ...] = ()
    """What would be done; each says itself in a sentence."""
    gates: tuple[GateResult, ...] = ()
    problems: tuple[Problem, ...] = ()
    refused: str = ""
    """Why nothing of it is done now, and what mends that; empty where nothing stands in the way."""
    wake_at: datetime | None = None
    """When it is looked at again, if nothing happens."""

    @property
    def shut(self) -> tuple[GateResult, ...]:
        """The shut gates."""
        return tuple(gate for gate in self.gates if not gate.open)

    @property
    def outcome(self) -> tuple[object, ...]:
        """What people would call the same plan."""
        gates = tuple((gate.kind, gate.open, gate.reason) for gate in self.gates)
        problems = tuple(map(str, self.problems))
        return self.phase, tuple(map(str, self.actions)), gates, problems, self.refused


@dataclass(frozen=True, slots=True)
class Planned:
    """The whole plan."""

    commit: str
    """The commit of main that was planned."""
    subjects: tuple[PlannedSubject, ...] = ()

    @property
    def summary(self) -> str:
        """How many there are, and how many of them have something to do."""
        busy = sum(bool(each.actions) for each in self.subjects)
        return (
            f"{counted(each.key for each in self.subjects)} at commit {self.commit[:10]}: {busy} with something to do"
        )


def until(gate: GateResult) -> str:
    """Return when a shut gate opens by itself, as a text; empty where it does not, or where that is unknown."""
    return f"{gate.until:%Y-%m-%d %H:%M} UTC" if gate.until and not gate.open else ""


def counted(keys: Iterable[AppOrGroup]) -> str:
    """Return how many apps and groups these are.

    >>> counted([GroupKey("shop", "store")]), counted([])
    ('1 group', '0 apps')
    """
    of_groups = [isinstance(key, GroupKey) for key in keys]
    groups, apps = sum(of_groups), len(of_groups) - sum(of_groups)
    said = [_counted(apps, "app")] if apps or not groups else []
    return " and ".join([*said, *([_counted(groups, "group")] if groups else [])])


def _counted(many: int, what: str) -> str:
    return f"{many} {what}{'' if many == 1 else 's'}"
