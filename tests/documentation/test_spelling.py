"""One spelling of the word for blue and green, in all that people read: that of fields, labels and JSON."""

from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OTHER = "colo" + "ur"
READ = ("gitops_bg", "docs", "deploy", "repo-template", "policies", "tests", "README.md", "CONTRIBUTING.md", ".ci")


def texts(place: Path) -> Iterator[tuple[Path, str]]:
    """Every text file below a place, with its content."""
    for file in [place] if place.is_file() else sorted(place.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file, file.read_bytes().decode(errors="replace")


@pytest.mark.parametrize("place", READ)
def test_color_is_written_in_one_way(place: str) -> None:
    found = list(texts(ROOT / place))
    assert found
    assert [str(file.relative_to(ROOT)) for file, text in found if OTHER in text.lower()] == []
