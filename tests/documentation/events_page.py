"""Writes docs/reference/events.md: the table of events, as the core has it."""

from __future__ import annotations

from pathlib import Path

from gitops_bg.core.model.events import APPS, BOTH, EVENTS, GROUPS, NOTICES, EventRow, Notice, NoticeRow
from gitops_bg.core.model.hooks import Severity
from gitops_bg.core.model.record import Event

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "events.md"
COMMAND = "python -m tests.documentation --write-docs"

_HEAD = f"""\
# Events: what is said of an app or a release group, where, and how grave it is

Written by `{COMMAND}` (`make docs`) from [the one table](../../gitops_bg/core/model/events.py) of the code. Each
event is one entry of the ledger (the trailer `Bg-Event` of its commit, `gitops-bg history`), one Kubernetes Event of
the app or the group (`kubectl describe bgd`, `rg`), one count of `gitops_bg_events_total`, and one message to everybody
whose [alerts](../features/alerts.md) are that grave. What
[only Kubernetes is told](#what-only-kubernetes-is-told) has no entry: what an action did, and how rollouts, moves and
analyses go. `policy-changed` is of the repository: the ledger has it once for each commit of main that changed
promotion policies (`policies.json` of the state branch), and `history` shows it between the entries of every app and
group; no object, alert or metric does.

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
## What only Kubernetes is told

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
    word, _, note = name.partition(" ")
    return f"`{word}` {note}".rstrip() if word else ""


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
