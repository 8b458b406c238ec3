"""The settings of an agent: everything that the command line or the environment can set."""

from pathlib import Path

from gitops_bg.agent.runtime.leadership import LeaseSettings
from gitops_bg.cluster.api.access import Access
from gitops_bg.core.dataclass import dataclass
from gitops_bg.outbound.addresses import ORDINARY, AddressRules
from gitops_bg.repo.settings import RepositorySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeAccess:
    """The credentials for the forge. Without any: the token for Git, where the remote is https."""

    token_file: Path | None = None
    app_id: str = ""
    """The id of a GitHub App; with ``app_key_file``."""
    app_key_file: Path | None = None
    ca_file: Path | None = None
    host: str = ""
    """The forge's server, where it is not the repository's: `forge.url` alone is not enough to send it the token."""


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
    """How many measurements over HTTP run at a time; at most half of them for one app."""
    forge: ForgeAccess = ForgeAccess()
    webhook_secret_file: Path | None = None
    api_token_file: Path | None = None
    """The token of the API of groups; None: it is off."""
    public_url: str = ""
    """The dashboard's address in browsers: statuses and alerts lead there. Empty: they lead nowhere."""
    addresses: AddressRules = ORDINARY
    """Where metrics, hooks and alerts may be asked for."""
    lease: LeaseSettings | None = None
    """None: no other agent is expected, and none is waited for."""
    sync_timeout_seconds: float = 60.0
    """How long the first list of every kind may take before the agent gives up and says why."""
