"""What `explain` shows of apps and groups alike, as text for a terminal of 80 columns and as JSON. What only one of
them has is added by its verb. Pure.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType

from gitops_bg.cli.options.durations import spoken
from gitops_bg.cli.output import said
from gitops_bg.cli.views.app_row import style_of
from gitops_bg.cli.views.condition_meanings import drawn, json_of, table_of
from gitops_bg.cli.views.listing import Column, Line, Listing, paragraph, without_what_was_told
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.git.pulls import PullRequest, PullState
from gitops_bg.core.model.statements import Says, Statement, Statements
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.status.meanings import troubles
from gitops_bg.spec.codec import to_json

if TYPE_CHECKING:
    from gitops_bg.cli.printed.apps import ExplainedJson


@dataclass(frozen=True, slots=True)
class ShownGate:
    """A gate with the words that are shown: its reason, and what a person can do about it (empty: nothing)."""

    gate: GateResult
    reason: str
    advice: str = ""
    counts: str = ""
    """How many pods it counts, if it does."""


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
            said(f"{' '.join(filter(None, (each.reason, each.counts)))}{left}{advice}"),
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


# --- all of it ---


@dataclass(frozen=True, slots=True)
class Explained:
    """What both have: the engine's decision on fresh facts, in words."""

    subject: AppOrGroup
    phase: Phase
    active: str
    """The version that serves; empty where none does."""
    coming: str
    """The version that the gates are about; empty where there are none."""
    serves: tuple[str, ...]
    """Where live traffic goes, and moves to, in sentences."""
    before_gates: str
    """What the gates are in the way of, as a sentence."""
    gates: tuple[ShownGate, ...]
    pull: PullRequest | None
    conditions: tuple[Condition, ...]
    told: Statements
    """Who said what of these versions."""
    name: Callable[[str], str]
    """The name of a version by its digest."""
    actions: tuple[object, ...]
    wake_at: datetime | None
    now: datetime


def json_explained(found: Explained) -> "ExplainedJson":
    """Return it for programs."""
    return {
        "phase": found.phase,
        "active": found.active or None,
        "next": found.coming or None,
        "pullRequest": to_json(found.pull) | {"state": found.pull.state} if found.pull else None,
        "gates": [_json_gate(each, found.now) for each in found.gates],
        "conditions": [json_of(each, found.subject) for each in found.conditions],
        "statements": json_of_statements(found.told, found.name),
        "actions": [str(action) for action in found.actions],
        "wakeAt": found.wake_at.isoformat() if found.wake_at else None,
    }


def _json_gate(shown: ShownGate, now: datetime) -> dict[str, Any]:
    gate = shown.gate
    left = max(0.0, (gate.until - now).total_seconds()) if gate.until else None
    return to_json(gate) | {
        "open": gate.open,
        "counts": shown.counts,
        "remainingSeconds": left,
        "advice": shown.advice,
    }


def drawn_explained(
    found: Explained,
    versions: Iterable[RenderableType] = (),
    of_gates: Iterable[RenderableType] = (),
    outlook: RenderableType | None = None,
) -> Group:
    """Return it for people; ``versions`` stand before the gates, ``of_gates`` after them. Where an ``outlook`` says
    what to do, no gate does.
    """
    return Group(*_parts(found, versions, of_gates, outlook))


def _parts(
    found: Explained,
    versions: Iterable[RenderableType],
    of_gates: Iterable[RenderableType],
    outlook: RenderableType | None,
) -> Iterator[RenderableType]:
    yield said(f"{found.subject}: {found.phase}", f"bold {style_of(found.phase)}")
    yield from map(indented, found.serves)
    if found.pull is not None:
        yield indented(_pull(found.pull))
    told = tuple(troubles(found.conditions, table_of(found.subject)))
    for condition in told:
        yield drawn(condition, found.subject, 2)
    yield from statement_lines(found.told, found.name, 2)
    yield from versions
    if found.gates:
        yield indented(found.before_gates)
        messages = [condition.message for condition in told]
        yield gate_table((_shown(each, messages, outlook is None) for each in found.gates), found.now, indent=2)
    yield from of_gates
    for action in found.actions:
        yield indented(f"about to be done: {action}")
    if outlook is not None:
        yield outlook
    if found.wake_at:
        left = spoken((found.wake_at - found.now).total_seconds())
        yield indented(f"looked at again in {left} at the latest", "dim")


def _shown(each: ShownGate, told: Sequence[str], with_advice: bool) -> ShownGate:
    return replace(each, reason=without_what_was_told(each.reason, told), advice=each.advice if with_advice else "")


def indented(text: str, style: str = "", indent: int = 2) -> Listing:
    """Return a sentence, so many columns from the margin."""
    return paragraph(said(text, style), indent)


def _pull(pull: PullRequest) -> str:
    """Return how far people are with what the branch asks for."""
    if pull.state is PullState.OPEN:
        return f"pull request #{pull.number} is to be merged: {pull.url}"
    if pull.state is PullState.CLOSED:
        by = pull.closed_by or "somebody"
        return f"{by} closed pull request #{pull.number}, {pull.url}: reopen it, or ask for something else"
    return f"pull request #{pull.number} is {pull.state}: {pull.url}"
