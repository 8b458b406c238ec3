"""Writes docs/events.md: the table of events, as the core has it."""

from __future__ import annotations

from pathlib import Path

from gitops_bg.core.model.events import EVENTS, EventRow
from gitops_bg.core.model.hooks import Severity
from gitops_bg.core.model.record import Event

PAGE = Path(__file__).parents[2] / "docs" / "events.md"
COMMAND = "python -m tests.documentation --write-docs"

_HEAD = f"""\
# Events: what is said of an app, where, and how grave it is

Written by `{COMMAND}` (`make docs`) from [the one table](../gitops_bg/core/model/events.py) of the code. Each
event is one entry of the ledger (the trailer `Bg-Event` of its commit, `gitops-bg history`), one Kubernetes
Event of the app (`kubectl describe bgd`), one count of `gitops_bg_events_total`, and one message to everybody
whose [alerts](alerts.md) are that grave. Kubernetes Events of actions, rollouts and analyses, which have no
entry, are in [status](status.md#events).

"""

_HEADS = ("Event", "The ledger says", "An alert says", "Severity", "Kubernetes Event", "What you can do")


def page() -> str:
    """The whole page."""
    rows = [_HEADS, tuple("---" for _ in _HEADS), *(_cells(event, row) for event, row in EVENTS.items())]
    return _HEAD + "".join("| " + " | ".join(cells) + " |\n" for cells in rows)


def _cells(event: Event, row: EventRow) -> tuple[str, ...]:
    sentence = row.sentence.format(to="vY", origin="vX")
    remedy = row.remedy.format(app="APP")
    return (f"`{event}`", f"web {row.verb}", sentence, _severity(row), f"`{row.reason}`, {_type(row.severity)}", remedy)


def _severity(row: EventRow) -> str:
    asked = f"; `{row.by_hand}` where somebody asked for it" if row.by_hand is not None else ""
    return f"`{row.severity}`{asked}"


def _type(severity: Severity) -> str:
    return "Normal" if severity is Severity.INFO else "Warning"
