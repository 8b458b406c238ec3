"""The plan of a release group: what it has beside that of an app, and all of it as text and as JSON. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType

from gitops_bg.cli.output import said
from gitops_bg.cli.planning.plan_views import drawn_planned, json_planned
from gitops_bg.cli.planning.planned import PlannedSubject
from gitops_bg.cli.views.explained import indented
from gitops_bg.cli.views.listing import Column, Line, Listing
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.inspect.answers import DENIED, NOT_FOUND
from gitops_bg.core.inspect.forecast import Changed, Forecast
from gitops_bg.core.model.conditions import PROMOTION_REJECTED, Condition
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.codec import to_json

if TYPE_CHECKING:
    from gitops_bg.cli.printed.groups import PlannedGroupJson


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


def drawn_plan(found: PlannedGroup) -> Group:
    """Return the plan for people, without its commit."""
    ahead = found.forecast
    is_quiet = not (ahead.ahead or ahead.answers or ahead.followers)
    return Group(*drawn_planned(found.shown, found.now, _ahead(found), _then(found), is_quiet=is_quiet))


def _ahead(found: PlannedGroup) -> Iterator[RenderableType]:
    if found.asked_for:
        yield indented(f"as if group.yaml asked for {found.asked_for}; policies are asked once it does", "dim")
    for rejection in found.rejections:
        yield indented(f"rejected: {rejection.reason}: {rejection.message}", "red")
    if found.forecast.ahead is not None:
        yield indented(_move(found), "bold")


def _then(found: PlannedGroup) -> Iterator[RenderableType]:
    ahead = found.forecast
    if ahead.stages:
        yield _table(("VERSION", "NOW", "THEN"), map(_change, ahead.stages))
    if ahead.answers:
        rows = ((str(each.request), each.before, each.after) for each in ahead.answers)
        yield _table(("REQUEST", "NOW", "THEN"), rows)
    if ahead.answers or ahead.same_answers:
        yield indented(f"{_counted(ahead.same_answers)} answered as now", "dim")
    if ahead.followers:
        yield _table(("SERVICE", "NOW", "THEN"), map(_change, ahead.followers))


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
