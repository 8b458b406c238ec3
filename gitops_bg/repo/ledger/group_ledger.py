"""The ledger of groups: files of their own on the state branch of the cluster, beside those of apps.

Nothing lost, nothing twice: an entry stays in the group's record until ``publish`` says that Git has it (DESIGN §5). A
file counts as the agent itself wrote it last (`state_branch`).
"""

from collections.abc import Iterator, Mapping

from gitops_bg.core.groups.record import GroupLedgerEntry
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.ledger import state_readme
from gitops_bg.repo.ledger.group_ledger_file import (
    GroupDocument,
    GroupLedgerBatch,
    message,
    parse,
    render,
)
from gitops_bg.repo.ledger.ledger_entries import PublishedEntry, each_once
from gitops_bg.repo.ledger.places import README, group_at, path_of_group
from gitops_bg.repo.ledger.state_branch import StateBranch, View, Written
from gitops_bg.repo.read.files import Files
from gitops_bg.repo.read.provenance import revisions_of


class GroupLedger:
    """The files of groups on the state branch of this cluster. Not thread-safe."""

    def __init__(self, mirror: Mirror, branch: StateBranch, files: Files) -> None:
        self._mirror = mirror
        self._branch = branch
        self._files = files

    def publish(self, batch: Mapping[GroupKey, GroupLedgerBatch]) -> dict[GroupKey, GroupDocument]:
        """Write what the branch does not have yet, in one commit; return the file of each group then.

        May be called again with the same batch after any failure. Raises as `StateBranch.write`.
        """
        documents = dict[GroupKey, GroupDocument]()

        def compose(view: View) -> Written | None:
            fresh = list[tuple[GroupKey, GroupLedgerEntry]]()
            for group in sorted(batch):
                documents[group], entries = self._at(group, view.own).taking(batch[group])
                fresh += [(group, entry) for entry in entries]
            if not fresh:
                return None
            changed = {group: documents[group] for group, _ in fresh}
            files: dict[str, bytes | None] = {path_of_group(group): render(each) for group, each in changed.items()}
            files[README] = state_readme.with_groups(self._branch.page(view), changed, self._branch.cluster)
            return Written(files, message(fresh, self._branch.cluster))

        self._branch.write(compose)
        return documents

    def document(self, group: GroupKey) -> GroupDocument:
        """The file of a group as the agent itself wrote it last; an empty one if it is missing or damaged. Raises as
        `StateBranch.read`.
        """
        return self._at(group, self._branch.read().own)

    def doubts(self) -> Mapping[GroupKey, str]:
        """Why the files of these groups, as they stand, are not believed."""
        foreign = self._branch.seen().foreign
        return {group: f"{path}: {each.why}" for path, each in foreign.items() if (group := group_at(path))}

    def history(self, group: GroupKey) -> Iterator[tuple[str, PublishedEntry[GroupLedgerEntry]]]:
        """Every entry of a group, newest first, with the commit of the state branch that brought it."""
        own = self._branch.seen().own
        commits = revisions_of(self._mirror, path_of_group(group), own) if own else []
        return each_once((commit, self._at(group, commit).history) for commit, _ in commits)

    def _at(self, group: GroupKey, commit: str) -> GroupDocument:
        file = self._files.at(path_of_group(group), commit) if commit else None
        if file is None or isinstance(file.content, Problem):
            return GroupDocument()
        try:
            return parse(file.content)
        except ValueError:
            return GroupDocument()
