"""The ledger: a file for each app and each release group on the state branch, one commit for all events of a tick,
nothing lost, nothing twice; and its whole history.

Others may be able to push this branch. A file counts as the agent itself wrote it last (`state_branch`). Traffic never
waits for it and correctness never depends on it (DESIGN §5); entries stay in the record until ``publish`` says that Git
has them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from itertools import islice

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.proven import ClusterReport
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.desired import LedgerMemory, Problem
from gitops_bg.core.model.record import LedgerEntry
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.names import ENTRY_PREFIX
from gitops_bg.repo.git.directory import locked
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.ledger import state_branch
from gitops_bg.repo.ledger.ledger_file import (
    README,
    LedgerBatch,
    LedgerDocument,
    Position,
    PublishedEntry,
    Revision,
    each_once,
    in_order,
    parse,
    path_of,
    render,
    subject_at,
)
from gitops_bg.repo.ledger.state_branch import ORDINARY, LedgerWrite, StateBranch, View
from gitops_bg.repo.read.changes import TreeNode
from gitops_bg.repo.read.files import Blobs
from gitops_bg.repo.read.history import Details, revisions_of
from gitops_bg.repo.settings import STATE_PREFIX
from gitops_bg.repo.write.commits import ledger_message, of_entry

_PAGE = 100


@dataclass(frozen=True, slots=True)
class Committed:
    """A ledger entry with its epoch and the commit of the state branch that brought it."""

    commit: str
    epoch: str
    entry: LedgerEntry


class LedgerHistory:
    """Walks the history of one file at a time, as far back as the state branch goes, page by page."""

    def __init__(self, mirror: Mirror, blobs: Blobs, branch: StateBranch) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._blobs = blobs
        self._branch = branch

    @locked
    def of(self, subject: AppOrGroup, limit: int | None = None) -> Sequence[Committed]:
        """Return the ledger entries of an app or a group, newest first, all or the first ``limit``."""
        own = self._branch.seen().own
        revisions = revisions_of(self._mirror, path_of(subject), own) if own else []
        found = islice(each_once(self._published(revisions)), limit)
        return [Committed(commit, published.epoch, published.entry) for commit, published in found]

    def _published(self, revisions: Sequence[tuple[str, str]]) -> Iterator[Revision]:
        """Yield each revision with its entries, read a page at a time; a damaged one has none."""
        for start in range(0, len(revisions), _PAGE):
            page = revisions[start : start + _PAGE]
            contents = self._blobs.read(blob for _, blob in page)
            for commit, blob in page:
                yield commit, _entries(contents[blob])


def _entries(content: bytes | None) -> tuple[PublishedEntry, ...]:
    try:
        return parse(content or b"").history
    except ValueError:
        return ()


REMEDY = "the agent writes it anew with its next commit; only the agent may write this branch"
_MOST_SAID = 50
"""How many files that are written anew the message of a commit names."""
_NO_FILE = "not a ledger file: it is no ordinary file"


@dataclass(frozen=True, slots=True)
class Published:
    """The state of the ledger for the subjects of a batch. ``commit`` is empty where nothing had to be written."""

    commit: str
    positions: Mapping[AppOrGroup, Position]
    problems: tuple[Problem, ...] = ()
    """Files that somebody else had changed, and that were rewritten."""


@dataclass(slots=True)
class _Files:
    """The files of a commit of the agent: ids, positions and table rows; they are read when needed."""

    commit: str = ""
    blobs: dict[AppOrGroup, str] = field(default_factory=dict)
    positions: dict[AppOrGroup, Position] = field(default_factory=dict)
    rows: dict[AppOrGroup, state_branch.ReadmeRow] = field(default_factory=dict)
    damaged: dict[AppOrGroup, Problem] = field(default_factory=dict)

    def copy(self, commit: str) -> "_Files":
        """Return a copy, to be moved to another commit."""
        return _Files(commit, dict(self.blobs), dict(self.positions), dict(self.rows), dict(self.damaged))

    def drop(self, subject: AppOrGroup) -> None:
        """Forget a subject."""
        for known in (self.blobs, self.positions, self.rows, self.damaged):
            known.pop(subject, None)


class Ledger:
    """The files on the state branch of this cluster."""

    def __init__(self, branch: StateBranch, blobs: Blobs) -> None:
        self._branch = branch
        self.lock = branch.lock
        self._blobs = blobs
        self._files = _Files()
        self._doubts: tuple[View, Mapping[AppOrGroup, Problem]] = (View(), {})

    @locked
    def publish(self, batch: Mapping[AppOrGroup, LedgerBatch]) -> Published:
        """Write what the branch does not have yet, in one commit; no commit where it has everything.

        May be called again with the same batch after any failure. Raises as `StateBranch.write`.
        """
        documents = dict[AppOrGroup, LedgerDocument]()
        problems: tuple[Problem, ...] = ()

        def compose(view: View) -> LedgerWrite | None:
            nonlocal problems
            files, doubts = self._at(view), self._doubted(view)
            problems = tuple(doubts[subject] for subject in sorted(doubts.keys() & batch.keys(), key=in_order))
            fresh = self._merge(batch, documents, view)
            written = self._differing(documents, files)
            if not written:
                return None
            rewritten = [doubts[subject] for subject in sorted(doubts, key=in_order)][:_MOST_SAID]
            return LedgerWrite(self._with_page(written, documents, view), self._message(fresh, rewritten))

        commit = self._branch.write(compose)
        return Published(commit, {subject: each.position for subject, each in documents.items()}, problems)

    @locked
    def positions(self) -> Mapping[AppOrGroup, Position]:
        """Return how far the ledger got, by subject, as last fetched; the same mapping as long as nothing of it
        moves.
        """
        view = self._branch.seen()
        self._doubted(view)
        return self._at(view).positions

    @locked
    def problems(self) -> tuple[Problem, ...]:
        """Return files of the branch that are damaged or not ours."""
        doubts = self._doubted(self._branch.seen())
        return tuple(doubts[subject] for subject in sorted(doubts, key=in_order))

    @locked
    def doubts(self) -> Mapping[AppOrGroup, str]:
        """Return why the files of these, as they stand, are not believed."""
        return {subject: str(problem) for subject, problem in self._doubted(self._branch.seen()).items()}

    @locked
    def looked_at(self) -> tuple[str, str]:
        """Return the commit of the state branch that was looked at last, and the agent's own whose files count
        there.
        """
        view = self._branch.seen()
        return view.tip, view.own

    @locked
    def trouble(self) -> str:
        """Return why nobody can tell yet whose the new commits of the state branch are; empty where that is known."""
        self._branch.seen()
        return self._branch.trouble

    @locked
    def documents(self) -> Mapping[AppOrGroup, LedgerDocument]:
        """Return the files of all apps and groups as the agent itself wrote them last."""
        files = self._at(self._branch.seen())
        return self._documents(files.blobs, files)

    @locked
    def files(self) -> Mapping[AppOrGroup, str]:
        """Return the ids of the files of all apps and groups, as the agent itself wrote them last: equal ids are equal
        files.
        """
        return self._at(self._branch.seen()).blobs

    @locked
    def documents_of(self, subjects: Iterable[AppOrGroup]) -> Mapping[AppOrGroup, LedgerDocument]:
        """Return the files of these, as `documents`."""
        return self._documents(subjects, self._at(self._branch.seen()))

    @locked
    def unproven(self) -> str:
        """Return why nobody can prove that the agent of its cluster wrote it; empty where that is as sure as it can
        be.
        """
        view = self._branch.seen()
        if not view.own or self._branch.is_proven(view):
            return ""
        return f"its last commit {view.own[:10]} has the name of an agent, but no signature that proves it"

    def document(self, subject: AppOrGroup) -> LedgerDocument | None:
        """Return the file of a subject as the agent itself wrote it last, or None. Raises as `StateBranch.read`."""
        return self._documents([subject], self._at(self._branch.read())).get(subject)

    @locked
    def memory(self, subject: AppOrGroup) -> LedgerMemory | None:
        """Return what the ledger knows of a subject, for a rebuilt cluster; None where it knows nothing.

        Of a file whose writer nobody can prove, also of an agent that had another name: only what holds up. Raises as
        `StateBranch.read`: what nobody can tell now is not nothing.
        """
        document, view = self.document(subject), self._branch.read()
        if document is not None:
            return (document if self._branch.is_proven(view) else document.cautious).memory
        found = view.foreign.get(path_of(subject)) if not view.own else None
        standing = self._parsed(subject, found.now, self._blobs.read(_ordinary([found.now]))) if found else None
        return standing.cautious.memory if isinstance(standing, LedgerDocument) else None

    def _at(self, view: View) -> _Files:
        """Return the files of a view; costs only the difference from the former one."""
        if self._files.commit and not self._branch.has(self._files.commit):
            self._files = _Files()
        if view.own != self._files.commit:
            files = self._files.copy(view.own)
            changes = self._branch.differences(self._files.commit, view.own)
            moved = {subject: change.after for path, change in changes if (subject := subject_at(path))}
            contents = self._blobs.read(_ordinary(moved.values()))
            for subject, node in moved.items():
                files.drop(subject)
                found = self._parsed(subject, node, contents) if node.id else None
                if isinstance(found, LedgerDocument):
                    files.blobs[subject] = node.id
                    files.positions[subject] = found.position
                    files.rows[subject] = state_branch.row_of(found)
                elif found is not None:
                    files.damaged[subject] = found
            self._files = files
        return self._files

    def _parsed(
        self, subject: AppOrGroup, node: TreeNode, contents: Mapping[str, bytes | None]
    ) -> LedgerDocument | Problem:
        """Return a file, or what is wrong with it."""
        if node.mode != ORDINARY:
            return Problem(path_of(subject), _NO_FILE, remedy=REMEDY)
        try:
            return parse(contents[node.id] or b"")
        except ValueError as error:
            return Problem(path_of(subject), str(error), remedy=REMEDY)

    def _doubted(self, view: View) -> Mapping[AppOrGroup, Problem]:
        """Return what is wrong with the files as they stand: whose they are, or that they are none."""
        if self._doubts[0] is not view:
            foreign = {subject: each for path, each in view.foreign.items() if (subject := subject_at(path))}
            contents = self._blobs.read(_ordinary(each.now for each in foreign.values()))
            found = dict(self._at(view).damaged)
            for subject, each in foreign.items():
                standing = self._parsed(subject, each.now, contents) if each.now.id else None
                whose = Problem(path_of(subject), each.why, remedy=REMEDY)
                found[subject] = standing if isinstance(standing, Problem) else whose
            if found != self._doubts[1]:
                self._files = self._files.copy(self._files.commit)
            self._doubts = (view, found)
        return self._doubts[1]

    def _documents(self, subjects: Iterable[AppOrGroup], files: _Files) -> dict[AppOrGroup, LedgerDocument]:
        sound = {subject: files.blobs[subject] for subject in subjects if subject in files.blobs}
        contents = self._blobs.read(sound.values())
        return {subject: parse(contents[blob] or b"") for subject, blob in sound.items()}

    def _merge(
        self, batch: Mapping[AppOrGroup, LedgerBatch], documents: dict[AppOrGroup, LedgerDocument], view: View
    ) -> list[tuple[AppOrGroup, LedgerEntry]]:
        """Put the files with the batch in them into ``documents``; return the entries that they did not have."""
        before, is_proven = self._documents(batch, self._at(view)), self._branch.is_proven(view)
        fresh: list[tuple[AppOrGroup, LedgerEntry]] = []
        for subject in sorted(batch, key=in_order):
            known = before.get(subject, LedgerDocument())
            documents[subject], entries = (known if is_proven else known.cautious).taking(batch[subject])
            fresh += [(subject, entry) for entry in entries]
        return fresh

    def _differing(self, documents: Mapping[AppOrGroup, LedgerDocument], files: _Files) -> dict[AppOrGroup, bytes]:
        """Return the texts of the files that are not so yet."""
        before = self._blobs.read(files.blobs[subject] for subject in documents if subject in files.blobs)
        written = {subject: render(document) for subject, document in documents.items()}
        return {subject: text for subject, text in written.items() if before.get(files.blobs.get(subject, "")) != text}

    def _with_page(
        self, written: Mapping[AppOrGroup, bytes], documents: Mapping[AppOrGroup, LedgerDocument], view: View
    ) -> dict[str, bytes | None]:
        """Return the files to write, with the table."""
        rows = self._at(view).rows | {subject: state_branch.row_of(documents[subject]) for subject in written}
        page = state_branch.render(rows, self._branch.cluster)
        return {README: page, **{path_of(subject): text for subject, text in written.items()}}

    def _message(self, fresh: list[tuple[AppOrGroup, LedgerEntry]], anew: Sequence[Problem]) -> str:
        movements = [of_entry(subject, entry) for subject, entry in fresh]
        return ledger_message(movements, self._branch.cluster, [f"{each.file}: {each.message}" for each in anew])


@dataclass(frozen=True, slots=True)
class ClusterLedger:
    """The ledger of one cluster of the repository, as its branch is now."""

    cluster: str
    commit: str = ""
    """Its last one; empty where the branch could not be read."""
    written: datetime | None = None
    """When that was made, by the clock of the agent there. One writes only when something happens."""
    trouble: str = ""
    """Why not all of it is known, or, where nothing else is amiss, why nobody can prove whose it is; else empty."""
    documents: Mapping[AppOrGroup, LedgerDocument] = field(default_factory=dict)
    doubts: Mapping[AppOrGroup, str] = field(default_factory=dict)
    """Why what somebody else wrote does not count, by what it is about."""

    @property
    def amiss(self) -> str:
        """The first thing that is amiss with it; empty where nothing is."""
        return self.trouble or next(iter(self.doubts.values()), "")

    def seen_by(self, sees: Callable[[str], bool]) -> "ClusterLedger":
        """Return the part of it in the namespaces that somebody sees."""
        documents = {about: each for about, each in self.documents.items() if sees(about.namespace)}
        doubts = {about: why for about, why in self.doubts.items() if sees(about.namespace)}
        return replace(self, documents=documents, doubts=doubts)


@dataclass(frozen=True, slots=True)
class FollowedLedger:
    """The ledger of a cluster before this one, as last followed; its files are read when they are asked for."""

    cluster: str
    written: datetime | None = None
    """When its agent wrote last, by its own clock."""
    trouble: str = ""
    """Why nothing of it counts; empty where it does."""
    files: Mapping[AppOrGroup, str] = field(default_factory=dict)
    """The id of the file of each app and group."""
    documents_of: Callable[[Iterable[AppOrGroup]], Mapping[AppOrGroup, LedgerDocument]] = lambda _: {}


def report_of(cluster: str, document: LedgerDocument, written: datetime | None, trouble: str = "") -> ClusterReport:
    """Return what the file of an app in the ledger of a cluster says of releases."""
    active = document.state.active
    release = active.release if active is not None else None
    since = active.since if active is not None else None
    commit = release.commit if release is not None else ""
    return ClusterReport(cluster, document.state.proven, release, commit, since, written, trouble)


class Ledgers:
    """The ledgers of all clusters of the repository. Reading them needs no access to any cluster."""

    def __init__(self, mirror: Mirror, details: Details, ledger_of: Callable[[str], Ledger]) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._details = details
        self._ledger_of = ledger_of
        self._known: dict[str, Ledger] = {}
        self._newest: dict[str, str] = {}
        """By cluster, the newest commit of its agent that was followed: a branch that was set back says nothing new."""

    def read(self) -> tuple[ClusterLedger, ...]:
        """Fetch those that moved and read all, by the names of their clusters; with what asks for releases anywhere
        (`Mirror.tracked`). One that cannot be read keeps none of the others. The remote says without the lock where
        they are: polls and pushes do not wait for that.
        """
        return self._fetched(self._mirror.of_all())

    @locked
    def of(self, clusters: Iterable[str]) -> dict[str, "FollowedLedger"]:
        """Return the ledgers of clusters before this one, as last followed (`Mirror.former`): asks nobody."""
        return {cluster: self._followed(cluster) for cluster in clusters}

    def _followed(self, cluster: str) -> "FollowedLedger":
        name = f"{STATE_PREFIX}{cluster}"
        ledger = self._known.setdefault(cluster, self._ledger_of(cluster))
        if name not in self._mirror.tracked():
            why = self._mirror.unread(name) or "its agent has written none yet, or somebody deleted its branch"
            return FollowedLedger(cluster, trouble=why)
        try:
            (_, own), blobs = ledger.looked_at(), ledger.files()
            made = self._details.of([own])[own] if own else None
        except GitopsBgError as error:
            return FollowedLedger(cluster, trouble=str(error))
        trouble = self._mirror.unread(name) or ledger.trouble() or ledger.unproven()
        if not own:
            trouble = trouble or "nothing on its branch is by its agent"
        trouble = trouble or self._set_back(cluster, own)
        return FollowedLedger(cluster, made.date if made else None, trouble, blobs, ledger.documents_of)

    def _set_back(self, cluster: str, own: str) -> str:
        """Return that the branch lacks what its agent wrote last, until that has written something new: what it says
        now may have been taken back since.
        """
        newest = self._newest.get(cluster, "")
        if newest and own != newest and self._mirror.has(newest) and self._mirror.is_ancestor(own, newest):
            return f"its branch was set back to {own[:10]}, before {newest[:10]} of its agent: it has not written since"
        self._newest[cluster] = own
        return ""

    @locked
    def _fetched(self, remote: Mapping[str, str]) -> tuple[ClusterLedger, ...]:
        here = self._mirror.tracked()
        moved = [name for name, commit in remote.items() if here.get(name) != commit]
        lacking = self._mirror.fetch_each(moved) if moved else {}
        self._mirror.forget([name for name in here if name.startswith(ENTRY_PREFIX) and name not in remote])
        ledgers = sorted(name for name in remote if name.startswith(STATE_PREFIX))
        return tuple(self._read(name.removeprefix(STATE_PREFIX), lacking.get(name, "")) for name in ledgers)

    def _read(self, cluster: str, why: str) -> ClusterLedger:
        if why:
            return ClusterLedger(cluster, trouble=why)
        ledger = self._known.setdefault(cluster, self._ledger_of(cluster))
        try:
            documents, (tip, own), doubts = ledger.documents(), ledger.looked_at(), ledger.doubts()
            made = self._details.of([own])[own] if own else None
        except GitopsBgError as error:
            return ClusterLedger(cluster, trouble=str(error))
        trouble = ledger.trouble() or ("" if doubts else ledger.unproven())
        return ClusterLedger(cluster, tip, made.date if made else None, trouble, documents, doubts)


def _ordinary(nodes: Iterable[TreeNode]) -> list[str]:
    return [node.id for node in nodes if node.mode == ORDINARY]
