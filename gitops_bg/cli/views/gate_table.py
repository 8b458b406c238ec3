"""Gates as the lines of a table, for apps and for groups: open or shut, why, for how long, what to do. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from gitops_bg.cli.options.quick_values import spoken
from gitops_bg.cli.views.listing import Column, Line, Listing
from gitops_bg.cli.views.output import said
from gitops_bg.core.model.decision import GateResult


@dataclass(frozen=True, slots=True)
class ShownGate:
    """A gate with the words that are shown: its reason, and what a person can do about it (empty: nothing)."""

    gate: GateResult
    reason: str
    advice: str = ""


def gate_table(gates: Iterable[ShownGate], now: datetime, *, indent: int = 0) -> Listing:
    """Return one line for each gate; ``now`` is UTC."""
    columns = (Column(""), Column(""), Column(""))
    return Listing(columns, (_line(each, now) for each in gates), titles=False, indent=indent)


def _line(each: ShownGate, now: datetime) -> Line:
    gate = each.gate
    left = f", for {spoken((gate.until - now).total_seconds())} more" if gate.until and not gate.open else ""
    advice = f"\n{each.advice}" if each.advice else ""
    return Line(
        (
            said("open" if gate.open else "shut", "green" if gate.open else "red"),
            said(gate.kind, "bold"),
            said(f"{each.reason}{left}{advice}"),
        )
    )
