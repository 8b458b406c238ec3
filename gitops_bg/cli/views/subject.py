"""Draws one app or release group for people: as a header and a tree, and as the explanation of why it is as it is, for
a terminal of 80 columns. Reads nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from rich.console import Group, RenderableType
from rich.text import Text

from gitops_bg.cli.output import literal
from gitops_bg.cli.views.listing import Column, Line, Listing, facts, paragraph
from gitops_bg.cli.views.pager import NO_PARTS, Act, Page, Parts
from gitops_bg.cli.views.rows import drawn
from gitops_bg.core.groups.inputs import Member
from gitops_bg.core.groups.model import GroupVersion, VersionStage
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.statements import Statements
from gitops_bg.core.status.group_advice import NextStep, serving_in
from gitops_bg.views.app import AppView
from gitops_bg.views.conditions import advice_lines, table_of, troubles
from gitops_bg.views.explanation import Explained, Explanation, ShownGate, pull_sentence, statement_sentence
from gitops_bg.views.group_tree import GroupView, group_root
from gitops_bg.views.tree import Branch, header_of, root_of
from gitops_bg.views.words import spoken, style_of, without_repeated_reason

_COLUMNS = (Column("NAME"), Column("KIND", 2), Column("STATUS"), Column("AGE", 1), Column("INFO"))
_VERSION_COLUMNS = (Column("VERSION"), Column("STAGE"), Column("SERVICE"), Column("STATE"))
_STAGES = {VersionStage.ACTIVE: "green", VersionStage.CANDIDATE: "cyan", VersionStage.LEGACY: "yellow"}


def picture_of(app_view: AppView, now: datetime, parts: Parts = NO_PARTS, *, wide: bool = False) -> Group:
    """Return the app as it was read; ages and countdowns count from ``now``. ``wide``: with what runs behind."""
    demands = (drawn(each, app_view.row.advised, told=app_view.row.message) for each in app_view.row.demands)
    return Group(
        _header(app_view),
        *demands,
        "",
        drawn_tree(root_of(app_view, now, wide=wide, chosen=parts.chosen, turned=parts.turned)),
    )


def page_of(*acts: Act, wide: bool = False) -> Page[AppView]:
    """Return the page that follows one app of several; its versions can be folded."""
    return Page(
        partial(picture_of, wide=wide),
        parts=lambda view: [each.number for each in view.versions],
        acts=acts,
        has_neighbours=True,
    )


def drawn_group(view: GroupView, now: datetime, parts: Parts = NO_PARTS) -> Group:  # noqa: ARG001 - nothing is folded
    """Return the group for people; ages count from ``now``."""
    status = view.status
    headline = literal(
        f"{view.group}: {status.phase or 'Unknown'}: {status.message or ''}", style_of(status.phase or "")
    )
    return Group(headline, "", drawn_tree(group_root(view, now)))


def drawn_tree(root: Branch) -> Listing:
    """Return a tree, one line for each branch; where there is no room for them, sentences hang below."""
    return Listing(_COLUMNS, (_line(each) for each in _lines(root, "", "")))


def _header(app_view: AppView) -> Listing:
    lines = (Line((literal(title), literal(text, style))) for title, text, style in header_of(app_view))
    return Listing((Column(""), Column("")), lines, titles=False)


def _line(shown: tuple[str, str, Branch]) -> Line:
    first, others, branch = shown
    cells = (first + branch.name, branch.kind, branch.status, branch.age, branch.info)
    return Line(tuple(literal(cell, branch.style) for cell in cells), f"{others}{'│' if branch.children else ' '}  ")


def _lines(branch: Branch, first: str, others: str) -> Iterator[tuple[str, str, Branch]]:
    """Yield each branch with the beginnings of its own line, ``first``, and of the lines below, ``others``."""
    yield first, others, branch
    for child in branch.children:
        last = child is branch.children[-1]
        yield from _lines(child, others + ("└─ " if last else "├─ "), others + ("   " if last else "│  "))


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


def drawn_explanation(found: Explanation) -> Group:
    """Return all of it for people."""
    versions = (_versions(found),) if found.decision.record.state.versions else ()
    return drawn_explained(found.explained, versions, outlook=facts(_outlook(found.outlook), 2))


def gate_table(gates: Iterable[ShownGate], now: datetime, *, indent: int = 0) -> Listing:
    """Return one line for each gate; ``now`` is UTC."""
    columns = (Column(""), Column(""), Column(""))
    return Listing(columns, (_gate_line(each, now) for each in gates), titles=False, indent=indent)


def statement_lines(
    statements: Statements, name: Callable[[str], str], indent: int, told: Sequence[str] = ()
) -> Iterator[Listing]:
    """Return them for people: a sentence each, without a reason that was ``told`` above."""
    for each in statements:
        sentence = without_repeated_reason(statement_sentence(each, name(each.digest)), told)
        yield paragraph(literal(sentence, "dim"), indent)


def indented(text: str, style: str = "", indent: int = 2) -> Listing:
    """Return a sentence, so many columns from the margin."""
    return paragraph(literal(text, style), indent)


def _parts(
    found: Explained,
    versions: Iterable[RenderableType],
    of_gates: Iterable[RenderableType],
    outlook: RenderableType | None,
) -> Iterator[RenderableType]:
    yield literal(f"{found.subject}: {found.phase}", f"bold {style_of(found.phase)}")
    yield from map(indented, found.serves)
    if found.pull is not None:
        yield indented(pull_sentence(found.pull))
    told = tuple(troubles(found.conditions, table_of(found.subject)))
    for condition in told:
        yield drawn(condition, found.advised, 2, answered=f"gitops-bg explain {found.subject}")
    messages = tuple(condition.message for condition in told)
    yield from statement_lines(found.told, found.name, 2, messages)
    yield from versions
    if found.gates:
        yield indented(found.before_gates)
        lines = (line for condition in told for line in advice_lines(condition, (found.advised,)))
        commands = tuple(text for title, text, _ in lines if title == "by")
        yield gate_table(
            (_shown(each, messages, commands, outlook is None) for each in found.gates), found.now, indent=2
        )
    yield from of_gates
    for action in found.actions:
        yield indented(f"about to be done: {action}")
    if outlook is not None:
        yield outlook


def _shown(each: ShownGate, told: Sequence[str], commands: Sequence[str], with_advice: bool) -> ShownGate:
    """Leave out what stands above: a reason that was ``told``, and advice whose command is one of the ``commands``."""
    advises = with_advice and not any(command in each.advice for command in commands)
    return replace(each, reason=without_repeated_reason(each.reason, told), advice=each.advice if advises else "")


def _gate_line(each: ShownGate, now: datetime) -> Line:
    gate = each.gate
    left = f", for {spoken((gate.until - now).total_seconds())} more" if gate.until and not gate.open else ""
    advice = f"\n{each.advice}" if each.advice else ""
    return Line(
        (
            literal("open" if gate.open else "shut", "green" if gate.open else "red"),
            literal(gate.kind, "bold"),
            literal(f"{' '.join(filter(None, (each.reason, each.counts)))}{left}{advice}"),
        )
    )


def _versions(found: Explanation) -> Listing:
    """Return the versions: services of the active and the wanted one have a line each, those of others are named."""
    versions = found.decision.record.state.versions
    lines = (Line(cells) for version in versions for cells in _version_lines(found, version))
    return Listing(_VERSION_COLUMNS, lines, indent=2)


def _version_lines(found: Explanation, version: GroupVersion) -> Iterator[tuple[Text, ...]]:
    first = (literal(version.name, "bold"), literal(version.stage, _STAGES.get(version.stage, "dim")))
    places = serving_in(found.decision.record, version.name)
    if version.name not in (found.active, found.wanted, found.next) or not places:
        names = ", ".join(member_name(each.service, each.initial_version) for each in places)
        yield (*first, literal(names or "-"), literal(""))
        return
    for place in places:
        member, name = found.member(place), member_name(place.service, place.initial_version)
        yield (*first, literal(name), literal(*_state(member)))
        first = (literal(""), literal(""))


def _state(member: Member) -> tuple[str, str]:
    if member.healthy:
        return "healthy", "green"
    return member.reason or "is not healthy", "yellow" if member.available else "red"


def _outlook(outlook: NextStep) -> Iterator[tuple[Text, Text]]:
    yield literal("next", "dim"), literal(outlook.next)
    for each in outlook.advice:
        yield literal("to do", "dim"), literal(each.what)
        if each.command:
            yield literal(""), literal(each.command, "cyan")
