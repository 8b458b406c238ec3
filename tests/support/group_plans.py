"""What `group plan` and `group explain` show of a simulated release group."""

from __future__ import annotations

from rich.console import Console, RenderableType

from gitops_bg.cli.commands.inspect.plan import drawn_plan
from gitops_bg.cli.views.subject import drawn_explanation
from gitops_bg.core.groups.forecast import forecast
from gitops_bg.core.model.desired import Problem
from gitops_bg.views.explanation import Explanation
from gitops_bg.views.plan import Planned, PlannedGroup
from tests.core.groups.simulation import STORE, World

COMMIT = "d40227ea26" * 4


def planned(world: World, asked_for: str = "") -> PlannedGroup:
    """The plan of the group as it is now."""
    desired, decision = world.desired(), world.decide()
    problems = (Problem("group.yaml", "is wrong", 3),) if world.problems else ()
    ahead = forecast(STORE, desired, world.observed(), decision.record, world.now)
    return PlannedGroup(STORE, COMMIT, problems, decision.actions, decision, ahead, world.now, asked_for)


def plan_text(world: World, asked_for: str = "") -> list[str]:
    """The lines that `group plan` prints."""
    found = planned(world, asked_for)
    return [*_lines(drawn_plan(found)), Planned(COMMIT, (found.shown,)).summary]


def explain_text(world: World) -> list[str]:
    """The lines that `group explain` prints."""
    found = Explanation(STORE, world.desired(), world.observed(), world.decide(), world.now)
    return _lines(drawn_explanation(found))


def _lines(drawn: RenderableType) -> list[str]:
    console = Console(width=80, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(drawn)
    return [line.rstrip() for line in captured.get().splitlines()]
