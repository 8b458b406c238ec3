"""The ledger of apps: a file for each on the state branch, one commit for all events of a tick, nothing lost, nothing
twice.

Others may be able to push this branch. A file counts as the agent itself wrote it last (`state_branch`).

Traffic never waits for it and correctness never depends on it (DESIGN §5); entries stay in the record until ``publish``
says that Git has them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gitops_bg.core.model.desired import LedgerMemory, Problem
from gitops_bg.core.model.record import LedgerEntry
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.blobs import Blobs
from gitops_bg.repo.ledger import state_readme
from gitops_bg.repo.ledger.ledger_entries import Position
from gitops_bg.repo.ledger.ledger_file import Document, LedgerBatch, parse, render
from gitops_bg.repo.ledger.places import README, app_at, path_of_app
from gitops_bg.repo.ledger.state_branch import ORDINARY, StateBranch, View, Written
from gitops_bg.repo.read.trees import Node
from gitops_bg.repo.write.messages import ledger_message, of_entry

REMEDY = "the agent writes it anew with its next commit; only the agent may write this branch"
_MOST_SAID = 50
"""How many files that are written anew the message of a commit names."""
_NO_FILE = "not a ledger file: it is no ordinary file"


@dataclass(frozen=True, slots=True)
class Published:
    """The state of the ledger for the apps of a batch. ``commit`` is empty where nothing had to be written."""

    commit: str
    positions: Mapping[AppKey, Position]
    problems: tuple[Problem, ...] = ()
    """Files that somebody else had changed, and that were rewritten."""


@dataclass(slots=True)
class _Files:
    """The files of apps in a commit of the agent: ids, positions and table rows; they are read when needed."""

    commit: str = ""
    blobs: dict[AppKey, str] = field(default_factory=dict)
    positions: dict[AppKey, Position] = field(default_factory=dict)
    rows: dict[AppKey, state_readme.Row] = field(default_factory=dict)
    damaged: dict[AppKey, Problem] = field(default_factory=dict)

    def copy(self, commit: str) -> "_Files":
        """Return a copy, to be moved to another commit."""
        return _Files(commit, dict(self.blobs), dict(self.positions), dict(self.rows), dict(self.damaged))

    def drop(self, app: AppKey) -> None:
        """Forget an app."""
        for known in (self.blobs, self.positions, self.rows, self.damaged):
            known.pop(app, None)


class Ledger:
    """The files of apps on the state branch of this cluster. Not thread-safe."""

    def __init__(self, branch: StateBranch, blobs: Blobs) -> None:
        self._branch = branch
        self._blobs = blobs
        self._files = _Files()
        self._doubts: tuple[View, Mapping[AppKey, Problem]] = (View(), {})

    def publish(self, batch: Mapping[AppKey, LedgerBatch]) -> Published:
        """Write what the branch does not have yet, in one commit; no commit where it has everything.

        May be called again with the same batch after any failure. Raises as `StateBranch.write`.
        """
        documents = dict[AppKey, Document]()
        problems: tuple[Problem, ...] = ()

        def compose(view: View) -> Written | None:
            nonlocal problems
            files, doubts = self._at(view), self._doubted(view)
            problems = tuple(doubts[app] for app in sorted(doubts.keys() & batch.keys()))
            fresh = self._take(batch, documents, view)
            written = self._differing(documents, files)
            if not written:
                return None
            rewritten = [doubts[app] for app in sorted(doubts)][:_MOST_SAID]
            return Written(self._with_page(written, documents, view), self._message(fresh, rewritten))

        commit = self._branch.write(compose)
        return Published(commit, {app: each.position for app, each in documents.items()}, problems)

    def positions(self) -> Mapping[AppKey, Position]:
        """How far the ledger got, by app, as last fetched; the same mapping as long as nothing of it moves."""
        view = self._branch.seen()
        self._doubted(view)
        return self._at(view).positions

    def problems(self) -> tuple[Problem, ...]:
        """Files of the branch that are damaged or not ours."""
        doubts = self._doubted(self._branch.seen())
        return tuple(doubts[app] for app in sorted(doubts))

    def doubts(self) -> Mapping[AppKey, str]:
        """Why the files of these apps, as they stand, are not believed."""
        return {app: str(problem) for app, problem in self._doubted(self._branch.seen()).items()}

    def document(self, app: AppKey) -> Document | None:
        """The file of an app as the agent itself wrote it last, or None. Raises as `StateBranch.read`."""
        return self._documents([app], self._at(self._branch.read())).get(app)

    def memory(self, app: AppKey) -> LedgerMemory | None:
        """What the ledger knows of an app, for a rebuilt cluster; None where it knows nothing.

        Of a file whose writer nobody can prove, also of an agent that had another name: only what holds up. Raises as
        `StateBranch.read`: what nobody can tell now is not nothing.
        """
        document, view = self.document(app), self._branch.read()
        if document is not None:
            return (document if self._branch.is_proven(view) else document.cautious).memory
        found = view.foreign.get(path_of_app(app)) if not view.own else None
        standing = self._parsed(app, found.now, self._blobs.read(_ordinary([found.now]))) if found else None
        return standing.cautious.memory if isinstance(standing, Document) else None

    def _at(self, view: View) -> _Files:
        """The files of a view; costs only the difference from the former one."""
        if self._files.commit and not self._branch.has(self._files.commit):
            self._files = _Files()
        if view.own != self._files.commit:
            files = self._files.copy(view.own)
            changes = self._branch.differences(self._files.commit, view.own)
            moved = {app: change.after for path, change in changes if (app := app_at(path))}
            contents = self._blobs.read(_ordinary(moved.values()))
            for app, node in moved.items():
                files.drop(app)
                found = self._parsed(app, node, contents) if node.id else None
                if isinstance(found, Document):
                    files.blobs[app] = node.id
                    files.positions[app] = found.position
                    files.rows[app] = state_readme.row_of(found)
                elif found is not None:
                    files.damaged[app] = found
            self._files = files
        return self._files

    def _parsed(self, app: AppKey, node: Node, contents: Mapping[str, bytes | None]) -> Document | Problem:
        """A file, or what is wrong with it."""
        if node.mode != ORDINARY:
            return Problem(path_of_app(app), _NO_FILE, remedy=REMEDY)
        try:
            return parse(contents[node.id] or b"")
        except ValueError as error:
            return Problem(path_of_app(app), str(error), remedy=REMEDY)

    def _doubted(self, view: View) -> Mapping[AppKey, Problem]:
        """What is wrong with the files of apps as they stand: whose they are, or that they are none."""
        if self._doubts[0] is not view:
            foreign = {app: each for path, each in view.foreign.items() if (app := app_at(path))}
            contents = self._blobs.read(_ordinary(each.now for each in foreign.values()))
            found = dict(self._at(view).damaged)
            for app, each in foreign.items():
                standing = self._parsed(app, each.now, contents) if each.now.id else None
                whose = Problem(path_of_app(app), each.why, remedy=REMEDY)
                found[app] = standing if isinstance(standing, Problem) else whose
            if found != self._doubts[1]:
                self._files = self._files.copy(self._files.commit)
            self._doubts = (view, found)
        return self._doubts[1]

    def _documents(self, apps: Iterable[AppKey], files: _Files) -> dict[AppKey, Document]:
        sound = {app: files.blobs[app] for app in apps if app in files.blobs}
        contents = self._blobs.read(sound.values())
        return {app: parse(contents[blob] or b"") for app, blob in sound.items()}

    def _take(
        self, batch: Mapping[AppKey, LedgerBatch], documents: dict[AppKey, Document], view: View
    ) -> list[tuple[AppKey, LedgerEntry]]:
        """Put the files with the batch in them into ``documents``; return the entries that they did not have."""
        before, is_proven = self._documents(batch, self._at(view)), self._branch.is_proven(view)
        fresh: list[tuple[AppKey, LedgerEntry]] = []
        for app in sorted(batch):
            known = before.get(app, Document())
            documents[app], entries = (known if is_proven else known.cautious).taking(batch[app])
            fresh += [(app, entry) for entry in entries]
        return fresh

    def _differing(self, documents: Mapping[AppKey, Document], files: _Files) -> dict[AppKey, bytes]:
        """The texts of the files that are not so yet."""
        before = self._blobs.read(files.blobs[app] for app in documents if app in files.blobs)
        written = {app: render(document) for app, document in documents.items()}
        return {app: text for app, text in written.items() if before.get(files.blobs.get(app, "")) != text}

    def _with_page(
        self, written: Mapping[AppKey, bytes], documents: Mapping[AppKey, Document], view: View
    ) -> dict[str, bytes | None]:
        """The files to write, with the table."""
        rows = self._at(view).rows | {app: state_readme.row_of(documents[app]) for app in written}
        page = state_readme.render(rows, self._branch.cluster, self._branch.page(view))
        return {README: page, **{path_of_app(app): text for app, text in written.items()}}

    def _message(self, fresh: list[tuple[AppKey, LedgerEntry]], anew: Sequence[Problem]) -> str:
        movements = [of_entry(app, entry) for app, entry in fresh]
        return ledger_message(movements, self._branch.cluster, [f"{each.file}: {each.message}" for each in anew])


def _ordinary(nodes: Iterable[Node]) -> list[str]:
    return [node.id for node in nodes if node.mode == ORDINARY]
