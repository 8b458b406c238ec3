"""The Services of an app and the route in front of them: their names, and the manifest for a digest. Pure.

The names come from Git, and, where ``app.yaml`` is broken or missing, from the live BlueGreenDeployment: the last good
state keeps serving (DESIGN §10). Of a route, the version that it names and its ports follow the cluster. Git's rule for
the candidate has one match, with the word ``candidate`` in the version header; a version is named by a second match,
with the short digest (docs/decisions/0038).
"""

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitops_bg.cluster.api.kinds import GRPC_ROUTES, HTTP_ROUTES, Object
from gitops_bg.cluster.manifests.render import service_manifest
from gitops_bg.cluster.observation.states import AppState, ServiceState
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.groups.model import version_number
from gitops_bg.core.model.auxiliary import CANDIDATE, ROUTES, BackendPorts, HttpRoute
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import DIGEST_IN_HOST, host_of
from gitops_bg.core.model.version import AppKey, short
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.manifests.traffic import http_route_spec


@dataclass(frozen=True, slots=True)
class ServiceNames:
    """The names of an app's Services; None where there is no such Service, or its name is unknown."""

    active: str | None = None
    preview: str | None = None
    more_active: tuple[str, ...] = ()

    def all_active(self) -> tuple[str, ...]:
        """Return the names of the Services that carry live traffic."""
        return (self.active, *self.more_active) if self.active else self.more_active

    def all(self) -> tuple[str, ...]:
        """Return all known names."""
        return (*self.all_active(), self.preview) if self.preview else self.all_active()


def service_names(config: AppConfig | None, state: AppState | None) -> ServiceNames:
    """Return the names of the Services: from Git, else from the live object."""
    if config is not None and config.spec is not None:
        strategy = config.spec.strategy
        return ServiceNames(strategy.active_service, strategy.preview_service, strategy.more_active_services)
    return live_service_names(state)


def live_service_names(state: AppState | None) -> ServiceNames:
    """Return the names of the Services in the live BlueGreenDeployment."""
    spec = reread_json(state.spec) if state is not None else {}
    strategy = (spec.get("strategy") or {}).get("blueGreen") or {}
    first, *more = strategy.get("activeServices") or (strategy.get("activeService"),)
    return ServiceNames(first, strategy.get("previewService"), tuple(more))


def former_names(
    config: AppConfig | None, state: AppState | None, record: Record, found: Iterable[ServiceState] = ()
) -> tuple[str, ...]:
    """Return the Services that the live object or the record names as active, and Git no longer does, be it that Git
    names them for the preview now; the former preview Service; and of those ``found`` with the labels of the app, all
    that lead to a version of it.
    """
    live, wanted = live_service_names(state), service_names(config, state)
    carried = {*live.all_active(), *(each.name for each in record.last_read.former_services)}
    others = {each.meta.name for each in found if names.DIGEST in dict(each.selector)}
    others |= {live.preview} if live.preview else set()
    return tuple(sorted(carried.difference(wanted.all_active()) | others.difference(wanted.all())))


def former_preview(config: AppConfig | None, state: AppState | None) -> str:
    """Return the preview Service that the live object names, where Git no longer does; empty where there is none."""
    live = live_service_names(state)
    gone = live.preview is not None and live.preview not in service_names(config, state).all()
    return live.preview or "" if gone else ""


def at_hand(config: AppConfig | None, live: Mapping[str, str]) -> Mapping[str, str]:
    """Return the snapshot texts by short digest: those of ``live`` workloads, and those of Git's files."""
    known = dict(live)
    for source in (config.primary, config.target) if config is not None else ():
        if source is not None:
            known[short(source.snapshot.digest)] = source.snapshot.text
    return known


def git_says(config: AppConfig | None, name: str) -> bool:
    """Return whether Git describes Service ``name``: by a manifest, or by having none in a folder that was read.

    Where it does not, everything in a live Service but its selector and its owner stays unchanged (DESIGN §10).
    """
    if config is None or config.spec is None:
        return False
    strategy = config.spec.strategy
    named = (*strategy.active_services, strategy.preview_service)
    return name in config.services or (config.whole and name in named)


def desired_service(
    app: AppKey,
    app_uid: str,
    name: str,
    digest: str,
    config: AppConfig | None,
    known: Mapping[str, str],
    ports: str = "",
) -> Object:
    """Return the manifest of a Service with the selector of ``digest`` (short or full), and with its ``ports`` if
    known.

    Raises `InvalidInput` where its ports are unknown.
    """
    given = config.services.get(name) if config is not None else None
    return service_manifest(app, app_uid, name, digest, given, known.get(short(digest), ""), ports)


def desired_service_if_known(
    app: AppKey,
    app_uid: str,
    name: str,
    digest: str,
    config: AppConfig | None,
    known: Mapping[str, str],
    ports: str = "",
) -> Object | None:
    """Return the manifest, or None where its ports are unknown."""
    try:
        return desired_service(app, app_uid, name, digest, config, known, ports)
    except InvalidInput:
        return None


def stable_names(app: AppKey) -> tuple[str, ...]:
    """Return the Service of a release group that may follow an app: the service's own name, where the app is a member.

    >>> stable_names(AppKey("shop", "cart-v1")), stable_names(AppKey("shop", "web"))
    (('cart',), ())
    """
    service, _, version = app.name.rpartition("-")
    return (service,) if service and version_number(version) else ()


_ATTACHMENT = ("parentRefs", "hostnames")


def route_kind_in(spec: Mapping[str, Any]) -> str:
    """Return the kind of the route that the spec of a BlueGreenDeployment asks for; empty where it asks for none."""
    routes = ((spec.get("strategy") or {}).get("blueGreen") or {}).get("routes")
    if not routes:
        return ""
    return (GRPC_ROUTES if routes.get("protocol") == "grpc" else HTTP_ROUTES).name


def following(manifest: Object, digest: str, ports: BackendPorts) -> Object:
    """Return the route so that it names a version (a short digest; empty: none), and leads to these ports."""
    changed = _at_hosts(with_ports(manifest, ports), digest)
    return with_named_version(changed, digest) if digest else changed


def is_for_candidate(route: Mapping[str, Any]) -> bool:
    """Return whether a route is that of a candidate's hosts."""
    return str(route["metadata"]["name"]).endswith(names.CANDIDATE_ROUTE)


def _at_hosts(manifest: Object, digest: str) -> Object:
    """Return the route of a candidate's hosts for a version, and labelled with it; any other one as it is.

    Without a version its hosts stay as Git has them, which no API server takes: a route without hosts would be for
    every host.
    """
    labels = manifest["metadata"].get("labels") or {}
    if not digest or labels.get(names.DIGEST) != DIGEST_IN_HOST:
        return manifest
    hosts = [host_of(each, digest) for each in manifest["spec"]["hostnames"]]
    metadata = {**manifest["metadata"], "labels": {**labels, names.DIGEST: digest}}
    return {**manifest, "metadata": metadata, "spec": {**manifest["spec"], "hostnames": hosts}}


def with_named_version(manifest: Object, digest: str) -> Object:
    """Return the route with a version (a short digest) that requests may name; as it is where none chooses a
    candidate.
    """
    changed = copy.deepcopy(manifest)
    for rule in changed["spec"]["rules"]:
        for match in _choosing(rule):
            named = copy.deepcopy(match)
            for header in named["headers"]:
                header["value"] = digest
            rule["matches"].append(named)
    return changed


def with_ports(manifest: Object, ports: BackendPorts) -> Object:
    """Return the route with these ports of its Services, without the rules that lead to others; as it is where no port
    is known.
    """
    changed, known = copy.deepcopy(manifest), dict(ports)
    if known:
        rules = changed["spec"]["rules"]
        changed["spec"]["rules"] = [each for each in rules if all(ref["name"] in known for ref in each["backendRefs"])]
    for ref in _backends(changed):
        ref["port"] = known.get(ref["name"], ref["port"])
    return changed


def attached_as(manifest: Object, live: Object) -> Object:
    """Return the route with the Gateways and hosts of a live one."""
    spec = {key: value for key, value in manifest["spec"].items() if key not in _ATTACHMENT}
    return {**manifest, "spec": {**spec, **{key: live["spec"][key] for key in _ATTACHMENT if key in live["spec"]}}}


def attachment_of(route: Object) -> tuple[object, ...]:
    """Return what decides which requests reach a route at all: its Gateways and its hosts, in no order."""
    spec = route.get("spec") or {}
    return frozenset(map(_identity, spec.get("parentRefs") or ())), frozenset(spec.get("hostnames") or ())


def _identity(parent: Mapping[str, Any]) -> tuple[object, ...]:
    defaults = {"group": "gateway.networking.k8s.io", "kind": "Gateway"}
    return tuple(sorted(((key, str(value)) for key, value in {**defaults, **parent}.items() if value)))


def ports_of(live: Mapping[str, Any]) -> BackendPorts:
    """Return the ports of the Services that a live route leads to; none for any other object."""
    if live.get("kind") not in ROUTES:
        return ()
    return tuple(sorted({ref["name"]: int(ref.get("port") or 0) for ref in _backends(live)}.items()))


def _backends(route: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for rule in (route.get("spec") or {}).get("rules") or ():
        yield from rule.get("backendRefs") or ()


def named_version_of(live: Mapping[str, Any]) -> str:
    """Return the short digest that a live route names; empty for none, and for any other object."""
    if live.get("kind") not in ROUTES:
        return ""
    for rule in (live.get("spec") or {}).get("rules") or ():
        if _choosing(rule):
            others = [match for match in rule["matches"] if match not in _choosing(rule)]
            values = (header.get("value", "") for match in others for header in match.get("headers") or ())
            return str(next(values, ""))
    return str((live["metadata"].get("labels") or {}).get(names.DIGEST, ""))


def _choosing(rule: Mapping[str, Any]) -> list[Any]:
    """Return the matches of a rule that choose the candidate by that word."""
    return [match for match in rule.get("matches") or () if _chooses(match)]


def _chooses(match: Mapping[str, Any]) -> bool:
    headers: list[Mapping[str, Any]] = match.get("headers") or []
    return len(headers) == 1 and headers[0].get("value") == CANDIDATE


def http_route(namespace: str, labels: dict[str, str], route: HttpRoute) -> Object:
    """Return the manifest of an HTTPRoute."""
    return {
        "apiVersion": HTTP_ROUTES.api_version,
        "kind": HTTP_ROUTES.name,
        "metadata": {"name": route.name, "namespace": namespace, "labels": dict(labels)},
        "spec": http_route_spec(route),
    }
