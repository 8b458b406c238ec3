"""What somebody asks of a group over HTTP: a commit on main, as people make it, or on the group's branch where main
takes none from the agent; never a change of the cluster.

The rules of the lifecycle say at once what would be rejected. What the commit leads to, the group decides.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.operate.apps import Answer, AppCommand, Asked, PlannedCommand
from gitops_bg.agent.operate.commits import CommitPlan
from gitops_bg.cluster.group_cluster import GroupCluster
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import CommandFailed, InvalidInput, ObjectNotFound, WorldChanged
from gitops_bg.core.groups.inputs import DesiredGroup, GroupSpec
from gitops_bg.core.groups.model import (
    GroupState,
    GroupVersion,
    PromotionRejected,
    Rejection,
    VersionStage,
    delete,
    promote,
    rollback,
)
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.requests import demand_promotable
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.git.errors import PushRefused
from gitops_bg.repo.read.files import File
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import is_commit_id
from gitops_bg.repo.write.commits import Requester
from gitops_bg.repo.write.main_branch import EditOrNew
from gitops_bg.spec.app.layout import group_file, group_folder
from gitops_bg.spec.groups.content import active_in, as_seen, with_fields
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


@dataclass(frozen=True, slots=True)
class _Seen:
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


class GroupCommands:
    """Any thread may call it. ``pushed`` is told of each commit, ``clock`` gives UTC, ``pull_of`` knows the pull
    request of a group's branch.
    """

    def __init__(
        self,
        catalog: Catalog,
        repository: Repository,
        groups: GroupCluster,
        pushed: Callable[[], None],
        clock: Callable[[], datetime],
        pull_of: Callable[[GroupKey], PullRequest | None] = lambda _: None,
    ) -> None:
        self._catalog = catalog
        self._repository = repository
        self._groups = groups
        self._pushed = pushed
        self._clock = clock
        self._pull_of = pull_of

    def versions(self, group: GroupKey) -> tuple[GroupVersion, ...]:
        """Return the versions of a group as they are now. Raises `NoSuchGroup`, and the errors of ``core.errors``."""
        self._config(group)
        return self._record(group).state.versions

    def promote(self, group: GroupKey, version: str, archive_size: int | None = None) -> RequestedChange:
        """Ask for a candidate. Raises also `PromotionRejected`, `WorldChanged` where main names another version by now,
        and `PushRefused` where no branch takes the commit.
        """
        seen = self._read(group)
        return self._set(seen, self._promotion(seen, version, archive_size), f"promote {version}")

    def roll_back(self, group: GroupKey) -> RequestedChange:
        """Ask for the legacy version, or, where another one than the active version is asked for or on its way, for the
        active one. Raises as `promote`.
        """
        seen = self._read(group)
        version = self._way_back(seen)
        return self._set(seen, {"active": version}, f"roll back to {version}")

    def plan(self, group: GroupKey, asked: Asked) -> PlannedCommand:
        """Return what a promotion or a rollback of a person would do; nothing is done yet. Raises the errors of
        ``core.errors``, as `AppCommands.plan`.
        """
        try:
            seen = self._read(group)
            self._demand_as_seen(seen, asked.head)
            if asked.command is AppCommand.PROMOTE:
                version, verb = asked.version_of_group, "promote"
                fields = self._promotion(seen, version, None)
            else:
                version, verb = self._way_back(seen), "roll back to"
                fields = {"active": version}
                if asked.digest not in ("", version):
                    raise WorldChanged(f"{group}: the way back leads to {version} by now; look at it again")
        except NoSuchGroup as error:
            raise ObjectNotFound(str(error)) from error
        except PromotionRejected as error:
            kind = ObjectNotFound if error.why is Rejection.NO_SUCH_VERSION else CommandFailed
            raise kind(f"{group}: {error}") from error
        main, subject = self._repository.settings.branch, f"{verb} {version}"

        def carry_out() -> Answer:
            done = self._set(seen, fields, subject, asked.by, asked.reason)
            where, waits = (done.branch, "; that has to be merged") if done.branch else (main, "")
            made = f"by commit {done.commit[:10]}" if done.commit else "already"
            says = f"{group}: {where} asks for {version} {made}{waits}"
            return Answer(says=says, commit=done.commit, branch=done.branch, pull=done.pull)

        would = f"{group}: {main} would ask for {version}"
        goal = version if asked.command is AppCommand.ROLL_BACK else ""
        return PlannedCommand(says=would, carry_out=carry_out, head=seen.desired.commit, digest=goal)

    def _promotion(self, seen: _Seen, version: str, archive_size: int | None) -> dict[str, str | int]:
        """The fields of group.yaml that ask for a candidate. Raises `PromotionRejected`."""
        size = seen.spec.archive_size if archive_size is None else archive_size
        demand_promotable(seen.group, seen.desired, seen.record, version)
        promote(seen.state, version, size, self._clock())
        fields: dict[str, str | int] = {"active": version}
        if size != seen.spec.archive_size:
            fields["archiveSize"] = size
        return fields

    def _way_back(self, seen: _Seen) -> str:
        """The version that a rollback asks for. Raises `PromotionRejected`."""
        version = seen.record.back_from(seen.spec.active)
        if seen.state.stage(version) is not VersionStage.ACTIVE:
            rollback(seen.state, self._clock())
        return version

    def _demand_as_seen(self, seen: _Seen, head: str) -> None:
        """Raise `WorldChanged` where somebody changed the group's folder since ``head``, empty for any."""
        if not head or head == seen.desired.commit:
            return
        groups, group = self._repository.groups, seen.group
        is_known = is_commit_id(head) and self._repository.contains(head)
        if not is_known or groups(head).get(group) != groups(seen.desired.commit).get(group):
            raise WorldChanged(f"{group}: somebody changed it in main meanwhile; look at it again")

    def delete(self, group: GroupKey, version: str) -> RequestedChange:
        """Remove the folder of a version that is not active. Raises as `promote`."""
        seen = self._read(group)
        active = seen.spec.active
        delete(seen.state, version)
        if active == version:
            raise PromotionRejected(Rejection.IS_ACTIVE, f"main asks for {version}: promote another one first")
        folder = f"{group_folder(group)}/{version}/"
        found = self._repository.files_below(group_folder(group))
        path = group_file(group)
        edits: dict[str, EditOrNew] = {path: partial(as_seen, active, path)}
        edits |= {path: _removed for path in found if path.startswith(folder)}
        return self._commit(seen, edits, f"delete {version}")

    # --- what they share ---

    def _config(self, group: GroupKey) -> GroupConfig:
        config = self._catalog.reading.groups.get(group)
        if config is None:
            raise NoSuchGroup(f"main has no group {group}")
        return config

    def _read(self, group: GroupKey) -> _Seen:
        config, offered = self._config(group), self._repository.group_branches.head(group)
        if not config.desired.is_valid:
            raise InvalidInput(*config.desired.problems)
        assert config.desired.spec is not None, "what is valid has a spec"
        return _Seen(group, config.desired, config.desired.spec, self._record(group), offered)

    def _record(self, group: GroupKey) -> GroupRecord:
        return self._groups.seen(group).record

    def _set(
        self,
        seen: _Seen,
        fields: Mapping[str, str | int],
        subject: str,
        requester: Requester | None = None,
        reason: str = "",
    ) -> RequestedChange:
        """Commit fields of group.yaml, where main names the version that was seen."""
        path = group_file(seen.group)
        edits = {path: partial(with_fields, fields, seen.spec.active, path)}
        return self._commit(seen, edits, subject, str(fields["active"]), requester, reason)

    def _commit(
        self,
        seen: _Seen,
        edits: Mapping[str, EditOrNew],
        subject: str,
        active: str = "",
        requester: Requester | None = None,
        reason: str = "",
    ) -> RequestedChange:
        """Commit to main, or to the group's branch; ``active`` is the version that is asked for, where one is."""
        group, branch = seen.group, ""

        def message(also: str = "") -> str:
            said = f"Asked for over HTTP.\n{also}" if requester is None else also
            return CommitPlan(edits, f"{group.name}: {subject}", reason, said=said, requester=requester).message

        try:
            edited = self._repository.edits.commit(edits, message(), requester)
        except PushRefused:
            both, also = self._with_pending_edits(seen, edits, active)
            edited = self._repository.group_branches.offer(group, both, message(also), requester, seen=seen.offered)
            branch = promotion_branch(group)
        self._pushed()
        asks, versions = edited.changed or bool(edited.paths), seen.state.versions
        if not (asks and branch):
            return RequestedChange(edited.commit if asks else "", versions)
        pull = self._pull_of(group)
        is_open = pull is not None and pull.state is PullState.OPEN
        return RequestedChange(edited.commit, versions, branch, pull.url if pull is not None and is_open else "")

    def _with_pending_edits(
        self, seen: _Seen, edits: Mapping[str, EditOrNew], active: str
    ) -> tuple[Mapping[str, EditOrNew], str]:
        """Return the edits together with what the branch of the group asks for already, and what to say of that: nobody
        has merged it yet, and it was answered, too. Another version to be active takes the place of the former.

        Raises `PromotionRejected` where one contradicts the other.
        """
        group, path = seen.group, group_file(seen.group)
        standing = self._repository.group_branches.offered(group) if seen.offered else None
        if standing is None or standing.is_merged or standing.commit != seen.offered or not standing.parent:
            return edits, ""
        before, after = (
            self._repository.files_below(group_folder(group), commit) for commit in (standing.parent, standing.commit)
        )
        kept: dict[str, EditOrNew] = {each: _removed for each in before if each not in after}
        was, asked = (active_in(_content(files.get(path))) for files in (before, after))
        _demand_agreement(group, edits, kept, active or (asked if asked != was else ""))
        if asked != was and not active:
            kept[path] = partial(with_fields, {"active": asked}, seen.spec.active, path)
        facts = self._repository.commits.facts([standing.commit]).get(standing.commit)
        first = facts.message.partition("\n")[0] if facts is not None and kept else ""
        return {**edits, **kept}, f"With what was asked for before: {first}\n" if first else ""


def _demand_agreement(
    group: GroupKey, edits: Mapping[str, EditOrNew], kept: Mapping[str, EditOrNew], active: str
) -> None:
    """Raise `PromotionRejected` where one request deletes the version that another one wants to be active."""
    folder = f"{group_folder(group)}/{active}/"
    if active and any(path.startswith(folder) and edit is _removed for path, edit in {**edits, **kept}.items()):
        message = f"{promotion_branch(group)} asks for something else: merge it, or delete it, first"
        raise PromotionRejected(Rejection.IS_ACTIVE, f"{active} cannot be deleted and be active: {message}")


def _content(file: File | None) -> bytes:
    return file.content if file is not None and isinstance(file.content, bytes) else b""


def _removed(_: bytes) -> None:
    return None
