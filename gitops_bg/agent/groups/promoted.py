"""The next version of a release group, as far as people matter: what a reviewed commit would promote, and who wrote it.

The counterpart of `agent.desired.promoted` for apps. Decides nothing.
"""

from dataclasses import dataclass
from functools import partial

from cachetools import LRUCache

from gitops_bg.agent.desired.promoted import Written, written_by
from gitops_bg.agent.groups.folders import GroupFolders
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.groups.model import version_number
from gitops_bg.core.model.policy_facts import CommitFacts
from gitops_bg.core.model.version import GroupKey, Source
from gitops_bg.forge.asking import ForgeAnswer
from gitops_bg.repo.read.journal import differs, unchanged_since
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.groups.content import active_in, content_of, promoted_by
from gitops_bg.spec.groups.layout import GROUP_FILE, GROUPS_FOLDER, group_folder

_REMEMBERED = 500
_ONLY = "primary.yaml and group.yaml"


class GroupVersions:
    """The next versions of groups of one repository, whose lock makes it thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._folders = GroupFolders(repository)
        self._contents: LRUCache[tuple[GroupKey, str, str], str] = LRUCache(_REMEMBERED)
        self._named: LRUCache[tuple[GroupKey, str, str], Source | None] = LRUCache(_REMEMBERED)
        self._judged: LRUCache[tuple[GroupKey, str], frozenset[str]] = LRUCache(_REMEMBERED)
        self._missing: dict[str, str] = {}
        """The commits that the remote did not give, each with main's head at that time."""

    def of(
        self, group: GroupKey, version: str, main: str, *, promotion: str = "", heard: ForgeAnswer | None = None
    ) -> "GroupVersion":
        """Return a version as main has it at a commit; ``promotion`` has brought it, if it waits; ``heard`` is what a
        forge said of its pull request.
        """
        head = heard.pull.head if heard is not None and heard.pull is not None else ""
        return GroupVersion(self, group, version, main, promotion, head)

    def promotion_of(self, group: GroupKey, version: str, main: str) -> Source | None:
        """Return the commit since which ``group.yaml`` names a version: whatever else is edited in it later brings no
        promotion. Raises the errors of ``core.errors``; None where main does not name it.
        """
        key = (group, version, main)
        if key not in self._named:

            def says(data: bytes) -> bool | None:
                named = active_in(data)
                return named == version if named else None  # Unknown: the value known before holds.

            path = self.repository.path_of(group, GROUP_FILE)
            since = unchanged_since(self.repository.changes_of_file(path, main, enough=differs(says)), says)
            self._named[key] = since.landing if since is not None else None
        return self._named[key]

    def judged(self, group: GroupKey, main: str) -> frozenset[str]:
        """Return the ids of the contents that versions had when they were promoted, or were the first: whoever wrote
        these wrote nothing that is new in a copy. Raises the errors of ``core.errors``.

        A rollback judges nothing, so that what a folder got since its promotion is as new as any other.
        """
        if (group, main) not in self._judged:
            folder, newest, found = group_folder(group), 0, frozenset[str]()
            for said in reversed(self.repository.changes_of_file(f"{folder}/{GROUP_FILE}", main)):
                active = active_in(said.content) if said.content is not None else ""
                if version_number(active) > newest:
                    newest = version_number(active)
                    below = self.repository.files_below(f"{folder}/{active}", said.landing.commit)
                    found |= {file.blob for file in below.values()}
            self._judged[group, main] = found
        return self._judged[group, main]

    def fetch_reviewed(self, heard: ForgeAnswer | None, main: str) -> None:
        """Fetch what people looked at, once for each head of main: the branch of their pull request may be anybody's,
        and be gone since.
        """
        head = (heard.pull.head,) if heard is not None and heard.pull is not None else ()
        reviewed = (review.commit for review in heard.reviews or ()) if heard is not None else ()
        for commit in dict.fromkeys((*head, *reviewed)):
            if self._missing.get(commit) != main and not self.repository.mirror.fetch_commit(commit):
                self._missing[commit] = main
        if len(self._missing) > _REMEMBERED:
            self._missing.clear()

    def content_at(self, group: GroupKey, commit: str, version: str = "") -> str | None:
        """Return what a commit would promote, or, with ``version``, what it has of that; None where nobody can read
        it.
        """
        key = (group, commit, version)
        if key not in self._contents and (found := self._read(group, commit, version)) is not None:
            self._contents[key] = found
        return self._contents.get(key)

    def _read(self, group: GroupKey, commit: str, version: str) -> str | None:
        try:
            if not self.repository.mirror.has(commit):
                return None
            files = self._folders.files(group, commit)
        except GitopsBgError:
            return None
        if not version:
            return promoted_by(files)
        content = content_of(files, version)
        return f"{version}@{content}" if content is not None else None


@dataclass(frozen=True, slots=True)
class GroupVersion:
    """A version of a group, by its folder in main. See `agent.desired.promoted.Promoted`."""

    _versions: GroupVersions
    _group: GroupKey
    _version: str
    _main: str
    _promotion: str
    _head: str
    """What the pull request holds, or held; empty where there is none."""

    @property
    def digest(self) -> str:
        """The version, and the digest of its folder: of a commit with any other content nothing was approved."""
        return self._versions.content_at(self._group, self._main, self._version) or ""

    @property
    def promotion(self) -> str:
        """The commit since which main's ``group.yaml`` names it; empty before that."""
        return self._promotion

    def digest_at(self, commit: str) -> str | None:
        """See `Promoted.digest_at`."""
        return self._versions.content_at(self._group, commit)

    def written(self, agent: str) -> Written:
        """All who ever changed the folder of the version, or wrote what it has before somebody copied or renamed it:
        whoever names too many takes approvals away, and gives none.

        By main's history and by that of the pull request, for a squash may name one author of many. The agent writes
        there, too, but it only removes folders.
        """
        folder, found = f"{group_folder(self._group)}/{self._version}", dict[str, CommitFacts]()
        for head in dict.fromkeys(filter(None, (self._main, self._head))):
            written = self._written_at(head, folder, agent)
            if written.commits is None:
                return written
            found |= {each.commit: each for each in written.commits}
        return Written(tuple(found.values()))

    def _written_at(self, head: str, folder: str, agent: str) -> Written:
        repository = self._versions.repository
        try:
            if not repository.mirror.has(head):
                return Written(None, f"nobody can read {head[:10]}: promote it again")
            commits = repository.changes.below(folder, head)
            judged = self._versions.judged(self._group, self._main)
            brought = repository.changes.brought(folder, GROUPS_FOLDER, head, judged)
            if commits is None or brought is None:
                return Written(None, f"the commits that changed {folder} are not all here")
            elsewhere, both = {each.commit for each in brought}, {each.commit: each for each in (*commits, *brought)}
            wrote = partial(repository.changes.wrote_below, folder, head)
            return written_by(tuple(both.values()), agent, lambda each: each in elsewhere or wrote(each), _ONLY)
        except GitopsBgError as error:
            return Written(None, f"nobody can read who changed {folder}: {error}")
