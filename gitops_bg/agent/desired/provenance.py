"""Where the state of main comes from: how targets came to name their versions, and what main said of apps and groups
since their records know it, as far as the core asks (decisions 17 and 18).

It reads contents, and who brought them; it decides nothing. An answer is kept until main changes the app, or the core
asks for something else. One that cannot be read now (the remote is unreachable, and the mirror is incomplete) is asked
for again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from gitops_bg.agent.desired.reading import AppEntry
from gitops_bg.core.checks.git import Asked
from gitops_bg.core.delivery.world import Describes
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.journal import Entry, Journal, Named, Retried, SuspensionChanged, Targeted, in_order
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.version import AppKey, AppOrGroup, Snapshot, Source, SubjectKind
from gitops_bg.repo.read.files import TreeEntry
from gitops_bg.repo.read.history import FileChange, differs, unchanged_since
from gitops_bg.repo.read.reverts import RevertCandidate, RevertedNames
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import APP_FILE, GROUP_FILE, PRIMARY_FILE
from gitops_bg.spec.app.load import load_app
from gitops_bg.spec.app.primary import read_primary
from gitops_bg.spec.app.to_core import retry_in
from gitops_bg.spec.declared import DeclaredModel, model_of
from gitops_bg.spec.groups.models import GroupRetry
from gitops_bg.spec.yaml.reader import read_one

_MOST_LINKS = 50
"""How many reverts in a row are examined."""
_Blobs = frozenset[tuple[str, str]]


def makers_of(repository: Repository, app: AppKey, entry: AppEntry) -> tuple[str, ...]:
    """Return the files that the version of a target may come from. Beside those of now, which ``entry`` names, what
    left the folder, and what is not tracked any more: that changed the version, too.

    Raises the errors of a repository that cannot be read at present.
    """
    config = entry.config
    left = repository.removed_files(app) if config.lacks_configuration else frozenset[str]()
    return tuple(sorted({*entry.makers, *config.untracked, *left} - {PRIMARY_FILE, APP_FILE}))


def brought_in(repository: Repository, app: AppKey, commit: str, is_it: Callable[[Snapshot], bool]) -> str:
    """Return the commit that brought such a version first, of the newest changes up to a commit; empty: none of
    them.
    """
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
        """Return the change that brought the version, and the reverts in a row right before it, with what each takes
        back; oldest first.
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
        """Return the commit that brought the version."""
        change = next(self._changes(commit), None)
        return self._repository.source_of(change.commit) if change is not None else None

    def brought_in(self, commit: str, is_it: Callable[[Snapshot], bool]) -> str:
        """Return the oldest of the changes up to a commit that brought such a version; empty: none."""
        found = ""
        for change in self._changes(commit):
            version = self._version(change.commit)
            found = change.commit if version is not None and is_it(version) else found
        return found

    def _changes(self, commit: str) -> Iterator[RevertCandidate]:
        """Yield the changes of the version up to a commit, newest first. Where a merge has the version of what it
        merged, that brought it.
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
        """Return the version that a change brought; None where it left the version unchanged."""
        after, before = self._version(change.commit), self._version(change.before) if change.before else None
        return None if after is None or (before and before.digest == after.digest) else after

    def _version(self, commit: str) -> Snapshot | None:
        """Return the version that the target named at a commit; None where it was missing or broken."""
        if commit not in self._at:
            entries = dict(self._repository.entries_of([self._app], commit)[self._app])
            entries.pop(PRIMARY_FILE, None)
            blobs = frozenset((name, entry.blob) for name, entry in entries.items())
            if blobs not in self._of:
                self._of[blobs] = self._read(entries, commit)
            self._at[commit] = self._of[blobs]
        return self._at[commit]

    def _read(self, entries: Mapping[str, TreeEntry], commit: str) -> Snapshot | None:
        files = self._repository.read(entries.values())
        contents = {name: files[entry.path].content for name, entry in entries.items()}
        folder = self._repository.places.folder(self._app)
        home = self._repository.homes([self._app], commit).get(self._app)
        target = load_app(self._app, contents, lambda *_: Source(""), folder=folder, home=home).target
        return target.snapshot if target else None


_Answer = TypeVar("_Answer")


_MOST_NAMES = 100
"""How many changes of ``primary.yaml`` are read; older ones are of no use."""


_UNKNOWN = Source("")
"""Nobody can tell now who said it."""


_FILES: Mapping[SubjectKind, tuple[str, type[DeclaredModel]]] = {
    SubjectKind.APP: (APP_FILE, model_of(Retry)),
    SubjectKind.GROUP: (GROUP_FILE, GroupRetry),
}
"""The file that describes a subject, and the form of a retry in it."""


class Journals:
    """Answers for one repository. Called by workers; the repository's lock makes it safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known: dict[tuple[AppOrGroup, type], tuple[object, Any]] = {}

    def of(self, app: AppKey, spec: Describes | None, asked: Asked, commit: str, makers: Sequence[str]) -> Journal:
        """Return what main said of an app up to a commit; ``makers`` are the files that its target comes from."""
        names = self._names(app, asked.names_since, commit) if asked.names_since else ()
        targets = self._targets(app, commit, makers) if asked.reverts else ()
        return Journal(
            in_order(names or (), *self.of_file(app, spec, asked, commit), targets),
            since=asked.names_since if names is not None else "",
        )

    def of_file(
        self, subject: AppOrGroup, spec: Describes | None, asked: Asked, commit: str
    ) -> tuple[tuple[Entry, ...], ...]:
        """Return what the file that describes an app or a group asked for up to a commit: retries, suspensions."""
        retry = spec.retry if spec is not None and asked.retries_after is not None else None
        return (
            self._retries(subject, asked.retries_after or 0, retry, commit) if retry is not None else (),
            self._suspension(subject, commit) if asked.suspension else (),
        )

    def source(self, app: AppKey, commit: str, makers: Sequence[str]) -> Source | None:
        """Return the commit that made the target name its version; None for one that never was. Raises as
        `TargetHistory`.
        """
        return self._kept(app, Source, commit, lambda: TargetHistory(self._repository, app, makers).source(commit))

    def _suspension(self, subject: AppOrGroup, commit: str) -> tuple[Entry, ...]:
        """Return who suspended it, or ended that."""
        try:
            return self._kept(
                subject,
                SuspensionChanged,
                commit,
                lambda: self._suspended(self._path_saying(subject, "suspend", commit), commit),
            )
        except GitopsBgError:
            return (Entry(_UNKNOWN, SuspensionChanged()),)

    def _path_saying(self, subject: AppOrGroup, field: str, commit: str) -> str:
        """Return the file that says a field of a subject: of an app in an environment its own one there, unless only
        the shared one has it.
        """
        path = self._repository.path_of(subject, _FILES[subject.kind][0])
        if not isinstance(subject, AppKey) or not self._repository.places.environment_of(subject):
            return path
        shared = f"{self._repository.places.folder(subject)}/{APP_FILE}"
        return shared if self._says(shared, field, commit) and not self._says(path, field, commit) else path

    def _says(self, path: str, field: str, commit: str) -> bool:
        content = self._repository.text_file(path, commit)
        document, _ = read_one(path, content) if isinstance(content, bytes) else (None, ())
        spec = document.value.get("spec") if document is not None else None
        return isinstance(spec, dict) and field in spec

    def _suspended(self, path: str, commit: str) -> tuple[Entry, ...]:
        asked: list[Any] = []
        """The value at ``commit``: the first that can be read, because the newest is read first."""

        def says(data: bytes) -> bool | None:
            document, _ = read_one(path.rpartition("/")[2], data)
            if document is None or not isinstance(document.value.get("spec"), dict):
                return None  # Unknown: the value known before holds.
            value = document.value["spec"].get("suspend")
            asked[:] = asked or [value]
            return bool(value == asked[0])

        since = unchanged_since(self._repository.changes_of_file(path, commit, enough=differs(says)), says)
        return () if since is None else (Entry(self._repository.maker_of(path, since), SuspensionChanged()),)

    def _targets(self, app: AppKey, commit: str, makers: Sequence[str]) -> tuple[Entry, ...]:
        try:
            history = TargetHistory(self._repository, app, makers)
            return self._kept(app, Targeted, commit, lambda: history.entries(commit))
        except GitopsBgError as error:
            return (Entry(_UNKNOWN, Targeted(unread=str(error))),)

    def _retries(self, subject: AppOrGroup, since: int, now: Retry, commit: str) -> tuple[Entry, ...]:
        """Return the retries after number ``since`` up to the one of now."""
        try:
            return self._kept(subject, Retried, (commit, since), lambda: self._retried(subject, since, now, commit))
        except GitopsBgError:
            return (Entry(_UNKNOWN, Retried(now)),)

    def _retried(self, subject: AppOrGroup, since: int, now: Retry, commit: str) -> tuple[Entry, ...]:
        file, model = _FILES[subject.kind]
        path, asked = self._path_saying(subject, "retry", commit), list[Retry | None]()

        def enough(content: bytes | None) -> bool:
            retry = retry_in(content, file, model) if content is not None else Retry("", 0)
            asked.append(retry)
            return retry is not None and retry.number <= since

        found, newer = dict[int, tuple[Retry, FileChange]](), None
        for each, retry in zip(self._repository.changes_of_file(path, commit, enough=enough), asked, strict=True):
            if retry is None or retry.number <= since:
                continue  # Nobody can read it, or it was answered.
            if retry.number not in found or retry == newer == found[retry.number][0]:
                found[retry.number] = (retry, each)  # The oldest is read last: it says so since then.
            newer = retry
        makers = {number: self._repository.maker_of(path, each) for number, (_, each) in found.items()}
        passed = [Entry(makers[number], Retried(found[number][0])) for number in sorted(found) if number < now.number]
        return (*passed, Entry(makers.get(now.number, _UNKNOWN), Retried(now)))

    def _names(self, app: AppKey, since: str, commit: str) -> tuple[Entry, ...] | None:
        """Return what ``primary.yaml`` named after a commit of main, oldest first; broken files name nothing. None
        where it cannot be read now.
        """
        try:
            return self._kept(app, Named, (commit, since), lambda: tuple(self._named(app, since, commit)))
        except GitopsBgError:
            return None

    def _named(self, app: AppKey, since: str, commit: str) -> Iterator[Entry]:
        path = self._repository.path_of(app, PRIMARY_FILE)
        for each in reversed(self._repository.changes_of_file(path, commit, since=since, most=_MOST_NAMES)):
            document = read_one(PRIMARY_FILE, each.content)[0] if each.content is not None else None
            primary = read_primary(document, app)[0] if document else None
            if primary is not None:
                yield Entry(each.landing, Named(primary.snapshot))

    def _kept(self, subject: AppOrGroup, kind: type, asked: object, ask: Callable[[], _Answer]) -> _Answer:
        """Return the answer of before, where the same was asked."""
        known = self._known.get((subject, kind))
        if known is None or known[0] != asked:
            known = self._known[subject, kind] = (asked, ask())
        return known[1]
