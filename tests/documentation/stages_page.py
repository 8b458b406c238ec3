"""Writes docs/architecture/stages.md: the stages of a version and the steps of the engine, as picture and tables."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

from gitops_bg.core import engine
from gitops_bg.core.model.version import Stage
from tests.documentation.stages import NOWHERE, TABLE, Row

PAGE = Path(__file__).parents[2] / "docs" / "architecture" / "stages.md"
COMMAND = "python -m tests.documentation --write-docs"

_MEANS = {
    Stage.CANDIDATE: "on its way to live traffic, or just given up; pods as many as its gates ask for",
    Stage.ACTIVE: "live traffic goes to it",
    Stage.LEGACY: "served before; warm until its delay is over, or coming up to be gone back to",
    Stage.ARCHIVED: "at 0 pods; what it was is still at hand",
}

_HEAD = f"""\
# The stages of a version, and the steps of a decision

Written by `{COMMAND}` (`make docs`). The ways are those of `NEXT` in
[`core/model/stages.py`](../../gitops_bg/core/model/stages.py): the engine goes no other, a step that tries raises. A
test runs it through every world that exploration comes to, and fails where a step goes a way that the table below does
not have for it, or a row of it never happens. The steps are `STEPS` of
[`core/engine.py`](../../gitops_bg/core/engine.py), with its comments.
"""


def page() -> str:
    """The whole page."""
    return "\n".join(
        [_HEAD, "## Stages\n", _meanings(), _picture(), _transitions(), "## Steps\n", _ABOUT_STEPS, _steps()]
    )


def _meanings() -> str:
    return _table(("Stage", "Means"), [(f"`{stage}`", _MEANS[stage]) for stage in Stage])


def _picture() -> str:
    lines = [f"    {_node(row.origin)} --> {_node(row.goal)}: {_label(row)}" for row in TABLE]
    return "```mermaid\nstateDiagram-v2\n" + "\n".join(lines) + "\n```\n"


def _label(row: Row) -> str:
    return ", ".join(row.events)


def _node(stage: str) -> str:
    return "[*]" if stage == NOWHERE else stage


def _transitions() -> str:
    return _table(("From", "To", "What happens", "When", "In the steps"), [_cells(row) for row in TABLE])


def _cells(row: Row) -> tuple[str, ...]:
    steps = ", ".join(f"`{step}`" for step in row.steps)
    return (_named(row.origin), _named(row.goal), _label(row), row.when, steps)


def _named(stage: str) -> str:
    return stage if stage == NOWHERE else f"`{stage}`"


_ABOUT_STEPS = """\
`decide` takes them from top to bottom. Each gets a world, and returns one in which only the record differs
(DESIGN §5.2).
"""


def _steps() -> str:
    """The steps in their order, with the comments beside them in the code."""
    comments = _comments()
    rows = []
    for number, (step, comment) in enumerate(zip(engine.STEPS, comments, strict=True), 1):
        place = (inspect.getsourcefile(inspect.unwrap(step)) or "").rpartition("gitops_bg/")[2]
        rows.append((str(number), f"`{step.__name__}`", comment, f"[{place}](../../gitops_bg/{place})"))
    return _table(("", "Step", "Is about", "In"), rows)


def _comments() -> list[str]:
    """What the code says beside each step."""
    source = inspect.getsource(engine)
    lines = source.splitlines()
    assign = next(
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "STEPS"
    )
    assert isinstance(assign.value, ast.Tuple)
    return [lines[one.lineno - 1].partition("# ")[2] for one in assign.value.elts]


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "".join("| " + " | ".join(line) + " |\n" for line in (head, tuple("---" for _ in head), *rows))
