"""Writes docs/reference/events.md: the table of events, as the core has it."""

from __future__ import annotations

import re
from pathlib import Path

from gitops_bg.core.model.events import APPS, BOTH, EVENTS, GROUPS, NOTICES, EventRow, Notice, NoticeRow
from gitops_bg.core.model.hooks import Severity
from gitops_bg.core.model.record import Event

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "events.md"
COMMAND = "python -m tests.documentation --write-docs"

_HEAD = f"""\
# Events of apps and release groups, with their severity

Written by `{COMMAND}` (`make docs`) from [the table](../../gitops_bg/core/model/events.py) in the code. Each event is
one entry of the ledger (the trailer `Bg-Event` of its commit, `gitops-bg history`), one Kubernetes Event of the app
or the group (`kubectl describe bgd`, `rg`), one count of `gitops_bg_events_total`, and one message to every
[alert](../features/alerts.md) of that severity. [Further Kubernetes Events](#further-kubernetes-events) report single
actions, and the progress of rollouts, moves and analyses; they have no entry. `policy-changed` belongs to the
repository: the ledger has one for each commit of `main` that changed promotion policies (`policies.json` of the state
branch), and `history` shows it between the entries of every app and group; no object, alert or metric does.

## Entries of the ledger

"""
_HEADS = (
    "Event",
    "Of",
    "The ledger says",
    "An alert says",
    "Severity",
    "Kubernetes Event",
    "Argo Rollouts",
    "What you can do",
)

_NOTICES = """
## Further Kubernetes Events

"""
_NOTICE_HEADS = ("Kubernetes Event", "Of", "When", "Argo Rollouts")
_OF = {APPS: "apps", GROUPS: "groups", BOTH: "both"}


def page() -> str:
    """The whole page."""
    events = _table(_HEADS, [_cells(event, row) for event, row in EVENTS.items()])
    return _HEAD + events + _NOTICES + _table(_NOTICE_HEADS, [_notice(*item) for item in NOTICES.items()])


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "".join("| " + " | ".join(cells) + " |\n" for cells in [heads, tuple("---" for _ in heads), *rows])


def _notice(notice: Notice, row: NoticeRow) -> tuple[str, ...]:
    return (f"`{notice}`, {_type(row.severity)}", _OF[row.kinds], row.when, _argo(row.argo))


def _argo(name: str) -> str:
    return re.sub(r"\b[A-Z]\w+", lambda word: f"`{word[0]}`", name)


def _cells(event: Event, row: EventRow) -> tuple[str, ...]:
    sentence = row.sentence.format(to="vY", origin="vX")
    of_group = f"; of a group: {row.group_remedy.format(app='GROUP')}" if row.group_remedy else ""
    remedy = row.remedy.format(app="APP") + of_group
    told = f"`{row.reason}`, {_type(row.severity)}"
    if row.of_repository:
        return (f"`{event}`", "", "policies: freeze added", "", _severity(row), "", "", remedy)
    return (f"`{event}`", _OF[row.kinds], f"web {row.verb}", sentence, _severity(row), told, _argo(row.argo), remedy)


def _severity(row: EventRow) -> str:
    asked = f"; `{row.by_hand}` where somebody asked for it" if row.by_hand is not None else ""
    return f"`{row.severity}`{asked}"


def _type(severity: Severity) -> str:
    return "Normal" if severity is Severity.INFO else "Warning"
