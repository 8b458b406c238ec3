"""Where the demo's repository lives, and the agent's settings for that: a bare folder, or a Gitea server."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from gitops_bg.agent.settings import ForgeAccess
from gitops_bg.cli.demo import gitea
from gitops_bg.cli.demo.git import Git
from gitops_bg.cli.demo.remote import Remote
from gitops_bg.cli.repository.worktree import template_folder
from gitops_bg.core.dataclass import dataclass
from gitops_bg.repo.settings import RepositorySettings

CLUSTER = "demo"

_NO_FORGE = ForgeAccess()


@dataclass(frozen=True, slots=True)
class Hosted:
    """A repository that can be cloned and pushed to."""

    remote: Remote
    repository: RepositorySettings
    forge: ForgeAccess = _NO_FORGE
    on_gitea: gitea.Repository | None = None
    """Where users open, merge and close its pull requests; None on a server without any."""


Hosting = Callable[[Path], AbstractContextManager[Hosted]]
"""Creates a repository below a folder, and stops its server at the end."""


@contextmanager
def bare_folder(folder: Path) -> Iterator[Hosted]:
    """Yield a bare repository in a folder."""
    git, bare = Git(folder), folder / "remote.git"
    git("init", "--bare", str(bare))
    remote = Remote(git, bare, bare.as_uri(), template_folder())
    yield Hosted(remote, RepositorySettings(url=remote.url, cluster=CLUSTER, directory=folder / "mirror"))


def gitea_server(assets: gitea.Assets) -> Hosting:
    """Return a hosting on a Gitea server, which merges only commits with a good status of the agent."""

    @contextmanager
    def hosting(folder: Path) -> Iterator[Hosted]:
        home = folder / "gitea"
        home.mkdir()
        with gitea.running(assets, home) as server:
            repository = gitea.Repository(server, home, "config")
            repository.create({"default_merge_style": "squash"})
            yield _on_gitea(folder, repository)

    return hosting


def _on_gitea(folder: Path, repository: gitea.Repository) -> Hosted:
    git = Git(folder)
    git.remember(repository.url, gitea.ADMIN, gitea.password(gitea.ADMIN))
    token = folder / "token"
    token.write_text(repository.token(gitea.AGENT), encoding="utf-8")
    settings = RepositorySettings(
        url=repository.url,
        cluster=CLUSTER,
        directory=folder / "mirror",
        username=gitea.AGENT,
        token_file=token,
        allow_http=True,
    )
    remote = Remote(git, repository.bare, repository.url, template_folder())
    return Hosted(remote, settings, ForgeAccess(token_file=token), repository)
