"""`group get|history|promote|rollback|delete`: release groups. What changes something is a commit on main."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.table import Table

from gitops_bg.cli.edits.commits import Change, commit_change
from gitops_bg.cli.errors import CommandFailed, ObjectNotFound, UsageError
from gitops_bg.cli.options.app_names import app_name
from gitops_bg.cli.options.options import AuthorOptions, FileOptions, LiveOptions
from gitops_bg.cli.session.connect import access
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.session.user_git import author
from gitops_bg.cli.views.output import Output, said
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import RELEASE_GROUPS, Object
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.groups.model import GroupKey
from gitops_bg.repo.write.edits import EditOrNew
from gitops_bg.spec.groups.layout import GROUP_FILE, group_folder, is_version
from gitops_bg.spec.groups.load import GroupConfig, load_group
from gitops_bg.spec.groups.status import GroupMoveStatus, GroupStatus
from gitops_bg.spec.yaml.edit import set_field


def a_group(text: str) -> str:
    """Return ``text`` as an argument GROUP; an invalid name is refused before any server is asked."""
    app_name(text)
    return text


def a_version(text: str) -> str:
    """Return ``text`` as an argument VERSION. Raises `UsageError`."""
    if not is_version(text):
        raise UsageError(f"{text!r} is no version; write v1, v2, … as its folder is called")
    return text


Group = Annotated[str, typer.Argument(parser=a_group, metavar="GROUP", help="NAME or NAMESPACE/NAME.")]
Version = Annotated[str, typer.Argument(parser=a_version, metavar="VERSION", help="Such as v2.")]


def get(
    at: LiveOptions,
    group: Annotated[
        str,
        typer.Argument(parser=lambda text: a_group(text) if text else "", metavar="[GROUP]", help="None: all of them."),
    ] = "",
) -> None:
    """Show the stages of groups: which version serves, which a rollback leads to, which may be promoted.

    Example: gitops-bg group get shop/store
    """
    output = Output(at.out)
    client = Client(access(at.kube))
    try:
        bodies = _live(client, at.place.namespace, group)
    finally:
        client.close()
    if output.json:
        output.data({"groups": [_json(body) for body in bodies]})
    elif not bodies:
        output.note("no groups here yet: the agent makes them from the repository")
    elif group:
        _show(output, bodies[0])
    else:
        output.show(_list(bodies))


def history(at: LiveOptions, group: Group) -> None:
    """Show the last promotions and rollbacks of a group, the newest first, with the commit of main that each followed.

    Example: gitops-bg group history shop/store
    """
    output = Output(at.out)
    client = Client(access(at.kube))
    try:
        (body,) = _live(client, at.place.namespace, group)
    finally:
        client.close()
    moves = GroupStatus.read(body.get("status")).history or ()
    if output.json:
        output.data({"group": _name_of(body), "history": [move.stored() for move in moves]})
    elif not moves:
        output.note(f"{_name_of(body)} was neither promoted nor rolled back yet")
    else:
        output.show(_history(moves))


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
    namespace, name = app_name(name)
    there = session.repository.groups()
    found = [key for key in there if key.name == name and namespace in ("", key.namespace)]
    if not found:
        known = f"; it has {', '.join(map(str, there))}" if there else ""
        raise ObjectNotFound(f"main has no group {f'{namespace}/' if namespace else ''}{name}{known}")
    if len(found) > 1:
        raise UsageError(f"{name} is ambiguous: {', '.join(map(str, found))}; name one of them in full")
    folder = group_folder(found[0])
    files = {path: file.content for path, file in session.repository.files_below(folder).items()}
    below = {path.removeprefix(f"{folder}/"): content for path, content in files.items()}
    return found[0], files, load_group(found[0], below, session.repository.head)


# --- what is live ---


def _live(client: Client, namespace: str, name: str) -> list[Object]:
    in_name, name = app_name(name) if name else ("", "")
    bodies = client.list(RELEASE_GROUPS, in_name or namespace)
    found = [body for body in bodies if not name or body["metadata"]["name"] == name]
    if name and not found:
        raise ObjectNotFound(f"the cluster has no group {name}")
    if name and len(found) > 1:
        raise UsageError(f"{name} is ambiguous; name one of them in full: NAMESPACE/{name}")
    return sorted(found, key=lambda body: (body["metadata"]["namespace"], body["metadata"]["name"]))


def _json(body: Object) -> dict[str, Any]:
    status = GroupStatus.read(body.get("status")).stored()
    status.pop("record", None)
    return {"namespace": body["metadata"]["namespace"], "name": body["metadata"]["name"], **status}


def _name_of(body: Object) -> str:
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"


def _history(moves: Iterable[GroupMoveStatus]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("AT", "WHAT", "FROM", "TO", "COMMIT"):
        table.add_column(title)
    for move in moves:
        cells = (str(move.at or "-"), move.kind, move.source, move.target, (move.commit or "-")[:10])
        table.add_row(*(said(cell) for cell in cells))
    return table


def _list(bodies: list[Object]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("GROUP", "ACTIVE", "LEGACY", "CANDIDATES", "PHASE"):
        table.add_column(title)
    for body in bodies:
        status = GroupStatus.read(body.get("status"))
        name = _name_of(body)
        candidates = ", ".join(status.candidates or ())
        cells = (name, status.active, status.legacy, candidates, status.phase)
        table.add_row(*(said(cell or "-") for cell in cells))
    return table


def _show(output: Output, body: Object) -> None:
    status = GroupStatus.read(body.get("status"))
    output.line(f"{_name_of(body)}  {status.phase or ''}  {status.message or ''}")
    for version in status.versions or ():
        output.line(f"  {version.name}  {version.stage}  {', '.join(version.services or ())}")
    if status.transition is not None:
        moving = status.transition
        output.line(f"  {moving.kind} {moving.source} -> {moving.target}: {moving.step}")
    for gate in status.gates or ():
        output.line(f"  {'open' if gate.open else 'shut'}  {gate.kind}: {gate.reason or ''}")
