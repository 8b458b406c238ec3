"""Finds the group that a person means: in main, or in the cluster."""

from typing import Any

from gitops_bg.cli.errors import ObjectNotFound, UsageError
from gitops_bg.cli.options.app_names import app_name
from gitops_bg.cli.session.session import Session
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import RELEASE_GROUPS, Object
from gitops_bg.core.groups.model import GroupKey
from gitops_bg.spec.groups.layout import group_folder
from gitops_bg.spec.groups.load import GroupConfig, load_group


def in_git(session: Session, name: str) -> tuple[GroupKey, dict[str, Any], GroupConfig]:
    """Return a group of main, with its files by their paths. Raises `ObjectNotFound`, `UsageError`."""
    key = key_in_git(session, name)
    folder = group_folder(key)
    files = {path: file.content for path, file in session.repository.files_below(folder).items()}
    below = {path.removeprefix(f"{folder}/"): content for path, content in files.items()}
    return key, files, load_group(key, below, session.repository.head)


def key_in_git(session: Session, name: str) -> GroupKey:
    """Return the group of main that a name means. Raises `ObjectNotFound`, `UsageError`."""
    namespace, name = app_name(name)
    there = session.repository.groups()
    found = [key for key in there if key.name == name and namespace in ("", key.namespace)]
    if not found:
        known = f"; it has {', '.join(map(str, there))}" if there else ""
        raise ObjectNotFound(f"main has no group {f'{namespace}/' if namespace else ''}{name}{known}")
    if len(found) > 1:
        raise UsageError(f"{name} is ambiguous: {', '.join(map(str, found))}; name one of them in full")
    return found[0]


def live(client: Client, namespace: str, name: str) -> list[Object]:
    """Return the live ReleaseGroups of a name; all of them without one. Raises `ObjectNotFound`, `UsageError`."""
    in_name, name = app_name(name) if name else ("", "")
    bodies = client.list(RELEASE_GROUPS, in_name or namespace)
    found = [body for body in bodies if not name or body["metadata"]["name"] == name]
    if name and not found:
        raise ObjectNotFound(f"the cluster has no group {name}")
    if name and len(found) > 1:
        raise UsageError(f"{name} is ambiguous; name one of them in full: NAMESPACE/{name}")
    return sorted(found, key=lambda body: (body["metadata"]["namespace"], body["metadata"]["name"]))


def name_of(body: Object) -> str:
    """Return the name of a live ReleaseGroup, with its namespace."""
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"
