"""The live ReleaseGroups that a person means, with their names. Only reads."""

from gitops_bg.cli.errors import NameNotFound, UsageError
from gitops_bg.cli.options.names import app_name
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import RELEASE_GROUPS, Object
from gitops_bg.core.model.version import GroupKey


def live_group(client: Client, namespace: str, name: str) -> GroupKey:
    """Return the one live group that a person means. Raises as `live_groups`."""
    metadata = live_groups(client, namespace, name)[0]["metadata"]
    return GroupKey(metadata["namespace"], metadata["name"])


def live_groups(client: Client, namespace: str, name: str) -> list[Object]:
    """Return the live group of a name, or all of a namespace (empty: of every one), by name. Raises `ObjectNotFound`,
    `UsageError`.
    """
    in_name, name = app_name(name) if name else ("", "")
    bodies = client.list(RELEASE_GROUPS, in_name or namespace)
    found = [body for body in bodies if not name or body["metadata"]["name"] == name]
    if name and not found:
        raise NameNotFound(f"the cluster has no group {name}")
    if name and len(found) > 1:
        raise UsageError(f"{name} is ambiguous; name one of them in full: NAMESPACE/{name}")
    return sorted(found, key=lambda body: (body["metadata"]["namespace"], body["metadata"]["name"]))
