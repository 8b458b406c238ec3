"""Whether a release came into an environment as releases do: by a commit that lets it in, or from one before it.
One that somebody wrote by hand was never anywhere, and must not reach live traffic (decision 113). Only reads.

Git's history is asked only about a ``release.yaml`` that is new.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from cachetools import LRUCache

from gitops_bg.agent.desired.releases import release_path
from gitops_bg.core.foreign_text import lines_of
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppKey, ReleaseId
from gitops_bg.repo.read.files import File
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import PRIMARY_FILE, RELEASE_FILE
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.environments.home import Home

_REMEMBERED = 20_000
_MOST_BEFORE = 50
"""How many former contents of a file are looked through."""


class EntryCheck:
    """Remembers the files that are as they should be."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._good: LRUCache[tuple[AppKey, str, str], bool] = LRUCache(_REMEMBERED)

    def checked(self, config: AppConfig, files: Mapping[str, File], home: Home | None) -> AppConfig:
        """Return what an app's files say; without target and release, and with a problem, where nobody let that in."""
        release, file = config.release, files.get(RELEASE_FILE)
        if home is None or home.is_first or release is None or file is None or not isinstance(file.content, bytes):
            return config
        key = (config.app, home.name, file.blob)
        if key in self._good or self._is_let_in(config, release.id, file.content, home):
            self._good[key] = True
            return config
        problem = _not_let_in(config, release.id, home)
        return replace(config, target=None, release=None, problems=(*config.problems, problem), whole=False)

    def _is_let_in(self, config: AppConfig, release: ReleaseId, content: bytes, home: Home) -> bool:
        primary = config.primary
        if primary is not None and primary.release is not None and primary.release.digest == release.digest:
            return True  # it is live here already
        by_commit = any(self._lets_in(config.app, release, each) for each in self._commits(config.app, content, home))
        return by_commit or self._was_before(config.app, release, content, home)

    def _commits(self, app: AppKey, content: bytes, home: Home) -> Iterator[str]:
        """Yield the commits that made the file what it is: the last one first, then those before a way there and
        back.
        """
        made = self._repository.source(app, RELEASE_FILE)
        if made is not None:
            yield made.commit
        path = release_path(self._repository, app, home.name)
        for said in self._repository.changes_of_file(path, most=_MOST_BEFORE):
            if said.content == content:
                yield said.landing.commit
                yield self._repository.maker_of(path, said).commit

    def _lets_in(self, app: AppKey, release: ReleaseId, commit: str) -> bool:
        """Return whether a commit says that it lets a release in: a squash keeps what those say that it has."""
        facts = self._repository.commits.facts([commit]).get(commit)
        said = {line.strip() for line in lines_of(facts.message)} if facts is not None else set[str]()
        return {f"Bg-App: {app}", f"Bg-Event: {Event.ENTERED}", f"Bg-Release: {release}"} <= said

    def _was_before(self, app: AppKey, release: ReleaseId, content: bytes, home: Home) -> bool:
        """Return whether an environment before this one has or had the release: in the same bytes, or live."""
        folder = self._repository.places.folder(app)
        for each in home.environments.passed(home.folders):
            if each.name == home.name:
                return False
            of_former = self._contents(release_path(self._repository, app, each.name))
            if content in of_former or any(
                release.digest.encode() in said for said in self._contents(f"{folder}/{each.name}/{PRIMARY_FILE}")
            ):
                return True
        return False

    def _contents(self, path: str) -> list[bytes]:
        changes = self._repository.changes_of_file(path, most=_MOST_BEFORE)
        return [each.content for each in changes if each.content is not None]


def _not_let_in(config: AppConfig, release: ReleaseId, home: Home) -> Problem:
    message = (
        f"no environment before {home.name} ever had {release.name}, and no commit lets it in: it was written by hand"
    )
    remedy = "revert that; `gitops-bg enter` lets in a release that an environment before has, with a trace"
    return Problem(f"{config.folder}/{home.name}/{RELEASE_FILE}", message, remedy=remedy)
