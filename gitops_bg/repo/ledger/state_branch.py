"""The state branch as the agent itself wrote it last, whoever else pushed to it; and how anything is written to it, the
overview of the cluster included.

What counts is the tree of the agent's newest commit, for every file that is read back: of apps, of groups, of policies,
and the overview. So each commit of the agent has to be all its own: with whatever it writes, it writes back every file
of the ledger that somebody else has changed since. Other files of others stay as they are.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.version import AppOrGroup, SubjectKind, version_name
from gitops_bg.repo.git.errors import RemoteUnreachable, TooLarge
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.ledger.ledger_file import (
    GROUPS,
    POLICIES,
    README,
    LedgerDocument,
    VersionState,
    adopted,
    in_order,
    path_of,
    subject_at,
)
from gitops_bg.repo.ledger.own_commits import CommitSummary, LedgerNotChecked, OwnCommit, OwnCommits, OwnershipProof
from gitops_bg.repo.read.changes import NOTHING, Pair, TreeChange, TreeNode, Trees
from gitops_bg.repo.read.files import Blobs
from gitops_bg.repo.read.signatures import FIRST_SECONDS
from gitops_bg.repo.settings import STATE_PREFIX
from gitops_bg.repo.write.commits import CommitDraft, Committer
from gitops_bg.repo.write.push import Pusher, PushVerdict, Update

# --- README.md: the overview that a forge shows; its size is limited ---

_MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class ReadmeRow:
    """One app, or one release group, in its table."""

    active: str
    candidate: str
    holds: int
    last: str


def row_of(document: LedgerDocument) -> ReadmeRow:
    """Return the row of an app or a group."""
    state = document.state
    last = document.history[-1].entry if document.history else None
    return ReadmeRow(
        _version(state.active),
        _version(state.candidate),
        len(state.holds),
        f"{last.event} {last.at:%Y-%m-%d %H:%M} UTC" if last else "",
    )


def render(rows: Mapping[AppOrGroup, ReadmeRow], cluster: str) -> bytes:
    """Return the page: a row for each app, or, where there are many, for each namespace; and below them those of
    groups.
    """
    apps, groups = ([each for each in sorted(rows, key=in_order) if each.kind is kind] for kind in SubjectKind)
    parts = [
        f"# {one_line(cluster)}\n\nWritten by gitops-bg; what happened is the log of this branch.\n",
        _table("App", apps, rows) if len(apps) <= _MOST_ROWS else _namespaces(apps),
        f"## Release groups\n\n{_table('Group', groups[:_MOST_ROWS], rows)}" if groups else "",
    ]
    return "\n".join(filter(None, parts)).encode(errors="replace")


def _table(what: str, subjects: Iterable[AppOrGroup], rows: Mapping[AppOrGroup, ReadmeRow]) -> str:
    lines = [f"| {what} | Active | Candidate | Holds | Last event |", "|---|---|---|---|---|"]
    for subject in subjects:
        row = rows[subject]
        link = f"[{subject}]({path_of(subject)})"
        cells = (link, row.active, row.candidate, str(row.holds or ""), row.last)
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _namespaces(apps: Iterable[AppOrGroup]) -> str:
    counts = Counter(app.namespace for app in apps)
    lines = ["| Namespace | Apps |", "|---|---|"]
    lines += [f"| [{namespace}]({namespace}) | {counts[namespace]} |" for namespace in sorted(counts)[:_MOST_ROWS]]
    return "\n".join(lines) + "\n"


def _version(version: VersionState | None) -> str:
    return version_name(version.version, version.digest, version.tag) if version else ""


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")


# --- the branch ---

ORDINARY = "100644"


@dataclass(frozen=True, slots=True)
class Foreign:
    """A file of the ledger that somebody else has changed since the agent wrote it."""

    now: TreeNode
    own: TreeNode
    why: str
    """Whose commit it is, and how that is known."""


@dataclass(frozen=True, slots=True)
class View:
    """The branch at a commit. ``own`` is the commit whose tree counts; empty where nothing is the agent's."""

    tip: str = ""
    own: str = ""
    proof: OwnershipProof = OwnershipProof.NONE
    foreign: Mapping[str, Foreign] = field(default_factory=dict)
    """By path; of files that only others have, no more than are said."""
    flooded: bool = False
    """Whether others have so many more files that not all of them are named here."""
    settled: bool = True
    """Whether it stays so as long as nobody pushes."""


@dataclass(frozen=True, slots=True)
class LedgerWrite:
    """What is to be written: the files that differ, by path (None removes one), and the message."""

    files: Mapping[str, bytes | None]
    message: str


Compose = Callable[[View], LedgerWrite | None]
"""What is to be written on top of a view; None where nothing is. It is asked again where the branch has moved."""

_MOST_FOREIGN = 1000
"""How many files that only others have are named."""
_MOST_ADOPTED = 20_000
"""How many there may be where nothing is the agent's: it may have had another name."""
_LARGEST_FOLDER = 4 * 1024 * 1024
"""Bytes of the tree of a folder: a hundred thousand files; what is larger is nobody's ledger, and takes a minute."""
_PAUSE = 5.0
"""Seconds without a further look where so many signatures are to be checked that one look does not do: what else Git is
asked has its turn.
"""
_SET_BACK = "the branch was set back to before the agent wrote it"
_NEVER: tuple[frozenset[str], str] = (frozenset(), "")


class StateBranch:
    """The branch of one cluster. ``monotonic`` gives seconds. Not thread-safe."""

    def __init__(
        self,
        mirror: Mirror,
        trees: Trees,
        blobs: Blobs,
        committer: Committer,
        pusher: Pusher,
        commits: OwnCommits,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._trees = trees
        self._blobs = blobs
        self._committer = committer
        self._pusher = pusher
        self._commits = commits
        self.cluster = commits.cluster
        self._name = f"{STATE_PREFIX}{self.cluster}"
        self._monotonic = monotonic
        self._view = View()
        self._stamp = _NEVER
        self._again_at = 0.0
        self._paused: LedgerNotChecked | None = None
        self._paused_at, self._paused_until = "", 0.0
        self._built = ""
        """The commit that was built last: nobody has to ask whose it is."""
        self.trouble = ""
        """Why the branch, as last fetched, is not known yet; empty where it is."""

    def seen(self) -> View:
        """Return the branch as last fetched; as it was before while nobody can tell whose its commits are."""
        try:
            return self.read()
        except (LedgerNotChecked, TooLarge) as error:
            self.trouble = str(error)
            return self._view

    def read(self) -> View:
        """Return the branch as last fetched. A deleted branch continues where it was: its history must not be lost.

        Raises ``LedgerNotChecked``, and ``TooLarge`` where git cannot walk through it.
        """
        tip = self._mirror.tracked().get(self._name)
        if self._view.tip and not self._mirror.has(self._view.tip):
            self._view = View()
        if tip is None:
            self.trouble = ""
            return self._view
        stamp = self._commits.stamp
        is_due = stamp != self._stamp or (not self._view.settled and self._monotonic() >= self._again_at)
        if is_due and self._view.proof is not OwnershipProof.SIGNED:
            self._view = View()  # other names, or other keys, may tell something else
        if tip != self._view.tip or is_due:
            self._view, self._again_at = self._in_turn(tip), self._monotonic() + FIRST_SECONDS
        self._stamp, self.trouble = stamp, ""
        return self._view

    def write(self, compose: Compose) -> str:
        """Write in one commit what is to be written; return the commit, empty where nothing was. A deleted branch comes
        back, also without anything new.

        May be called again after any failure. Raises ``PushRefused``, ``RemoteMoved``, the errors of an unreachable
        remote, and as `read`.
        """
        attempts, name = self._pusher.attempts(), self._name
        for _ in attempts:
            tracked, view = self._mirror.tracked().get(name), self.read()
            written = compose(view)
            commit = self._commit(written, view) if written else view.tip
            if commit == (tracked or ""):
                return ""
            answer = self._pusher.push([Update(name, tracked, commit)])
            if answer.verdicts[name] is PushVerdict.TAKEN:
                self._built = commit if written else self._built
                self.read()  # so that it is known, should somebody delete the branch
                return commit
            attempts.judge(answer)
            self._mirror.follow(self._mirror.remote_branches())
        raise attempts.given_up()

    def has(self, commit: str) -> bool:
        """Return whether the mirror has a commit; it may have been cloned anew."""
        return self._mirror.has(commit)

    def differences(self, before: str, commit: str) -> Iterator[tuple[str, TreeChange]]:
        """Yield the files of the ledger that differ between two commits, by path; an empty one has none."""
        pair = (self._trees.root(before) if before else "", self._trees.root(commit) if commit else "")
        for _, path, change in self._changes([pair], set()):
            yield path, change

    # --- whose it is ---

    def _in_turn(self, tip: str) -> View:
        """Do as `_looked_at`, with pauses where it takes several looks."""
        if self._paused is not None and (self._paused_at == tip and self._monotonic() < self._paused_until):
            raise self._paused
        self._paused = None
        try:
            return self._view_of(tip)
        except LedgerNotChecked as error:
            if error.later:
                self._paused, self._paused_at, self._paused_until = error, tip, self._monotonic() + _PAUSE
            raise

    def _view_of(self, tip: str) -> View:
        """Return the view of another commit: as good as the best proof that there is, now or before."""
        before = self._view
        if tip == self._built:
            return View(tip, tip, self._commits.best)
        is_known = bool(before.own) and self._mirror.has(before.own)
        since = before.own if is_known and self._mirror.is_ancestor(before.own, tip) else ""
        found = self._commits.newest(tip, since, before.proof if is_known else OwnershipProof.NAME)
        if is_known and not found.own:
            found = replace(found, own=before.own, proof=before.proof)
        changed, flooded = self._not_own(tip, found.own)
        return View(tip, found.own, found.proof, self._foreign(changed, found), flooded, found.settled)

    def _not_own(self, tip: str, own: str) -> tuple[dict[str, TreeChange], bool]:
        """Return the files that are not as in the agent's own commit, and whether there are more that only others
        have.
        """
        if own == tip:
            return {}, False
        changed, more, most = dict[str, TreeChange](), 0, _MOST_FOREIGN if own else _MOST_ADOPTED
        large, pair = set[str](), (self._trees.root(own) if own else "", self._trees.root(tip))
        for _, path, change in self._changes([pair], large):
            more += change.before == NOTHING
            if change.before != NOTHING or more <= most:
                changed[path] = change
        return changed, more > most or bool(large)

    def _foreign(self, changed: Mapping[str, TreeChange], found: OwnCommit) -> dict[str, Foreign]:
        """Return these files, each with who changed it last, where that is near."""
        if not changed:
            return {}
        roots = self._trees.roots([each for told in found.others for each in (told.commit, *told.parents[:1])])
        pairs: dict[tuple[str, str], CommitSummary] = {}
        for told in found.others:
            pairs.setdefault((roots[told.parents[0]] if told.parents else "", roots[told.commit]), told)
        by: dict[str, CommitSummary] = {}
        for pair, path, change in self._changes(list(pairs), set()):
            if path in changed and change.after == changed[path].after:
                by.setdefault(path, pairs[pair])
        authors = {path: by.get(path, found.others[0]) for path in changed} if found.others else {}
        said = {told: self._commits.described(told) for told in dict.fromkeys(authors.values())}
        why = {path: said[told] for path, told in authors.items()}
        return {path: Foreign(each.after, each.before, why.get(path, _SET_BACK)) for path, each in changed.items()}

    def _changes(self, roots: list[Pair], large: set[str]) -> Iterator[tuple[Pair, str, TreeChange]]:
        """Yield the changes of files of the ledger between pairs of root folders: in the root, in the folders of
        namespaces, and in those of the groups, two levels below. A folder that is too ``large``, which is noted, counts
        as empty.
        """
        top = self._between(roots, large)
        spaces = self._between((each.folders for pair in roots for each in top[pair]), large)
        within = [one for pair in roots for one in top[pair] if one.name == GROUPS]
        groups = self._between((each.folders for one in within for each in spaces[one.folders]), large)
        for pair in roots:
            for one in top[pair]:
                if one.name in (README, POLICIES):
                    yield pair, one.name, one
                for each in spaces[one.folders]:
                    if subject_at(path := f"{one.name}/{each.name}"):
                        yield pair, path, each
                    for file in groups[each.folders] if one.name == GROUPS else ():
                        if subject_at(path := f"{GROUPS}/{each.name}/{file.name}"):
                            yield pair, path, file

    def _between(self, pairs: Iterable[Pair], large: set[str]) -> dict[Pair, list[TreeChange]]:
        """Return the differences between each two folders, of which those are empty that are larger than a ledger's can
        be.
        """
        wanted = list(dict.fromkeys(pairs))
        folders = list(dict.fromkeys(each for pair in wanted for each in pair if each))
        for folder, header in zip(folders, self._mirror.headers(folders), strict=True):
            if header is not None and header.size > _LARGEST_FOLDER:
                large.add(folder)
        read = {pair: ("" if pair[0] in large else pair[0], "" if pair[1] in large else pair[1]) for pair in wanted}
        found = self._trees.differences(read.values())
        return {pair: found[read[pair]] for pair in wanted}

    # --- what is written ---

    def _commit(self, written: LedgerWrite, view: View) -> str:
        mended = self._restored(view) if self.is_proven(view) else self._adopted_files(view)
        files = {**mended, **written.files}
        return self._committer.build([CommitDraft(view.tip or None, files, written.message, anew=view.flooded)])[0]

    def is_proven(self, view: View) -> bool:
        """Return whether the agent's last commit is as sure to be its own as its commits can be."""
        return view.proof >= min(self._commits.best, OwnershipProof.EXPIRED)

    def _restored(self, view: View) -> dict[str, bytes | None]:
        """Return the files of others as the agent wrote them last."""
        nodes = {path: each.own for path, each in view.foreign.items()}
        if view.flooded:
            nodes = {path: each.after for path, each in self.differences("", view.own)}
        ordinary = {path: node.id for path, node in nodes.items() if node.mode == ORDINARY}
        found = self._blobs.sought({path: (blob,) for path, blob in ordinary.items()})
        if found.lacking and self._mirror.is_ancestor(view.own, view.tip):
            raise RemoteUnreachable(f"the remote does not hand out files of the ledger: {min(found.lacking.values())}")
        contents = self._blobs.contents(found.sizes)  # what the remote has dropped with a history is gone
        return {path: contents.get(ordinary.get(path, "")) for path in nodes}

    def _adopted_files(self, view: View) -> dict[str, bytes | None]:
        """Return all files of apps and groups with what may be kept; no other file, unless it is the agent's by
        name.
        """
        nodes = {path: each.after for path, each in self.differences("", view.own)}
        if not view.own:
            nodes = {path: each.now for path, each in view.foreign.items()}
        ordinary = {path: node.id for path, node in nodes.items() if node.mode == ORDINARY and subject_at(path)}
        contents = self._blobs.read(ordinary.values())
        is_named = bool(view.own) or self._commits.best is OwnershipProof.NAME  # who could sign, and did not, is nobody
        kept = {path: adopted(contents[blob] or b"", is_named) for path, blob in ordinary.items()}
        return (self._restored(view) if view.own else dict.fromkeys(nodes)) | kept
