"""A plan as Markdown for a comment of a pull request: a table of the changes, and a fold for each app or group."""

from collections.abc import Iterator

from gitops_bg.cli.output import clean
from gitops_bg.cli.planning.planned import Planned, PlannedSubject, counted, until
from gitops_bg.forge.markdown import code

LONGEST = 60_000
"""The maximum number of characters: GitHub allows 65,536 for a comment."""
_MOST_SHOWN = 3


def markdown(planned: Planned) -> str:
    """Return the whole text; if it is too long, leave out the last folds, then rows of the table."""
    busy = [each for each in planned.subjects if each.actions or each.shut or each.problems or each.refused]
    head = f"### gitops-bg plan at {code(planned.commit[:10])}\n\n{_summary(planned, busy)}\n"
    rows = [_row(each) for each in busy]
    table = ["", "| Name | Phase | Would do | Waits for |", "|---|---|---|---|", *rows] if rows else []
    parts = [head, *(f"{line}\n" for line in table), *(f"\n{_fold(each)}\n" for each in busy)]
    return "".join(_fitting(parts))


def _fitting(parts: list[str]) -> Iterator[str]:
    room = LONGEST - 200
    for place, part in enumerate(parts):
        room -= len(part)
        if room < 0:
            yield f"\n… {len(parts) - place} more lines and folds are left out; `gitops-bg plan` shows all of it.\n"
            return
        yield part


def _summary(planned: Planned, busy: list[PlannedSubject]) -> str:
    counts = [
        (sum(bool(each.actions) for each in busy), "to be changed"),
        (sum(bool(each.shut) for each in busy), "waiting"),
        (sum(bool(each.problems) for each in busy), "with problems"),
        (sum(bool(each.refused) for each in busy), "refused"),
        (len(planned.subjects) - len(busy), "with nothing to do"),
    ]
    said = ", ".join(f"{number} {what}" for number, what in counts if number)
    what = counted(each.key for each in planned.subjects)
    return f"{what}: {said}." if said else f"{what}."


def _row(planned: PlannedSubject) -> str:
    waits = [f"{code(gate.kind)} {_and_until(until(gate))}".strip() for gate in planned.shut]
    problems = [f"**{len(planned.problems)} problem{'' if len(planned.problems) == 1 else 's'}**"]
    refused = ["**refused**"] if planned.refused else []
    does = [code(str(each)) for each in planned.actions[:_MOST_SHOWN]]
    more = len(planned.actions) - _MOST_SHOWN
    cells = [
        code(str(planned.key)),
        code(planned.phase),
        "<br>".join([*does, *([f"and {more} more"] if more > 0 else [])]) or "–",
        "<br>".join([*refused, *(problems if planned.problems else []), *waits]) or "–",
    ]
    return f"| {' | '.join(cells)} |"


def _and_until(moment: str) -> str:
    return f"until {moment}" if moment else ""


def _fold(planned: PlannedSubject) -> str:
    lines = [f"- **refused** {code(clean(planned.refused), 500)}"] if planned.refused else []
    lines += [f"- **problem** {code(clean(str(each)), 500)}" for each in planned.problems]
    lines += [f"{number}. {code(clean(str(each)), 500)}" for number, each in enumerate(planned.actions, 1)]
    if planned.gates:
        lines += ["", "| Gate | | Why | Until |", "|---|---|---|---|"]
    for gate in planned.gates:
        state = "open" if gate.open else "**shut**"
        lines.append(f"| {code(gate.kind)} | {state} | {code(clean(gate.reason), 500)} | {until(gate) or '–'} |")
    body = "\n".join(lines)
    return f"<details><summary>{code(str(planned.key))}: all of it</summary>\n\n{body}\n\n</details>"
