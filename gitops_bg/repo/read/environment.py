"""Which environment a commit of main is read for: that of the agent's cluster, by ``environments.yaml`` of that commit.

Where that file has a mistake, or names the cluster no more, its last valid content that did holds: nothing new comes
in, but what serves is known, and can go back. Where there never was one, nobody can tell which files count.
"""

from collections.abc import Callable, Iterable

from cachetools import LRUCache

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import NO_ENVIRONMENTS, Environment, Environments
from gitops_bg.core.model.desired import Problem
from gitops_bg.repo.read.changes import NOTHING, Trees
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.spec.app.layout import ENVIRONMENTS_FILE
from gitops_bg.spec.environments.load import EnvironmentsFile, load_environments

_REMEMBERED = 100

Content = bytes | Problem


@dataclass(frozen=True, slots=True)
class EnvironmentAt:
    """The environment that counts at a commit."""

    environment: Environment | None = None
    """None where the repository has none, or nobody can tell."""
    environments: Environments = NO_ENVIRONMENTS
    """All of them, as far as they are in force."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with the file as it is now: no release enters."""
    unsaid: bool = False
    """Whether it is for somebody at a terminal to say which one is meant, and no cluster does."""

    @property
    def hides(self) -> Problem | None:
        """Why nobody can tell which files of an app count; None where that is known."""
        return self.problems[0] if self.problems and self.environment is None else None

    @property
    def name(self) -> str:
        """The name of the environment; empty where there is none."""
        return self.environment.name if self.environment is not None else ""


NO_ENVIRONMENT = EnvironmentAt()


class EnvironmentReader:
    """Answers from memory where the file has not changed."""

    def __init__(
        self,
        trees: Trees,
        settings: RepositorySettings,
        read: Callable[[str], Content | None],
        earlier: Callable[[str], Iterable[bytes]],
    ) -> None:
        """``read`` returns the file at a commit; ``earlier`` what it said up to a commit, newest first."""
        self._trees = trees
        self._settings = settings
        self._read = read
        self._earlier = earlier
        self._known: LRUCache[str, EnvironmentAt] = LRUCache(_REMEMBERED)

    def at(self, commit: str) -> EnvironmentAt:
        """Return the environment that counts at a commit."""
        node = self._trees.at(commit, [ENVIRONMENTS_FILE]).get(ENVIRONMENTS_FILE, NOTHING)
        if not node.id:
            return NO_ENVIRONMENT
        key = f"{node.mode} {node.id}"
        if key not in self._known:
            self._known[key] = self._found(commit)
        return self._known[key]

    def _found(self, commit: str) -> EnvironmentAt:
        found = self._in(load_environments(self._read(commit)))
        if not found.problems:
            return found
        before = (self._in(load_environments(each)) for each in self._earlier(commit))
        valid = next((each for each in before if not each.problems), NO_ENVIRONMENT)
        return EnvironmentAt(valid.environment, valid.environments, found.problems, found.unsaid)

    def _in(self, file: EnvironmentsFile) -> EnvironmentAt:
        environment, problems = self._meant(file)
        unsaid = bool(self._settings.environment) or not self._settings.names_cluster
        return EnvironmentAt(environment, file.environments or NO_ENVIRONMENTS, problems, unsaid)

    def _meant(self, file: EnvironmentsFile) -> tuple[Environment | None, tuple[Problem, ...]]:
        if file.environments is None or not (self._settings.environment or not self._settings.names_cluster):
            return file.of_cluster(self._settings.cluster)
        names, wanted = ", ".join(file.environments.names), self._settings.environment
        found = file.environments.named(wanted)
        if found is not None:
            return found, ()
        if wanted:
            return None, (
                Problem("--env", f"the repository has no environment {wanted}", remedy=f"name one of {names}"),
            )
        message = "the repository has environments, and nobody said which one is meant"
        return None, (Problem(ENVIRONMENTS_FILE, message, 1, 1, remedy=f"name one by --env: {names}"),)
