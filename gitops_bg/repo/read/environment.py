"""Which environment a commit of main is read for: that of the agent's cluster, by ``environments.yaml`` of that commit.

Where that file has a mistake, names the cluster no more, or is gone while apps still have the folders of environments,
its last valid content that did holds: nothing new comes in, but what serves is known, and can go back. Where there
never was a valid one, the files count that counted before.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from cachetools import LRUCache

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import NO_ENVIRONMENTS, Environment, Environments
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.read.changes import NOTHING, Trees
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.spec.app.layout import APPS_FOLDER, ENVIRONMENTS_FILE, folder_of
from gitops_bg.spec.environments.load import NO_ENVIRONMENTS_FILE, EnvironmentsFile, load_environments

LOGGER = logging.getLogger(__name__)

_REMEMBERED = 100
_NEAR = 4
"""How many of the commits that were asked about last are tried as the beginning of a walk."""

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
    never_any: bool = False
    """Whether the file has a mistake and no content of it was ever valid: the files count that counted before it."""

    @property
    def hides(self) -> Problem | None:
        """Why nobody can tell which files of an app count; None where that is known."""
        is_known = self.environment is not None or self.never_any
        return self.problems[0] if self.problems and not is_known else None

    @property
    def name(self) -> str:
        """The name of the environment; empty where there is none."""
        return self.environment.name if self.environment is not None else ""


NO_ENVIRONMENT = EnvironmentAt()


class History(Protocol):
    """What main said before."""

    def contents(self, commit: str, since: str) -> Iterable[bytes]:
        """Return what the file said up to a commit, newest first; ``since``: after another one that it contains."""

    def contains(self, commit: str, other: str) -> bool:
        """Return whether the line of main up to a commit has another one."""

    def folders(self, commit: str) -> Mapping[AppKey, frozenset[str]]:
        """Return the names of the folders in those of all apps."""


@dataclass(frozen=True, slots=True)
class _Past:
    """What the file said up to a commit, where that counts no more."""

    valid: EnvironmentAt | None = None
    """The last valid content that names the cluster; None without one."""
    was_valid: bool = False
    """Whether any content was, for whichever clusters."""


class EnvironmentReader:
    """Answers from memory where the file has not changed."""

    def __init__(
        self, trees: Trees, settings: RepositorySettings, read: Callable[[str], Content | None], history: History
    ) -> None:
        """``read`` returns the file at a commit."""
        self._trees = trees
        self._settings = settings
        self._read = read
        self._history = history
        self._known: LRUCache[str, EnvironmentAt] = LRUCache(_REMEMBERED)
        self._files: LRUCache[str, EnvironmentsFile] = LRUCache(_REMEMBERED)
        self._pasts: LRUCache[str, _Past] = LRUCache(_REMEMBERED)

    def at(self, commit: str) -> EnvironmentAt:
        """Return the environment that counts at a commit."""
        nodes = self._trees.at(commit, [ENVIRONMENTS_FILE, APPS_FOLDER])
        node, apps = (nodes.get(each, NOTHING) for each in (ENVIRONMENTS_FILE, APPS_FOLDER))
        key = f"{node.mode} {node.id}"
        file = self._file(key, commit) if node.id else NO_ENVIRONMENTS_FILE
        if file.environments is None or file.environments:
            if key not in self._known:
                self._known[key] = self._found(file, commit)
            return self._known[key]
        past = self._past(commit)
        if past.valid is None:
            return NO_ENVIRONMENT
        key = f"gone {past.valid.environments!r} {apps.id}"
        if key not in self._known:
            self._known[key] = self._after_all(past.valid, commit)
        return self._known[key]

    def in_force(self, commit: str) -> tuple[Environments, tuple[Problem, ...]]:
        """Return the environments that count at a commit, whichever is meant, and why not those of its file: where that
        has a mistake, or is gone while apps have their folders, its last valid content holds.
        """
        node = self._trees.at(commit, [ENVIRONMENTS_FILE]).get(ENVIRONMENTS_FILE, NOTHING)
        file = self._file(f"{node.mode} {node.id}", commit) if node.id else NO_ENVIRONMENTS_FILE
        if file.environments:
            return file.environments, ()
        said = (load_environments(each).environments for each in self._history.contents(commit, ""))
        last = EnvironmentAt(environments=next(filter(None, said), NO_ENVIRONMENTS))
        if file.environments is None:
            return last.environments, file.problems
        gone = self._after_all(last, commit)
        return gone.environments, gone.problems

    def _file(self, key: str, commit: str) -> EnvironmentsFile:
        if key not in self._files:
            self._files[key] = load_environments(self._read(commit))
            for note in self._files[key].notes:
                LOGGER.warning("%s", note)
        return self._files[key]

    def _found(self, file: EnvironmentsFile, commit: str) -> EnvironmentAt:
        found = self._in(file)
        if not found.problems:
            return found
        past = self._past(commit)
        valid = past.valid or NO_ENVIRONMENT
        never_any = file.environments is None and not past.was_valid
        return EnvironmentAt(valid.environment, valid.environments, found.problems, found.unsaid, never_any)

    def _past(self, commit: str) -> _Past:
        """Return what the file said up to a commit: of what was asked before, only what came since is walked."""
        if commit not in self._pasts:
            near = list(self._pasts.items())[: -_NEAR - 1 : -1]
            since, before = next((each for each in near if self._history.contains(commit, each[0])), ("", _Past()))
            was_valid = False
            for content in self._history.contents(commit, since):
                file = load_environments(content)
                was_valid = was_valid or bool(file.environments)
                valid = self._in(file) if file.environments else None
                if valid is not None and not valid.problems:
                    before = _Past(valid, was_valid=True)
                    break
            self._pasts[commit] = replace(before, was_valid=before.was_valid or was_valid)
        return self._pasts[commit]

    def _after_all(self, last: EnvironmentAt, commit: str) -> EnvironmentAt:
        """Return what holds where the file is gone: what it said last, as long as an app has a folder of it."""
        names = frozenset(last.environments.names)
        left = [f"{folder_of(app)}/{min(names & inner)}" for app, inner in self._folders(commit) if names & inner]
        if not left:
            return NO_ENVIRONMENT
        others = f", and {len(left) - 1} more apps have such" if len(left) > 1 else ""
        message = f"is gone, and {left[0]} is a folder of an environment{others}: what it said last stays in force"
        remedy = f"bring it back (`git log -1 -- {ENVIRONMENTS_FILE}` names the commit to revert); or, to give "
        remedy += "environments up, remove those folders, too, with each primary.yaml moved out of its own"
        return replace(last, problems=(Problem(ENVIRONMENTS_FILE, message, remedy=remedy),))

    def _folders(self, commit: str) -> list[tuple[AppKey, frozenset[str]]]:
        return sorted(self._history.folders(commit).items())

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
