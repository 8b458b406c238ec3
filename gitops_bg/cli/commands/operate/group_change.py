"""`group promote|rollback|delete`, and `retry`, `suspend` and `resume` of a group: each is one commit on main, which
the agent carries out.

Where main takes no commit from the user, it is on the group's branch, to be merged (decision 39).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from gitops_bg.agent.groups.changes import (
    lifting_of_group,
    policies_of_version,
    resumed_group,
    resuming_group,
    retry_of_group,
    retrying_group,
    too_late_to_override,
)
from gitops_bg.agent.operate.commits import CommitPlan, suspending
from gitops_bg.agent.operate.primary import Proposed, demand_overridable
from gitops_bg.cli.commands.operate.suspend import SuspendOptions
from gitops_bg.cli.errors import OK, REFUSED, CommandFailed, ObjectNotFound, UsageError
from gitops_bg.cli.options.groups import Group, OneVersion, ToVersion, Version, one_version
from gitops_bg.cli.options.options import AppOptions, AuthorOptions, CommitOptions, OverrideOptions, WaitOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.commits import follow_push, print_planned_commit
from gitops_bg.cli.repository.proposals import print_offer, with_signature
from gitops_bg.cli.repository.user_git import author
from gitops_bg.cli.session.location import group_named
from gitops_bg.cli.session.session import Session, group_in_git
from gitops_bg.cli.session.watch import wait_for_requests
from gitops_bg.cluster.group_cluster import GroupCluster
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InvalidInput
from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.groups.model import PromotionRejected, VersionStage
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.requests import demand_promotable, demand_way_back
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.git.errors import PushRefused
from gitops_bg.repo.write.main_branch import EditOrNew
from gitops_bg.spec.app.layout import GROUP_FILE, group_file, group_folder
from gitops_bg.spec.groups.content import active_in, with_fields
from gitops_bg.spec.groups.load import GroupConfig, load_group


def promote(
    group: Group,
    at: AppOptions,
    commit: CommitOptions,
    waiting: WaitOptions,
    overriding: OverrideOptions,
    version: OneVersion = "",
    to: ToVersion = "",
) -> int:
    """Promote a version of a group: one commit that names it `active`, for all its services together.

    Without VERSION it is the only candidate. What is no candidate is refused before the commit. Where main takes none
    from you, it is on the branch of the group, to be merged; exit 3.

    Example: gitops-bg group promote shop/store v2
    """
    return _activate(at, commit, group, one_version(version, to), _PROMOTE, waiting, overriding)


def rollback(
    group: Group,
    at: AppOptions,
    commit: CommitOptions,
    waiting: WaitOptions,
    version: OneVersion = "",
    to: ToVersion = "",
) -> int:
    """Roll a group back: one commit that names the version before `active` again.

    A version that no rollback leads to is refused before the commit. Where main takes none from you, it is on the
    branch of the group, to be merged; exit 3.

    Example: gitops-bg group rollback shop/store v1
    """
    return _activate(at, commit, group, one_version(version, to), _ROLL_BACK, waiting)


def delete(group: Group, version: Version, at: AppOptions, person: AuthorOptions) -> int:
    """Delete a version of a group that is not active: one commit that removes its folder.

    Where main takes none from you, it is on the branch of the group, to be merged; exit 3.

    Example: gitops-bg group delete shop/store v3
    """
    output, by = Output(at.out, dry_run=person.dry_run), author(person.author)
    with Session(at.git, at.kube, at.place, by, about=group_named(group), note=output.notice) as session:
        key, files, _ = _in_git(session, group)
        group_file, folder = f"{group_folder(key)}/{GROUP_FILE}", f"{group_folder(key)}/{version}/"
        still = partial(_not_active, version, group_file)
        still(files[group_file])
        record = _record(session, output, key)
        if record is not None and record.state.stage(version) is VersionStage.ACTIVE:
            raise CommandFailed(f"{version} is active: promote another version, or roll back, first")
        found: dict[str, EditOrNew] = {path: _removed for path in files if path.startswith(folder)}
        if not found:
            raise ObjectNotFound(f"main has no version {version} of {key}; it would be in {folder}")
        change = CommitPlan({group_file: still, **found}, f"{key.name}: delete {version}")
        proposed = _propose(session, output, key, change)
    done = f"{version} is deleted by commit {proposed.commit[:10]}"
    return _report(output, session.repository.settings.branch, key, version, proposed, done)


def retry(group: Group, at: AppOptions, commit: CommitOptions) -> int:
    """Try the version that main names again, with fresh checks, whatever held or paused it; as of an app."""
    output, by = Output(at.out, dry_run=commit.person.dry_run), author(commit.person.author)
    with Session(at.git, at.kube, at.place, by, about=group_named(group), note=output.notice) as session:
        key, _, config = _in_git(session, group)
        if config.desired.spec is None:
            raise InvalidInput(*config.desired.problems)
        version, record = config.desired.spec.active, GroupCluster(session.client).seen(key).record
        if record.state.stage(version) is None:
            _demand(_PROMOTE, key, config.desired, record, version)
        content, who = config.desired.versions[version].content, f"{by[0]} <{by[1]}>"
        request = retry_of_group(key, config.desired.spec, content, record, who)
        path = f"{group_folder(key)}/{GROUP_FILE}"
        edit = partial(retrying_group, version, request, path)
        proposed = _propose(
            session, output, key, CommitPlan({path: edit}, f"{key.name}: retry {version}", commit.message)
        )
    done = f"retries {version} by commit {proposed.commit[:10]}"
    return _report(output, session.repository.settings.branch, key, version, proposed, done)


def suspend(group: Group, at: AppOptions, person: AuthorOptions, how: SuspendOptions) -> int:
    """Suspend a group: nothing of it is promoted; requests stay, and rollbacks still work. `resume` ends it."""
    output, by = Output(at.out, dry_run=person.dry_run), author(person.author)
    suspension = Suspension(how.reason, f"{by[0]} <{by[1]}>", how.until)
    with Session(at.git, at.kube, at.place, by, about=group_named(group), note=output.notice) as session:
        key, files, _ = _in_git(session, group)
        path = group_file(key)
        edit = suspending(key, path, suspension, force=how.force)
        proposed = _propose(session, output, key, CommitPlan({path: edit}, f"{key.name}: suspend", how.reason))
    done = f"suspended by commit {proposed.commit[:10]}" if proposed.changed else "suspended already"
    return _report(output, session.repository.settings.branch, key, _named_in(files[path]), proposed, done)


def resume(group: Group, at: AppOptions, commit: CommitOptions) -> int:
    """Go on: remove the suspension of a group, and let what main names be tried again if it is on hold."""
    output, by = Output(at.out, dry_run=commit.person.dry_run), author(commit.person.author)
    with Session(at.git, at.kube, at.place, by, about=group_named(group), note=output.notice) as session:
        key, files, config = _in_git(session, group)
        path, record = group_file(key), GroupCluster(session.client).seen(key).record
        lifted = lifting_of_group(config.desired, record, f"{by[0]} <{by[1]}>")
        edit = partial(resuming_group, _named_in(files[path]), lifted, path)
        proposed = _propose(session, output, key, CommitPlan({path: edit}, f"{key.name}: resume", commit.message))
    done = resumed_group(proposed.commit if proposed.changed else "", lifted)
    return _report(output, session.repository.settings.branch, key, _named_in(files[path]), proposed, done)


def _named_in(file: bytes | Problem) -> str:
    return active_in(file) if isinstance(file, bytes) else ""


@dataclass(frozen=True, slots=True)
class _Move:
    says: str
    """The verb in the subject of the commit."""
    demand: Callable[[GroupKey, DesiredGroup, GroupRecord, str], None]
    versions: Callable[[GroupRecord, str], tuple[str, ...]]
    """Those that may be meant where none is named: of the record, and what group.yaml names."""


_PROMOTE = _Move("promote", demand_promotable, lambda record, _: record.state.at(VersionStage.CANDIDATE))
_ROLL_BACK = _Move(
    "roll back to", demand_way_back, lambda record, named: tuple(filter(None, [record.back_from(named)]))
)


_NO_OVERRIDE = OverrideOptions()


def _activate(
    at: AppOptions,
    commit: CommitOptions,
    group: str,
    version: str,
    move: _Move,
    waiting: WaitOptions,
    overriding: OverrideOptions = _NO_OVERRIDE,
) -> int:
    output, by = Output(at.out, dry_run=commit.person.dry_run), author(commit.person.author)
    git = with_signature(at.git, overriding)
    with Session(git, at.kube, at.place, by, about=group_named(group), note=output.notice) as session:
        key, _, config = _in_git(session, group)
        if config.desired.problems or config.desired.spec is None:
            raise InvalidInput(*config.desired.problems)
        path, named = f"{group_folder(key)}/{GROUP_FILE}", config.desired.spec.active
        record = _record(session, output, key)
        version = version or _only(key, move.versions(record, named) if record else None, move)
        if version not in config.desired.versions:
            known = ", ".join(config.desired.versions)
            raise ObjectNotFound(f"main has no version {version} of {key}; it has {known}")
        if record is not None and not (named == version and record.state.stage(version) in _ASKED_FOR):
            _demand(move, key, config.desired, record, version)
        names = overriding.override or ()
        if names and named == version:
            raise CommandFailed(too_late_to_override(path, key, version))
        reading = session.catalog([key.namespace], of_groups=True).reading if names else None
        policies = policies_of_version(reading, key, config.desired, version) if reading is not None else ()
        signed = git.signing_key is not None
        overrides = demand_overridable(f"{version} of {key}", policies, names, commit.message, by[1], signed=signed)
        edit = partial(with_fields, {"active": version}, named, path)
        change = CommitPlan({path: edit}, f"{key.name}: {move.says} {version}", commit.message, overrides)
        proposed = _propose(session, output, key, change)
        if waiting.wait and not proposed.branch:
            wait_for_requests(session, at.kube, key, version, waiting.timeout)
    asked = f"by commit {proposed.commit[:10]}" if proposed.changed else "already"
    held = _held(key, config.desired, record, version) if record is not None and named == version else ""
    done = f"main asks for {version} {asked}{held}"
    return _report(output, session.repository.settings.branch, key, version, proposed, done)


def _only(group: GroupKey, versions: tuple[str, ...] | None, move: _Move) -> str:
    """Return the version that is meant where none is named; ``versions`` is None where nobody could be asked."""
    if versions == ():
        raise CommandFailed(f"{group} has no version to {move.says}")
    if versions is None or len(versions) > 1:
        raise UsageError(f"which version of {group}? Name one: {', '.join(versions or ['v1, v2, …'])}")
    return versions[0]


def _held(key: GroupKey, desired: DesiredGroup, record: GroupRecord, version: str) -> str:
    """Return what keeps a version from its promotion although main names it, as the end of a sentence; or empty."""
    hold = record.held(f"{version}-{desired.versions[version].content}")
    return f", and it is on hold: {hold.why}; `gitops-bg retry {key}` lifts the hold" if hold is not None else ""


_ASKED_FOR = (VersionStage.ACTIVE, VersionStage.CANDIDATE)
"""The stages of a version that main may name already: to ask for it again changes nothing."""


def _demand(move: _Move, key: GroupKey, desired: DesiredGroup, record: GroupRecord, version: str) -> None:
    try:
        move.demand(key, desired, record, version)
    except PromotionRejected as error:
        raise CommandFailed(f"{key}: {error}; nothing was committed") from error


def _record(session: Session, output: Output, key: GroupKey) -> GroupRecord | None:
    """Return what is live of the group; None, with a note, where no cluster can be asked: then the agent alone rejects
    what does not fit.
    """
    try:
        return GroupCluster(session.client).seen(key).record
    except GitopsBgError as error:
        output.notice(f"nobody could ask in which stages the versions of {key} are, so this is not checked: {error}")
        return None


def _propose(session: Session, output: Output, group: GroupKey, change: CommitPlan) -> Proposed:
    """Commit the change to main; if main refuses, put it on the branch of the group. The user's clone follows.

    Raises `PushRefused` with a remedy where neither takes it.
    """
    print_planned_commit(session, output, change)
    repository = session.repository
    seen = repository.group_branches.head(group)
    try:
        edited = repository.edits.commit(change.edits, change.message)
    except PushRefused as error:
        return _offer(session, group, change, seen, error)
    follow_push(session, output, edited.commit if edited.changed else "")
    return Proposed(edited.commit if edited.changed else "", edited.changed)


def _offer(session: Session, group: GroupKey, change: CommitPlan, seen: str, refused: PushRefused) -> Proposed:
    name = promotion_branch(group)
    try:
        offered = session.repository.group_branches.offer(group, change.edits, change.message, seen=seen)
    except PushRefused as error:
        main = session.repository.settings.branch
        message = f"{main} takes no commit from you: {refused}; nor does {name}: {error}"
        raise PushRefused(f"{message}. Make the change on a branch of your own and open a pull request") from error
    return Proposed(offered.commit, offered.changed, name, str(refused))


def _report(output: Output, main: str, group: GroupKey, version: str, proposed: Proposed, done: str) -> int:
    """Print what became of the change, with what is ``done`` where ``main`` has it; return the exit code."""
    data = {"group": str(group), "version": version, "commit": proposed.commit, "changed": proposed.changed}
    offered = {"offeredOn": proposed.branch or None, "refused": proposed.refused or None}
    if output.json:
        output.data(data | offered)
    elif proposed.branch:
        print_offer(output, proposed, main)
    else:
        output.line(f"{group}: {done}", "green")
    return REFUSED if proposed.branch else OK


def _not_active(version: str, path: str, data: bytes | Problem) -> bytes:
    """Return group.yaml unchanged where it names another version, whatever else is wrong with the group; also when the
    commit is made. Raises `CommandFailed` otherwise.
    """
    named = active_in(data) if isinstance(data, bytes) else ""
    if not isinstance(data, bytes) or not named:
        raise CommandFailed(f"nobody can read which version {path} names: mend it first")
    if named == version:
        raise CommandFailed(f"{version} is active: promote another version, or roll back, first")
    return data


def _removed(_: bytes) -> None:
    return None


def _in_git(session: Session, name: str) -> tuple[GroupKey, dict[str, Any], GroupConfig]:
    """Return a group of main, with its files by their paths. Raises `ObjectNotFound`, `UsageError`."""
    key = group_in_git(session, name)
    folder = group_folder(key)
    files = {path: file.content for path, file in session.repository.files_below(folder).items()}
    below = {path.removeprefix(f"{folder}/"): content for path, content in files.items()}
    return key, files, load_group(key, below, session.repository.head)
