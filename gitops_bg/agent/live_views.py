"""Reads from the live objects, at one moment, what the command line and the dashboard show of an app or a release
group: its record, Services, ReplicaSets and pods, and why pods do not start. What we may not list is left out. Decides
nothing, draws nothing.
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.cluster.api.kinds import APPS, DAEMON_SETS, EVENTS, PODS, REPLICA_SETS, Object
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.group_cluster import GroupCluster
from gitops_bg.cluster.observation.reader import labels_of
from gitops_bg.cluster.status import pull_in
from gitops_bg.core import names
from gitops_bg.core.errors import Refused
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.version import AppKey, ConfigurationRef, GroupKey, Snapshot, Version, short
from gitops_bg.spec.app.load import app_config_from_live
from gitops_bg.spec.app.primary import ConfigurationChange
from gitops_bg.spec.manifests.configuration import Configuration
from gitops_bg.views.app import AppView, Pod, ReplicaSet, daemon_set_of, pod_of, replica_set_of
from gitops_bg.views.differences import ComparedSide, changes_to
from gitops_bg.views.group_tree import GroupView
from gitops_bg.views.obstacles import Trouble, troubles_with, waits_for_volumes
from gitops_bg.views.rows import row_of


def read_app_view(cluster: Cluster, app: AppKey) -> AppView | None:
    """Read all of it; None where the cluster runs no such app. Raises the cluster's errors."""
    body = cluster.client.get(APPS, app.namespace, app.name)
    if body is None:
        return None
    record, config = cluster.record(app), app_config_from_live(app, body)
    observed = cluster.observe(app, config, record)
    on_every_node = any(each.on_every_node for each in record.versions)
    active = (observed.active_service, *observed.more_active_services)
    roles = (*(("active", view) for view in active), ("preview", observed.preview_service))
    status = body.get("status") or {}
    app_view = AppView(
        row=row_of(body),
        gates=tuple(status.get("gates") or ()),
        record=record,
        strategy=config.spec.strategy if config.spec else None,
        services=tuple((role, view) for role, view in roles if view is not None),
        replica_sets=replica_sets_of(cluster, app, daemon_sets=on_every_node),
        pods=tuple(pods_of(cluster, app)),
        templates={each.snapshot.digest: each.snapshot.text for each in observed.replica_sets},
        pull=pull_in(status),
    )
    changes = _changes(cluster, app, app_view.active, app_view.newest)
    return replace(app_view, changes=changes, addresses=tuple(_addresses(app_view, status)))


def _addresses(app_view: AppView, status: Object) -> Iterator[str]:
    """Yield the addresses of the candidate, where its agent says that it is reached: it knows whether a Gateway leads
    there.
    """
    conditions, strategy, newest = status.get("conditions") or (), app_view.strategy, app_view.newest
    said = " ".join(str(each.get("message")) for each in conditions if each.get("type") == "CandidateReady")
    found = strategy.addresses(short(newest.digest)) if strategy is not None and newest is not None else ()
    if found and found[0] in said:
        yield from found


def read_group(cluster: Cluster, body: Object) -> GroupView:
    """Read all that belongs to a live ReleaseGroup. Raises the cluster's errors, and `InvalidInput` for a damaged
    record.
    """
    group = GroupKey(body["metadata"]["namespace"], body["metadata"]["name"])
    groups = GroupCluster(cluster.client)
    seen = groups.seen(group)
    names = {member_name(each.service, each.initial_version) for each in seen.record.state.endpoints}
    apps = {name: read_app_view(cluster, AppKey(group.namespace, name)) for name in sorted(names)}
    return GroupView(group, body, seen.record, groups.observe(group, seen, body.get("spec") or {}, {}), apps)


def pod_labels(app: AppKey) -> str:
    """Return the label selector of the pods of an app."""
    return f"{names.APP}={names.app_label(app)}"


def pods_of(cluster: Cluster, app: AppKey) -> list[Pod]:
    """Return the pods with the labels of the app, by name."""
    try:
        found = cluster.client.list(PODS, app.namespace, pod_labels(app))
    except Refused:
        return []
    return sorted(map(pod_of, found), key=lambda pod: pod.name)


def replica_sets_of(cluster: Cluster, app: AppKey, *, daemon_sets: bool = False) -> tuple[ReplicaSet, ...]:
    """Return the ReplicaSets, and if asked for the DaemonSets, with the labels of the app, by name."""
    found = list(map(replica_set_of, cluster.client.list(REPLICA_SETS, app.namespace, labels_of(app))))
    if daemon_sets:
        found += map(daemon_set_of, cluster.client.list(DAEMON_SETS, app.namespace, labels_of(app)))
    return tuple(sorted(found, key=lambda each: each.name))


def _changes(
    cluster: Cluster, app: AppKey, live: Version | None, newest: Version | None
) -> tuple[ConfigurationChange, ...]:
    if live is None or newest is None or live.snapshot.configuration == newest.snapshot.configuration:
        return ()
    return changes_to(*(_live_side(cluster, app, each.snapshot) for each in (live, newest)))


def _live_side(cluster: Cluster, app: AppKey, snapshot: Snapshot) -> ComparedSide:
    """Return the side of a version from its pods' copies alone."""
    copies = (live_copy(cluster, app, ref) for ref in snapshot.configuration)
    return ComparedSide(snapshot.configuration, tuple(each for each in copies if each))


def live_copy(cluster: Cluster, app: AppKey, ref: ConfigurationRef) -> Configuration | None:
    """Return the content of the copy; None where there is no copy, or where we may not read it."""
    try:
        return cluster.executor.copies.held(app, ref)
    except Refused:
        return None


def troubles_of(cluster: Cluster, app: AppKey, snapshot: Snapshot, folder: str) -> tuple[Trouble, ...]:
    """Return what keeps the pods of a version from starting; a pod that is merely starting has no trouble.

    ``folder`` is the app's in Git, named in advice.
    """
    pods = [pod for pod in pods_of(cluster, app) if pod.digest == short(snapshot.digest) and not pod.is_ready]
    unmounted = {pod.name: _unmounted(cluster, app, pod.name) for pod in pods if waits_for_volumes(pod)}
    return troubles_with(app, snapshot, folder, pods, unmounted)


def _unmounted(cluster: Cluster, app: AppKey, pod: str) -> str:
    """Return the volume that cannot be mounted, from the newest Event about one."""
    about = f"involvedObject.kind=Pod,involvedObject.name={pod},reason=FailedMount"
    try:
        answer = cluster.client.read(f"list events of {pod}", EVENTS.path(app.namespace), {"fieldSelector": about})
    except Refused:
        return ""
    found = sorted(answer.get("items") or [], key=lambda each: each.get("lastTimestamp") or "")
    return str(found[-1].get("message", "")) if found else ""
