"""Writes docs/architecture/stages.md: the stages of a version and the steps of the engine, as picture and tables."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from gitops_bg.core import engine
from gitops_bg.core import group_engine as groups
from gitops_bg.core.model.statements import Cause
from gitops_bg.core.model.version import Stage
from gitops_bg.core.transitions import verdicts
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
[`core/model/version.py`](../../gitops_bg/core/model/version.py): the engine goes no other, a step that tries raises. A
test runs it through every world that exploration comes to, and fails where a step goes a way that the table below does
not have for it, or a row of it never happens. What is said against a version by time and pods is `TRIGGERS` of
[`core/transitions/verdicts.py`](../../gitops_bg/core/transitions/verdicts.py); each cause of a hold
has a row. The steps are `STEPS` of [`core/engine.py`](../../gitops_bg/core/engine.py) and
[`core/group_engine.py`](../../gitops_bg/core/group_engine.py), with their comments.
"""


def page() -> str:
    """The whole page."""
    stages = ("## Stages\n", _meanings(), _picture(), _transitions())
    steps = ("## Steps\n", _ABOUT_STEPS, *_acts(engine))
    of_groups = ("## Steps of a release group\n", _ABOUT_GROUPS, *_acts(groups))
    return "\n".join([_HEAD, *stages, "## Triggers\n", _ABOUT_TRIGGERS, _triggers(), *steps, *of_groups])


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


_ABOUT_TRIGGERS = """\
What puts a version on hold, and what follows. *Stop*: it does not get live traffic, and what serves stays. *Go back*:
live traffic leaves it for the last good version at once, and the commit follows.
"""

_STOP, _GO_BACK, _BOTH = "stop", "go back", "stop; from the one that serves: go back"
_LEADS = {verdicts.stop: _STOP, verdicts.go_back: _GO_BACK}
SAID_BY_OTHERS = (
    ("an analysis fails, or cannot measure: before the promotion, or after it", Cause.ANALYSIS_FAILED, _BOTH),
    ("a Job before its pods fails (`jobs.beforePods`)", Cause.JOB_FAILED, _STOP),
    ("a hook refuses, or a `rollback` hook asks to go back", Cause.HOOK_REFUSED, _BOTH),
    ("`gitops-bg abort`", Cause.ABORTED, _BOTH),
    (
        "`primary.yaml` names what served before; `gitops-bg rollback --offline`",
        Cause.ROLLED_BACK,
        _GO_BACK,
    ),
    ("main takes its promotion back before traffic moved", Cause.TAKEN_BACK, _STOP),
    ("somebody closes the pull request that offers it", Cause.CLOSED, _STOP),
)
"""What hooks, analyses and people say: `core.delivery` and `core.transitions.git` act on it."""


def _triggers() -> str:
    ours = [(each.what, each.cause, _LEADS[each.leads]) for each in verdicts.TRIGGERS]
    return _table(
        ("What happened", "Cause", "Then"),
        [(what, f"`{cause}`", then) for what, cause, then in (*ours, *SAID_BY_OTHERS)],
    )


_ABOUT_STEPS = """\
`decide` takes them from top to bottom, act by act. Each gets a world, and returns one in which only the record differs
(DESIGN §5.2).
"""


_ABOUT_GROUPS = """\
`decide_group` takes these, in the same acts. What is measured, asked, answered and told is the same function as of an
app.
"""


def _acts(of: ModuleType) -> Iterator[str]:
    """The acts in their order: what each is about, and its steps with the comments beside them in the code."""
    numbers = count(1)
    for name, about, comments in _in_code(of):
        steps: tuple[Callable[..., Any], ...] = getattr(of, name)
        rows = [_step(next(numbers), *each) for each in zip(steps, comments, strict=True)]
        yield f"### {name.capitalize()}\n\n{about}\n"
        yield _table(("", "Step", "Is about", "In"), rows)


def _step(number: int, step: Callable[..., Any], comment: str) -> tuple[str, ...]:
    place = (inspect.getsourcefile(inspect.unwrap(step)) or "").rpartition("gitops_bg/")[2]
    return str(number), f"`{step.__name__}`", comment, f"[{place}](../../gitops_bg/{place})"


def _in_code(of: ModuleType) -> Iterator[tuple[str, str, list[str]]]:
    """The name of each act, in the order of `STEPS`; what the code says of it, and beside each of its steps."""
    source = inspect.getsource(of)
    lines, body = source.splitlines(), ast.parse(source).body
    places = {ast.unparse(node.target): place for place, node in enumerate(body) if isinstance(node, ast.AnnAssign)}
    for act in _elements(body[places["STEPS"]]):
        place = places[ast.unparse(act).removeprefix("*")]
        about = body[place + 1]
        assert isinstance(about, ast.Expr)
        assert isinstance(about.value, ast.Constant)
        comments = [lines[one.lineno - 1].partition("# ")[2] for one in _elements(body[place])]
        yield ast.unparse(act).removeprefix("*"), str(about.value.value), comments


def _elements(node: ast.stmt) -> list[ast.expr]:
    """What stands in the tuple of an assignment."""
    assert isinstance(node, ast.AnnAssign)
    assert isinstance(node.value, ast.Tuple)
    return node.value.elts


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "".join("| " + " | ".join(line) + " |\n" for line in (head, tuple("---" for _ in head), *rows))
