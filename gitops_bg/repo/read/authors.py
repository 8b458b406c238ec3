"""The commits that made an app's folder what a version is: their authors wrote what is promoted. Decides nothing."""

from collections.abc import Container

from cachetools import LRUCache

from gitops_bg.core.model.policies.facts import CommitFacts
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import parts
from gitops_bg.repo.read.commits import CommitReader
from gitops_bg.repo.read.index.app_index import AppIndex
from gitops_bg.repo.read.provenance import WALK, changes
from gitops_bg.spec.app.layout import PRIMARY_FILE

_REMEMBERED = 1000
_FOLDERS = 64


class Changes:
    """Caches the answers: history never changes."""

    def __init__(self, mirror: Mirror, commits: CommitReader, index: AppIndex) -> None:
        self._mirror = mirror
        self._index = index
        self._commits = commits
        self._known: LRUCache[tuple[AppKey, str, str], tuple[str, ...]] = LRUCache(_REMEMBERED)
        self._folders: LRUCache[tuple[str, str], tuple[tuple[str, str], ...]] = LRUCache(_FOLDERS)

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

    def wrote_content(self, app: AppKey, before: str, after: str, commit: str) -> bool:
        """Return whether one of the commits of `between` changed a file of the app other than ``primary.yaml``."""
        return commit in self._ids(app, before, after)

    def below(self, folder: str, head: str) -> tuple[CommitFacts, ...] | None:
        """Return the commits that changed files below a folder in all the history of ``head``, the newest first;
        promotions are left out. None where the mirror lacks one of them.
        """
        ids = tuple(dict.fromkeys(commit for commit, _ in self._below(folder, head)))
        facts = self._commits.facts(ids)
        return tuple(facts[each] for each in ids) if len(facts) == len(ids) else None

    def brought(self, folder: str, within: str, head: str, known: Container[str]) -> tuple[CommitFacts, ...] | None:
        """Return the commits that made a file with what a file below a folder has, or had, anywhere ``within``: before
        somebody copied or renamed the folder, others wrote it. Without contents that are ``known`` by their ids. None
        where the mirror lacks one of them.
        """
        own = {blob for _, blob in self._below(folder, head) if blob.strip("0") and blob not in known}
        ids = tuple(dict.fromkeys(commit for commit, blob in self._below(within, head) if blob in own))
        facts = self._commits.facts(ids)
        return tuple(facts[each] for each in ids) if len(facts) == len(ids) else None

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
            folder, promotion = self._index.places.folder(app), self._index.places.file(app, PRIMARY_FILE)
            walk = (*WALK, "--full-history", f"^{before}", after, "--", folder)
            found = (commit for commit, name, _ in changes(parts(self._mirror.local(*walk))) if name != promotion)
            self._known[key] = tuple(dict.fromkeys(found))
        return self._known[key]
