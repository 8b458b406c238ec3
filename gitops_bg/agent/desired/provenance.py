"""How targets came to name their versions: main's history, and what folders held then (decision 18).

Asked only where the core wants to know it, cached until main changes the app. Decides nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from gitops_bg.agent.desired.reading import Entry
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.desired import Provenance, Revert
from gitops_bg.core.model.version import AppKey, Snapshot, Source
from gitops_bg.repo.read.files import Entry as FileEntry
from gitops_bg.repo.read.reverts import Change
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import APP_FILE, PRIMARY_FILE
from gitops_bg.spec.app.load import load_app
from gitops_bg.spec.app.primary import read_primary
from gitops_bg.spec.yaml.reader import read_one

_MOST_LINKS = 50
"""How many reverts in a row are examined."""
_Blobs = frozenset[tuple[str, str]]


class Provenances:
    """Answers for one repository. Called by workers; the repository's lock makes it safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._answers: dict[AppKey, tuple[str, Provenance]] = {}
        self._sources: dict[AppKey, tuple[str, Source | None]] = {}

    def of(self, app: AppKey, commit: str, makers: Sequence[str]) -> Provenance:
        """How the target came to name its version at a commit of main; ``makers`` are the files that it comes from.

        An answer that cannot be read now (the remote is unreachable, and the mirror is incomplete) says so, and is
        asked for again.
        """
        known = self._answers.get(app)
        if known and known[0] == commit:
            return known[1]
        try:
            answer = _Asking(self._repository, app, makers).from_(commit)
        except GitopsBgError as error:
            return Provenance(Source(""), unread=str(error))
        self._answers[app] = (commit, answer)
        return answer

    def makers(self, app: AppKey, entry: Entry) -> tuple[str, ...]:
        """The files that the version of a target may come from. Beside those of now, which ``entry`` names, what left
        the folder, and what is not tracked any more: that changed the version, too.

        Raises the errors of a repository that cannot be read at present.
        """
        config = entry.config
        left = self._repository.removed_files(app) if config.lacks_configuration else frozenset[str]()
        return tuple(sorted({*entry.makers, *config.untracked, *left} - {PRIMARY_FILE, APP_FILE}))

    def source(self, app: AppKey, commit: str, makers: Sequence[str]) -> Source | None:
        """The commit that made the target name its version at a commit of main; None for one that never was.

        Raises the errors of a repository that cannot be read at present.
        """
        known = self._sources.get(app)
        if known is None or known[0] != commit:
            known = self._sources[app] = (commit, _Asking(self._repository, app, makers).source(commit))
        return known[1]


def passed_of(repository: Repository, app: AppKey, since: str, commit: str) -> tuple[Snapshot, ...] | None:
    """What ``primary.yaml`` named between two commits of main, oldest first; broken files name nothing.

    None where it cannot be read now.
    """
    try:
        contents = repository.primaries_since(app, since, commit)
    except GitopsBgError:
        return None
    documents = (read_one(PRIMARY_FILE, content)[0] for content in reversed(contents))
    named = (read_primary(document, app)[0] for document in documents if document)
    return tuple(each.snapshot for each in named if each)


def brought_in(repository: Repository, app: AppKey, commit: str, is_it: Callable[[Snapshot], bool]) -> str:
    """The commit that brought such a version first, of the newest changes up to a commit; empty: none of them."""
    there, gone = repository.entries_of([app], commit)[app].keys(), repository.removed_files(app)
    return _Asking(repository, app, sorted((there | gone) - {PRIMARY_FILE})).brought_in(commit, is_it)


class _Asking:
    """One question: walks from a change of the version to the one before, as long as the changes are reverts."""

    def __init__(self, repository: Repository, app: AppKey, makers: Sequence[str]) -> None:
        self._repository = repository
        self._app = app
        self._makers = makers
        self._at: dict[str, Snapshot | None] = {}
        self._of: dict[_Blobs, Snapshot | None] = {}
        """By content of the folder, which is the same before a push and after its revert."""

    def from_(self, commit: str) -> Provenance:
        """The change that brought the version, with what it and the reverts right before it take back."""
        told = Provenance(Source(""))
        for change in self._changes(commit):
            taken = self._repository.taken_back(self._app, self._makers, change)
            if not told.source.commit:
                told = Provenance(self._repository.source_of(change.commit), taken.named, taken.missing)
            if not taken.named:
                break
            told = replace(told, reverts=(*told.reverts, self._revert(change, taken.changes)))
        return told

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

    def _changes(self, commit: str) -> Iterator[Change]:
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

    def _revert(self, change: Change, changes: Sequence[Change]) -> Revert:
        commits = dict.fromkeys(each.commit for each in changes)
        versions = dict.fromkeys(version for each in changes if (version := self._brought(each)))
        return Revert(self._repository.source_of(change.commit), tuple(commits), tuple(versions))

    def _brought(self, change: Change) -> Snapshot | None:
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
