"""Changes of ``primary.yaml``: commits on main, and the one promotion branch of an app (DESIGN §3, §4).

Each change names the commit of main that it was decided from. Where a commit since then touched the app's folder, the
change is superseded and decided again, even if the files have changed back: somebody promoted and reverted, and that is
a decision. Nothing is ever rebased or merged (gitops.md §0.2). So a change that lands after another commit for the app
was decided with knowledge of it: the order in main is the order of decisions (decision 18).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import repeat

from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.push import Pusher, Update, Verdict
from gitops_bg.repo.read.files import Files
from gitops_bg.repo.read.index.app_index import AppIndex
from gitops_bg.repo.read.index.touched import touched_between
from gitops_bg.repo.read.main_branch import MainBranch
from gitops_bg.repo.read.promotion_branches import PromotionBranches
from gitops_bg.repo.read.trees import Trees
from gitops_bg.repo.write.commits import Committer, Draft, blob_id
from gitops_bg.repo.write.messages import Movement, asking
from gitops_bg.repo.write.shared_branches import Heads, SharedBranches
from gitops_bg.spec.app.layout import PRIMARY_FILE
from gitops_bg.spec.manifests.configuration_changes import configuration_changes, configuration_in


@dataclass(frozen=True, slots=True)
class PrimaryChange:
    """``primary.yaml`` of an app should have ``content``; ``movement`` says why."""

    content: bytes
    decided_from: str
    """The commit of main that the change was decided from; empty where main's files of the app were not read."""
    movement: Movement[AppKey]
    seen: str | None = None
    """The head of the promotion branch that the change was decided from, empty for no branch; None: the one that was
    fetched when the change is offered.
    """

    @property
    def app(self) -> AppKey:
        """The app of the change."""
        return self.movement.subject


class PrimaryResult(StrEnum):
    """The result of a change."""

    COMMITTED = "committed"
    UNCHANGED = "unchanged"
    """The content was there already: no commit."""
    SUPERSEDED = "superseded"
    """Somebody else changed the app's files, or removed the app: decide again."""


@dataclass(frozen=True, slots=True)
class PrimaryOutcome:
    """``commit`` is the one with the change, main's head where nothing had to change."""

    result: PrimaryResult
    commit: str = ""


class Promotions:
    """Writes ``primary.yaml``."""

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
        self._index = index
        self._trees = trees
        self._files = files
        self._committer = committer
        self._pusher = pusher
        self._branches = SharedBranches(mirror, pusher)
        self._offers = offers
        self._trunk = MainBranch(mirror)

    def commit(self, changes: Sequence[PrimaryChange]) -> dict[AppKey, PrimaryOutcome]:
        """Commit the changes to main, one commit for each app, in one push.

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
            if answer.verdicts[branch] is Verdict.TAKEN:
                done = (PrimaryOutcome(PrimaryResult.COMMITTED, commit) for commit in commits)
                return outcomes | dict(zip((change.app for change in pending), done, strict=True))
            attempts.judge(answer)
            base = self._trunk.again(base)
        raise attempts.given_up()

    def offer(self, changes: Sequence[PrimaryChange]) -> dict[AppKey, PrimaryOutcome]:
        """Put each change on the promotion branch of its app: one commit on top of main, updated in place.

        A branch that already offers this content in place of this primary stays unchanged. Raises as ``commit``, and
        ``BranchMoved`` where a branch has another head than the change was decided from: people share it. All others
        are written then.
        """
        done: dict[AppKey, PrimaryOutcome] = {}
        left = {promotion_branch(change.app): change for change in changes}

        def wanted() -> Heads:
            base = self._trunk.base()
            outcomes, pending = self._derived([*left.values()], base)
            standing = self._standing(pending, base)
            done.update({**outcomes, **standing})
            fresh = [change for change in pending if change.app not in standing]
            commits = self._committer.build(self._drafts(fresh, base, repeat(base)))
            return {promotion_branch(change.app): commit for change, commit in zip(fresh, commits, strict=True)}

        def took(name: str, commit: str | None) -> None:
            done[left.pop(name).app] = PrimaryOutcome(PrimaryResult.COMMITTED, commit or "")

        self._branches.write(self._branches.seen({change.app: change.seen for change in changes}), wanted, took)
        return done

    def _derived(
        self, changes: Sequence[PrimaryChange], base: str
    ) -> tuple[dict[AppKey, PrimaryOutcome], list[PrimaryChange]]:
        """The outcomes known at this base, and the changes still to commit."""
        outcomes, pending = {}, []
        entries = self._files.entries((change.app for change in changes), base)
        stale = self._stale(changes, base)
        for change in changes:
            files = entries[change.app]
            if PRIMARY_FILE in files and files[PRIMARY_FILE].blob == blob_id(change.content, base):
                outcomes[change.app] = PrimaryOutcome(PrimaryResult.UNCHANGED, base)
            elif not files or change.app in stale:
                outcomes[change.app] = PrimaryOutcome(PrimaryResult.SUPERSEDED)
            else:
                pending.append(change)
        return outcomes, pending

    def _stale(self, changes: Sequence[PrimaryChange], base: str) -> set[AppKey]:
        """The apps whose change was decided from files touched since, or from no main of this history."""
        stale: set[AppKey] = set()
        for commit in {change.decided_from for change in changes} - {base}:
            apps = {change.app for change in changes if change.decided_from == commit}
            touched = touched_between(self._mirror, self._trees, commit, base)
            stale |= apps if touched is None else apps & touched
        return stale

    def _before(self, changes: Sequence[PrimaryChange], base: str) -> dict[AppKey, str | None]:
        """The blobs of ``primary.yaml`` at a commit; None where there is none."""
        entries = self._files.entries((change.app for change in changes), base)
        found = {app: names.get(PRIMARY_FILE) for app, names in entries.items()}
        return {app: entry.blob if entry else None for app, entry in found.items()}

    def _drafts(self, changes: Sequence[PrimaryChange], base: str, parents: Iterable[str | int]) -> list[Draft]:
        blobs = self._before(changes, base)
        before = self._files.contents(blob for blob in blobs.values() if blob)
        return [
            self._draft(change, before.get(blobs[change.app] or "") or b"", parent)
            for change, parent in zip(changes, parents, strict=False)
        ]

    def _draft(self, change: PrimaryChange, before: bytes, parent: str | int) -> Draft:
        old, new = (configuration_in(content, change.app) for content in (before, change.content))
        message = asking(change.movement, self._mirror.settings.named_cluster, configuration_changes(old, new))
        return Draft(parent, {self._index.places.file(change.app, PRIMARY_FILE): change.content}, message)

    def _standing(self, changes: Sequence[PrimaryChange], base: str) -> dict[AppKey, PrimaryOutcome]:
        """The changes that their promotion branch offers already."""
        offered, before = self._offers.blobs(), self._before(changes, base)
        return {
            change.app: PrimaryOutcome(PrimaryResult.UNCHANGED, offer.commit)
            for change in changes
            if (offer := offered.get(change.app)) is not None
            and offer.base_blob == before[change.app]
            and offer.blob == blob_id(change.content, offer.commit)
            and self._offers.stands_on_main(offer)
        }
