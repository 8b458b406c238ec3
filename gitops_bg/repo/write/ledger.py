"""The ledger: one orphan branch for each cluster, one commit for all events of a tick, nothing lost, nothing twice.

Traffic never waits for it and correctness never depends on it (DESIGN §5); entries stay in the record until ``publish``
says that Git has them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gitops_bg.core.model.desired import LedgerMemory, Problem
from gitops_bg.core.model.record import LedgerEntry
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.blobs import Blobs
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.push import Pusher, Update, Verdict
from gitops_bg.repo.layout import is_app
from gitops_bg.repo.read.trees import NOTHING, Node, Trees
from gitops_bg.repo.write import state_readme
from gitops_bg.repo.write.commits import Committer, Draft
from gitops_bg.repo.write.ledger_entries import Position
from gitops_bg.repo.write.ledger_file import Document, LedgerBatch, parse, render
from gitops_bg.repo.write.messages import ledger_message, of_entry

_ORDINARY = "100644"
_REMEDY = "it is written anew with the next event of the app; only the agent may write this branch"


@dataclass(frozen=True, slots=True)
class Published:
    """The state of the ledger for the apps of a batch. ``commit`` is empty where nothing had to be written."""

    commit: str
    positions: Mapping[AppKey, Position]
    problems: tuple[Problem, ...] = ()
    """Files that somebody else had damaged, and that were rewritten."""


@dataclass(slots=True)
class _Branch:
    """The state branch as last read: ids, positions and table rows; the files themselves are read when needed."""

    commit: str = ""
    blobs: dict[AppKey, str] = field(default_factory=dict)
    positions: dict[AppKey, Position] = field(default_factory=dict)
    rows: dict[AppKey, state_readme.Row] = field(default_factory=dict)
    damaged: dict[AppKey, Problem] = field(default_factory=dict)

    def copy(self, commit: str) -> "_Branch":
        """Return a copy, to be moved to another commit."""
        return _Branch(commit, dict(self.blobs), dict(self.positions), dict(self.rows), dict(self.damaged))

    def drop(self, app: AppKey) -> None:
        """Forget an app."""
        for known in (self.blobs, self.positions, self.rows, self.damaged):
            known.pop(app, None)


class Ledger:
    """The state branch of this cluster."""

    def __init__(self, mirror: Mirror, trees: Trees, blobs: Blobs, committer: Committer, pusher: Pusher) -> None:
        self._mirror = mirror
        self._trees = trees
        self._blobs = blobs
        self._committer = committer
        self._pusher = pusher
        self._branch = _Branch()

    def publish(self, batch: Mapping[AppKey, LedgerBatch]) -> Published:
        """Write what the branch does not have yet, in one commit; no commit where it has everything.

        May be called again with the same batch after any failure. Raises ``PushRefused``, ``RemoteMoved`` and the
        errors of an unreachable remote.
        """
        attempts, name = self._pusher.attempts(), self._mirror.settings.state_branch
        for _ in attempts:
            tracked = self._mirror.tracked().get(name)
            branch = self._read()
            problems = tuple(branch.damaged[app] for app in batch if app in branch.damaged)
            documents, fresh = self._taken(batch, branch)
            files = self._files(documents, branch)
            positions = {app: document.position for app, document in documents.items()}
            commit = self._commit(files, fresh, problems, branch.commit) if files else branch.commit
            if commit == (tracked or ""):
                return Published("", positions, problems)
            answer = self._pusher.push([Update(name, tracked, commit)])
            if answer.verdicts[name] is Verdict.TAKEN:
                self._read()
                return Published(commit, positions, problems)
            attempts.judge(answer)
            self._mirror.follow(self._mirror.remote_branches())
        raise attempts.given_up()

    def positions(self) -> Mapping[AppKey, Position]:
        """How far the ledger got, by app, as last fetched."""
        return self._read().positions

    def tip(self) -> str:
        """The last known commit of the branch, also where somebody deleted it; empty before the first."""
        return self._read().commit

    def problems(self) -> tuple[Problem, ...]:
        """Files of the branch that are damaged or not ours."""
        return tuple(self._read().damaged.values())

    def document(self, app: AppKey) -> Document | None:
        """The file of an app as last fetched, or None."""
        return self._documents([app], self._read()).get(app)

    def memory(self, app: AppKey) -> LedgerMemory | None:
        """What the ledger knows of an app, for a rebuilt cluster; None where it knows nothing."""
        document = self.document(app)
        return document.memory if document is not None else None

    def _read(self) -> _Branch:
        """The branch as last fetched. A deleted branch continues where it was: its history must not be lost."""
        commit = self._mirror.tracked().get(self._mirror.settings.state_branch)
        if commit is None and self._branch.commit and not self._mirror.has(self._branch.commit):
            self._branch = _Branch()
        if commit is None or commit == self._branch.commit:
            return self._branch
        self._branch = self._moved_to(commit)
        return self._branch

    def _moved_to(self, commit: str) -> _Branch:
        """The branch at a commit; costs only the difference from the former one."""
        before = self._branch
        known = bool(before.commit) and self._mirror.has(before.commit)
        branch = before.copy(commit) if known else _Branch(commit)
        moved: dict[AppKey, str] = {}
        for app, node in self._changed(before.commit if known else "", commit):
            branch.drop(app)
            if node.mode == _ORDINARY:
                moved[app] = node.id
            elif node != NOTHING:
                branch.damaged[app] = Problem(_path(app), "not a ledger file: it is no ordinary file", remedy=_REMEDY)
        self._take_in(branch, moved)
        return branch

    def _changed(self, before: str, commit: str) -> Iterator[tuple[AppKey, Node]]:
        """The present nodes of the changed files of apps."""
        roots = (self._trees.root(before) if before else "", self._trees.root(commit))
        spaces = self._trees.differences([roots])[roots]
        within = self._trees.differences(each.folders for each in spaces)
        for space in spaces:
            for change in within[space.folders]:
                app = _app_of(space.name, change.name)
                if app is not None:
                    yield app, change.after

    def _take_in(self, branch: _Branch, moved: Mapping[AppKey, str]) -> None:
        contents = self._blobs.read(moved.values())
        for app, blob in moved.items():
            branch.blobs[app] = blob
            try:
                document = parse(contents[blob] or b"")
            except ValueError as error:
                branch.damaged[app] = Problem(_path(app), str(error), remedy=_REMEDY)
            else:
                branch.damaged.pop(app, None)
                branch.positions[app] = document.position
                branch.rows[app] = state_readme.row_of(document)

    def _documents(self, apps: list[AppKey], branch: _Branch) -> dict[AppKey, Document]:
        sound = {app: branch.blobs[app] for app in apps if app in branch.positions}
        contents = self._blobs.read(sound.values())
        return {app: parse(contents[blob] or b"") for app, blob in sound.items()}

    def _taken(
        self, batch: Mapping[AppKey, LedgerBatch], branch: _Branch
    ) -> tuple[dict[AppKey, Document], list[tuple[AppKey, LedgerEntry]]]:
        before = self._documents(list(batch), branch)
        documents, fresh = {}, []
        for app in sorted(batch):
            documents[app], entries = before.get(app, Document()).taking(batch[app])
            fresh += [(app, entry) for entry in entries]
        return documents, fresh

    def _files(self, documents: Mapping[AppKey, Document], branch: _Branch) -> dict[str, bytes]:
        """The files that differ from the branch, with the table; empty where none does."""
        before = self._blobs.read(branch.blobs[app] for app in documents if app in branch.blobs)
        written = {app: render(document) for app, document in documents.items()}
        changed = {app: text for app, text in written.items() if before.get(branch.blobs.get(app, "")) != text}
        if not changed:
            return {}
        rows = branch.rows | {app: state_readme.row_of(documents[app]) for app in changed}
        page = state_readme.render(rows, self._mirror.settings.cluster, self._page(branch.commit))
        return {state_readme.PATH: page, **{_path(app): text for app, text in changed.items()}}

    def _page(self, commit: str) -> bytes:
        """The table at a commit; empty where there is none."""
        node = self._trees.at(commit, [state_readme.PATH]).get(state_readme.PATH, NOTHING) if commit else NOTHING
        return (self._blobs.read([node.id])[node.id] or b"") if node.mode == _ORDINARY else b""

    def _commit(
        self, files: Mapping[str, bytes], fresh: list[tuple[AppKey, LedgerEntry]], anew: Sequence[Problem], parent: str
    ) -> str:
        movements = [of_entry(app, entry) for app, entry in fresh]
        message = ledger_message(
            movements, self._mirror.settings.cluster, [f"{each.file}: {each.message}" for each in anew]
        )
        return self._committer.build([Draft(parent or None, files, message)])[0]


def _path(app: AppKey) -> str:
    return f"{app.namespace}/{app.name}.json"


def _app_of(namespace: str, file: str) -> AppKey | None:
    """The app that a file belongs to."""
    name = file.removesuffix(".json")
    return AppKey(namespace, name) if name != file and is_app(namespace, name) else None
