"""Looks at live groups whose folder left main, to end them or to leave them as they are. Only reads."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.reading import Reading
from gitops_bg.agent.groups.members import has_pods, members_in
from gitops_bg.agent.reconcile.facts import why_accident
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.groups.group_cluster import GroupCluster, SeenGroup
from gitops_bg.core import names
from gitops_bg.core.checks.rival_routes import OwnRoute, rivalries
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.leaving import LeftGroup
from gitops_bg.core.groups.model import GroupKey
from gitops_bg.core.groups.observed import ObservedGroup
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.http_routes import HttpMatch, RivalRoute, RouteClaim, claim_of
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.groups.live import said_last


class LeftGroups:
    """Reads one at a time."""

    def __init__(self, catalog: Catalog, cluster: Cluster, groups: GroupCluster) -> None:
        self._catalog = catalog
        self._cluster = cluster
        self._groups = groups

    def look(self, reading: Reading, group: GroupKey, seen: SeenGroup, now: datetime) -> LeftGroup:
        """All that decides about a live group that main does not have."""
        spec = (seen.body or {}).get("spec") or {}
        policy, suspend = said_last(spec)
        if policy is DeletionPolicy.KEEP:
            return LeftGroup(group)
        observed = self._groups.observe(group, seen, spec, {})
        suspended = suspend is not None and suspend.lasts(now)
        kept = "it is suspended" if suspended else self._why_kept(reading, group, seen.record, observed)
        members = (app for app in members_of(group, seen.record) if self._cluster.bgd(app) is not None)
        return LeftGroup(
            group,
            policy,
            kept,
            tuple(name for name, each in sorted(observed.routes.items()) if not each.foreign),
            tuple(name for name, each in sorted(observed.services.items()) if not each.foreign),
            tuple(app.name for app in members),
        )

    def _why_kept(self, reading: Reading, group: GroupKey, record: GroupRecord, observed: ObservedGroup) -> str:
        """Why a group does not end although its file said so; empty where nothing speaks against it."""
        if observed.foreign:
            return observed.foreign
        if reading.followed.lost:
            return f"main was rewritten: {reading.followed.lost[:10]} is gone"
        if not record.state.versions:
            return "nothing is remembered of it, so nobody knows which services it has"
        there = [app.name for app in members_of(group, record) if not reading.has_left(app)]
        if there:
            return f"main has a folder of {', '.join(there)} still, which may be the group under another name"
        heirs = (heir for each in _routes(observed) for heir in self._not_ready(reading, group, each, observed.rivals))
        if heir := next(heirs, ""):
            return f"{heir}, which is to answer its requests, does not do so yet"
        return why_accident(self._catalog, self._cluster, reading)

    def _not_ready(
        self, reading: Reading, group: GroupKey, own: RivalRoute, others: tuple[RivalRoute, ...]
    ) -> Iterator[str]:
        """Who says the requests of a route in main, and does not answer them yet."""
        for app, entry in reading.entries.items():
            claimed = entry.config.auxiliary_objects.route if app.namespace == group.namespace else None
            if claimed is not None and _is_same(group, claimed.claim, own):
                routes = (each for each in others if each.app == names.app_label(app))
                if not (_is_taken(routes, own) and has_pods(self._cluster, app)):
                    yield f"the app {app.name}"
        for key, config in reading.groups.items():
            claims = _claims(config.desired) if key.namespace == group.namespace else ()
            if any(_is_same(group, each, own) for each in claims):
                routes = (each for each in others if each.group == names.fit(key.name))
                if not (_is_taken(routes, own) and self._answers(key, config.desired)):
                    yield f"the release group {key.name}"

    def _answers(self, group: GroupKey, desired: DesiredGroup) -> bool:
        """Whether every service of the version that a group names has pods."""
        active = desired.spec.active if desired.spec is not None else ""
        members = [app for app in members_in(group, desired) if app.name.endswith(f"-{active}")]
        return all(has_pods(self._cluster, app) for app in members)


def members_of(group: GroupKey, record: GroupRecord) -> tuple[AppKey, ...]:
    """The apps of all services of a group that its record knows."""
    found = (member_name(each.service, each.initial_version) for each in record.state.endpoints)
    return tuple(AppKey(group.namespace, name) for name in sorted(set(found)))


def _routes(observed: ObservedGroup) -> Iterator[RivalRoute]:
    """The group's own routes, as those who say the same requests see them."""
    for name, each in observed.routes.items():
        if each.route is not None and not each.foreign:
            yield RivalRoute(name, "", claim_of(each.route), answered=each.answered)


def _is_taken(routes: Iterable[RivalRoute], own: RivalRoute) -> bool:
    """Whether Gateways have taken all of these; silence is a yes only where they never said anything of ours either."""
    found = list(routes)
    return bool(found) and all(each.taken or (each.taken is None and not own.answered) for each in found)


def _claims(desired: DesiredGroup) -> Iterator[RouteClaim]:
    """The requests that the version which a group names is for, by its folder."""
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


def _is_same(group: GroupKey, claim: RouteClaim, own: RivalRoute) -> bool:
    return any(rivalries(group.namespace, OwnRoute("", claim, None), (own,)))
