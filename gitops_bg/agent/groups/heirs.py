"""Who is to answer the requests of an app or a release group whose folder left main, and does not do so yet. Only
reads.
"""

from collections.abc import Iterable, Iterator

from gitops_bg.agent.desired.reading import Reading
from gitops_bg.agent.groups.members import has_pods, members_in
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core import names
from gitops_bg.core.checks.auxiliary import OwnRoute, rivalries
from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.model.auxiliary import HttpMatch, RivalRoute, RouteClaim
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.spec.app.load import AppConfig

_NOT_YET = "is to answer its requests, and does not do so yet"
_UNKNOWN = "may be to answer its requests: its files have a mistake, so nobody knows which ones it is for"


def why_awaited(
    cluster: Cluster, reading: Reading, namespace: str, own: Iterable[RivalRoute], others: Iterable[RivalRoute]
) -> str:
    """Who says the requests of these routes in main, and does not answer them yet, in a sentence; empty where nobody
    is waited for. ``own`` and ``others`` are the live HTTPRoutes of the namespace.
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
    """Whether an app says the requests of a route, or may: of a target with a mistake nobody knows where they go."""
    claimed = config.auxiliary_objects.route
    if claimed is not None:
        return _is_same(config.app.namespace, claimed.claim, own)
    blue_green = (config.body.get("strategy") or {}).get("blueGreen") or {}
    return config.target is None and bool(blue_green.get("routes"))


def _serves(cluster: Cluster, app: AppKey) -> bool:
    """Whether the Services of an app lead to a version, and it has pods."""
    state = cluster.bgd(app)
    return state is not None and bool(state.traffic) and has_pods(cluster, app)


def _answers(cluster: Cluster, group: GroupKey, desired: DesiredGroup) -> bool:
    """Whether every service of the version that a group names has pods."""
    active = desired.spec.active if desired.spec is not None else ""
    members = [app for app in members_in(group, desired) if app.name.endswith(f"-{active}")]
    return all(has_pods(cluster, app) for app in members)


def _are_accepted(routes: Iterable[RivalRoute], own: RivalRoute) -> bool:
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


def _is_same(namespace: str, claim: RouteClaim, own: RivalRoute) -> bool:
    return any(rivalries(namespace, OwnRoute("", claim, None), (own,)))
