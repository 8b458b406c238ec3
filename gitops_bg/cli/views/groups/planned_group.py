"""The plan of a group, as text for a terminal of 80 columns and as JSON. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from gitops_bg.cli.views.app_row import style_of
from gitops_bg.cli.views.explained import ShownGate, gate_table
from gitops_bg.cli.views.listing import Column, Line, Listing, paragraph
from gitops_bg.cli.views.output import said
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.inspect.answers import DENIED, NOT_FOUND
from gitops_bg.core.inspect.forecast import Changed, Forecast
from gitops_bg.core.model.conditions import PROMOTION_REJECTED, Condition
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.codec import to_json

if TYPE_CHECKING:
    from gitops_bg.cli.printed.groups import GroupPlanJson


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """What the engine decides on a group now, and what becomes of it."""

    group: GroupKey
    commit: str
    """The commit that was read."""
    problems: tuple[Problem, ...]
    actions: tuple[str, ...]
    """What is done at once."""
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
    def is_quiet(self) -> bool:
        """Whether nothing is to be done, now or later."""
        ahead = self.forecast
        said = self.problems or self.refused or self.left
        return not (self.actions or said or ahead.ahead or ahead.answers or ahead.followers)

    @property
    def outcome(self) -> tuple[object, ...]:
        """What people would call the same plan."""
        gates = tuple((gate.kind, gate.open, gate.reason) for gate in self.decision.gates)
        return (
            self.decision.phase,
            self.actions,
            gates,
            self.problems,
            self.rejections,
            self.forecast,
            self.refused,
            self.left,
        )


def json_plan(found: PlannedGroup) -> "GroupPlanJson":
    """Return the plan for programs."""
    decision, ahead = found.decision, found.forecast
    return {
        "group": str(found.group),
        "commit": found.commit,
        "askedFor": found.asked_for or None,
        "phase": decision.phase,
        "move": to_json(ahead.ahead) if ahead.ahead else None,
        "rejected": [to_json(each) for each in found.rejections],
        "gates": [to_json(gate) | {"open": gate.open} for gate in decision.gates],
        "versions": list(map(to_json, ahead.stages)),
        "requests": [to_json(each.request) | {"before": each.before, "after": each.after} for each in ahead.answers],
        "services": list(map(to_json, ahead.followers)),
        "actions": list(found.actions),
        "refused": found.refused or None,
        "left": found.left or None,
        "problems": [to_json(problem) for problem in found.problems],
        "wakeAt": decision.wake_at.isoformat() if decision.wake_at else None,
    }


def drawn_plan(found: PlannedGroup) -> Group:
    """Return the plan for people, without its commit."""
    return Group(*_parts(found))


def _parts(found: PlannedGroup) -> Iterator[RenderableType]:
    decision, ahead = found.decision, found.forecast
    quiet = ", nothing to do" if found.is_quiet else ""
    yield said(f"{found.group}: {decision.phase}{quiet}", f"bold {style_of(decision.phase)}")
    if found.asked_for:
        how = f"as if group.yaml asked for {found.asked_for}; policies are asked once it does"
        yield _indented(said(how, "dim"))
    for problem in [*found.problems, *filter(None, [found.refused, found.left])]:
        yield _indented(said(f"! {problem}", "red"))
    for rejection in found.rejections:
        yield _indented(said(f"rejected: {rejection.reason}: {rejection.message}", "red"))
    if ahead.ahead is not None:
        yield _indented(said(_move(found), "bold"))
    shut = [gate for gate in decision.gates if not gate.open]
    if shut:
        yield _indented(said("first it waits for:"))
        yield gate_table((ShownGate(gate, gate.reason) for gate in shut), found.now, indent=2)
    for number, action in enumerate(found.actions, 1):
        yield _indented(said(f"{number}. {action}"))
    if ahead.stages:
        yield _table(("VERSION", "NOW", "THEN"), map(_change, ahead.stages))
    if ahead.answers:
        rows = ((str(each.request), each.before, each.after) for each in ahead.answers)
        yield _table(("REQUEST", "NOW", "THEN"), rows)
    if ahead.answers or ahead.same_answers:
        yield _indented(said(f"{_counted(ahead.same_answers)} answered as now", "dim"))
    if ahead.followers:
        yield _table(("SERVICE", "NOW", "THEN"), map(_change, ahead.followers))


def _indented(text: Text) -> Listing:
    return paragraph(text, 2)


def _move(found: PlannedGroup) -> str:
    ahead = found.forecast.ahead
    assert ahead is not None
    moving = found.decision.record.transition
    how = f", at the step {moving.step}" if moving else ""
    return f"{ahead.kind} from {ahead.source} to {ahead.target}{how}"


def _counted(same: int) -> str:
    return f"{same} {'request is' if same == 1 else 'requests are'}"


def _change(each: Changed) -> tuple[str, str, str]:
    return each.name, each.before or "-", each.after or "deleted"


_STYLES = {NOT_FOUND: "yellow", DENIED: "yellow", "deleted": "red"}


def _table(titles: Iterable[str], rows: Iterable[tuple[str, str, str]]) -> Listing:
    lines = (
        Line((said(name), said(before, _STYLES.get(before, "")), said(after, _STYLES.get(after, ""))))
        for name, before, after in rows
    )
    return Listing([Column(title) for title in titles], lines, indent=2)
