"""From what the repository's settings and the command line say to a forge that can be asked."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from gitops_bg.agent.forge.thread import Connect, Connection
from gitops_bg.agent.settings import ForgeAccess
from gitops_bg.forge import connect as forges
from gitops_bg.forge.credentials import AppSettings
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.spec.app.models import ForgeSettings


def connect_with(repository: RepositorySettings, access: ForgeAccess, clock: Callable[[], datetime]) -> Connect:
    """Connects with these credentials to whichever forge the settings name."""

    def connect(wanted: ForgeSettings) -> Connection:
        settings = forges.ForgeSettings(
            remote=repository.url,
            kind=wanted.type or "",
            url=wanted.url or "",
            token_file=_token_file(repository, access),
            app=AppSettings(access.app_id, access.app_key_file) if access.app_id and access.app_key_file else None,
            ca_file=access.ca_file or repository.ca_file,
        )
        forge = forges.connect(settings, clock)
        return Connection(forge, forge.close_connections, lambda: forge.rate().remaining)

    return connect


def _token_file(repository: RepositorySettings, access: ForgeAccess) -> Path | None:
    """The one for the forge, else that for Git, where it goes to the same server over https."""
    over_https = repository.url.startswith("https://")
    return access.token_file or (repository.token_file if over_https else None)
