"""From what the repository's settings and the command line say to a forge that can be asked."""

from collections.abc import Callable
from datetime import datetime

from gitops_bg.agent.forge.thread import Connect, Connection
from gitops_bg.agent.settings import ForgeAccess
from gitops_bg.core.errors import Refused
from gitops_bg.repo.git.address import repository_name
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.spec.app.models import ForgeSettings


def connect_with(repository: RepositorySettings, access: ForgeAccess, clock: Callable[[], datetime]) -> Connect:
    """Connects with these credentials to whichever forge the settings name."""

    def connect(wanted: ForgeSettings) -> Connection:
        _ = access, clock
        raise Refused(f"no adapter for {wanted.type or repository_name(repository.url)} yet")

    return connect
