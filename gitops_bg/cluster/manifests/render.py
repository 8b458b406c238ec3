"""The manifests of an app: what each live object should look like. Pure; sends nothing and reads nothing.

Server-side apply takes the whole intent each time (pitfalls.md §1.4), so each manifest is complete and leaves out what
the server or another manager decides.
"""

from collections.abc import Mapping
from typing import Any

from gitops_bg.cluster.api.kinds import (
    APPS,
    CONFIGURATION,
    RELEASE_GROUPS,
    SERVICES,
    WORKLOADS,
    Kind,
    Object,
)
from gitops_bg.cluster.manifests import pod_templates
from gitops_bg.cluster.manifests.pod_templates import (
    EphemeralMetadata,
    add_anti_affinity,
    dress,
    written_anti_affinity,
    written_metadata,
)
from gitops_bg.cluster.observation.drift import QUANTITIES
from gitops_bg.cluster.observation.ownership import UNOWNED, Ownership
from gitops_bg.core import names
from gitops_bg.core.checks.ports import derived_ports
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.actions import CreateReplicaSet
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey, Snapshot, WorkloadKind
from gitops_bg.spec.manifests.configuration import Configuration, redirected, text_of

_HELD = ("type", "data", "binaryData")


def app_manifest(app: AppKey, body: Mapping[str, Any], us: Ownership = UNOWNED) -> Object:
    """Return the BlueGreenDeployment with the spec of Git, and the repository that it follows."""
    manifest = {**_head(APPS, app, app.name), "spec": dict(body)}
    if us.annotations:
        manifest["metadata"] = {**manifest["metadata"], "annotations": us.annotations}
    return manifest


def replica_set_manifest(
    app: AppKey,
    app_uid: str,
    name: str,
    action: CreateReplicaSet,
    worn: EphemeralMetadata | None = None,
    own: pod_templates.Labels | None = None,
) -> Object:
    """Return the workload of a version: its pods are the snapshot, with our labels and those of its role added.

    ``worn`` is the role metadata to keep in its annotation; None for a ReplicaSet without pods yet. ``own`` are the
    labels by which the target selects its pods. The snapshot and its full digest are in annotations, so that the object
    alone identifies the version.
    """
    digest = action.snapshot.digest
    labels = version_labels(app, digest, str(action.color), str(action.number))
    manifest = _head(WORKLOADS[action.snapshot.workload], app, name)
    manifest["metadata"] |= {
        "labels": {names.MANAGED_BY: names.MANAGER, **labels},
        "annotations": {
            names.FULL_DIGEST: digest,
            names.SNAPSHOT: action.snapshot.text,
            **_unless_empty(names.CONFIGURATION, text_of(action.snapshot.configuration)),
            **_unless_empty(names.ANTI_AFFINITY, written_anti_affinity(action.anti_affinity)),
            **_unless_empty(names.OWN_PODS, pod_templates.written_labels(own or {})),
            **_unless_empty(
                names.POD_METADATA,
                written_metadata(worn or EphemeralMetadata(action.metadata)),
            ),
        },
        "ownerReferences": [owner_reference(app, app_uid)],
    }
    narrowed = pod_templates.narrow(pod_template(app, action.snapshot, labels), app, digest, own or {})
    template = dress(narrowed, action.metadata, labels)
    manifest["spec"] = {
        **_sized(action, template),
        "minReadySeconds": action.min_ready_seconds,
        "selector": {"matchLabels": names.selector(app, digest)},
        "template": add_anti_affinity(template, app, action.anti_affinity),
    }
    return manifest


def _sized(action: CreateReplicaSet, template: Object) -> Object:
    """Return what says how many pods there are. Of a DaemonSet its template does, which a change of does not restart
    pods.
    """
    if action.snapshot.workload is WorkloadKind.REPLICA_SET:
        return {"replicas": action.replicas}
    if not action.replicas:
        template["spec"]["nodeSelector"] = {**(template["spec"].get("nodeSelector") or {}), names.NOWHERE: "true"}
    return {"updateStrategy": {"type": "OnDelete"}}


def _unless_empty(annotation: str, text: str) -> dict[str, str]:
    return {annotation: text} if text else {}


def pod_template(app: AppKey, snapshot: Snapshot, labels: Mapping[str, str]) -> Object:
    """Return the pod template of a snapshot with our labels on top of its own; its configuration comes from the
    copies.
    """
    copies = {(ref.kind, ref.name): names.configuration_name(app, ref) for ref in snapshot.configuration}
    template: Object = with_quantities(redirected(read_json(snapshot.text), copies))
    metadata = template.setdefault("metadata", {})
    metadata["labels"] = {**metadata.get("labels", {}), **labels}
    spec = template.get("spec") or {}
    for container in [*spec.get("containers", []), *spec.get("initContainers", [])]:
        container.update(with_protocols(container))
    return template


def configuration_manifest(app: AppKey, app_uid: str, configuration: Configuration) -> Object:
    """Return the immutable copy of a ConfigMap or Secret that the pods with this content use."""
    ref = configuration.ref
    manifest = _head(CONFIGURATION[ref.kind], app, names.configuration_name(app, ref))
    manifest["metadata"] |= {
        "annotations": {names.COPY_OF: ref.name, names.CONTENT_DIGEST: ref.digest},
        "ownerReferences": [owner_reference(app, app_uid)],
    }
    held = {key: configuration.content[key] for key in _HELD if key in configuration.content}
    return {**manifest, **held, "immutable": True}


def version_labels(app: AppKey, digest: str, color: str, number: str) -> dict[str, str]:
    """Return the labels that identify pods and ReplicaSets of one version."""
    return {**names.selector(app, digest), names.COLOR: color, names.VERSION: number}


def service_manifest(
    app: AppKey,
    app_uid: str,
    name: str,
    digest: str,
    given: Mapping[str, Any] | None,
    snapshot: str,
    ports: str = "",
) -> Object:
    """Return a Service that selects one version: the manifest from Git (``given``), or one derived from the snapshot.

    ``ports`` is the JSON of the version's ports, where they may differ from Git's or the snapshot's.
    """
    manifest = _head(SERVICES, app, name)
    source = given or {}
    theirs = source.get("metadata") or {}
    metadata = manifest["metadata"]
    metadata["labels"] = {**(theirs.get("labels") or {}), **metadata["labels"]}
    if theirs.get("annotations"):
        metadata["annotations"] = dict(theirs["annotations"])
    metadata["ownerReferences"] = [owner_reference(app, app_uid)]
    spec = dict(source.get("spec") or {})
    listed = read_json(ports) if ports else None if spec else _derived_ports(name, snapshot)
    if listed:
        spec["ports"] = listed
    manifest["spec"] = {**with_protocols(spec), "selector": names.selector(app, digest)}
    return manifest


def _derived_ports(service: str, snapshot: str, file: str = "target.yaml") -> list[Object]:
    """Derive the ports from the template. Raises `InvalidInput` where it declares none: a Service needs a port."""
    ports = derived_ports(snapshot)
    if not ports:
        raise InvalidInput(
            Problem(
                file,
                f"no container declares a port, so no Service {service} can be made for it",
                field="spec.template.spec.containers[].ports",
                remedy=f"declare a containerPort, or add a manifest of Service {service} to the folder",
            )
        )
    found: list[Object] = read_json(ports)
    return found


def owner_reference(owner: AppOrGroup, uid: str) -> Object:
    """Return our BlueGreenDeployment, or ReleaseGroup, as the controller of an object: deleting it deletes the object.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
    """
    kind = RELEASE_GROUPS if isinstance(owner, GroupKey) else APPS
    return {"apiVersion": kind.api_version, "kind": kind.name, "name": owner.name, "uid": uid, "controller": True}


def subject_label(subject: AppOrGroup) -> dict[str, str]:
    """Return the label that says whose an object of an analysis is."""
    return {names.RELEASE_GROUP if isinstance(subject, GroupKey) else names.APP: names.fit(subject.name)}


def digest_in(app: AppKey, selector: Mapping[str, str]) -> str:
    """Return the short digest in a selector that is exactly one of ours; else empty."""
    digest = selector.get(names.DIGEST, "")
    return digest if dict(selector) == {names.APP: names.app_label(app), names.DIGEST: digest} else ""


def selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Return whether a Service with this selector selects pods with these labels (an empty selector selects
    nothing).
    """
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _head(kind: Kind, app: AppKey, name: str) -> Object:
    labels = {names.MANAGED_BY: names.MANAGER, names.APP: names.app_label(app)}
    metadata = {"name": name, "namespace": app.namespace, "labels": labels}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}


def with_protocols(holder: Mapping[str, Any]) -> Object:
    """Return ports with an explicit protocol: server-side apply merges by it and knows no default.

    https://github.com/kubernetes-sigs/structured-merge-diff/issues/130
    """
    ports = holder.get("ports")
    return {**holder, "ports": [{"protocol": "TCP", **port} for port in ports]} if ports else dict(holder)


def with_quantities(value: Any, field: str = "") -> Any:
    """Return resource quantities as text: server-side apply of older servers accepts no numbers for them."""
    if isinstance(value, dict):
        return {key: with_quantities(item, field if field in QUANTITIES else key) for key, item in value.items()}
    if isinstance(value, list):
        return [with_quantities(item) for item in value]
    return str(value) if field in QUANTITIES and isinstance(value, (int, float)) else value
