"""How a change of a release group gets to main: what it is decided from, and the commit, or, where main takes none from
the agent, the change on the group's branch beside what that asks for already.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.operate.commits import CommitPlan
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.group_cluster import GroupCluster
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput, WorldChanged
from gitops_bg.core.groups.inputs import DesiredGroup, GroupSpec
from gitops_bg.core.groups.model import (
    GroupState,
    GroupVersion,
    PromotionRejected,
    Rejection,
)
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import asking_branch, promotion_branch
from gitops_bg.repo.git.errors import PushRefused
from gitops_bg.repo.read.files import File
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import is_commit_id
from gitops_bg.repo.write.commits import Requester
from gitops_bg.repo.write.main_branch import EditOrNew
from gitops_bg.spec.app.layout import group_file, group_folder
from gitops_bg.spec.groups.content import active_in, keeping, left_of, spec_changes, with_fields
from gitops_bg.spec.groups.load import GroupConfig


class NoSuchGroup(LookupError):
    """Main has no such group in the namespaces of this agent."""


@dataclass(frozen=True, slots=True)
class RequestedChange:
    """What was asked for: the commit that asks for it, and the versions as they are now."""

    commit: str
    """Empty where main asked for it already."""
    versions: tuple[GroupVersion, ...]
    branch: str = ""
    """Where it is to be merged from, where main takes no commit from the agent; else empty."""
    pull: str = ""
    """The address of the pull request of that branch, once the forge has one; else empty."""
    files: frozenset[str] = frozenset()
    """What was asked for is in these; nothing else may come to main as the person who asked."""


@dataclass(frozen=True, slots=True)
class SeenGroupFiles:
    """What a request is decided from: where it is another one when the commit is written, nothing is."""

    group: GroupKey
    desired: DesiredGroup
    spec: GroupSpec
    record: GroupRecord
    offered: str
    """The head of the group's branch; empty where there is none."""

    @property
    def state(self) -> GroupState:
        """The versions as they are."""
        return self.record.state


@dataclass(frozen=True, slots=True)
class Said:
    """What a person says of their request; nothing of who asks by a token of the agent."""

    by: Requester | None = None
    reason: str = ""
    overrides: tuple[str, ...] = ()
    """The policies in spite of which."""
    asks: str = ""
    """What they merge as themselves, where main takes no commit from the agent: then that is never on a branch that
    asks for something else as well. Empty where they cannot.
    """


NOTHING_SAID = Said()


class GroupCommits:
    """Any thread may call it. ``asking`` reaches the live objects also where this agent stands by; ``pushed`` is told
    of each commit, ``clock`` gives UTC, ``pull_of`` knows the pull request of a group's branch.
    """

    def __init__(
        self,
        catalog: Catalog,
        repository: Repository,
        groups: GroupCluster,
        asking: Callable[[], Cluster],
        pushed: Callable[[], None],
        clock: Callable[[], datetime],
        pull_of: Callable[[GroupKey], PullRequest | None] = lambda _: None,
    ) -> None:
        self._catalog = catalog
        self._repository = repository
        self._groups = groups
        self._asking = asking
        self._pushed = pushed
        self._clock = clock
        self._pull_of = pull_of

    def _config(self, group: GroupKey) -> GroupConfig:
        config = self._catalog.reading.groups.get(group)
        if config is None:
            raise NoSuchGroup(f"main has no group {group}")
        return config

    def _read(self, group: GroupKey) -> SeenGroupFiles:
        config, offered = self._config(group), self._repository.group_branches.head(group)
        if not config.desired.is_valid:
            raise InvalidInput(*config.desired.problems)
        assert config.desired.spec is not None, "what is valid has a spec"
        return SeenGroupFiles(group, config.desired, config.desired.spec, self._record(group), offered)

    def _record(self, group: GroupKey) -> GroupRecord:
        return self._groups.seen(group).record

    def _set(
        self,
        seen: SeenGroupFiles,
        fields: Mapping[str, str | int],
        subject: str,
        said: Said = NOTHING_SAID,
    ) -> RequestedChange:
        """Commit fields of group.yaml, where main names the version that was seen."""
        path = group_file(seen.group)
        edits = {path: partial(with_fields, fields, seen.spec.active, path)}
        return self._commit(seen, edits, subject, str(fields["active"]), said)

    def _commit(
        self,
        seen: SeenGroupFiles,
        edits: Mapping[str, EditOrNew],
        subject: str,
        active: str = "",
        said: Said = NOTHING_SAID,
    ) -> RequestedChange:
        """Commit to main, or to the group's branch; ``active`` is the version that is asked for, where one is."""
        group, branch, requester = seen.group, "", said.by

        def message(also: str = "") -> str:
            more = f"Asked for over HTTP.\n{also}" if requester is None else also
            named = f"{group.name}: {subject}"
            return CommitPlan(edits, named, said.reason, said.overrides, more, requester).message

        try:
            edited = self._repository.edits.commit(edits, message(), requester)
        except PushRefused:
            both, also = self._with_pending_edits(seen, edits, active)
            if said.asks and also:
                branch = asking_branch(group, said.asks)
                edited = self._repository.edits.offer(branch, edits, message(), requester)
            else:
                branches, branch = self._repository.group_branches, promotion_branch(group)
                edited = branches.offer(group, both, message(also), requester, seen=seen.offered)
        self._pushed()
        asks, versions = edited.changed or bool(edited.paths), seen.state.versions
        if not (asks and branch):
            return RequestedChange(edited.commit if asks else "", versions)
        pull = self._pull_of(group)
        is_open = pull is not None and pull.state is PullState.OPEN
        url = pull.url if pull is not None and is_open and branch == promotion_branch(group) else ""
        return RequestedChange(edited.commit, versions, branch, url, frozenset(edits))

    def _with_pending_edits(
        self, seen: SeenGroupFiles, edits: Mapping[str, EditOrNew], active: str
    ) -> tuple[Mapping[str, EditOrNew], str]:
        """Return the edits together with what the branch of the group asks for already, and what to say of that: nobody
        has merged it yet, and it was answered, too. What is asked for now takes the place of what was asked for before
        in the same field.

        Raises `PromotionRejected` where one contradicts the other, or where nobody can keep both.
        """
        group, path = seen.group, group_file(seen.group)
        standing = self._repository.group_branches.offered(group) if seen.offered else None
        if standing is None or standing.is_merged or standing.commit != seen.offered or not standing.parent:
            return edits, ""
        before, after = (
            self._repository.files_below(group_folder(group), commit) for commit in (standing.parent, standing.commit)
        )
        kept: dict[str, EditOrNew] = {each: removed for each in before if each not in after}
        was, asked = (active_in(_content(files.get(path))) for files in (before, after))
        _demand_agreement(group, edits, kept, active or (asked if asked != was else ""))
        pending = spec_changes(path, _content(before.get(path)), _content(after.get(path)))
        main = self._repository.text_file(path)
        pending = left_of(pending, edits.get(path), path, main if isinstance(main, bytes) else b"")
        if strange := [name for name, value in pending.items() if not isinstance(value, str | int | Mapping | None)]:
            also = f"{promotion_branch(group)} also changes {', '.join(strange)} of {path}"
            raise WorldChanged(f"{also}: merge it, or delete it, first")
        if pending:
            kept[path] = keeping(pending, edits.get(path), path)
        facts = self._repository.commits.facts([standing.commit]).get(standing.commit)
        first = facts.message.partition("\n")[0] if facts is not None else standing.commit[:10]
        return {**edits, **kept}, f"With what was asked for before: {first}\n" if kept else ""

    def _demand_as_seen(self, seen: SeenGroupFiles, head: str) -> None:
        """Raise `WorldChanged` where somebody changed the group's folder since ``head``, empty for any."""
        if not head or head == seen.desired.commit:
            return
        groups, group = self._repository.groups, seen.group
        is_known = is_commit_id(head) and self._repository.contains(head)
        if not is_known or groups(head).get(group) != groups(seen.desired.commit).get(group):
            raise WorldChanged(f"{group}: somebody changed it in main meanwhile; look at it again")


def _demand_agreement(
    group: GroupKey, edits: Mapping[str, EditOrNew], kept: Mapping[str, EditOrNew], active: str
) -> None:
    """Raise `PromotionRejected` where one request deletes the version that another one wants to be active."""
    folder = f"{group_folder(group)}/{active}/"
    if active and any(path.startswith(folder) and edit is removed for path, edit in {**edits, **kept}.items()):
        message = f"{promotion_branch(group)} asks for something else: merge it, or delete it, first"
        raise PromotionRejected(Rejection.IS_ACTIVE, f"{active} cannot be deleted and be active: {message}")


def _content(file: File | None) -> bytes:
    return file.content if file is not None and isinstance(file.content, bytes) else b""


def removed(_: bytes) -> None:
    """Leave nothing of a file: the edit that removes it."""
    return
