"""Where routes lead: Services with their EndpointSlices as the routes of an app, with what counts as drift; what
Gateways say of the HTTPRoutes attached to them (https://gateway-api.sigs.k8s.io/reference/spec/#routeparentstatus); and
the Services of a namespace that nobody handed to the agent, which may select pods of an app all the same.

The list of the last serves all apps of a namespace for a while; one that the server refuses stops no app.
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import lru_cache
from threading import Lock
from typing import Any

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import NOT_OURS, SERVICES, Object
from gitops_bg.cluster.manifests.adoption import before_in
from gitops_bg.cluster.manifests.render import digest_in, service_manifest
from gitops_bg.cluster.manifests.services import at_hand, desired_service_if_known, git_says
from gitops_bg.cluster.observation.additions import left_git
from gitops_bg.cluster.observation.drift import contains, ports_are
from gitops_bg.cluster.observation.on_demand import Selected
from gitops_bg.cluster.observation.ownership import controlling_app, is_unclaimed, owner_of
from gitops_bg.cluster.observation.states import Pairs, ServiceState, SliceState, pairs
from gitops_bg.cluster.observation.views import AppContext
from gitops_bg.core import names
from gitops_bg.core.checks.ports import choose, sources_of, written
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InternalError, Refused, Transient
from gitops_bg.core.foreign_json import reread_json, sorted_json
from gitops_bg.core.model.desired import Desired, Missing
from gitops_bg.core.model.observed import SelectedPods, ServiceView
from gitops_bg.core.model.version import AppKey, short

_COMPARISONS_AT_HAND = 2048
"""Two for each of a thousand apps that are on their way at once: a few megabytes."""


@dataclass(frozen=True, slots=True)
class ServiceRoutes:
    """The Services of an app, by name, and all its EndpointSlices; the `ports.Routes` of Services."""

    services: Mapping[str, ServiceState] = field(default_factory=dict)
    slices: tuple[SliceState, ...] = ()
    selected: Mapping[str, Selected] = field(default_factory=dict)
    """On the way back: the pods that carry the labels that each Service then selects by, or does already."""

    def view(self, look: AppContext, name: str) -> ServiceView | None:
        """Return the view of a Service, compared with Git."""
        state = self.services.get(name)
        if state is None:
            return None
        owner = owner_of(SERVICES, state.meta, look.app, look.adopt)
        digest = digest_in(look.app, dict(state.selector))
        content = reread_json(state.content)
        ports, annotations = content["spec"].get("ports") or [], content["metadata"].get("annotations") or {}
        view = ServiceView(
            name=state.meta.name,
            digest=digest,
            selector=state.selector,
            ours=not owner,
            owner=owner,
            ready_endpoints=self._ready(state.meta.name, ports),
            other_endpoints=self._has_others(look.app, state.meta.name, digest),
            selected=self._selected(state.meta.name),
            ports=written(ports),
            withdrawn=annotations.get(names.WITHDRAWN, ""),
            unclaimed=bool(owner) and is_unclaimed(state.meta, look.app),
            app=serves_app(state, look.app),
            before=before_in(annotations).selector,
        )
        return view if owner else replace(view, drifted=self._drifted(look, state, view))

    def _drifted(self, look: AppContext, state: ServiceState, view: ServiceView) -> bool:
        if not look.uid or look.going:
            return False
        if not look.controlled(state.meta):
            return True
        name, known = state.meta.name, at_hand(look.config, look.snapshots)
        ports = _ports(look, view, known.get(view.digest, ""))
        if not git_says(look.config, name):
            as_it_is = reread_json(state.content)
            manifest = service_manifest(look.app, look.uid, name, view.digest, as_it_is, "", ports or view.ports)
            return service_drifted(state, manifest)
        wanted = desired_service_if_known(look.app, look.uid, name, view.digest, look.config, known, ports)
        return wanted is not None and look.unsettled(state, wanted, service_drifted)

    def _has_others(self, app: AppKey, service: str, digest: str) -> bool:
        slices, known = [each for each in self.slices if each.service == service], self.selected.get(service)
        if known is not None and not digest:
            return not {pod for each in slices for pod in each.ready} <= known.others
        return not all(names.is_of_version(app, digest, base) for each in slices for base in each.bases)

    def _selected(self, service: str) -> SelectedPods | None:
        known = self.selected.get(service)
        return None if known is None else SelectedPods(known.apps, known.trouble)

    def _ready(self, service: str, ports: list[Object]) -> int:
        """Return the number of pods that receive the traffic of every port: that of the worst port."""
        slices = [each for each in self.slices if each.service == service]
        names = {port.get("name") or "" for port in ports}
        reached = [{pod for each in slices if name in each.ports for pod in each.ready} for name in names]
        return min(map(len, reached)) if reached else len({pod for each in slices for pod in each.ready})


def _ports(look: AppContext, view: ServiceView, template: str) -> str:
    """Return the ports of a Service with the version that it selects; empty where that version is unknown."""
    version = next((each for each in look.record.versions if short(each.digest) == view.digest), None)
    if version is None or look.config is None or look.config.spec is None:
        return ""
    is_preview = view.name == look.config.spec.strategy.preview_service
    routed = look.record.routing.preview if is_preview else look.record.routing.traffic
    full = replace(version, snapshot=replace(version.snapshot, text=template))
    target, primary = look.config.target or Missing.UNREADABLE, look.config.primary or Missing.UNREADABLE
    desired = Desired("", target, primary, ports=look.config.ports)
    return choose(sources_of(desired, full, view.name, view, serving=routed == version.digest))


def serves_app(state: ServiceState, us: AppKey) -> str:
    """Return the other app of this namespace that a Service selects the pods of, where that app controls it, or nobody
    does; empty for none.
    """
    named = dict(state.selector).get(names.APP, "")
    other = AppKey(us.namespace, named)
    if not named or other == us or not digest_in(other, dict(state.selector)):
        return ""
    theirs = controlling_app(state.meta) == other or (state.meta.controller is None and state.meta.app in ("", named))
    return named if theirs else ""


def selector_without_us(state: ServiceState, app: AppKey) -> Pairs:
    """Return what a Service selects by once it is handed back; empty where that is unknown, or it would select a
    version.
    """
    if not digest_in(app, dict(state.selector)):
        return state.selector
    return before_in(reread_json(state.content)["metadata"].get("annotations") or {}).selector


def service_drifted(state: ServiceState, manifest: Object) -> bool:
    """Return whether a Service differs from its manifest, without the selector; including what left Git, and what
    others added.
    """
    spec = {key: value for key, value in manifest["spec"].items() if key != "selector"}
    return _differs(state.content, state.applied, state.added, sorted_json({**manifest, "spec": spec}))


@lru_cache(maxsize=_COMPARISONS_AT_HAND)
def _differs(content: str, applied: str, added: tuple[str, ...], wanted: bytes) -> bool:
    """Return whether what is live of a Service differs from a manifest as JSON. Each look asks, and little ever
    changes.
    """
    live, manifest = reread_json(content), reread_json(wanted)
    if not ports_are(live["spec"].get("ports") or (), manifest["spec"].get("ports") or ()):
        return True
    if any(field not in manifest["spec"] for field in added):
        return True
    if any(True for _ in left_git(reread_json(applied), live, manifest)):
        return True
    ours = manifest["metadata"]
    metadata = {key: ours[key] for key in ("labels", "annotations", "ownerReferences") if key in ours}
    return not contains(live["metadata"], metadata) or not contains(live["spec"], manifest["spec"])


_GATEWAY_API = "gateway.networking.k8s.io"
_ACCEPTED, _RESOLVED = "Accepted", "ResolvedRefs"
_BOTH = (_ACCEPTED, _RESOLVED)


def acceptance(body: Object) -> tuple[bool | None, str]:
    """Return whether every Gateway that the route names has taken this generation, with all its backends, and what one
    says against it.

    None: at least one has never said anything of it, and none says anything against it. What former parents said does
    not count.
    """
    return _acceptance(body, _BOTH)


def acceptance_of_rules(body: Object) -> tuple[bool | None, str]:
    """Do as `acceptance`, but for what is said against backends: a Gateway serves all rules but those that lead to them
    (https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule, ``backendRefs``).
    """
    return _acceptance(body, (_ACCEPTED,))


def unresolved(body: Object) -> str:
    """Return what a Gateway says against the backends of this generation; empty where none says anything."""
    return _refusal(body, (_RESOLVED,))


def is_reported(body: Object) -> bool:
    """Return whether any Gateway has ever said anything of a route, also one that it named formerly."""
    return bool((body.get("status") or {}).get("parents"))


def _acceptance(body: Object, must_hold: tuple[str, ...]) -> tuple[bool | None, str]:
    generation = body["metadata"].get("generation", 0)
    answers = [_answer(statuses, generation, must_hold) for statuses in _parent_statuses(body)]
    against = [reason for holds, reason in answers if holds is False]
    if against:
        return False, against[0]
    return (True, "") if answers and all(holds for holds, _ in answers) else (None, "")


def refusal_of(body: Object) -> str:
    """Return why a Gateway that the route names refuses this generation of it; empty where none does."""
    return _refusal(body, _BOTH)


def _refusal(body: Object, must_hold: tuple[str, ...]) -> str:
    generation = body["metadata"].get("generation", 0)
    verdicts = (_verdict(status, generation, must_hold) for statuses in _parent_statuses(body) for status in statuses)
    return next((reason for holds, reason in verdicts if holds is False), "")


def hosts_served(gateway: Object, section: str = "", port: int = 0) -> tuple[str, ...]:
    """Return the host of each listener of a Gateway that a parentRef means; empty text: every host.

    >>> hosts_served({"spec": {"listeners": [{"name": "web", "port": 80, "hostname": "*.shop.example"}]}}, "web")
    ('*.shop.example',)
    """
    listeners = gateway["spec"].get("listeners") or ()
    meant = [each for each in listeners if section in ("", each["name"]) and port in (0, each["port"])]
    return tuple(each.get("hostname", "") for each in meant)


def is_served(host: str, by: str) -> bool:
    """Return whether a listener with the host ``by`` takes requests for the host of a route: where the two meet.

    https://gateway-api.sigs.k8s.io/reference/spec/#httproutespec, ``hostnames``.

    >>> is_served("a.shop.example", "*.shop.example"), is_served("*.shop.example", "a.shop.example")
    (True, True)
    >>> is_served("*.a.shop.example", "*.shop.example"), is_served("shop.example", "*.shop.example")
    (True, False)
    """
    return not by or host == by or _is_below(host, by) or _is_below(by, host)


def _is_below(host: str, wildcard: str) -> bool:
    return wildcard.startswith("*.") and host.endswith(wildcard[1:])


def _parent_statuses(body: Object) -> list[list[Mapping[str, Any]]]:
    """Return the statuses of each parent that the route names now."""
    namespace = body["metadata"].get("namespace", "")
    said: defaultdict[tuple[object, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for status in (body.get("status") or {}).get("parents") or ():
        said[_identity(status["parentRef"], namespace)].append(status)
    return [said[_identity(ref, namespace)] for ref in (body.get("spec") or {}).get("parentRefs") or ()]


def _answer(
    statuses: Iterable[Mapping[str, Any]], generation: int, must_hold: tuple[str, ...]
) -> tuple[bool | None, str]:
    """Return what one parent says, by all controllers that ever wrote for it: one that is gone leaves an old entry
    behind.
    """
    found = [_verdict(status, generation, must_hold) for status in statuses]
    refusals = [reason for holds, reason in found if holds is False]
    if refusals:
        return False, refusals[0]
    if any(holds for holds, _ in found):
        return True, ""
    return (False, "a Gateway has not taken its last change yet") if found else (None, "")


def _identity(ref: Mapping[str, Any], namespace: str) -> tuple[object, ...]:
    """Identify a parent, with the defaults that the API server may leave out of a status."""
    group, kind = ref.get("group", _GATEWAY_API), ref.get("kind", "Gateway")
    return group, kind, ref.get("namespace") or namespace, ref["name"], ref.get("sectionName", ""), ref.get("port", 0)


def _verdict(status: Mapping[str, Any], generation: int, must_hold: tuple[str, ...]) -> tuple[bool | None, str]:
    """Return whether what must hold does for one controller, or why not; None: it has not judged all of it yet."""
    known = {
        each.get("type"): each
        for each in status.get("conditions") or ()
        if each.get("observedGeneration", 0) >= generation
    }
    said = {name: known.get(name, {}).get("status") for name in _BOTH}
    refused = [known[name] for name in must_hold if said[name] == "False"]
    if refused:
        return False, f"{refused[0].get('reason', '')}: {refused[0].get('message', '')}"
    is_judged = all(each in ("True", "False") for each in said.values())
    return (True, "") if is_judged and all(said[name] == "True" for name in must_hold) else (None, "")


FRESH_SECONDS = 1.0
"""The age of a list that suffices where the pods of an app depend on it."""
RECENT_SECONDS = 30.0
"""The age of a list that suffices where it is only said what such a Service selects."""

_OF_ONE_VERSION = frozenset({names.DIGEST, names.VERSION, names.COLOR})
"""Whoever selects by one of these labels has chosen between the versions of an app."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What is known of the Services of a namespace."""

    services: tuple[ServiceView, ...] | None = None
    """The newest that are known; None where they never were."""
    trouble: Refused | Transient | None = None
    """Why the last list failed."""


class ForeignServices:
    """Lists them. Thread-safe. ``clock`` counts seconds from any moment."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._lock = Lock()
        self._known: dict[str, tuple[float, Listed]] = {}

    def of(self, namespace: str, within_seconds: float) -> Listed:
        """Return those with a selector that does not tell versions apart, and that nobody agreed may have every
        version.

        No older than ``within_seconds``; a failed list counts as one, too, and leaves what was known before.
        """
        began = self._clock()
        with self._lock:
            asked, known = self._known.get(namespace, (-math.inf, Listed()))
            if began - asked < within_seconds:
                return known
        try:
            found = Listed(tuple(_views(self._client.list(SERVICES, namespace, NOT_OURS))))
        except InternalError:
            raise
        except (Refused, Transient) as error:
            found = Listed(known.services, error)
        with self._lock:
            if began >= self._known.get(namespace, (began, None))[0]:
                self._known[namespace] = (began, found)
        return found


def _views(bodies: list[Object]) -> Iterator[ServiceView]:
    for body in bodies:
        spec, annotations = body.get("spec") or {}, body["metadata"].get("annotations") or {}
        selector = spec.get("selector") or {}
        chosen = spec.get("type") == "ExternalName" or not _OF_ONE_VERSION.isdisjoint(selector)
        if selector and not chosen and annotations.get(names.ALL_VERSIONS) != "true":
            yield ServiceView(body["metadata"]["name"], "", pairs(selector), ours=False)
