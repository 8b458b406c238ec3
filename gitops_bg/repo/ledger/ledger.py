"""The ledger: one orphan branch for each cluster, one commit for all events of a tick, nothing lost, nothing twice.

Others may be able to push this branch. A file counts as the agent itself wrote it last: whose commits they are is read
from their names, `doubts` has the files that somebody else changed since.

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
from gitops_bg.repo.ledger import state_readme
from gitops_bg.repo.ledger.ledger_authors import LedgerAuthors, Stranger
from gitops_bg.repo.ledger.ledger_entries import Position
from gitops_bg.repo.ledger.ledger_file import Document, LedgerBatch, parse, render
from gitops_bg.repo.read.trees import NOTHING, Change, Node, Trees
from gitops_bg.repo.write.commits import Committer, Draft
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


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a file is not believed as it stands, and what it says; None where it says nothing."""

    problem: Problem
    standing: Document | None


@dataclass(slots=True)
class _Branch:
    """The state branch as last read: ids, positions and table rows; the files themselves are read when needed."""

    commit: str = ""
    blobs: dict[AppKey, str] = field(default_factory=dict)
    positions: dict[AppKey, Position] = field(default_factory=dict)
    rows: dict[AppKey, state_readme.Row] = field(default_factory=dict)
    damaged: dict[AppKey, Problem] = field(default_factory=dict)
    doubts: dict[AppKey, Doubt] = field(default_factory=dict)

    def copy(self, commit: str) -> "_Branch":
        """Return a copy, to be moved to another commit."""
        known = (self.blobs, self.positions, self.rows, self.damaged, self.doubts)
        return _Branch(commit, *(dict(each) for each in known))  # type: ignore[arg-type]

    def problem(self, app: AppKey) -> Problem | None:
        """What is wrong with the file of an app, as it stands."""
        doubt = self.doubts.get(app)
        return self.damaged.get(app) or (doubt.problem if doubt else None)

    def drop(self, app: AppKey) -> None:
        """Forget an app."""
        for known in (self.blobs, self.positions, self.rows, self.damaged, self.doubts):
            known.pop(app, None)


class Ledger:
    """The state branch of this cluster."""

    def __init__(self, mirror: Mirror, trees: Trees, blobs: Blobs, committer: Committer, pusher: Pusher) -> None:
        self._mirror = mirror
        self._trees = trees
        self._blobs = blobs
        self._committer = committer
        self._pusher = pusher
        self._authors = LedgerAuthors(mirror, committer)
        self._branch = _Branch()
        self._names = self._authors.names
        self._built = ""
        """The commit that was built last: nobody has to read who wrote it."""

    def publish(self, batch: Mapping[AppKey, LedgerBatch]) -> Published:
        """Write what the branch does not have yet, in one commit; no commit where it has everything.

        May be called again with the same batch after any failure. Raises ``PushRefused``, ``RemoteMoved`` and the
        errors of an unreachable remote.
        """
        attempts, name = self._pusher.attempts(), self._mirror.settings.state_branch
        for _ in attempts:
            tracked = self._mirror.tracked().get(name)
            branch = self._read()
            problems = tuple(filter(None, map(branch.problem, batch)))
            documents, fresh = self._taken(batch, branch)
            files = self._files(documents, branch)
            positions = {app: document.position for app, document in documents.items()}
            commit = self._commit(files, fresh, problems, branch.commit) if files else branch.commit
            if commit == (tracked or ""):
                return Published("", positions, problems)
            answer = self._pusher.push([Update(name, tracked, commit)])
            if answer.verdicts[name] is Verdict.TAKEN:
                self._built = commit
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
        branch = self._read()
        return tuple(filter(None, map(branch.problem, sorted(branch.damaged.keys() | branch.doubts.keys()))))

    def doubts(self) -> Mapping[AppKey, str]:
        """Why the files of these apps, as they stand, are not believed."""
        branch = self._read()
        return {app: str(branch.problem(app)) for app in branch.damaged.keys() | branch.doubts.keys()}

    def document(self, app: AppKey) -> Document | None:
        """The file of an app as the agent itself wrote it last, or None."""
        return self._documents([app], self._read()).get(app)

    def memory(self, app: AppKey) -> LedgerMemory | None:
        """What the ledger knows of an app, for a rebuilt cluster; None where it knows nothing.

        Of a file that was always somebody else's, also of an agent that had another name: only what holds up.
        """
        document, doubt = self.document(app), self._read().doubts.get(app)
        if document is not None:
            return document.memory
        return doubt.standing.cautious_memory if doubt and doubt.standing else None

    def _read(self) -> _Branch:
        """The branch as last fetched. A deleted branch continues where it was: its history must not be lost."""
        commit = self._mirror.tracked().get(self._mirror.settings.state_branch)
        if commit is None and self._branch.commit and not self._mirror.has(self._branch.commit):
            self._branch = _Branch()
        if commit is not None and (commit != self._branch.commit or self._has_another_name()):
            self._branch = self._moved_to(commit)
        return self._branch

    def _has_another_name(self) -> bool:
        """Whether the agent has learned of a name of its own since the doubts were made."""
        names, self._names = self._names, self._authors.names
        if not self._branch.doubts or self._names == names:
            return False
        self._branch = _Branch()
        return True

    def _moved_to(self, commit: str) -> _Branch:
        """The branch at a commit; costs only the difference from the former one."""
        before = self._branch
        known = bool(before.commit) and self._mirror.has(before.commit)
        branch, origin = before.copy(commit) if known else _Branch(commit), before.commit if known else ""
        nodes = dict(self._changed(origin, commit))
        for app, node in nodes.items():
            branch.drop(app)
            if node not in (NOTHING, Node(_ORDINARY, node.id)):
                branch.damaged[app] = Problem(_path(app), "not a ledger file: it is no ordinary file", remedy=_REMEDY)
        strangers = [] if commit == self._built else list(self._authors.strangers(origin, commit))
        own = self._own(branch, nodes, strangers) if strangers else nodes
        self._take_in(branch, {app: node.id for app, node in own.items() if node.mode == _ORDINARY})
        return branch

    def _own(self, branch: _Branch, nodes: Mapping[AppKey, Node], strangers: list[Stranger]) -> Mapping[AppKey, Node]:
        """The files that moved as the agent itself wrote them last; notes a doubt about each of the others."""
        own, by = dict(nodes), dict[AppKey, Stranger]()
        for stranger in strangers:
            for app, change in self._changes(stranger.parent, stranger.commit):
                if own.get(app) == change.after:
                    own[app] = change.before
                    by.setdefault(app, stranger)
        contents = self._blobs.read(nodes[app].id for app in by if nodes[app].mode == _ORDINARY)
        for app, stranger in by.items():
            text = (contents[nodes[app].id] or b"") if nodes[app].mode == _ORDINARY else None
            why = f"{stranger.name} wrote it in commit {stranger.commit[:10]}, and not this agent"
            branch.doubts[app] = Doubt(Problem(_path(app), why, remedy=_REMEDY), self._standing(branch, app, text))
        return own

    def _standing(self, branch: _Branch, app: AppKey, text: bytes | None) -> Document | None:
        """What a file that somebody else wrote says; notes the damage where it says nothing."""
        try:
            return parse(text) if text is not None else None
        except ValueError as error:
            branch.damaged[app] = Problem(_path(app), str(error), remedy=_REMEDY)
            return None

    def _changed(self, before: str, commit: str) -> Iterator[tuple[AppKey, Node]]:
        """The present nodes of the changed files of apps."""
        for app, change in self._changes(before, commit):
            yield app, change.after

    def _changes(self, before: str, commit: str) -> Iterator[tuple[AppKey, Change]]:
        """The changed files of apps."""
        roots = (self._trees.root(before) if before else "", self._trees.root(commit))
        spaces = self._trees.differences([roots])[roots]
        within = self._trees.differences(each.folders for each in spaces)
        for space in spaces:
            for change in within[space.folders]:
                app = _app_of(space.name, change.name)
                if app is not None:
                    yield app, change

    def _take_in(self, branch: _Branch, moved: Mapping[AppKey, str]) -> None:
        contents = self._blobs.read(moved.values())
        for app, blob in moved.items():
            branch.blobs[app] = blob
            try:
                document = parse(contents[blob] or b"")
            except ValueError as error:
                branch.damaged[app] = Problem(_path(app), str(error), remedy=_REMEDY)
            else:
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
