"""The plan of an app, or of a release group, as text for a terminal of 80 columns and as JSON. What only one of them
has is added by its own view. Pure.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import RenderableType

from gitops_bg.cli.output import said
from gitops_bg.cli.planning.planned import PlannedSubject
from gitops_bg.cli.views.app_row import style_of
from gitops_bg.cli.views.explained import ShownGate, gate_table, indented
from gitops_bg.spec.codec import to_json

if TYPE_CHECKING:
    from gitops_bg.cli.printed.apps import PlannedJson


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
    }


def drawn_planned(
    found: PlannedSubject,
    now: datetime,
    ahead: Iterable[RenderableType] = (),
    then: Iterable[RenderableType] = (),
    *,
    is_quiet: bool = True,
) -> Iterator[RenderableType]:
    """Yield it for people: what is wrong, what is ``ahead``, what is done at once, which gates are in the way of the
    rest, and how it is ``then``. ``is_quiet``: nothing but this is to be done, now or later.
    """
    quiet = is_quiet and not (found.actions or found.problems or found.refused)
    yield said(f"{found.key}: {found.phase}{', nothing to do' if quiet else ''}", f"bold {style_of(found.phase)}")
    for problem in (*found.problems, *filter(None, [found.refused])):
        yield indented(f"! {problem}", "red")
    yield from ahead
    for number, action in enumerate(found.actions, 1):
        yield indented(f"{number}. {action}")
    if found.shut:
        yield indented("it waits for:")
        yield gate_table((ShownGate(gate, gate.reason) for gate in found.shut), now, indent=2)
    yield from then
