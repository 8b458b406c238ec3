"""What `explain` shows of apps and groups alike: gates as the lines of a table, and who said what. Pure."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gitops_bg.cli.options.quick_values import spoken
from gitops_bg.cli.views.listing import Column, Line, Listing, paragraph
from gitops_bg.cli.views.output import said
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.statements import Says, Statement, Statements
from gitops_bg.spec.codec import to_json


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


# --- who said what ---

_WHAT = {
    Says.REFUSED: "refused",
    Says.CLEARED: "cleared",
    Says.NAMED: "named again",
    Says.PASSED_OVER: "passed over",
    Says.WANTED: "wanted live",
}


def telling(statements: Statements, digests: Collection[str]) -> tuple[Statement, ...]:
    """Return those about these versions, and the one that says where traffic is to go; in the order in which they
    count.
    """
    return tuple(each for each in statements if each.says is Says.WANTED or each.digest in digests)


def json_of_statements(statements: Statements, name: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return them for programs; ``name`` is that of a version, by its digest."""
    return [to_json(each) | {"version": name(each.digest)} for each in statements]


def statement_lines(statements: Statements, name: Callable[[str], str], indent: int) -> Iterator[Listing]:
    """Return them for people: a sentence each."""
    return (paragraph(said(_sentence(each, name(each.digest)), "dim"), indent) for each in statements)


def _sentence(statement: Statement, version: str) -> str:
    who = statement.by or ("Git" if statement.commit else "the agent")
    commit = f", commit {statement.commit[:10]}" if statement.commit else ""
    why = f": {statement.reason}" if statement.reason else ""
    return f"{version} was {_WHAT[statement.says]} at {statement.at:%Y-%m-%d %H:%M:%S}Z by {who}{commit}{why}"
