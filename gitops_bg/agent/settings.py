"""How an agent is to run: everything the command line or the environment can say."""

from dataclasses import dataclass
from pathlib import Path

from gitops_bg.cluster.api.connection import Access
from gitops_bg.cluster.api.lease import LeaseSettings
from gitops_bg.repo.settings import RepositorySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Times in seconds. ``namespaces`` empty means all."""

    repository: RepositorySettings
    access: Access
    namespaces: tuple[str, ...] = ()
    poll_seconds: float = 30.0
    resync_seconds: float = 600.0
    workers: int = 4
    measuring_threads: int = 8
    """How many measurements over HTTP are taken at a time; at most half of them for one app."""
    webhook_secret_file: Path | None = None
    lease: LeaseSettings | None = None
    """None: no other agent is expected, and none is waited for."""
    sync_timeout_seconds: float = 60.0
    """How long the first list of every kind may take before the agent gives up and says why."""
