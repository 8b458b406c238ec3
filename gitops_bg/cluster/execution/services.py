"""Services as the router of an app's traffic: the first `ports.TrafficRouter`. A selector selects a version.

Moving a Service is a single write, and where traffic depends on it, a write over exactly the Service that was read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gitops_bg.cluster.api.kinds import SERVICES, Kind, Object, name_of
from gitops_bg.cluster.execution.writer import Guards, Writer, entry_between
from gitops_bg.cluster.manifests.adoption import is_of_before
from gitops_bg.cluster.manifests.patches import (
    adopt_service,
    change_selector,
    hand_back,
    mark_service,
    prepare_service,
    replace_selector,
    take_ownership,
)
from gitops_bg.cluster.manifests.render import digest_in, selects, service_manifest
from gitops_bg.cluster.manifests.services import (
    ServiceNames,
    at_hand,
    desired_service,
    git_says,
    live_service_names,
    service_names,
    stable_names,
)
from gitops_bg.cluster.observation.additions import AppliedStates, intent_of
from gitops_bg.cluster.observation.drift import ChangedField
from gitops_bg.cluster.observation.on_demand import Pods, Selected
from gitops_bg.cluster.observation.ownership import is_unclaimed
from gitops_bg.cluster.observation.project import service_state
from gitops_bg.cluster.observation.reader import Reader
from gitops_bg.cluster.observation.routes import ServiceRoutes, selector_without_us, serves_app, service_drifted
from gitops_bg.cluster.observation.states import ServiceState, SliceState, State, meta_of
from gitops_bg.cluster.ports import Entries, Workloads
from gitops_bg.core import names
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.actions import (
    ApplyService,
    HandBack,
    MarkService,
    PointPreview,
    RepairSelector,
    SwitchTraffic,
)
from gitops_bg.core.model.drift import ChangeSetEntry
from gitops_bg.core.model.version import AppKey, short
from gitops_bg.spec.app.load import AppConfig

_SetsService = ApplyService | PointPreview | SwitchTraffic
"""What says which version a Service leads to."""
_SELECTOR = ("spec", "selector")


class Services:
    """The Services of one cluster's apps. Thread-safe as long as each app has one thread at a time."""

    def __init__(
        self, reader: Reader, writer: Writer, guards: Guards, settled: AppliedStates, workloads: Workloads, pods: Pods
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._guards = guards
        self._settled = settled
        self._workloads = workloads
        self._pods = pods

    def current(
        self, app: AppKey, names: Iterable[str], *, adopting: bool = False, returning: bool = False
    ) -> ServiceRoutes:
        """Return the Services of these names and their EndpointSlices, from the caches."""
        found = {name: self._reader.service(app.namespace, name) for name in names}
        services = {name: state for name, state in found.items() if state is not None}
        slices = (*self._reader.slices(app), *self._of_others(app, services, adopting))
        return ServiceRoutes(services, slices, self._selected(app, services) if returning else {})

    def _selected(self, app: AppKey, services: Mapping[str, ServiceState]) -> dict[str, Selected]:
        selectors = {name: selector_without_us(state, app) for name, state in services.items()}
        namespace = app.namespace
        return {name: self._pods.selected_by(namespace, one) for name, one in selectors.items() if one}

    def _of_others(self, app: AppKey, services: Mapping[str, ServiceState], adopting: bool) -> Iterator[SliceState]:
        """Yield the EndpointSlices of Services that are to be taken over: no cache has them, because nothing of them is
        ours.
        """
        for name, state in services.items() if adopting else ():
            if is_unclaimed(state.meta, app) or serves_app(state, app):
                yield from self._reader.slices_of(app.namespace, name)

    def serving(self, app: AppKey, config: AppConfig | None, labels: Mapping[str, str], *, alone: bool = False) -> str:
        """Return the active Service, by Git or by the live spec, that selects pods with these labels, read live; empty
        for none. The Service of a release group that follows the app counts as well.
        """
        active = self._active_services(app, config)
        for name in (*active, *stable_names(app)):
            service = self._writer.get(SERVICES, app.namespace, name) or {}
            counts = name in active or names.RELEASE_GROUP in (service.get("metadata", {}).get("labels") or {})
            selector = service.get("spec", {}).get("selector") or {}
            if counts and selects(selector, labels) and (digest_in(app, selector) or not alone):
                return name
        return ""

    def reaching(self, app: AppKey, config: AppConfig | None, digest: str) -> str:
        """Return the active Service, by Git or by the live spec, whose ready endpoints, read live, are pods of a
        version.
        """
        for name in sorted(self._active_services(app, config)):
            slices = self._reader.slices_of(app.namespace, name)
            if any(names.is_of_version(app, digest, base) for each in slices for base in each.bases):
                return name
        return ""

    def owned(self, app: AppKey, uid: str, former: Sequence[str] = ()) -> Iterator[tuple[Kind, State]]:
        """Return the Services that the object with this uid owns: those that it names, and ``former`` ones."""
        names = (*service_names(None, self._reader.app(app)).all(), *former)
        found = (self._reader.service(app.namespace, name) for name in names)
        return ((SERVICES, each) for each in found if each is not None and uid in each.meta.owners)

    def apply(self, app: AppKey, config: AppConfig | None, action: ApplyService, decided_on: str) -> Entries:
        """Create a Service, or repair it to what Git and ``action`` say."""
        existing = self._guards.own(SERVICES, app, action.name)
        self._guards.refuse_if_overtaken(app, decided_on)
        if existing is not None and not git_says(config, action.name):
            return (self._adopt(app, action, existing),)
        manifest, before = self._service(app, config, action), existing
        # What labels hand over is as its owner made it: nobody changed it.
        handed_over = existing is not None and is_of_before(existing)
        drift = None if handed_over else self._writer.drift(SERVICES, before, manifest)
        if existing is not None:
            existing = self._prepared(existing, manifest)
            # The lock: a selector that somebody moved meanwhile is not overwritten.
            version = existing["metadata"]["resourceVersion"]
            manifest["metadata"] = {**manifest["metadata"], "resourceVersion": version}
        answer = self._writer.apply(SERVICES, manifest, existing).body
        if answer["spec"].get("selector") != manifest["spec"]["selector"]:
            # Kubernetes before 1.22 merges selectors by key: foreign keys would stay.
            whole = replace_selector(app, answer, manifest)
            answer = self._writer.json_patch(SERVICES, app.namespace, action.name, whole).body
            self._writer.applied(SERVICES, manifest, answer)
        self._settle_service(answer, manifest)
        field = _selector(app, action.digest, answer["spec"].get("selector"))
        self._writer.intents.applied_field(SERVICES, app.namespace, action.name, field)
        return (entry_between(SERVICES, before, answer, drift),)

    def _adopt(self, app: AppKey, action: ApplyService, live: Object) -> ChangeSetEntry:
        """Repair the owner, the selector and the ports of a Service that Git does not describe."""
        made = service_manifest(app, self._guards.uid(app), action.name, action.digest, live, "", action.ports)
        as_it_is = self._writer.anchors.anchored(SERVICES, made)
        drift = self._writer.drift(SERVICES, live, made)
        written = self._writer.json_patch(SERVICES, app.namespace, action.name, adopt_service(live, as_it_is))
        self._writer.applied(SERVICES, made, written.body)
        return replace(written.entry, drift=drift)

    def _prepared(self, live: Object, manifest: Object) -> Object:
        """Return the Service with what no apply can do done; one write where something is."""
        change = prepare_service(live, manifest)
        return self._writer.json_patch(SERVICES, *name_of(live), change).body if change else live

    def point(self, app: AppKey, config: AppConfig | None, action: PointPreview) -> Entries:
        """Move the preview Service with its ports, in one write over exactly the Service that was seen.

        It is read first where somebody else has changed what it selects: then it is said who.
        """
        if action.adopts:
            return self._claim(app, config, action, self._there(app, action.name))
        held = self._reader.service(app.namespace, action.name)
        if held is None:
            raise _gone(app, action.name)
        field = _selector(app, action.digest, dict(held.selector))
        ours = self._writer.intents.is_ours(SERVICES, app.namespace, action.name, field, held.moved_by)
        if not ours or held.selector != action.expected_selector:
            return self._restore(app, action)
        change = change_selector(app, action, _as_read(held))
        return (self._writer.write_known(SERVICES, app.namespace, action.name, field, change),)

    def _restore(self, app: AppKey, action: PointPreview) -> Entries:
        live = self._guards.existing(SERVICES, app, action.name)
        change = change_selector(app, action, live)
        return (self._writer.write_field(SERVICES, live, _selector_of(app, action, live), change),)

    def switch(self, app: AppKey, config: AppConfig | None, action: SwitchTraffic, decided_on: str) -> Entries:
        """Move live traffic. The Service is read before the record, and must be unchanged when it is written.

        Whoever moved it there and back meanwhile has changed the record first; the selector alone would not tell.
        """
        live = self._writer.get(SERVICES, app.namespace, action.name)
        self._guards.refuse_if_overtaken(app, decided_on)
        if not action.create:
            return self._move(app, config, action, live)
        if self._guards.own(SERVICES, app, action.name) is not None:
            raise WorldChanged(f"Service {app.namespace}/{action.name} exists by now")
        return (self._writer.apply(SERVICES, self._service(app, config, action), None).entry,)

    def _move(self, app: AppKey, config: AppConfig | None, action: SwitchTraffic, live: Object | None) -> Entries:
        if live is None:
            raise _gone(app, action.name)
        if action.adopts:
            return self._claim(app, config, action, live)
        return self._lead(app, action, live)

    def repair(self, app: AppKey, action: RepairSelector, decided_on: str) -> Entries:
        """Lead an active Service back, in one write over exactly the Service that was read."""
        live = self._guards.existing(SERVICES, app, action.name)
        self._guards.refuse_if_overtaken(app, decided_on)
        return self._lead(app, action, live)

    def _lead(self, app: AppKey, action: SwitchTraffic | RepairSelector, live: Object) -> Entries:
        field, change = _selector_of(app, action, live), change_selector(app, action, live)
        if is_of_before(live):
            return (self._writer.write_known(SERVICES, app.namespace, action.name, field, change),)
        return (self._writer.write_field(SERVICES, live, field, change),)

    def _claim(
        self, app: AppKey, config: AppConfig | None, action: SwitchTraffic | PointPreview, live: Object
    ) -> Entries:
        """Make a Service ours, and move it, in one write over exactly the Service that was read."""
        if not _consent_covers(app, config, live):
            raise WorldChanged(f"Service {app.namespace}/{action.name} is somebody's by now")
        manifest = self._writer.anchors.anchored(SERVICES, self._service(app, config, action))
        change = take_ownership(action, live, manifest)
        return (self._writer.json_patch(SERVICES, app.namespace, action.name, change).entry,)

    def hand_back(self, app: AppKey, action: HandBack, decided_on: str) -> Entries:
        """Give a Service back what it had before, over exactly the Service that was read.

        Not while the selector that it gets back matches pods of an app: those may have come since that was decided.
        """
        live = self._guards.existing(SERVICES, app, action.name)
        selected = self._pods.selected_by(app.namespace, action.selector)
        if selected.apps or selected.trouble:
            why = selected.trouble or f"it has pods of {', '.join(selected.apps)} now"
            raise WorldChanged(f"the selector that Service {app.namespace}/{action.name} had before: {why}")
        self._guards.refuse_if_overtaken(app, decided_on)
        change = hand_back(app, action, live, self._guards.uid(app))
        return (self._writer.json_patch(SERVICES, app.namespace, action.name, change).entry,)

    def mark(self, app: AppKey, config: AppConfig | None, action: MarkService, decided_on: str) -> Entries:
        """Write the mark of a withdrawn switch."""
        live = self._writer.get(SERVICES, app.namespace, action.name) if action.adopts else None
        if live is None or not _consent_covers(app, config, live):
            live = self._guards.existing(SERVICES, app, action.name)
        self._guards.refuse_if_overtaken(app, decided_on)
        found = (live["metadata"].get("annotations") or {}).get(names.WITHDRAWN)
        mark = ChangedField(("metadata", "annotations", names.WITHDRAWN), found, action.withdrawn)
        return (self._writer.write_field(SERVICES, live, mark, mark_service(app, action, live)),)

    def _there(self, app: AppKey, name: str) -> Object:
        live = self._writer.get(SERVICES, app.namespace, name)
        if live is None:
            raise _gone(app, name)
        return live

    def _active_services(self, app: AppKey, config: AppConfig | None) -> set[str]:
        live = self._reader.app(app)
        found: list[ServiceNames] = [service_names(config, live), live_service_names(live)]
        return {name for each in found for name in each.all_active()}

    def _service(self, app: AppKey, config: AppConfig | None, action: _SetsService) -> Object:
        known = at_hand(config, self._workloads.current(app).snapshots())
        uid, digest = self._guards.uid(app), short(action.digest)
        return desired_service(app, uid, action.name, digest, config, known, action.ports)

    def _settle_service(self, answer: Object, manifest: Object) -> None:
        state = service_state(answer)
        plain = {key: value for key, value in manifest["metadata"].items() if key != "resourceVersion"}
        intent = {**manifest, "metadata": plain}
        if service_drifted(state, intent):
            self._settled.add(state, intent_of(intent))


def _consent_covers(app: AppKey, config: AppConfig | None, live: Object) -> bool:
    """Return whether the consent of the app's file covers a Service as it is now (``core.checks.adoption``)."""
    adopt = config.spec.adopt if config is not None and config.spec is not None else None
    if adopt is not None and adopt.app:
        return adopt.was(serves_app(service_state(live), app))
    return is_unclaimed(meta_of(live), app)


def _gone(app: AppKey, name: str) -> WorldChanged:
    return WorldChanged(f"Service {app.namespace}/{name} is gone")


def _as_read(held: ServiceState) -> Object:
    """Return a Service as the caches have it, in the form of an answer: all that a change of its selector looks at."""
    body: Object = reread_json(held.content)
    meta = held.meta
    known = {"namespace": meta.namespace, "name": meta.name, "uid": meta.uid, "resourceVersion": meta.version}
    spec = {**body["spec"], "selector": dict(held.selector)}
    return {**body, "metadata": {**body["metadata"], **known}, "spec": spec}


def _selector_of(app: AppKey, action: PointPreview | RepairSelector | SwitchTraffic, live: Object) -> ChangedField:
    return _selector(app, action.digest, live["spec"].get("selector"))


def _selector(app: AppKey, digest: str, found: Mapping[str, str] | None) -> ChangedField:
    """Return what a Service selects and is to select, each in the order of the keys: the two are compared."""
    wanted = names.selector(app, digest)
    return ChangedField(_SELECTOR, found and dict(sorted(found.items())), dict(sorted(wanted.items())))
