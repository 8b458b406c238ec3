"""What is Gitea's alone: it may never look again by itself whether a pull request can be merged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.forge.port import StillChecking
from tests.support.forges import worlds
from tests.support.forges.gitea import Gitea
from tests.support.forges.worlds import World, draft

pytestmark = pytest.mark.real_forge


@pytest.fixture
def world(tmp_path: Path, real_forge: Gitea) -> Iterator[World]:
    with worlds.world("gitea", tmp_path / "world", lambda: real_forge) as made:
        yield made


def test_a_pull_request_that_nobody_has_looked_at_is_viewed_so_that_gitea_does(world: World) -> None:
    """Its check waits for a view where the request is inactive for a week and main moves, and after a lost job."""
    head = world.offer()
    forge = world.forge()
    pull = forge.open(draft())
    world.gate.instead("POST", "/merge$", {"message": "Please try again later"}, 405)
    with pytest.raises(StillChecking):
        forge.merge(pull, head)
    last = world.gate.asked[-1]
    assert (last.method, last.path.endswith(f"/pulls/{pull.number}")) == ("GET", True)
