"""What somebody asks of a group over HTTP: a commit on main, as people make it, or on the group's branch where main
takes none from the agent; of a person also a request to the agent that works. Never another change of the cluster.

The rules of the lifecycle say at once what would be rejected. What the commit leads to, the group decides.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from gitops_bg.agent.groups.changes import (
    abort_of_group_says,
    demand_abortable_group,
    lifting_of_group,
    policies_of_version,
    resumed_group,
    resuming_group,
    retry_of_group,
    retrying_group,
    too_late_to_override,
)
from gitops_bg.agent.groups.commits import (
    GroupCommits,
    NoSuchGroup,
    RequestedChange,
    Said,
    SeenGroupFiles,
    removed,
)
from gitops_bg.agent.operate.asked import Answer, AppCommand, Asked, PlannedCommand, by_request, gate_command
from gitops_bg.agent.operate.at_forge import approval, demand_account, demand_nothing_beside, through_the_forge
from gitops_bg.agent.operate.commits import suspending
from gitops_bg.agent.operate.primary import demand_overridable, overridable_by
from gitops_bg.agent.operate.requests import new_request
from gitops_bg.core.errors import CommandFailed, ObjectNotFound, WorldChanged
from gitops_bg.core.groups.model import (
    GroupVersion,
    PromotionRejected,
    Rejection,
    VersionStage,
    delete,
    promote,
    rollback,
)
from gitops_bg.core.groups.requests import aborting, demand_promotable
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.write.main_branch import Edit, EditOrNew
from gitops_bg.spec.app.layout import group_file, group_folder
from gitops_bg.spec.groups.content import as_seen
from gitops_bg.spec.groups.load import manual_gates


class GroupCommands(GroupCommits):
    """Any thread may call it."""

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

    # --- what a person asks for, planned first ---

    def plan(self, group: GroupKey, asked: Asked) -> PlannedCommand:
        """Return what would be done for a person; nothing is done yet. Raises the errors of ``core.errors``, as
        `AppCommands.plan`.
        """
        try:
            seen = self._read(group)
            self._demand_as_seen(seen, asked.head)
            return replace(_PLANS[asked.command](self, seen, asked), head=seen.desired.commit)
        except NoSuchGroup as error:
            raise ObjectNotFound(str(error)) from error
        except PromotionRejected as error:
            kind = ObjectNotFound if error.why is Rejection.NO_SUCH_VERSION else CommandFailed
            raise kind(f"{group}: {error}") from error

    def _plan_promotion(self, seen: SeenGroupFiles, asked: Asked) -> PlannedCommand:
        group, version = seen.group, asked.version_of_group
        policies = tuple(policies_of_version(self._catalog.reading, group, seen.desired, version))
        if asked.overrides and seen.spec.active == version:
            raise CommandFailed(too_late_to_override(group_file(group), group, version))
        overrides = demand_overridable(
            f"{version} of {group}", policies, asked.overrides, asked.reason, asked.by.email, signed=False
        )
        fields = self._promotion(seen, version, None)
        planned = self._plan_fields(seen, asked, fields, f"promote {version}", overrides)
        return replace(planned, overridable=overridable_by(asked.by.email, policies, overrides))

    def _plan_rollback(self, seen: SeenGroupFiles, asked: Asked) -> PlannedCommand:
        version = self._way_back(seen)
        if asked.digest not in ("", version):
            raise WorldChanged(f"{seen.group}: the way back leads to {version} by now; look at it again")
        planned = self._plan_fields(seen, asked, {"active": version}, f"roll back to {version}")
        return replace(planned, digest=version)

    def _plan_fields(
        self,
        seen: SeenGroupFiles,
        asked: Asked,
        fields: Mapping[str, str | int],
        subject: str,
        overrides: tuple[str, ...] = (),
    ) -> PlannedCommand:
        main, version = self._repository.settings.branch, fields["active"]

        def carry_out() -> Answer:
            done = self._set(seen, fields, subject, _statement(asked, overrides))
            made = f"by commit {done.commit[:10]}" if done.commit else "already"
            says = f"{seen.group}: {done.branch or main} asks for {version} {made}"
            return self._done(seen, asked, done, says, subject)

        return PlannedCommand(says=f"{seen.group}: {main} would ask for {version}", carry_out=carry_out)

    def _plan_retry(self, seen: SeenGroupFiles, asked: Asked) -> PlannedCommand:
        version, path = seen.spec.active, group_file(seen.group)
        if seen.state.stage(version) is None:
            demand_promotable(seen.group, seen.desired, seen.record, version)
        content = seen.desired.versions[version].content
        request = retry_of_group(seen.group, seen.spec, content, seen.record, str(asked.by))
        edit = partial(retrying_group, version, request, path)
        return self._plan_edit(seen, asked, edit, f"retry {version}", lambda made: f"retries {version} {_by(made)}")

    def _plan_suspension(self, seen: SeenGroupFiles, asked: Asked) -> PlannedCommand:
        suspension = Suspension(asked.reason or "suspended by hand", str(asked.by), asked.until)
        edit = suspending(seen.group, group_file(seen.group), suspension, force=False)
        said = lambda made: f"suspended {_by(made)}" if made else "suspended already"  # noqa: E731
        return self._plan_edit(seen, asked, edit, "suspend", said)

    def _plan_resumption(self, seen: SeenGroupFiles, asked: Asked) -> PlannedCommand:
        lifted = lifting_of_group(seen.desired, seen.record, str(asked.by))
        edit = partial(resuming_group, seen.spec.active, lifted, group_file(seen.group))
        return self._plan_edit(seen, asked, edit, "resume", lambda made: resumed_group(made, lifted))

    def _plan_edit(
        self, seen: SeenGroupFiles, asked: Asked, edit: Edit, subject: str, said: Callable[[str], str]
    ) -> PlannedCommand:
        """Return the change of group.yaml that leaves what it names as it is."""
        edits: dict[str, EditOrNew] = {group_file(seen.group): edit}
        if not self._repository.edits.changed(edits, self._repository.head):
            raise CommandFailed(f"{seen.group}: {said('')}")
        main = self._repository.settings.branch

        def carry_out() -> Answer:
            done = self._commit(seen, edits, subject, said=_statement(asked))
            return self._done(seen, asked, done, f"{seen.group}: {said(done.commit)}", subject)

        return PlannedCommand(says=f"would commit to {main}: {seen.group.name}: {subject}", carry_out=carry_out)

    def _done(self, seen: SeenGroupFiles, asked: Asked, done: RequestedChange, says: str, subject: str) -> Answer:
        """Return what became of a commit; where it waits on a branch, the person may merge it."""
        answer = Answer(says=says, commit=done.commit, branch=done.branch, pull=done.pull)
        title = f"{seen.group.name}: {subject}"
        return through_the_forge(answer, asked, self._repository, files=done.files, title=title, merged=self._pushed)

    def _plan_approval(self, seen: SeenGroupFiles, asked: Asked) -> PlannedCommand:
        group, account = seen.group, demand_account(asked)
        if not seen.offered:
            raise CommandFailed(f"{group}: nothing on its branch waits for an approval")
        if asked.digest not in ("", seen.offered):
            raise WorldChanged(f"{group}: its branch has another commit by now; look at it again, and approve that")
        branch = promotion_branch(group)
        if asked.command is AppCommand.APPROVE:
            inside = f"{group_folder(group)}/"
            more = self._repository.extra_files(_Below(inside), seen.offered)
            demand_nothing_beside(branch, more, "approve")
        return approval(account, group, asked.command, branch, seen.offered, "its branch")

    def _plan_abort(self, seen: SeenGroupFiles, asked: Asked) -> PlannedCommand:
        group = seen.group
        found = demand_abortable_group(group, aborting(seen.record, seen.spec.active))
        if asked.digest not in ("", *found.stops):
            raise WorldChanged(f"{group}: what is on its way is another version by now; look at it again")
        reason = asked.reason or "aborted by hand"
        request = new_request(OperatorCommand.ABORT, str(asked.by), reason, about=found.stops, live=found.live)
        return by_request(request, partial(self._ask, group), abort_of_group_says(group, found), found.stops[0])

    def _plan_gate(self, seen: SeenGroupFiles, asked: Asked) -> PlannedCommand:
        group, hooks = seen.group, seen.record.hook_state
        spec = (self._groups.seen(group).body or {}).get("spec") or {}
        return gate_command(group, asked, manual_gates(spec), hooks, "group.yaml", partial(self._ask, group))

    def _ask(self, group: GroupKey, request: Request) -> None:
        self._asking().release_groups.request(group, request)

    # --- what both ask for ---

    def _promotion(self, seen: SeenGroupFiles, version: str, archive_size: int | None) -> dict[str, str | int]:
        """Return the fields of group.yaml that ask for a candidate. Raises `PromotionRejected`."""
        size = seen.spec.archive_size if archive_size is None else archive_size
        demand_promotable(seen.group, seen.desired, seen.record, version)
        promote(seen.state, version, size, self._clock())
        fields: dict[str, str | int] = {"active": version}
        if size != seen.spec.archive_size:
            fields["archiveSize"] = size
        return fields

    def _way_back(self, seen: SeenGroupFiles) -> str:
        """Return the version that a rollback asks for. Raises `PromotionRejected`."""
        version = seen.record.back_from(seen.spec.active)
        if seen.state.stage(version) is not VersionStage.ACTIVE:
            rollback(seen.state, self._clock())
        return version

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
        edits |= {path: removed for path in found if path.startswith(folder)}
        return self._commit(seen, edits, f"delete {version}")


_PLANS: dict[AppCommand, Callable[[GroupCommands, SeenGroupFiles, Asked], PlannedCommand]] = {
    AppCommand.PROMOTE: GroupCommands._plan_promotion,
    AppCommand.ROLL_BACK: GroupCommands._plan_rollback,
    AppCommand.ABORT: GroupCommands._plan_abort,
    AppCommand.RETRY: GroupCommands._plan_retry,
    AppCommand.SUSPEND: GroupCommands._plan_suspension,
    AppCommand.RESUME: GroupCommands._plan_resumption,
    AppCommand.OPEN_GATE: GroupCommands._plan_gate,
    AppCommand.CLOSE_GATE: GroupCommands._plan_gate,
    AppCommand.APPROVE: GroupCommands._plan_approval,
    AppCommand.WITHDRAW_APPROVAL: GroupCommands._plan_approval,
}


class _Below:
    """All paths below a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and path.startswith(self._folder)


def _statement(asked: Asked, overrides: tuple[str, ...] = ()) -> Said:
    return Said(asked.by, asked.reason, overrides, asked.command if asked.account is not None else "")


def _by(commit: str) -> str:
    return f"by commit {commit[:10]}"
