"""Which files a promotion changes besides ``primary.yaml`` (policies.md §5). Compares folders; reads no file.

It covers what a commit on main changed, and what a promotion branch would change. Knows no policy, decides nothing.
"""

from collections.abc import Callable, Iterator, Mapping

from cachetools import LRUCache

from gitops_bg.core.foreign_text import lines_of
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.git.runner import GitFailed
from gitops_bg.repo.read.index.app_index import AppIndex
from gitops_bg.repo.read.trees import Pair, TreeChange, Trees
from gitops_bg.spec.app.layout import PRIMARY_FILE, app_of

MOST_NAMED = 3
"""How many files are named: one suffices to stop a promotion."""
_MOST_FOLDERS, _DEEPEST = 20_000, 40
"""How many folders of one level are compared, and how deep; beyond that, the folder is named instead of its files."""
_MOST_COMMITS = 50
_LONGEST = 64 * 1024
"""Bytes of a message that are read."""
_REMEMBERED = 10_000
_MESSAGES = ("log", "-z", "--encoding=UTF-8", f"--max-count={_MOST_COMMITS}", "--format=%B")


class ExtraFiles:
    """Caches the answer for each commit, and of a branch for each place where it leaves main: it never changes."""

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
        if (head, main) not in self._bases:
            self._bases[head, main] = self._base(head, main)
        key = (app, head, self._bases[head, main])
        if key not in self._branches:
            own = self._index.places.file(app, PRIMARY_FILE)
            self._branches[key] = self._changed(key[2], head, lambda path: path == own)
        return self._branches[key]

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
        said = self._mirror.stream(*_MESSAGES, *ways, "--", longest=_LONGEST)
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


def _is_primary(path: str) -> bool:
    found = app_of(path)
    return found is not None and found[1] == PRIMARY_FILE


def _promotes(app: AppKey, message: str) -> bool:
    """Return whether a message has the trailers of a promotion of the app, wherever a squash put them."""
    said = {line.strip() for line in lines_of(message)}
    return {f"Bg-App: {app}", "Bg-Event: promoted"} <= said
