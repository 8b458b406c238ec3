"""Changes of what names the version that serves, ``primary.yaml`` of an app and ``group.yaml`` of a release group:
commits on main, and the one promotion branch of each (DESIGN §3, §4).

Each change names the commit of main that it was decided from. Where a commit since then touched the app's folder, the
change is superseded and decided again, even if the files have changed back: somebody promoted and reverted, and that is
a decision. Of a group's folder, only what it says now counts. Nothing is ever rebased or merged (gitops.md §0.2). So a
change that lands after another commit for the app was decided with knowledge of it: the order in main is the order of
decisions (decision 18).

People share the promotion branches, so each is written only from the head that was decided from.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import repeat
from typing import Generic, TypeVar

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.git.directory import locked
from gitops_bg.repo.git.errors import BranchMoved
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.read.app_index import AppIndex
from gitops_bg.repo.read.changes import NOTHING, Trees, touched_between
from gitops_bg.repo.read.files import Files, TreeEntry
from gitops_bg.repo.read.promotion_branches import OfferedBlobs, PromotionBranches
from gitops_bg.repo.write.commits import CommitDraft, Committer, Movement, Requester, asking, blob_id
from gitops_bg.repo.write.main_branch import Edited, EditOrNew, Edits, MainBranch
from gitops_bg.repo.write.push import Pusher, PushVerdict, Update
from gitops_bg.spec.app.layout import GROUP_FILE, PRIMARY_FILE, group_file, group_folder
from gitops_bg.spec.app.primary import ConfigurationChange, configuration_changes, configuration_in

Who = TypeVar("Who", bound=AppOrGroup)
Heads = Mapping[str, str | None]
"""By the name of the branch: its commit; None: no branch."""


class SharedBranches:
    """The promotion branches of apps and release groups."""

    def __init__(self, mirror: Mirror, pusher: Pusher, index: AppIndex) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._pusher = pusher
        self._index = index

    def seen(self, heads: Heads) -> dict[str, str]:
        """Return the head of each branch that a change was decided from: the given one, empty for no branch; None: the
        one that was fetched last.
        """
        standing = self._mirror.standing()
        return {name: standing.get(name, "") if head is None else head for name, head in heads.items()}

    def write(
        self,
        seen: Mapping[str, str],
        wanted: Callable[[], Heads],
        took: Callable[[str, str | None], None] = lambda _name, _commit: None,
    ) -> None:
        """Bring branches to what is ``wanted`` of them, in one push; asked anew where the remote has moved meanwhile.
        ``took`` is told of each that the remote has taken, and that is wanted no more.

        Raises `BranchMoved` for those that have another head than the one that was ``seen``; all others are written
        then. Raises ``PushRefused`` where the remote refuses one, ``RemoteMoved`` where it keeps moving, and the errors
        of an unreachable remote.
        """
        moved: set[str] = set()
        attempts = self._pusher.attempts()
        for _ in attempts:
            heads, standing = wanted(), self._mirror.standing()
            moved |= self._mirror.moved_from({name: seen[name] for name in heads})
            updates = [Update(name, standing.get(name), head) for name, head in heads.items() if name not in moved]
            if not updates:
                break
            answer = self._pusher.push(updates)
            taken = {name: heads[name] for name, verdict in answer.verdicts.items() if verdict is PushVerdict.TAKEN}
            self._mirror.forget({name for name, head in taken.items() if head is None} & self._mirror.tracked().keys())
            for name, head in taken.items():
                took(name, head)
            if len(taken) == len(updates):
                break
            attempts.judge(answer)
            self._mirror.follow(self._mirror.remote_branches())
        else:
            raise attempts.given_up()
        if moved:
            raise BranchMoved(moved)

    @locked
    def withdraw(self, heads: Mapping[Who, str | None]) -> None:
        """Delete the promotion branches of these apps and groups, where they exist (`seen`). Raises as ``write``."""
        self.delete({self._index.places.branch(who): head for who, head in heads.items()})

    @locked
    def delete(self, heads: Heads) -> None:
        """Delete these branches, where they exist (`seen`). Raises as ``write``."""
        seen = self.seen(heads)
        self.write(seen, lambda: dict.fromkeys(sorted(seen.keys() & self._mirror.standing().keys())))


@dataclass(frozen=True, slots=True)
class OfferedFolder:
    """The head of the branch of a group."""

    commit: str
    parent: str
    """The main that it was made on; empty where it has no parent."""
    folder: str
    """The object id of the group's folder there: equal ids are equal wishes."""
    is_merged: bool
    """Whether it asks for nothing that main does not say, however it was merged."""
    is_outdated: bool = False
    """Whether main has changed ``group.yaml`` since it was made, or dropped what it stands on."""


class GroupBranches:
    """The branches of all groups: what main does not take from the agent, for people to merge. One for each group,
    updated in place, gone once main says the same.
    """

    def __init__(
        self, mirror: Mirror, trees: Trees, edits: Edits, committer: Committer, branches: SharedBranches
    ) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._trees = trees
        self._edits = edits
        self._committer = committer
        self._branches = branches
        self._trunk = MainBranch(mirror)

    @locked
    def head(self, group: GroupKey) -> str:
        """Return the head of the branch of a group, as last fetched; empty where there is none."""
        return self._mirror.tracked().get(promotion_branch(group), "")

    @locked
    def offer(
        self,
        group: GroupKey,
        edits: Mapping[str, EditOrNew],
        message: str,
        requester: Requester | None = None,
        *,
        seen: str | None = None,
    ) -> Edited:
        """Put the edits of main on the branch of a group, as one commit. Raises as ``Edits.commit``.

        A branch whose folder of the group says so already stays as it is, as long as it can be merged; none is made
        where main says so. ``seen`` is
        the head that this was decided from, empty for no branch (None: the one that was fetched last): raises
        `BranchMoved` where the branch has another one.
        """
        name, offered = promotion_branch(group), Edited("", changed=False)

        def wanted() -> Heads:
            nonlocal offered
            base, standing = self._trunk.base(), self._mirror.tracked().get(name)
            changed = self._edits.changed(edits, base)
            offered = Edited(base, changed=False)
            if not changed:
                return {}
            [commit] = self._committer.build([CommitDraft(base, changed, message, requester=requester)])
            is_there = standing is not None and self._folder(group, standing) == self._folder(group, commit)
            is_there = is_there and self._fits(group, self._parent(standing or ""), base)
            head = standing if standing is not None and is_there else commit
            offered = Edited(head, changed=not is_there, paths=frozenset(changed))
            return {} if is_there else {name: commit}

        self._branches.write(self._branches.seen({name: seen}), wanted)
        return offered

    @locked
    def offered(self, group: GroupKey) -> OfferedFolder | None:
        """Return what the branch of a group asks for; None where there is none."""
        tracked = self._mirror.tracked()
        standing, main = tracked.get(promotion_branch(group)), tracked.get(self._mirror.settings.branch)
        if standing is None:
            return None
        parent, folder = self._parent(standing), self._folder(group, standing)
        is_same = main is not None and folder == self._folder(group, main)
        is_merged = is_same or (main is not None and self._mirror.is_ancestor(standing, main))
        is_outdated = main is not None and not is_merged and not self._fits(group, parent, main)
        return OfferedFolder(standing, parent, folder, is_merged, is_outdated)

    def _parent(self, commit: str) -> str:
        """Return what a commit stands on; empty where it has no parent."""
        found = self._mirror.commits([commit]).get(commit)
        return found.parents[0] if found is not None and found.parents else ""

    def _fits(self, group: GroupKey, parent: str, main: str) -> bool:
        """Return whether main has what a branch stands on, and says the same in ``group.yaml`` still."""
        path = group_file(group)
        is_there = bool(parent) and self._mirror.is_ancestor(parent, main)
        return is_there and self._trees.at(parent, [path]) == self._trees.at(main, [path])

    def _folder(self, group: GroupKey, commit: str) -> str:
        path = group_folder(group)
        return self._trees.at(commit, [path]).get(path, NOTHING).folder


Who_co = TypeVar("Who_co", bound=AppOrGroup, covariant=True)


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a release comes in: the path of ``release.yaml``, and the branch that asks for it."""

    path: str
    branch: str


@dataclass(frozen=True, slots=True)
class PrimaryChange(Generic[Who_co]):
    """``primary.yaml`` of an app, ``group.yaml``, or ``release.yaml`` of an environment should have ``content``;
    ``movement`` says why.
    """

    content: bytes
    decided_from: str
    """The commit of main that the change was decided from; empty where main's files of the app were not read."""
    movement: Movement[Who_co]
    seen: str | None = None
    """The head of the promotion branch that the change was decided from, empty for no branch; None: the one that was
    fetched when the change is offered.
    """
    entry: Entry | None = None
    """The file that it is about instead: ``release.yaml`` of an environment."""

    @property
    def subject(self) -> Who_co:
        """The app or the group of the change."""
        return self.movement.subject


PrimaryChanges = Sequence[PrimaryChange[AppOrGroup]]


class PrimaryResult(StrEnum):
    """The result of a change."""

    COMMITTED = "committed"
    UNCHANGED = "unchanged"
    """The content was there already: no commit."""
    SUPERSEDED = "superseded"
    """Somebody else changed the files, or removed the app or the group: decide again."""


@dataclass(frozen=True, slots=True)
class PrimaryOutcome:
    """``commit`` is the one with the change, main's head where nothing had to change."""

    result: PrimaryResult
    commit: str = ""


class Promotions:
    """Writes ``primary.yaml`` and ``group.yaml``."""

    def __init__(
        self,
        mirror: Mirror,
        trees: Trees,
        files: Files,
        committer: Committer,
        pusher: Pusher,
        offers: PromotionBranches,
        index: AppIndex,
    ) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._index = index
        self._trees = trees
        self._files = files
        self._committer = committer
        self._pusher = pusher
        self._branches = SharedBranches(mirror, pusher, index)
        self._offers = offers
        self._trunk = MainBranch(mirror)

    @locked
    def commit(self, changes: PrimaryChanges) -> dict[AppOrGroup, PrimaryOutcome]:
        """Commit the changes to main, one commit for each app or group, in one push.

        Raises ``PushRefused`` where main refuses the push, ``RemoteMoved`` where it keeps moving or was rewritten, and
        the errors of an unreachable remote; then nothing was committed, unless the push timed out.
        """
        branch = self._mirror.settings.branch
        base = self._trunk.base()
        attempts = self._pusher.attempts()
        for _ in attempts:
            outcomes, pending = self._derived(changes, base)
            if not pending:
                return outcomes
            commits = self._committer.build(self._drafts(pending, base, [base, *range(len(pending) - 1)]))
            self._trunk.demand_vouched(commits[-1])
            answer = self._pusher.push([Update(branch, base, commits[-1])])
            if answer.verdicts[branch] is PushVerdict.TAKEN:
                done = (PrimaryOutcome(PrimaryResult.COMMITTED, commit) for commit in commits)
                return outcomes | dict(zip((change.subject for change in pending), done, strict=True))
            attempts.judge(answer)
            base = self._trunk.again(base)
        raise attempts.given_up()

    @locked
    def offer(self, changes: PrimaryChanges) -> dict[AppOrGroup, PrimaryOutcome]:
        """Put each change on its promotion branch: one commit on top of main, updated in place.

        A branch that already offers this content in place of this primary stays unchanged. Raises as ``commit``, and
        ``BranchMoved`` where a branch has another head than the change was decided from: people share it. All others
        are written then.
        """
        done: dict[AppOrGroup, PrimaryOutcome] = {}
        left = {self._branch_of(change): change for change in changes}

        def wanted() -> Heads:
            base = self._trunk.base()
            outcomes, pending = self._derived([*left.values()], base)
            standing = self._standing(pending, base)
            done.update({**outcomes, **standing})
            fresh = [change for change in pending if change.subject not in standing]
            commits = self._committer.build(self._drafts(fresh, base, repeat(base)))
            return {self._branch_of(change): commit for change, commit in zip(fresh, commits, strict=True)}

        def took(name: str, commit: str | None) -> None:
            done[left.pop(name).subject] = PrimaryOutcome(PrimaryResult.COMMITTED, commit or "")

        self._branches.write(
            self._branches.seen({self._branch_of(change): change.seen for change in changes}), wanted, took
        )
        return done

    def _branch_of(self, change: PrimaryChange[AppOrGroup]) -> str:
        """Return the branch that offers it."""
        return change.entry.branch if change.entry is not None else self._index.places.branch(change.subject)

    def _derived(
        self, changes: PrimaryChanges, base: str
    ) -> tuple[dict[AppOrGroup, PrimaryOutcome], list[PrimaryChange[AppOrGroup]]]:
        """Return the outcomes known at this base, and the changes still to commit."""
        outcomes, pending = {}, []
        entries = self._entries(changes, base)
        stale = self._stale(changes, base)
        for change in changes:
            files, name = entries[change.subject], _file_of(change)
            if name in files and files[name].blob == blob_id(change.content, base):
                outcomes[change.subject] = PrimaryOutcome(PrimaryResult.UNCHANGED, base)
            elif not files or change.subject in stale:
                outcomes[change.subject] = PrimaryOutcome(PrimaryResult.SUPERSEDED)
            else:
                pending.append(change)
        return outcomes, pending

    def _entries(self, changes: PrimaryChanges, commit: str) -> dict[AppOrGroup, dict[str, TreeEntry]]:
        """Return the files of the folders of apps at a commit, and the ``group.yaml`` of groups."""
        subjects = [change.subject for change in changes if change.entry is None]
        apps = self._files.entries((each for each in subjects if isinstance(each, AppKey)), commit)
        found: dict[AppOrGroup, dict[str, TreeEntry]] = dict(apps.items())
        paths = {each: group_file(each) for each in subjects if isinstance(each, GroupKey)}
        nodes = self._trees.at(commit, paths.values())
        for group, path in paths.items():
            node = nodes.get(path, NOTHING)
            found[group] = {GROUP_FILE: TreeEntry(path, node.mode, node.id)} if node.id else {}
        return found | self._releases(changes, commit)

    def _releases(self, changes: PrimaryChanges, commit: str) -> dict[AppOrGroup, dict[str, TreeEntry]]:
        """Return the ``release.yaml`` of environments at a commit, where there are any, of apps that main has."""
        paths = {change.subject: change.entry.path for change in changes if change.entry is not None}
        folders = {subject: path.rpartition("/")[0] for subject, path in paths.items()}
        there, nodes = (self._trees.at(commit, each) if paths else {} for each in (folders.values(), paths.values()))
        found: dict[AppOrGroup, dict[str, TreeEntry]] = {}
        for subject, path in paths.items():
            node = nodes.get(path, NOTHING)
            named = {path if node.id else "": TreeEntry(path, node.mode, node.id)}
            found[subject] = named if there.get(folders[subject], NOTHING).folder else {}
        return found

    def _stale(self, changes: PrimaryChanges, base: str) -> set[AppOrGroup]:
        """Return those whose change was decided from files touched since, or from no main of this history."""
        stale: set[AppOrGroup] = set()
        for commit in {change.decided_from for change in changes} - {base}:
            subjects = {change.subject for change in changes if change.decided_from == commit}
            touched = touched_between(self._mirror, self._trees, commit, base)
            groups = {each for each in subjects if isinstance(each, GroupKey)}
            differ = {each for each in groups if self._folder(each, commit) != self._folder(each, base)}
            stale |= subjects if touched is None else (subjects & touched) | differ
        return stale

    def _folder(self, group: GroupKey, commit: str) -> str:
        path = group_folder(group)
        return self._trees.at(commit, [path]).get(path, NOTHING).folder

    def _before(self, changes: PrimaryChanges, base: str) -> dict[AppOrGroup, str | None]:
        """Return the blobs of the files at a commit; None where there is none."""
        names = {change.subject: _file_of(change) for change in changes}
        found = {who: entries.get(names[who]) for who, entries in self._entries(changes, base).items()}
        return {who: entry.blob if entry else None for who, entry in found.items()}

    def _drafts(self, changes: PrimaryChanges, base: str, parents: Iterable[str | int]) -> list[CommitDraft]:
        blobs = self._before(changes, base)
        before = self._files.contents(blob for blob in blobs.values() if blob)
        return [
            self._draft(change, before.get(blobs[change.subject] or "") or b"", parent)
            for change, parent in zip(changes, parents, strict=False)
        ]

    def _draft(self, change: PrimaryChange[AppOrGroup], before: bytes, parent: str | int) -> CommitDraft:
        subject, cluster = change.subject, self._mirror.settings.named_cluster
        changes: Sequence[ConfigurationChange] = ()
        if change.entry is not None:
            path = change.entry.path
        elif isinstance(subject, GroupKey):
            path = group_file(subject)
        else:
            path = self._index.places.file(subject, PRIMARY_FILE)
            old, new = (configuration_in(content, subject) for content in (before, change.content))
            changes = configuration_changes(old, new)
        message = asking(change.movement, cluster, changes)
        return CommitDraft(parent, {path: change.content}, message, requester=change.movement.requester)

    def _standing(self, changes: PrimaryChanges, base: str) -> dict[AppOrGroup, PrimaryOutcome]:
        """Return the changes that their promotion branch offers already."""
        before, offers, heads = self._before(changes, base), self._offers.blobs(), self._mirror.tracked()
        standing = {}
        for change in changes:
            subject = change.subject
            if change.entry is not None:
                head = self._offered_release(change.entry, change.content, before[subject], heads)
            elif isinstance(subject, GroupKey):
                head = self._offered_of_group(change, subject, heads.get(promotion_branch(subject), ""))
            else:
                head = self._offered_of_app(change, offers.get(subject), before[subject])
            if head:
                standing[subject] = PrimaryOutcome(PrimaryResult.UNCHANGED, head)
        return standing

    def _offered_release(self, entry: Entry, content: bytes, before: str | None, heads: Mapping[str, str]) -> str:
        """Return the head of the branch that asks for a release, where it has that, as one commit on top of a main
        whose file is still the same; empty where it has not.
        """
        head = heads.get(entry.branch, "")
        told = text(self._mirror.local("rev-list", "--parents", "--max-count=1", head, "--")).split() if head else []
        if len(told) != 2:
            return ""
        [_, parent] = told
        main, nodes = heads.get(self._mirror.settings.branch, ""), self._trees.at(head, [entry.path])
        base = self._trees.at(parent, [entry.path]).get(entry.path, NOTHING).id or None
        is_on_main = self._mirror.is_ancestor(parent, main)
        is_same = nodes.get(entry.path, NOTHING).id == blob_id(content, head)
        return head if is_same and is_on_main and base == before else ""

    def _offered_of_app(self, change: PrimaryChange[AppOrGroup], offer: OfferedBlobs | None, before: str | None) -> str:
        """Return the head of the promotion branch that offers a change already; empty where none does."""
        if offer is None or offer.base_blob != before or offer.blob != blob_id(change.content, offer.commit):
            return ""
        return offer.commit if self._offers.stands_on_main(offer) else ""

    def _offered_of_group(self, change: PrimaryChange[AppOrGroup], group: GroupKey, head: str) -> str:
        """Return the same of a group: ``head``, where its ``group.yaml`` is that of the change."""
        path = group_file(group)
        blob = self._trees.at(head, [path]).get(path, NOTHING).id if head else ""
        return head if head and blob == blob_id(change.content, head) else ""


def _file_of(change: PrimaryChange[AppOrGroup]) -> str:
    if change.entry is not None:
        return change.entry.path
    return GROUP_FILE if isinstance(change.subject, GroupKey) else PRIMARY_FILE
