"""One spelling of the word for blue and green, in all that people read: that of fields, labels and JSON."""

from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OTHER = "colo" + "ur"
READ = ("gitops_bg", "docs", "deploy", "repo-template", "policies", "tests", "README.md", "CONTRIBUTING.md", ".ci")
HISTORY = ROOT / "docs" / "decisions"
"""Decisions stand as they were written."""


def texts(place: Path) -> Iterator[tuple[Path, str]]:
    """Every text file below a place, with its content."""
    for file in [place] if place.is_file() else sorted(place.rglob("*")):
        if file.is_file() and HISTORY not in file.parents and "__pycache__" not in file.parts:
            yield file, file.read_bytes().decode(errors="replace")


@pytest.mark.parametrize("place", READ)
def test_color_is_written_in_one_way(place: str) -> None:
    found = list(texts(ROOT / place))
    assert found
    assert [str(file.relative_to(ROOT)) for file, text in found if OTHER in text.lower()] == []


def test_decisions_are_left_as_they_were_written() -> None:
    assert any(OTHER in file.read_text() for file in HISTORY.glob("*.md"))
    assert not any(HISTORY in file.parents for file, _ in texts(ROOT / "docs"))
