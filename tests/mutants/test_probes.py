"""A probe says of each test whether it comes to the statement that a mutant changes."""

from pathlib import Path
from types import FunctionType
from typing import Any

from tests.mutants.mutation import PROBE, Mutant, Owner, probed

SOURCE = """\
def chosen(yes):
    if not yes:
        return None
    return lambda: 1
"""


def test_a_probe_is_before_the_statement_and_in_its_lambdas(tmp_path: Path) -> None:
    file = tmp_path / "chosen.py"
    file.write_text(SOURCE)
    (code,) = probed([Mutant(str(file), Owner("chosen", "chosen", 4), "1 -> 2", 0)])
    reached: list[Any] = []
    chosen = FunctionType(code, {PROBE: reached.append})
    assert chosen(False) is None
    assert reached == []
    made = chosen(True)
    assert reached == [(str(file), 4)]
    assert made() == 1
    assert reached == [(str(file), 4)] * 2
