"""Services and their EndpointSlices as the routes of an app: where each leads, and what counts as drift. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from gitops_bg.cluster.api.kinds import SERVICES, Object
from gitops_bg.cluster.manifests.adoption import before_in
from gitops_bg.cluster.manifests.render import digest_in, service_manifest
from gitops_bg.cluster.manifests.services import at_hand, desired_service_if_known, git_says
from gitops_bg.cluster.observation.additions import left_git
from gitops_bg.cluster.observation.drift import contains, ports_are
from gitops_bg.cluster.observation.look import AppContext
from gitops_bg.cluster.observation.on_demand.pods import Selected
from gitops_bg.cluster.observation.ownership import controlling_app, is_unclaimed, owner_of
from gitops_bg.cluster.observation.states import Pairs, ServiceState, SliceState
from gitops_bg.core import names
from gitops_bg.core.checks.ports import choose, sources_of, written
from gitops_bg.core.foreign_json import reread_json, sorted_json
from gitops_bg.core.model.desired import Desired, Missing
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import SelectedPods, ServiceView
from gitops_bg.core.model.version import AppKey

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
        """The view of a Service, compared with Git."""
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
        """The number of pods that receive the traffic of every port: that of the worst port."""
        slices = [each for each in self.slices if each.service == service]
        names = {port.get("name") or "" for port in ports}
        reached = [{pod for each in slices if name in each.ports for pod in each.ready} for name in names]
        return min(map(len, reached)) if reached else len({pod for each in slices for pod in each.ready})


def _ports(look: AppContext, view: ServiceView, template: str) -> str:
    """The ports of a Service with the version that it selects; empty where that version is unknown."""
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
    """The other app of this namespace that a Service selects the pods of, where that app controls it, or nobody does;
    empty for none.
    """
    named = dict(state.selector).get(names.APP, "")
    other = AppKey(us.namespace, named)
    if not named or other == us or not digest_in(other, dict(state.selector)):
        return ""
    theirs = controlling_app(state.meta) == other or (state.meta.controller is None and state.meta.app in ("", named))
    return named if theirs else ""


def selector_without_us(state: ServiceState, app: AppKey) -> Pairs:
    """What a Service selects by once it is handed back; empty where that is unknown, or it would select a version."""
    if not digest_in(app, dict(state.selector)):
        return state.selector
    return before_in(reread_json(state.content)["metadata"].get("annotations") or {}).selector


def service_drifted(state: ServiceState, manifest: Object) -> bool:
    """Whether a Service differs from its manifest, without the selector; including what left Git, and what others
    added.
    """
    spec = {key: value for key, value in manifest["spec"].items() if key != "selector"}
    return _differs(state.content, state.applied, state.added, sorted_json({**manifest, "spec": spec}))


@lru_cache(maxsize=_COMPARISONS_AT_HAND)
def _differs(content: str, applied: str, added: tuple[str, ...], wanted: bytes) -> bool:
    """Whether what is live of a Service differs from a manifest as JSON. Each look asks, and little ever changes."""
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
