"""Runs a real agent in the test's process, against any cluster and any Git remote."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.settings import AgentSettings
from gitops_bg.cluster.api.access import Access
from gitops_bg.outbound.addresses import EVERYWHERE
from gitops_bg.repo.settings import RepositorySettings


def agent_settings(
    folder: Path, url: str, kubeconfig: Path, git: Mapping[str, Any] | None = None, **changes: object
) -> AgentSettings:
    """Settings for tests: polls only when woken, unless told otherwise. ``git`` are more settings of the repository."""
    repository = RepositorySettings(url=url, directory=folder / "mirror", **{"cluster": "test", **(git or {})})
    given: dict[str, object] = {
        "repository": repository,
        "access": Access(kubeconfig=kubeconfig),
        "poll_seconds": 3600.0,
        "addresses": EVERYWHERE,
    }
    return AgentSettings(**(given | changes))  # type: ignore[arg-type]


@contextmanager
def running(settings: AgentSettings) -> Iterator[Agent]:
    """A running agent; stopped at the end, also where the test fails."""
    agent = Agent(settings)
    try:
        agent.start()
        yield agent
    finally:
        agent.stop()
