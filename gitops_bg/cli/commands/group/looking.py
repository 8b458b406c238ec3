"""Reads everything about one group, as the agent does; writes nothing."""

from gitops_bg.agent.groups.facts import GroupFacts, gather_group
from gitops_bg.agent.groups.policing import GroupPolicing
from gitops_bg.cli.commands.group.lookup import key_in_git
from gitops_bg.cli.errors import ObjectNotFound
from gitops_bg.cli.session.session import Session
from gitops_bg.cluster.groups.group_cluster import GroupCluster


def look(session: Session, name: str) -> GroupFacts:
    """Return all facts about the group that a person means. Raises `ObjectNotFound`, `UsageError`."""
    group = key_in_git(session, name)
    catalog, cluster = session.catalog([group.namespace]), session.cluster
    facts = gather_group(
        catalog, cluster, GroupCluster(cluster.client, {}), GroupPolicing(catalog.policing, cluster), group
    )
    if facts is None:
        raise ObjectNotFound(f"main has no group {group}")
    return facts
