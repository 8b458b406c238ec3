"""`world`: one repository on each of the three forges, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.forges import worlds


@pytest.fixture(params=["github", "gitlab", pytest.param("gitea", marks=pytest.mark.real_forge)])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[worlds.World]:
    """A repository with a main, and its people."""
    with worlds.world(request.param, tmp_path / "world", lambda: request.getfixturevalue("real_forge")) as made:
        yield made
