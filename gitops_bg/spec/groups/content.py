"""What the promotion of a group brings, told from the files of its folder: the version, and all that it says. And what
main would say after a merge.

People approve it by looking at one commit, so it is told for any commit. Fetches nothing.

Edits of a ``group.yaml`` count for what their author saw: they read and write bytes, and fetch nothing.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.app.layout import GROUP_FILE, PRIMARY_FILE
from gitops_bg.spec.groups.load import load_group
from gitops_bg.spec.manifests.edit import set_field
from gitops_bg.spec.yaml.reader import read_one
from gitops_bg.spec.yaml.scalars import as_map

Edit = Callable[[bytes], bytes | None]
"""Maps the content of a file to the new one; None deletes it."""

_OF_BRANCHES = ("active", "archive_size", "retry", "suspend")
"""What branches of ours change in a ``group.yaml``."""


def active_in(group_file: bytes) -> str:
    """Return the version that a ``group.yaml`` names; empty where nobody can read it.

    >>> active_in(b"spec: {active: v2}"), active_in(b"spec: ["), active_in(b"spec: {active: {}}")
    ('v2', '', '')
    """
    document, _ = read_one(GROUP_FILE, group_file)
    value: Any = document.value if document is not None else None
    spec = value.get("spec") if isinstance(value, dict) else None
    active = spec.get("active") if isinstance(spec, dict) else None
    return active if isinstance(active, str) else ""


def as_merged(
    main: DesiredGroup, group: GroupKey, before: Mapping[str, bytes | Problem], after: Mapping[str, bytes | Problem]
) -> DesiredGroup:
    """Return what ``main`` would say of a group after the merge of a branch that turned its files from ``before`` into
    ``after``, by their paths in the group's folder. Without a spec where nobody can read the branch's group.yaml.

    A branch of ours names another version, asks for one once more, suspends the group, or removes the folders of one.
    What main says by now of anything else stays. Whatever else people push there, the pull request shows.
    """
    read = load_group(group, after, main.commit).desired
    if read.spec is None or main.spec is None:
        return replace(main, spec=None, problems=read.problems or main.problems)
    was = load_group(group, before, main.commit).desired.spec
    gone = {each for each in main.versions if _has(before, each) and not _has(after, each)}
    changed = {each for each in _OF_BRANCHES if was is None or getattr(read.spec, each) != getattr(was, each)}
    return replace(
        main,
        spec=replace(main.spec, **{each: getattr(read.spec, each) for each in changed}),
        versions={name: each for name, each in main.versions.items() if name not in gone},
    )


def _has(files: Mapping[str, bytes | Problem], version: str) -> bool:
    return any(path.startswith(f"{version}/") and not path.endswith(f"/{PRIMARY_FILE}") for path in files)


def promoted_by(files: Mapping[str, bytes | Problem]) -> str | None:
    """Return what a folder's ``group.yaml`` promotes: the name of the version, and the digest of its folder. ``files``
    by their paths in the group's folder. None where a file of it cannot be read.

    What the agent writes does not count; nor do the fields of ``group.yaml`` beside ``active``.
    """
    group_file = files.get(GROUP_FILE)
    active = active_in(group_file) if isinstance(group_file, bytes) else ""
    return f"{active}@{found}" if active and (found := content_of(files, active)) is not None else None


def content_of(files: Mapping[str, bytes | Problem], version: str) -> str | None:
    """Return the digest of all that people wrote into the folder of a version, in full; None where part of it is
    unknown, or there is none.
    """
    digest, count = hashlib.sha256(), 0
    for path in sorted(files):
        if not path.startswith(f"{version}/") or path.endswith(f"/{PRIMARY_FILE}"):
            continue
        content = files[path]
        if isinstance(content, Problem):
            return None
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
        count += 1
    return digest.hexdigest() if count else None


def with_fields(fields: Mapping[str, str | int], seen: str, path: str, data: bytes) -> bytes:
    """Return group.yaml with fields of its spec, ``active`` among them, unless it names the version already.

    Raises `WorldChanged` where it names neither that nor the version that was ``seen``.
    """
    if active_in(data) != fields["active"]:
        as_seen(seen, path, data)
    for name, value in fields.items():
        data = set_field(data, ("spec", name), value, path)
    return data


def as_seen(seen: str, path: str, data: bytes) -> bytes:
    """Return group.yaml unchanged where it names the version that was ``seen``.

    Raises `WorldChanged` otherwise: somebody else has asked for another one meanwhile, and only one of the two wins
    (versions-and-routes.md §10, X2: the check belongs into the transaction).
    """
    now = active_in(data)
    if now != seen:
        message = f"{path} names {now or 'no version'} and no longer {seen}: look at the versions, and ask again"
        raise WorldChanged(message)
    return data


# --- what a branch asks for, beside what somebody asks for now ---

SpecChanges = Mapping[str, Any]
"""The fields of a spec that change, with what they become; None: they go."""


def spec_changes(path: str, before: bytes, after: bytes) -> SpecChanges:
    """Return the fields of the spec of a group.yaml that differ.

    >>> spec_changes("group.yaml", b"spec: {active: v1, suspend: {reason: x}}", b"spec: {active: v2}")
    {'active': 'v2', 'suspend': None}
    """
    was, now = (_spec(path, each) for each in (before, after))
    return {name: now.get(name) for name in sorted({*was, *now}) if was.get(name) != now.get(name)}


def _spec(path: str, data: bytes) -> Mapping[str, Any]:
    document, _ = read_one(path, data)
    return as_map(as_map(document.value).get("spec")) if document is not None else {}


def left_of(pending: SpecChanges, edit: Edit | bytes | None, path: str, main: bytes) -> SpecChanges:
    """Return those changes of a group.yaml whose field an edit of ``main`` does not change by itself."""
    after = edit(main) if callable(edit) else edit
    asked = spec_changes(path, main, after) if after is not None else {}
    return {name: value for name, value in pending.items() if name not in asked}


def keeping(pending: SpecChanges, edit: Edit | bytes | None, path: str) -> Edit:
    """Return the edit of group.yaml together with what a branch asks for in other fields of its spec."""

    def change(data: bytes) -> bytes | None:
        edited = edit(data) if callable(edit) else data
        for name, value in pending.items():
            edited = set_field(edited, ("spec", name), value, path) if edited is not None else None
        return edited

    return change
