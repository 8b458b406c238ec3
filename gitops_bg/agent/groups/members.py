"""What the agent knows of the members of groups: which app is one, how it is, whether its group lets it run, what it
sees of main, and who is to answer the requests of one whose folder left main. Only reads.
"""

import re
import threading
from collections import ChainMap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.reading import AppEntry, Reading
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core import names
from gitops_bg.core.checks.auxiliary import OwnRoute, rivalries
from gitops_bg.core.groups.inputs import DesiredGroup, Member
from gitops_bg.core.groups.model import GroupState
from gitops_bg.core.groups.record import GroupRecord, MemberState, member_state
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.auxiliary import HttpMatch, RivalRoute, RouteClaim
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.spec.app.layout import MemberFolder, member_of
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.status import Status

_MEMBER_NAME = re.compile(r".-v[1-9][0-9]*\Z")


class Members:
    """The members of all groups, by what looks at the groups have found. Thread-safe as long as each group has one
    thread at a time.
    """

    def __init__(self, catalog: Catalog, cluster: Cluster) -> None:
        self._catalog = catalog
        self._cluster = cluster
        self._records: dict[GroupKey, GroupRecord] = {}
        self._places: dict[AppKey, MemberFolder] = {}
        self._deferred: set[AppKey] = set()
        """Apps without a folder that may be members: they are looked at once their groups were."""
        self._unread: set[GroupKey] = set()
        """The groups whose record could not be read since this process began, or was empty."""
        self._ending: set[GroupKey] = set()
        """The groups that left main, and whose members end with them."""
        self._changed: set[AppKey] = set()
        """The members whose state may have changed since somebody asked."""
        self._lock = threading.Lock()

    # --- asked of apps ------------------------------------------------------------------------------------------

    def group_of(self, app: AppKey) -> GroupKey | None:
        """Return the group that an app is a service of; None for one of its own."""
        place = self._place(app)
        return place.group if place is not None else None

    def state(self, app: AppKey) -> MemberState | None:
        """Return whether a member runs; None for an app that is none. Until its group was looked at, it waits; and
        where that fails, what has pods runs on, so that it can still go back.
        """
        found = self._place(app)
        if found is None:
            return MemberState.PENDING if self._may_be_member(app) else None
        if found.group in self._ending:
            return MemberState.DELETED
        record = self._records.get(found.group)
        if record is None:
            runs_on = found.group in self._unread and has_pods(self._cluster, app)
            return MemberState.RUNNING if runs_on else MemberState.PENDING
        state = member_state(record, found.service, found.version)
        # What its group has forgotten, and main does not have any more, was deleted.
        left = state is MemberState.PENDING and self._left_main(found)
        return MemberState.DELETED if left else state

    def _place(self, app: AppKey) -> MemberFolder | None:
        """Return where a member belongs, by its folder in main, or by the last one; None for an app that is none."""
        entry = self._catalog.reading.entries.get(app)
        is_known = entry is not None and entry.config.folder  # Of an app that two folders claim nobody knows it.
        found = member_of(entry.config.folder) if entry is not None and is_known else self._places.get(app)
        if found is not None:
            self._places[app] = found
        return found

    def _may_be_member(self, app: AppKey) -> bool:
        """Return whether an app without a folder may still serve in a group that this process has not looked at."""
        reading = self._catalog.reading
        if app in reading.entries or not _MEMBER_NAME.search(app.name):
            return False
        unknown = any(each.namespace == app.namespace and each not in self._records for each in reading.groups)
        if unknown:
            with self._lock:
                self._deferred.add(app)
        return unknown

    def _left_main(self, member: MemberFolder) -> bool:
        reading = self._catalog.reading
        config = reading.groups.get(member.group)
        if config is None or config.desired.spec is None or reading.followed.blind:
            return False
        version = config.desired.versions.get(member.version)
        return version is None or member.service not in version.services

    # --- learnt by looks at groups ------------------------------------------------------------------------------

    def groups(self) -> list[GroupKey]:
        """Return the groups of which something is remembered, also those that left main since."""
        return list(self._records)

    def record(self, group: GroupKey) -> GroupRecord | None:
        """Return what a group remembered when it was looked at last; None where that is nothing, or was not read."""
        return self._records.get(group)

    def know(self, group: GroupKey, record: GroupRecord, *, ends: bool = False) -> None:
        """Know a group by its record; by an empty one, which may be lost, nobody knows anything of its members."""
        with self._waking_on_change(group):
            (self._ending.add if ends else self._ending.discard)(group)
            if record.state.versions:
                self._records[group] = record
            else:
                self._records.pop(group, None)
                self._unread.add(group)
            for place in record.state.endpoints:  # Also those whose folder left main while they serve.
                app = AppKey(group.namespace, member_name(place.service, place.initial_version))
                self._places.setdefault(app, MemberFolder(group, place.initial_version, place.service))

    def failed(self, group: GroupKey) -> None:
        """Note that a look at a group failed."""
        if group not in self._records:
            with self._waking_on_change(group):
                self._unread.add(group)

    def forget(self, group: GroupKey) -> None:
        """Forget a group that is gone."""
        with self._waking_on_change(group):
            self._records.pop(group, None)
            self._ending.discard(group)

    def changed(self) -> frozenset[AppKey]:
        """Return the apps to look at, as their state may be another one since somebody asked."""
        with self._lock:
            found = frozenset(self._changed | self._deferred)
            self._changed.clear()
            self._deferred.clear()
            return found

    @contextmanager
    def _waking_on_change(self, group: GroupKey) -> Iterator[None]:
        """Note the members of a group where what follows changes what is known of it."""
        before = self._records.get(group), group in self._unread, group in self._ending
        yield
        if before != (self._records.get(group), group in self._unread, group in self._ending):
            members = (app for app, each in list(self._places.items()) if each.group == group)
            with self._lock:
                self._changed.update(members)


def members_in(group: GroupKey, desired: DesiredGroup) -> tuple[AppKey, ...]:
    """Return the members of a group that have pods."""
    return tuple(
        AppKey(group.namespace, member_name(service, version))
        for version, of in desired.versions.items()
        for service, one in of.services.items()
        if one.pods
    )


def observed_members(
    cluster: Cluster, reading: Reading, group: GroupKey, desired: DesiredGroup, state: GroupState
) -> dict[str, Member]:
    """Return how each member of a group is, by its app's name, also of one that only serves on; its status must be of
    what main says now.
    """
    serving = (AppKey(group.namespace, member_name(each.service, each.initial_version)) for each in state.endpoints)
    apps = dict.fromkeys((*members_in(group, desired), *serving))
    return {
        app.name: replace(_member(cluster, app, reading.entry(app)), ports=cluster.service_ports(app)) for app in apps
    }


def has_pods(cluster: Cluster, app: AppKey) -> bool:
    """Return whether a member is there and has available pods."""
    state = cluster.bgd(app)
    return state is not None and bool(Status.read(state.status.read()).available_replicas)


def _member(cluster: Cluster, app: AppKey, entry: AppEntry | None) -> Member:
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


_NOT_YET = "is to answer its requests, and does not do so yet"
_UNKNOWN = "may be to answer its requests: its files have a mistake, so nobody knows which ones it is for"


def why_awaited(
    cluster: Cluster, reading: Reading, namespace: str, own: Iterable[RivalRoute], others: Iterable[RivalRoute]
) -> str:
    """Return who says the requests of these routes in main, and does not answer them yet, in a sentence; empty where
    nobody is waited for. ``own`` and ``others`` are the live HTTPRoutes of the namespace.
    """
    rest = tuple(others)
    return next((heir for each in own for heir in _not_ready(cluster, reading, namespace, each, rest)), "")


def _not_ready(
    cluster: Cluster, reading: Reading, namespace: str, own: RivalRoute, others: tuple[RivalRoute, ...]
) -> Iterator[str]:
    for app, entry in reading.entries.items():
        if app.namespace == namespace and _may_claim(entry.config, own):
            routes = (each for each in others if each.app == names.app_label(app))
            if not (_are_accepted(routes, own) and _serves(cluster, app)):
                yield f"the app {app.name} {_UNKNOWN if entry.config.target is None else _NOT_YET}"
    for key, config in reading.groups.items():
        if key.namespace != namespace:
            continue
        if config.desired.spec is None:
            yield f"the release group {key.name} {_UNKNOWN}"
        elif any(_is_same(namespace, each, own) for each in _claims(config.desired)):
            routes = (each for each in others if each.group == names.fit(key.name))
            if not (_are_accepted(routes, own) and _answers(cluster, key, config.desired)):
                yield f"the release group {key.name} {_NOT_YET}"


def _may_claim(config: AppConfig, own: RivalRoute) -> bool:
    """Return whether an app says the requests of a route, or may: of a target with a mistake nobody knows where they
    go.
    """
    claimed = config.auxiliary_objects.route
    if claimed is not None:
        return _is_same(config.app.namespace, claimed.claim, own)
    blue_green = (config.body.get("strategy") or {}).get("blueGreen") or {}
    return config.target is None and bool(blue_green.get("routes"))


def _serves(cluster: Cluster, app: AppKey) -> bool:
    """Return whether the Services of an app lead to a version, and it has pods."""
    state = cluster.bgd(app)
    return state is not None and bool(state.traffic) and has_pods(cluster, app)


def _answers(cluster: Cluster, group: GroupKey, desired: DesiredGroup) -> bool:
    """Return whether every service of the version that a group names has pods."""
    active = desired.spec.active if desired.spec is not None else ""
    members = [app for app in members_in(group, desired) if app.name.endswith(f"-{active}")]
    return all(has_pods(cluster, app) for app in members)


def _are_accepted(routes: Iterable[RivalRoute], own: RivalRoute) -> bool:
    """Return whether Gateways have taken all of these; silence is a yes only where they never said anything of ours
    either.
    """
    found = list(routes)
    return bool(found) and all(each.taken or (each.taken is None and not own.answered) for each in found)


def _claims(desired: DesiredGroup) -> Iterator[RouteClaim]:
    """Yield the requests that the version which a group names is for, by its folder."""
    spec = desired.spec
    if spec is None or spec.gateway is None or spec.active not in desired.versions:
        return
    for service in desired.versions[spec.active].services.values():
        for each in service.routes:
            match = each.match
            hosts = (match.host,) if match.host else spec.gateway.hosts
            methods = match.methods or ("",)
            matches = tuple(HttpMatch(match.path, match.kind, match.headers, method) for method in methods)
            yield RouteClaim(spec.gateway.parents, hosts, matches)


def _is_same(namespace: str, claim: RouteClaim, own: RivalRoute) -> bool:
    return any(rivalries(namespace, OwnRoute("", claim, None), (own,)))


def reading_for(reading: Reading, app: AppKey, state: MemberState | None) -> Reading:
    """Return the reading in which an archived member has no pods, and a deleted one has left main."""
    entry = reading.entries.get(app)
    if entry is None or state not in (MemberState.SCALED_DOWN, MemberState.DELETED):
        return reading
    if state is MemberState.DELETED:
        return replace(reading, entries={key: each for key, each in reading.entries.items() if key != app})
    return replace(reading, entries=ChainMap({app: _without_pods(entry)}, dict(reading.entries)))


def _without_pods(entry: AppEntry) -> AppEntry:
    target = entry.config.target
    if target is None:
        return entry
    return replace(entry, config=replace(entry.config, target=replace(target, replicas=0)))
