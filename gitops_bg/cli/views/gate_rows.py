"""Gates as rows and as JSON: open or shut, why, for how long, and what to do. Decides nothing."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rich.table import Table

from gitops_bg.cli.options.durations import spoken
from gitops_bg.cli.views.output import said
from gitops_bg.core.model.decision import GateResult
from gitops_bg.spec.codec import to_json


def gate_row(table: Table, gate: GateResult, reason: str, advice: str, now: datetime) -> None:
    """Add a gate; ``reason`` and ``advice`` are its own, or what the caller knows better."""
    left = f"for {spoken((gate.until - now).total_seconds())} more" if gate.until and not gate.open else ""
    table.add_row(
        said("open" if gate.open else "shut", "green" if gate.open else "red"),
        said(gate.kind, "bold"),
        said(reason),
        said(left),
        said(advice, "cyan"),
    )


def gate_rows(gates: Iterable[GateResult], now: datetime) -> Table:
    """Return gates with their own reasons and remedies."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for gate in gates:
        gate_row(table, gate, gate.reason, "" if gate.open else gate.remedy, now)
    return table


def json_of_gate(gate: GateResult, now: datetime, advice: str | None = None) -> dict[str, Any]:
    """Return a gate with the seconds that remain until it opens by itself, and what to do."""
    return to_json(gate) | {
        "open": gate.open,
        "remainingSeconds": max(0.0, (gate.until - now).total_seconds()) if gate.until else None,
        "advice": advice if advice is not None else "" if gate.open else gate.remedy,
    }
