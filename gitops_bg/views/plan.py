"""A plan as plain data, from which its texts are made: what would be done with each app or release group, and what it
waits for; and the same for programs.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.forecast import Forecast
from gitops_bg.core.groups.record import GroupDecision
from gitops_bg.core.model.conditions import PROMOTION_REJECTED, Condition, Phase
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppOrGroup, GroupKey
from gitops_bg.spec.codec import to_json

if TYPE_CHECKING:
    from gitops_bg.views.shapes.apps import PlannedJson
    from gitops_bg.views.shapes.groups import PlannedGroupJson


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
    environment: str = ""
    """The environment of an app that is in one."""
    release: str = ""
    """The release that the environment has of it by main."""

    @property
    def named(self) -> str:
        """What it is, and in which environment, with its release there."""
        of = f" ({self.release})" if self.release else ""
        return f"{self.key} in {self.environment}{of}" if self.environment else str(self.key)

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


def json_planned(found: PlannedSubject) -> "PlannedJson":
    """Return it for programs."""
    return {
        "phase": found.phase,
        "actions": [
            {"action": type(action).__name__, "sentence": str(action), "arguments": to_json(action)}
            for action in found.actions
        ],
        "gates": [to_json(gate) | {"open": gate.open} for gate in found.gates],
        "problems": [to_json(problem) for problem in found.problems],
        "refused": found.refused or None,
        "wakeAt": found.wake_at.isoformat() if found.wake_at else None,
        "environment": found.environment or None,
        "release": found.release or None,
    }


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """What the engine decides on a group now, and what becomes of it."""

    group: GroupKey
    commit: str
    """The commit that was read."""
    problems: tuple[Problem, ...]
    actions: tuple[object, ...]
    """What is done at once; each says itself in a sentence."""
    decision: GroupDecision
    forecast: Forecast
    now: datetime
    asked_for: str = ""
    """The version that the plan is for as if group.yaml asked for it; empty where it does."""
    refused: str = ""
    """Why nothing of it is done now, and what mends that; empty where nothing stands in the way."""
    left: str = ""
    """What becomes of a live group whose folder left main; empty of one that main has."""

    @property
    def rejections(self) -> tuple[Condition, ...]:
        """The conditions that say why what Git asks for is not done."""
        return tuple(each for each in self.decision.conditions if each.type == PROMOTION_REJECTED and each.status)

    @property
    def shown(self) -> PlannedSubject:
        """What a plan has of an app as well."""
        refused, decision = self.refused or self.left, self.decision
        return PlannedSubject(
            self.group, decision.phase, self.actions, decision.gates, self.problems, refused, decision.wake_at
        )

    @property
    def outcome(self) -> tuple[object, ...]:
        """What people would call the same plan."""
        return self.shown.outcome, self.rejections, self.forecast, self.refused, self.left


def json_plan(found: PlannedGroup) -> "PlannedGroupJson":
    """Return the plan for programs."""
    ahead = found.forecast
    return {
        **json_planned(replace(found.shown, refused=found.refused)),
        "group": str(found.group),
        "askedFor": found.asked_for or None,
        "move": to_json(ahead.ahead) if ahead.ahead else None,
        "rejected": [to_json(each) for each in found.rejections],
        "versions": list(map(to_json, ahead.stages)),
        "requests": [to_json(each.request) | {"before": each.before, "after": each.after} for each in ahead.answers],
        "services": list(map(to_json, ahead.followers)),
        "left": found.left or None,
    }
