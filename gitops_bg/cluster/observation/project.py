"""Projects a live object to the state that a cache keeps. Pure; the counterpart of `render`.

A ReplicaSet's template is compared once, here, with what its own snapshot renders to, and then dropped: it is most of
the object's size (pitfalls.md §1.1).
"""

import json
from dataclasses import replace
from functools import partial
from sys import intern

from gitops_bg.cluster.api.kinds import CONFIG_MAPS, SECRETS, Kind, Object
from gitops_bg.cluster.execution.operator_requests import requests_of
from gitops_bg.cluster.manifests import pod_templates
from gitops_bg.cluster.manifests.render import pod_template, version_labels
from gitops_bg.cluster.manifests.stored_record import RECORD, unpacked
from gitops_bg.cluster.observation.additions import added_to_service, additions_to_pods, applied_fields
from gitops_bg.cluster.observation.drift import ChangedField, contains, is_ours, managers_of
from gitops_bg.cluster.observation.states import (
    AppState,
    AuxiliaryState,
    ConfigurationState,
    ReleaseGroupState,
    ReplicaSetState,
    ServiceState,
    SliceState,
    meta_of,
    pairs,
    part_of,
)
from gitops_bg.core import names
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_json import PackedJson
from gitops_bg.core.model.digest import is_genuine
from gitops_bg.core.model.main import NO_MAIN, Main
from gitops_bg.core.model.version import AppKey, Snapshot, WorkloadKind, short
from gitops_bg.spec.codec import from_json
from gitops_bg.spec.manifests.configuration import configuration_of, refs_in

SERVICE_NAME = "kubernetes.io/service-name"


def replica_set_state(body: Object, known: ReplicaSetState | None = None) -> ReplicaSetState:
    """Return the state of a ReplicaSet; ``known`` is the former state, which saves comparing an unchanged template."""
    return _compared(_counted(body), known, body)


def _counted(body: Object) -> ReplicaSetState:
    metadata, spec, status = body["metadata"], body["spec"], body.get("status") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    meta = meta_of(body)
    return ReplicaSetState(
        meta=meta,
        full_digest=intern(annotations.get(names.FULL_DIGEST, "")),
        snapshot=intern(annotations.get(names.SNAPSHOT, "")),
        color=intern(labels.get(names.COLOR, "")),
        number=intern(labels.get(names.VERSION, "")),
        replicas=spec.get("replicas", 1),
        available=status.get("availableReplicas", 0),
        seen=status.get("observedGeneration", 0) >= meta.generation,
        min_ready_seconds=spec.get("minReadySeconds", 0),
        intact=labels.get(names.DIGEST) == short(annotations.get(names.FULL_DIGEST, "")),
        configuration=annotations.get(names.CONFIGURATION, ""),
        anti_affinity=annotations.get(names.ANTI_AFFINITY, ""),
        own_pods=annotations.get(names.OWN_PODS, ""),
        worn=annotations.get(names.POD_METADATA, ""),
        pods=status.get("replicas", 0),
        ready=status.get("readyReplicas", 0),
        failure=_failure(status),
    )


def _compared(state: ReplicaSetState, known: ReplicaSetState | None, body: Object) -> ReplicaSetState:
    compared = known is not None and known.intact and _template_inputs(known) == _template_inputs(state)
    return state if compared else replace(state, intact=state.intact and _is_intact(state, body))


def daemon_set_state(body: Object, known: ReplicaSetState | None = None) -> ReplicaSetState:
    """Return the state of a DaemonSet, counted as a ReplicaSet is.

    All of its pods are of its template's version, because its selector is: whether they are "updated" says nothing.
    https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/daemon-set-v1/#DaemonSetStatus
    """
    status, spec = body.get("status") or {}, body["spec"]
    off = names.NOWHERE in (spec["template"]["spec"].get("nodeSelector") or {})
    counted = {
        "observedGeneration": status.get("observedGeneration", 0),
        "availableReplicas": status.get("numberAvailable", 0),
        "readyReplicas": status.get("numberReady", 0),
        "replicas": status.get("currentNumberScheduled", 0),
    }
    replicas = 0 if off else max(1, status.get("desiredNumberScheduled", 0))
    alike = {**body, "spec": {**spec, "replicas": replicas}, "status": counted}
    return _compared(replace(_counted(alike), workload=WorkloadKind.DAEMON_SET), known, body)


WORKLOAD_STATES = {WorkloadKind.REPLICA_SET: replica_set_state, WorkloadKind.DAEMON_SET: daemon_set_state}
"""The projection of each kind of workload."""


def configuration_state(kind: Kind, body: Object, _known: ConfigurationState | None = None) -> ConfigurationState:
    """Return the state of a ConfigMap or Secret; lists do not name the kind of their items."""
    of = (body["metadata"].get("annotations") or {}).get(names.COPY_OF, "")
    digest = configuration_of(kind.name, of, body).ref.digest if of else ""
    content = 0 if of else hash(repr([body["metadata"].get("labels"), body.get("data"), body.get("binaryData")]))
    return ConfigurationState(meta_of(body), kind.name, of, digest, body.get("immutable") is True, content)


def auxiliary_state(body: Object, _known: AuxiliaryState | None = None) -> AuxiliaryState:
    """Return the state of an autoscaler or a budget."""
    metadata = body["metadata"]
    applied = (metadata.get("annotations") or {}).get(names.APPLIED)
    return AuxiliaryState(meta_of(body), hash(repr([metadata.get("labels"), applied, body.get("spec")])))


CONFIGURATION_STATES = {kind: partial(configuration_state, kind) for kind in (CONFIG_MAPS, SECRETS)}
"""`configuration_state` of each kind."""


def _failure(status: Object) -> str:
    found = (each for each in status.get("conditions") or () if each.get("type") == "ReplicaFailure")
    failed = next((each for each in found if each.get("status") == "True"), None)
    return f"{failed.get('reason', '')}: {failed.get('message', '')}" if failed else ""


def service_state(body: Object, _known: ServiceState | None = None) -> ServiceState:
    """Return the state of a Service."""
    metadata, spec = body["metadata"], dict(body.get("spec") or {})
    selector = pairs(spec.pop("selector", None))
    kept = {key: metadata[key] for key in ("labels", "annotations", "ownerReferences") if key in metadata}
    content = _compact({"metadata": kept, "spec": spec})
    found = ChangedField(("spec", "selector"), body.get("spec", {}).get("selector"), None)
    moved_by = () if is_ours(body, found) else managers_of(body, found.path)
    applied = intern(_compact(dict(applied_fields(body))))
    return ServiceState(meta_of(body), selector, content, moved_by, added_to_service(body), applied)


def slice_state(body: Object, _known: SliceState | None = None) -> SliceState:
    """Return the state of an EndpointSlice; an endpoint without a ready condition counts as ready.

    https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#ready
    """
    service = (body["metadata"].get("labels") or {}).get(SERVICE_NAME, "")
    ready = [each for each in body.get("endpoints") or () if _is_ready(each)]
    bases = {intern(_base(each)) for each in ready}
    ports = {intern(str(each.get("name") or "")) for each in body.get("ports") or ()}
    pods = {_who(each) for each in ready}
    return SliceState(meta_of(body), service, tuple(sorted(pods)), tuple(sorted(bases)), tuple(sorted(ports)))


def app_state(body: Object, _known: AppState | None = None) -> AppState:
    """Return the state of a BlueGreenDeployment."""
    annotations, live = body["metadata"].get("annotations") or {}, body.get("status") or {}
    found = unpacked(live)
    record, edited = found or {}, found is None
    status = {key: value for key, value in live.items() if key != RECORD} if edited else live
    request = annotations.get(names.REQUEST, "")
    return AppState(
        meta=meta_of(body),
        spec=_compact(body.get("spec") or {}),
        status=PackedJson.of(status),
        created=body["metadata"].get("creationTimestamp") or "",
        recorded=RECORD in live,
        edited=edited,
        phase=intern(phase) if isinstance(phase := status.get("phase"), str) else "",
        main=_main_in(record),
        traffic=intern(traffic) if isinstance(traffic := part_of(record, "routing").get("traffic"), str) else "",
        request=request,
        asks=_asks(record, request),
        reconcile=annotations.get(names.RECONCILE, ""),
        repository=intern(annotations.get(names.REPOSITORY, "")),
        cluster=intern(annotations.get(names.CLUSTER, "")),
        branch=intern(annotations.get(names.BRANCH, "")),
        claimed_by=annotations.get(names.CLAIMED_BY, ""),
    )


def group_state(body: Object, _known: ReleaseGroupState | None = None) -> ReleaseGroupState:
    """Return what is watched of a ReleaseGroup."""
    annotations = body["metadata"].get("annotations") or {}
    record = unpacked(body.get("status") or {}) or {}
    follows = (annotations.get(each, "") for each in (names.REPOSITORY, names.CLUSTER))
    return ReleaseGroupState(meta_of(body), _asks(record, annotations.get(names.REQUEST, "")), *follows)


def _asks(record: Object, request: str) -> bool:
    return any(not _has_answered(record, each.id) for each in requests_of(request))


def _has_answered(record: Object, request: str) -> bool:
    """Return whether a stored record has answered a request (`OperatorState.has_answered`)."""
    answered = part_of(record, "operator").get("answered")
    return isinstance(answered, list) and request in answered


def _main_in(record: Object) -> Main:
    """Return the main that a stored record was decided from."""
    said = part_of(record, "git").get("main")
    try:
        main = from_json(Main, said) if said else NO_MAIN
    except InvalidInput:
        return NO_MAIN
    return replace(main, commit=intern(main.commit))


def _template_inputs(state: ReplicaSetState) -> tuple[object, ...]:
    """Return all inputs of the comparison of the template; the generation stands for the template itself."""
    meta = state.meta
    return (
        meta.uid,
        meta.generation,
        meta.app,
        state.full_digest,
        state.snapshot,
        state.color,
        state.number,
        state.configuration,
        state.anti_affinity,
        state.own_pods,
        state.worn,
    )


def snapshot_in(state: ReplicaSetState) -> Snapshot:
    """Return the snapshot that a ReplicaSet claims to run, genuine or not."""
    return Snapshot(state.full_digest, state.snapshot, refs_in(state.configuration), state.workload)


def _is_intact(state: ReplicaSetState, body: Object) -> bool:
    """Return whether the snapshot matches its digest, and the template is what the snapshot renders to, and no more."""
    snapshot = snapshot_in(state)
    if not snapshot.text or not is_genuine(snapshot):
        return False
    app = AppKey(state.meta.namespace, state.meta.app)
    labels = version_labels(app, state.full_digest, state.color, state.number)
    narrowed = pod_templates.narrow(
        pod_template(app, snapshot, labels), app, state.full_digest, pod_templates.read_labels(state.own_pods)
    )
    rendered = pod_templates.dress(narrowed, pod_templates.read_metadata(state.worn).metadata, labels)
    wanted = pod_templates.add_anti_affinity(rendered, app, pod_templates.read_anti_affinity(state.anti_affinity))
    return contains(body["spec"].get("template") or {}, wanted) and not additions_to_pods(body, wanted)


def _is_ready(endpoint: Object) -> bool:
    return (endpoint.get("conditions") or {}).get("ready") is not False


def _base(endpoint: Object) -> str:
    """Return the name of a pod without its random last five characters."""
    return str((endpoint.get("targetRef") or {}).get("name") or "")[:-5]


def _who(endpoint: Object) -> str:
    pod = endpoint.get("targetRef") or {}
    return str(pod.get("uid") or next(iter(endpoint.get("addresses") or ()), ""))


def _compact(value: Object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
