"""How targets came to name their versions: main's history, and what folders held then (decision 18).

Asked only where the core wants to know it. Decides nothing. Raises the errors of a repository that cannot be read at
present.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from gitops_bg.agent.desired.reading import Entry as AppEntry
from gitops_bg.core.model.journal import Entry, Targeted
from gitops_bg.core.model.version import AppKey, Snapshot, Source
from gitops_bg.repo.read.files import Entry as FileEntry
from gitops_bg.repo.read.reverts import RevertCandidate, RevertedNames
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import APP_FILE, PRIMARY_FILE
from gitops_bg.spec.app.load import load_app

_MOST_LINKS = 50
"""How many reverts in a row are examined."""
_Blobs = frozenset[tuple[str, str]]


def makers_of(repository: Repository, app: AppKey, entry: AppEntry) -> tuple[str, ...]:
    """The files that the version of a target may come from. Beside those of now, which ``entry`` names, what left the
    folder, and what is not tracked any more: that changed the version, too.

    Raises the errors of a repository that cannot be read at present.
    """
    config = entry.config
    left = repository.removed_files(app) if config.lacks_configuration else frozenset[str]()
    return tuple(sorted({*entry.makers, *config.untracked, *left} - {PRIMARY_FILE, APP_FILE}))


def brought_in(repository: Repository, app: AppKey, commit: str, is_it: Callable[[Snapshot], bool]) -> str:
    """The commit that brought such a version first, of the newest changes up to a commit; empty: none of them."""
    there, gone = repository.entries_of([app], commit)[app].keys(), repository.removed_files(app)
    return TargetHistory(repository, app, sorted((there | gone) - {PRIMARY_FILE})).brought_in(commit, is_it)


class TargetHistory:
    """Walks from a change of the version to the one before, as long as the changes are reverts."""

    def __init__(self, repository: Repository, app: AppKey, makers: Sequence[str]) -> None:
        self._repository = repository
        self._app = app
        self._makers = makers
        self._at: dict[str, Snapshot | None] = {}
        self._of: dict[_Blobs, Snapshot | None] = {}
        """By content of the folder, which is the same before a push and after its revert."""

    def entries(self, commit: str) -> tuple[Entry, ...]:
        """The change that brought the version, and the reverts in a row right before it, with what each takes back;
        oldest first.
        """
        found: list[Entry] = []
        for change in self._changes(commit):
            taken = self._repository.reverted_names(self._app, self._makers, change)
            if taken.named or not found:
                found.insert(0, self._entry(change, taken))
            if not taken.named:
                break
        return tuple(found) or (Entry(Source(""), Targeted()),)

    def source(self, commit: str) -> Source | None:
        """The commit that brought the version."""
        change = next(self._changes(commit), None)
        return self._repository.source_of(change.commit) if change is not None else None

    def brought_in(self, commit: str, is_it: Callable[[Snapshot], bool]) -> str:
        """The oldest of the changes up to a commit that brought such a version; empty: none."""
        found = ""
        for change in self._changes(commit):
            version = self._version(change.commit)
            found = change.commit if version is not None and is_it(version) else found
        return found

    def _changes(self, commit: str) -> Iterator[RevertCandidate]:
        """The changes of the version up to a commit, newest first. Where a merge has the version of what it merged,
        that brought it.
        """
        at = commit
        for _ in range(_MOST_LINKS):
            change = self._repository.last_change(self._app, self._makers, at) if at else None
            if change is None:
                return
            at = change.before
            if brought := self._brought(change):
                merged = next((each for each in change.merged if self._is(each, brought)), "")
                if merged:
                    at = merged
                else:
                    yield change

    def _is(self, commit: str, version: Snapshot) -> bool:
        there = self._version(commit)
        return there is not None and there.digest == version.digest

    def _entry(self, change: RevertCandidate, taken: RevertedNames) -> Entry:
        commits = dict.fromkeys(each.commit for each in taken.changes)
        versions = dict.fromkeys(version for each in taken.changes if (version := self._brought(each)))
        said = Targeted(taken.named, taken.missing, tuple(commits), tuple(versions))
        return Entry(self._repository.source_of(change.commit), said)

    def _brought(self, change: RevertCandidate) -> Snapshot | None:
        """The version that a change brought; None where it left the version unchanged."""
        after, before = self._version(change.commit), self._version(change.before) if change.before else None
        return None if after is None or (before and before.digest == after.digest) else after

    def _version(self, commit: str) -> Snapshot | None:
        """The version that the target named at a commit; None where it was missing or broken."""
        if commit not in self._at:
            entries = dict(self._repository.entries_of([self._app], commit)[self._app])
            entries.pop(PRIMARY_FILE, None)
            blobs = frozenset((name, entry.blob) for name, entry in entries.items())
            if blobs not in self._of:
                self._of[blobs] = self._read(entries)
            self._at[commit] = self._of[blobs]
        return self._at[commit]

    def _read(self, entries: Mapping[str, FileEntry]) -> Snapshot | None:
        files = self._repository.read(entries.values())
        contents = {name: files[entry.path].content for name, entry in entries.items()}
        folder = self._repository.places.folder(self._app)
        target = load_app(self._app, contents, lambda *_: Source(""), folder=folder).target
        return target.snapshot if target else None
