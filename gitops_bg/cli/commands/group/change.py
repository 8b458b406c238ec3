"""`group promote|rollback|delete`: each is one commit on main; the agent carries it out."""

from typing import Any

from gitops_bg.cli.clone.user_git import author
from gitops_bg.cli.commands.group.arguments import Group, Version
from gitops_bg.cli.edits.commits import Change, commit_change
from gitops_bg.cli.errors import CommandFailed, ObjectNotFound
from gitops_bg.cli.options.options import AuthorOptions, FileOptions
from gitops_bg.cli.session.group_session import group_in_git
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.output import Output
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.groups.model import GroupKey
from gitops_bg.repo.write.edits import EditOrNew
from gitops_bg.spec.groups.layout import GROUP_FILE, group_folder
from gitops_bg.spec.groups.load import GroupConfig, load_group
from gitops_bg.spec.yaml.edit import set_field


def promote(group: Group, version: Version, at: FileOptions, person: AuthorOptions) -> None:
    """Promote a version of a group: one commit that names it `active`, for all its services together.

    Example: gitops-bg group promote shop/store v2
    """
    _activate(at, person, group, version, "promote")


def rollback(group: Group, version: Version, at: FileOptions, person: AuthorOptions) -> None:
    """Roll a group back: one commit that names the version before `active` again.

    Example: gitops-bg group rollback shop/store v1
    """
    _activate(at, person, group, version, "roll back to")


def delete(group: Group, version: Version, at: FileOptions, person: AuthorOptions) -> None:
    """Delete a version of a group that is not active: one commit that removes its folder.

    Example: gitops-bg group delete shop/store v3
    """
    output, by = Output(at.out), author(person.author)
    with Session(at.git, place=at.place, author=by) as session:
        key, files, config = _in_git(session, group)
        if config.desired.spec is not None and config.desired.spec.active == version:
            raise CommandFailed(f"{version} is active: promote another version, or roll back, first")
        folder = f"{group_folder(key)}/{version}/"
        found: dict[str, EditOrNew] = {path: _removed for path in files if path.startswith(folder)}
        if not found:
            raise ObjectNotFound(f"main has no version {version} of {key}; it would be in {folder}")
        commit = commit_change(session, output, Change(found, f"{key.name}: delete {version}"))
    sentence = f"{key}: {version} is deleted by commit {commit[:10]}"
    output.both({"group": str(key), "version": version, "commit": commit, "changed": bool(commit)}, sentence)


def _activate(at: FileOptions, person: AuthorOptions, group: str, version: str, verb: str) -> None:
    output, by = Output(at.out), author(person.author)
    with Session(at.git, place=at.place, author=by) as session:
        key, _, config = _in_git(session, group)
        if config.desired.problems:
            raise InvalidInput(*config.desired.problems)
        if version not in config.desired.versions:
            known = ", ".join(config.desired.versions)
            raise ObjectNotFound(f"main has no version {version} of {key}; it has {known}")
        path = f"{group_folder(key)}/{GROUP_FILE}"
        change = Change({path: lambda data: _with_active(data, version, path)}, f"{key.name}: {verb} {version}")
        commit = commit_change(session, output, change)
    sentence = (
        f"{key}: main asks for {version} by commit {commit[:10]}"
        if commit
        else f"{key}: main asks for {version} already"
    )
    output.both({"group": str(key), "version": version, "commit": commit, "changed": bool(commit)}, sentence)


def _with_active(data: bytes, version: str, path: str) -> bytes:
    return set_field(data, ("spec", "active"), version, path)


def _removed(_: bytes) -> None:
    return None


def _in_git(session: Session, name: str) -> tuple[GroupKey, dict[str, Any], GroupConfig]:
    """Return a group of main, with its files by their paths. Raises `ObjectNotFound`, `UsageError`."""
    key = group_in_git(session, name)
    folder = group_folder(key)
    files = {path: file.content for path, file in session.repository.files_below(folder).items()}
    below = {path.removeprefix(f"{folder}/"): content for path, content in files.items()}
    return key, files, load_group(key, below, session.repository.head)
