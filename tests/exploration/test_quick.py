"""What is quick gives what the standard library gives, for every class that the engine is made of."""

import dataclasses
import subprocess
import sys

import pytest

from tests.core.simulation import deployed, manual
from tests.exploration import quick
from tests.exploration.world import Books

RECORD = deployed(manual()).record
VALUES = (RECORD, RECORD.versions[0], RECORD.versions[0].snapshot, RECORD.git.main, manual(), manual().strategy)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_it_is_what_it_replaces(value: object) -> None:
    assert quick.replace(value) == dataclasses.replace(value)  # type: ignore[type-var]
    for field in dataclasses.fields(value):  # type: ignore[arg-type]
        changed = {field.name: "another"}
        assert quick.replace(value, **changed) == dataclasses.replace(value, **changed)  # type: ignore[type-var]


def test_it_refuses_what_is_no_field() -> None:
    with pytest.raises(KeyError):
        quick.replace(RECORD, color="green")
    with pytest.raises(TypeError):
        quick.replacer(Books)(Books(), color="green")


def test_a_named_tuple_is_copied_as_it_copies_itself() -> None:
    changed = Books("1", ("1",))._replace(told=3, bad=frozenset("2"))
    copy = quick.replacer(Books)
    assert copy(Books("1", ("1",)), told=3, bad=frozenset("2")) == changed
    assert type(copy(Books())) is Books


def _explored(hurries: bool) -> str:
    """What a process finds in a few hundred states of each kind, as text."""
    code = (
        "from tests.exploration.quick import hurry; from tests.exploration.search import explore;"
        f"from tests.exploration.seeds import SEEDS; {hurries} and hurry();"
        "[print(explore(one, 5, most=100)._replace(seconds=0)) for one in SEEDS[3::12]]"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_who_hurries_finds_the_same() -> None:
    assert _explored(True) == _explored(False) != ""
