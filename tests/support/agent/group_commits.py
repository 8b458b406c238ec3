"""The thread that commits for groups, with all that it is told by the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from gitops_bg.agent.groups.commits import CommitWiring, GroupCommits
from gitops_bg.agent.observability.metrics import Metrics
from gitops_bg.agent.runtime.backoff import Backoff
from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.repository import Repository


@contextmanager
def committing(
    repository: Repository,
    pushed: Callable[[], None] = lambda: None,
    changed: Callable[[GroupKey], None] = lambda _: None,
    may_write: Callable[[], bool] = lambda: True,
    metrics: Metrics | None = None,
) -> Iterator[GroupCommits]:
    """It works, and tries again after 20 ms, until the block ends."""
    made = GroupCommits(
        repository,
        CommitWiring(metrics or Metrics(), pushed, changed, may_write),
        clock=lambda: datetime.now(UTC),
        backoff=Backoff(lambda: 0.0, first=0.02, longest=0.02),
        crashed=lambda error: pytest.fail(str(error)),
    )
    made.start()
    try:
        yield made
    finally:
        made.stop(5.0)
