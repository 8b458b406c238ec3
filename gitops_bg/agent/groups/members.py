"""What the agent knows of the members of groups: which app is one, and how it is. Only reads."""

from dataclasses import replace

from gitops_bg.agent.desired.reading import Entry, Reading
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.model import GroupState
from gitops_bg.core.groups.observed import Member
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.decision import Phase
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.spec.status import Status


def members_in(group: GroupKey, desired: DesiredGroup) -> tuple[AppKey, ...]:
    """The members of a group that have pods."""
    return tuple(
        AppKey(group.namespace, member_name(service, version))
        for version, of in desired.versions.items()
        for service, one in of.services.items()
        if one.pods
    )


def observed_members(
    cluster: Cluster, reading: Reading, group: GroupKey, desired: DesiredGroup, state: GroupState
) -> dict[str, Member]:
    """How each member of a group is, by its app's name, also of one that only serves on; its status must be of what
    main says now.
    """
    serving = (AppKey(group.namespace, member_name(each.service, each.initial_version)) for each in state.endpoints)
    apps = dict.fromkeys((*members_in(group, desired), *serving))
    return {
        app.name: replace(_member(cluster, app, reading.entry(app)), ports=cluster.service_ports(app)) for app in apps
    }


def has_pods(cluster: Cluster, app: AppKey) -> bool:
    """Whether a member is there and has available pods."""
    state = cluster.bgd(app)
    return state is not None and bool(Status.read(state.status.read()).available_replicas)


def _member(cluster: Cluster, app: AppKey, entry: Entry | None) -> Member:
    state = cluster.bgd(app)
    if state is None:
        return Member(reason="is not there yet")
    status = Status.read(state.status.read())
    available = bool(status.available_replicas)
    target = entry.config.target if entry else None
    if target is None:
        return Member(available=available, reason="has no valid target.yaml")
    named = status.target.digest if status.target else None
    active = status.active.digest if status.active else None
    if named != target.snapshot.digest:
        return Member(available=available, reason="has not been looked at since its folder changed")
    if status.phase != Phase.HEALTHY or active != named:
        return Member(available=available, reason=f"is {status.phase}: {status.message or ''}".rstrip(": "))
    return Member(healthy=available, available=available, reason="" if available else "has no available pod")
