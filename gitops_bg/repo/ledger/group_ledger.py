"""The ledger of groups: files of their own on the state branch of the cluster, beside those of apps.

Nothing lost, nothing twice: an entry stays in the group's record until ``publish`` says that Git has it (DESIGN §5).
"""

from collections.abc import Callable, Iterator, Mapping

from gitops_bg.core.groups.model import GroupKey
from gitops_bg.core.groups.record import GroupLedgerEntry
from gitops_bg.core.model.desired import Problem
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.push import Pusher, Update, Verdict
from gitops_bg.repo.ledger import state_readme
from gitops_bg.repo.ledger.group_ledger_file import (
    GroupDocument,
    GroupLedgerBatch,
    message,
    parse,
    path_of,
    render,
)
from gitops_bg.repo.ledger.ledger_entries import Position, PublishedEntry, each_once
from gitops_bg.repo.read.files import Files
from gitops_bg.repo.read.provenance import revisions_of
from gitops_bg.repo.write.commits import Committer, Draft


class GroupLedger:
    """``tip`` is the state branch's last known commit, also of a branch that somebody deleted. Not thread-safe."""

    def __init__(
        self, mirror: Mirror, files: Files, committer: Committer, pusher: Pusher, tip: Callable[[], str]
    ) -> None:
        self._mirror = mirror
        self._files = files
        self._committer = committer
        self._pusher = pusher
        self._tip = tip

    def publish(self, batch: Mapping[GroupKey, GroupLedgerBatch]) -> dict[GroupKey, Position]:
        """Write what the branch does not have yet, in one commit; return how far the ledger of each group got.

        May be called again with the same batch after any failure. Raises ``PushRefused``, ``RemoteMoved`` and the
        errors of an unreachable remote.
        """
        attempts, name = self._pusher.attempts(), self._mirror.settings.state_branch
        for _ in attempts:
            tracked, tip = self._mirror.tracked().get(name), self._tip()
            documents, fresh = dict[GroupKey, GroupDocument](), list[tuple[GroupKey, GroupLedgerEntry]]()
            for group in sorted(batch):
                documents[group], entries = self.document(group).taking(batch[group])
                fresh += [(group, entry) for entry in entries]
            positions = {group: document.position for group, document in documents.items()}
            if not fresh:
                return positions
            changed = {group: documents[group] for group, _ in fresh}
            written = {path_of(group): render(each) for group, each in changed.items()}
            written[state_readme.PATH] = state_readme.with_groups(self._page(tip), changed, self._cluster)
            [commit] = self._committer.build([Draft(tip or None, written, message(fresh, self._cluster))])
            answer = self._pusher.push([Update(name, tracked, commit)])
            if answer.verdicts[name] is Verdict.TAKEN:
                self._tip()  # so that it is known, should somebody delete the branch
                return positions
            attempts.judge(answer)
            self._mirror.follow(self._mirror.remote_branches())
        raise attempts.given_up()

    def document(self, group: GroupKey) -> GroupDocument:
        """The file of a group as last fetched; an empty one if it is missing or damaged."""
        return self._at(group, self._tip())

    def history(self, group: GroupKey) -> Iterator[tuple[str, PublishedEntry[GroupLedgerEntry]]]:
        """Every entry of a group, newest first, with the commit of the state branch that brought it."""
        tip = self._tip()
        commits = revisions_of(self._mirror, path_of(group), tip) if tip else []
        return each_once((commit, self._at(group, commit).history) for commit, _ in commits)

    @property
    def _cluster(self) -> str:
        return self._mirror.settings.cluster

    def _page(self, commit: str) -> bytes:
        file = self._files.at(state_readme.PATH, commit) if commit else None
        return file.content if file is not None and isinstance(file.content, bytes) else b""

    def _at(self, group: GroupKey, commit: str) -> GroupDocument:
        file = self._files.at(path_of(group), commit) if commit else None
        if file is None or isinstance(file.content, Problem):
            return GroupDocument()
        try:
            return parse(file.content)
        except ValueError:
            return GroupDocument()
