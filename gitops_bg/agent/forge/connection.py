"""From what the repository's settings and the command line say to a forge that can be asked."""

from collections.abc import Callable
from datetime import datetime

from gitops_bg.agent.forge.thread import Connect, Connection
from gitops_bg.agent.settings import ForgeAccess
from gitops_bg.forge.connect import AppSettings, ForgeSettings, connect
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.spec.app import models


def connect_with(repository: RepositorySettings, access: ForgeAccess, clock: Callable[[], datetime]) -> Connect:
    """Connects with these credentials to whichever forge the settings of the repository name."""

    def connected(wanted: models.ForgeSettings) -> Connection:
        app = AppSettings(access.app_id, access.app_key_file) if access.app_id and access.app_key_file else None
        settings = ForgeSettings(
            remote=repository.url,
            kind=wanted.type or "",
            url=wanted.url or "",
            token_file=access.token_file,
            app=app,
            ca_file=access.ca_file,
        )
        forge = connect(settings, clock)
        return Connection(forge, forge.close_connections, lambda: forge.rate().remaining)

    return connected
