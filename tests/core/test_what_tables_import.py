"""Tables at `decide` name no inner function of the engine: so a mechanism may change while what it does stays."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).parent
TABLES = CORE / "engine"
OPEN = {f"gitops_bg.core.{each}" for each in ("engine", "errors", "model", "names", "world")}
"""With what is below them; the rest of a world comes from builders in `tests/core`."""


def named_in(source: str) -> Iterator[str]:
    """Every module of the product that a file imports, or imports a name from."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [f"{node.module}.{each.name}" for each in node.names]
        else:
            continue
        yield from (each for each in found if each.split(".")[0] == "gitops_bg")


def is_open(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in OPEN)


def test_a_table_at_decide_imports_the_engine_and_its_model_alone() -> None:
    files = sorted(TABLES.rglob("*.py"))
    found = [(path, name) for path in files for name in named_in(path.read_text(encoding="utf-8"))]
    more = [f"{path.relative_to(CORE)} imports {name}" for path, name in found if not is_open(name)]
    assert more == [], "say it by what `decide` answers, or with a builder of tests/core"


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("from gitops_bg.core.engine import decide", True),
        ("from gitops_bg.core import names", True),
        ("from gitops_bg.core.model.journal import Looks", True),
        ("from gitops_bg.core.world import World", True),
        ("from gitops_bg.core import checks", False),
        ("import gitops_bg.core.checks.gates", False),
        ("from gitops_bg.core.modelled import x", False),
        ("from gitops_bg.core.transitions.journal import mark_main_observed", False),
    ],
)
def test_what_counts_as_more(line: str, allowed: bool) -> None:
    assert all(map(is_open, named_in(line))) is allowed
