"""What single commits say and did: by whom they are, what a folder was before them, which of them made an app, and
which files a promotion changes besides ``primary.yaml`` (policies.md §5). Reads no file.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from cachetools import LRUCache

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import lines_of, one_line
from gitops_bg.core.model.policy_facts import CommitFacts, Person
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.directory import locked
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import parts, text
from gitops_bg.repo.git.runner import GitFailed
from gitops_bg.repo.read.app_index import AppIndex
from gitops_bg.repo.read.changes import Pair, TreeChange, Trees, app_around
from gitops_bg.repo.read.history import WALK, changes, date_of
from gitops_bg.repo.settings import app_at, is_commit_id
from gitops_bg.spec.app.layout import PRIMARY_FILE, RELEASE_FILE

_FORMAT = "--format=%H%x00%an%x00%ae%x00%cn%x00%ce%x00%ct%x00%B%x00%(trailers:only,unfold)%x00"
_PARTS = 9  # of one commit: what the format names, and an empty one, for -z ends a commit, too
_LONGEST = 16 * 1024
"""Bytes of a message that are read."""
_COMMITS_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class Around:
    """What main was before a commit, and what that changed of some paths: their ids before and after.

    Empty: nothing there. Of a commit that is not of main's own line, the parent is its first one.
    """

    parent: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class CommitReader:
    """Answers from memory for a commit that was asked about before: it says the same for ever."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._known: LRUCache[str, CommitFacts] = LRUCache(_COMMITS_REMEMBERED)
        self._around: LRUCache[tuple[str, tuple[str, ...], str], Around] = LRUCache(_COMMITS_REMEMBERED)

    @locked
    def facts(self, commits: Iterable[str]) -> dict[str, CommitFacts]:
        """Return the facts of the commits that the mirror has, by their ids."""
        wanted = {commit for commit in commits if is_commit_id(commit)}
        found = {commit: self._known[commit] for commit in wanted & self._known.keys()}
        unknown = sorted(commit for commit in wanted - found.keys() if self._mirror.has(commit))
        read = {each.commit: each for each in self._read(unknown)} if unknown else {}
        self._known.update(read)
        return found | read

    def around(self, commit: str, paths: tuple[str, ...], before: str) -> Around:
        """Return what was at these paths ``before`` a commit, and at the commit itself; empty: at its first parent."""
        key = (commit, paths, before)
        if key not in self._around:
            earlier = before or f"{commit}^1"
            names = [earlier, *(f"{at}:{path}" for at in (earlier, commit) for path in paths)]
            parent, *ids = (header.id if header else "" for header in self._mirror.headers(names))
            self._around[key] = Around(parent, tuple(ids[: len(paths)]), tuple(ids[len(paths) :]))
        return self._around[key]

    def _read(self, commits: list[str]) -> Iterator[CommitFacts]:
        asked = "".join(f"{commit}\n" for commit in commits).encode()
        walk = ("log", "-z", "--encoding=UTF-8", "--no-walk=unsorted", _FORMAT, "--stdin")
        told = list(map(text, self._mirror.stream(*walk, stdin=asked, longest=_LONGEST)))
        for at in range(0, len(told) - _PARTS + 1, _PARTS):
            commit, author, author_mail, committer, mail, seconds, message, trailers = told[at : at + _PARTS - 1]
            yield CommitFacts(
                commit=commit.strip(),
                author=Person(one_line(author), one_line(author_mail)),
                committer=Person(one_line(committer), one_line(mail)),
                at=date_of(seconds),
                message=message,
                trailers=tuple(_trailers(trailers)),
            )


def _trailers(lines: str) -> Iterator[tuple[str, str]]:
    for line in lines_of(lines):
        name, colon, value = line.partition(":")
        if colon:
            yield name.strip(), value.strip()


_AUTHORS_REMEMBERED = 1000
_FOLDERS = 64


class Changes:
    """The commits that changed an app's folder: their authors wrote what is promoted. Caches the answers: history never
    changes.
    """

    def __init__(self, mirror: Mirror, commits: CommitReader, index: AppIndex) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._index = index
        self._commits = commits
        self._known: LRUCache[tuple[AppKey, str, str], tuple[str, ...]] = LRUCache(_AUTHORS_REMEMBERED)
        self._folders: LRUCache[tuple[str, str], tuple[tuple[str, str], ...]] = LRUCache(_FOLDERS)

    @locked
    def between(self, app: AppKey, before: str, after: str) -> tuple[CommitFacts, ...] | None:
        """Return the commits after ``before``, on all paths to ``after``, inclusive; None where the mirror lacks one of
        them.

        Promotions are left out: a change of ``primary.yaml`` writes no content. A merge is included if it made a file
        what no parent has. Side branches that main did not take are included: naming too many authors is safe.
        """
        if not self._mirror.has(before) or not self._mirror.has(after):
            return None
        ids = tuple(dict.fromkeys([after, *self._ids(app, before, after)]))
        facts = self._commits.facts(ids)
        return tuple(facts[each] for each in ids) if len(facts) == len(ids) else None

    @locked
    def wrote_content(self, app: AppKey, before: str, after: str, commit: str) -> bool:
        """Return whether one of the commits of `between` changed a file of the app other than ``primary.yaml``."""
        return commit in self._ids(app, before, after)

    @locked
    def below(self, folder: str, head: str) -> tuple[CommitFacts, ...] | None:
        """Return the commits that changed files below a folder in all the history of ``head``, the newest first;
        promotions are left out. None where the mirror lacks one of them.
        """
        ids = tuple(dict.fromkeys(commit for commit, _ in self._below(folder, head)))
        facts = self._commits.facts(ids)
        return tuple(facts[each] for each in ids) if len(facts) == len(ids) else None

    @locked
    def brought(self, folder: str, within: str, head: str, known: Container[str]) -> tuple[CommitFacts, ...] | None:
        """Return the commits that made a file with what a file below a folder has, or had, anywhere ``within``: before
        somebody copied or renamed the folder, others wrote it. Without contents that are ``known`` by their ids. None
        where the mirror lacks one of them.
        """
        own = {blob for _, blob in self._below(folder, head) if blob.strip("0") and blob not in known}
        ids = tuple(dict.fromkeys(commit for commit, blob in self._below(within, head) if blob in own))
        facts = self._commits.facts(ids)
        return tuple(facts[each] for each in ids) if len(facts) == len(ids) else None

    @locked
    def wrote_below(self, folder: str, head: str, commit: str) -> bool:
        """Return whether one of the commits of `below` did more than remove files."""
        return any(each == commit and blob.strip("0") for each, blob in self._below(folder, head))

    def _below(self, folder: str, head: str) -> tuple[tuple[str, str], ...]:
        """Return each commit with the id of each file that it made; zeros for one that it removed."""
        key = (folder, head)
        if key not in self._folders:
            walk = (*WALK, "--full-history", head, "--", folder)
            found = changes(parts(self._mirror.local(*walk)))
            self._folders[key] = tuple(
                (commit, blob) for commit, name, blob in found if not name.endswith(f"/{PRIMARY_FILE}")
            )
        return self._folders[key]

    def _ids(self, app: AppKey, before: str, after: str) -> tuple[str, ...]:
        key = (app, before, after)
        if key not in self._known:
            folder = self._index.places.folder(app)
            walk = (*WALK, "--full-history", f"^{before}", after, "--", folder)
            found = (commit for commit, name, _ in changes(parts(self._mirror.local(*walk))) if not _is_snapshot(name))
            self._known[key] = tuple(dict.fromkeys(found))
        return self._known[key]


MOST_NAMED = 3
"""How many files are named: one suffices to stop a promotion."""
_MOST_FOLDERS, _DEEPEST = 20_000, 40
"""How many folders of one level are compared, and how deep; beyond that, the folder is named instead of its files."""
_MOST_COMMITS = 50
_LONGEST_MESSAGE = 64 * 1024
"""Bytes of a message that are read."""
_REMEMBERED = 10_000
_MESSAGES = ("log", "-z", "--encoding=UTF-8", f"--max-count={_MOST_COMMITS}", "--format=%B")


class ExtraFiles:
    """Which files a promotion changes besides ``primary.yaml`` (policies.md §5). Compares folders; reads no file.

    Caches the answer for each commit, and of a branch for each place where it leaves main: it never changes.
    """

    def __init__(self, mirror: Mirror, trees: Trees, index: AppIndex) -> None:
        self._mirror = mirror
        self._trees = trees
        self._index = index
        self._branches: LRUCache[tuple[AppKey, str, str], tuple[str, ...]] = LRUCache(_REMEMBERED)
        self._bases: LRUCache[tuple[str, str], str] = LRUCache(_REMEMBERED)
        self._promotions: LRUCache[tuple[AppKey, str, str], tuple[str, ...]] = LRUCache(_REMEMBERED)

    def on_branch(self, app: AppKey, head: str, main: str) -> tuple[str, ...]:
        """Return files besides the app's ``primary.yaml`` that a promotion branch would bring to main; only some of
        many.
        """
        key = (app, head, self._branch_point(head, main))
        if key not in self._branches:
            own = self._index.places.file(app, PRIMARY_FILE)
            self._branches[key] = self._changed(key[2], head, lambda path: path == own)
        return self._branches[key]

    def besides(self, own: Container[str], head: str, main: str) -> tuple[str, ...]:
        """Return files that a branch would bring to main besides its ``own``; only some of many."""
        return self._changed(self._branch_point(head, main), head, lambda path: path in own)

    def _branch_point(self, head: str, main: str) -> str:
        if (head, main) not in self._bases:
            self._bases[head, main] = self._base(head, main)
        return self._bases[head, main]

    def in_promotion(self, app: AppKey, commit: str, parent: str) -> tuple[str, ...]:
        """Return files besides every app's ``primary.yaml`` that a commit of main changed, if it merges a promotion
        branch; ``parent`` is what main was before it.

        Several promotions in one commit are separate promotions, each judged by the policies of its app. People who
        commit to main by hand may change anything; a promotion branch may not (decision 33).
        """
        key = (app, commit, parent)
        if key not in self._promotions:
            found = self._changed(parent, commit, _is_primary)
            self._promotions[key] = found if found and self._merges_offer(app, commit, parent) else ()
        return self._promotions[key]

    def _base(self, head: str, main: str) -> str:
        """Return where a branch leaves main; empty where they have no common history."""
        read = self._mirror.commits([head]).get(head)
        if read and len(read.parents) == 1 and self._mirror.is_ancestor(read.parents[0], main):
            return read.parents[0]
        finished = self._mirror.git.attempt("merge-base", main, head)
        if finished.status > 1:
            raise self._mirror.broken(GitFailed("merge-base", finished))
        return text(finished.output.strip())

    def _merges_offer(self, app: AppKey, commit: str, parent: str) -> bool:
        """Return whether it, or a commit that it merged, has the app's promotion trailers: a squash keeps messages of
        branches. Of so many that not all are read, one may have them.
        """
        ways = [commit, f"^{parent}"] if parent else [commit]
        said = self._mirror.stream(*_MESSAGES, *ways, "--", longest=_LONGEST_MESSAGE)
        read = [_promotes(app, text(message)) for message in said]
        return any(read) or len(read) == _MOST_COMMITS

    def _changed(self, before: str, after: str, allowed: Callable[[str], bool]) -> tuple[str, ...]:
        pair = (self._trees.root(before) if before else "", self._trees.root(after))
        found: list[str] = []
        for path in self._paths({"": pair}):
            if not allowed(path):
                found.append(path)
            if len(found) == MOST_NAMED:
                break
        return tuple(found)

    def _paths(self, level: Mapping[str, Pair]) -> Iterator[str]:
        """Yield the files that differ, shallow ones first, and the folders that are too many or too deep to compare."""
        for _ in range(_DEEPEST):
            if not level or len(level) > _MOST_FOLDERS:
                break
            different, deeper = self._trees.differences(level.values()), dict[str, Pair]()
            for path, change in (
                (f"{folder}{each.name}", each) for folder in level for each in different[level[folder]]
            ):
                if _is_file(change):
                    yield path
                if any(change.folders):
                    deeper[f"{path}/"] = change.folders
                if len(deeper) > _MOST_FOLDERS:
                    break
            level = deeper
        yield from level


def _is_file(change: TreeChange) -> bool:
    """Return whether either side is a file: a folder that replaces a file removes the file."""
    return any(node.id and not node.folder for node in (change.before, change.after))


def _is_snapshot(path: str) -> bool:
    """Return whether a file has what others wrote: a promotion, or the entry of a release, writes no content."""
    folder, _, name = path.rpartition("/")
    return _is_primary(path) or (name == RELEASE_FILE and app_at(folder) is None and app_around(folder) is not None)


def _is_primary(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name == PRIMARY_FILE and app_around(folder) is not None


def _promotes(app: AppKey, message: str) -> bool:
    """Return whether a message has the trailers of a promotion of the app, wherever a squash put them."""
    said = {line.strip() for line in lines_of(message)}
    return {f"Bg-App: {app}", "Bg-Event: promoted"} <= said
