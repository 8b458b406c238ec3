"""The manifests of a group's own objects. Pure; HTTPRoutes are in `cluster.manifests.http_routes`."""

from collections.abc import Mapping

from gitops_bg.cluster.api.kinds import RELEASE_GROUPS, SERVICES, Object
from gitops_bg.cluster.observation.states import Meta
from gitops_bg.core import names
from gitops_bg.core.model.version import GroupKey

WRITTEN_ONCE = ("type", "externalTrafficPolicy")
"""The fields that a stable Service has from the first member that it follows, and that others may change."""
_COPIED = ("ports", "sessionAffinity", "sessionAffinityConfig", *WRITTEN_ONCE)
"""The fields of a member's Service that the stable one has as well, beside its selector."""


def group_labels(group: GroupKey) -> dict[str, str]:
    """The labels of what belongs to a group."""
    return {names.MANAGED_BY: names.MANAGER, names.RELEASE_GROUP: names.fit(group.name)}


def group_manifest(group: GroupKey, spec: Mapping[str, object], annotations: Mapping[str, str]) -> Object:
    """The ReleaseGroup, with the spec of group.yaml as it is written there."""
    metadata: Object = {"name": group.name, "namespace": group.namespace, "labels": group_labels(group)}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": RELEASE_GROUPS.api_version,
        "kind": RELEASE_GROUPS.name,
        "metadata": metadata,
        "spec": dict(spec),
    }


def stable_service(group: GroupKey, name: str, member: Object) -> Object:
    """The Service of a service's own name, which selects what the Service of a member selects now.

    The ReleaseGroup does not own it: deleting that by hand must not take the traffic along (decision 22).
    """
    spec = {key: member["spec"][key] for key in _COPIED if key in member["spec"]}
    spec["ports"] = [{key: port[key] for key in port if key != "nodePort"} for port in spec.get("ports") or ()]
    labels = {**group_labels(group), names.MEMBER: names.fit(member["metadata"]["name"])}
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.name,
        "metadata": {"name": name, "namespace": group.namespace, "labels": labels},
        "spec": {**spec, "selector": dict(member["spec"].get("selector") or {})},
    }


def owner_of(meta: Meta, labels: Mapping[str, str], group: GroupKey) -> str:
    """Whose an object is, in a sentence; empty where it is this group's."""
    if meta.controller is not None:
        return f"it is controlled by {meta.controller.kind} {meta.controller.name}"
    if labels.get(names.MANAGED_BY) == names.MANAGER and labels.get(names.RELEASE_GROUP) == names.fit(group.name):
        return ""
    wanted = " ".join(f"{key}={value}" for key, value in group_labels(group).items())
    manager = labels.get(names.MANAGED_BY)
    if other := owner_in(labels):
        return f"it belongs to {other}"  # Labels would hand it over, and leave the other's routes where they are.
    return (
        f"it is {f'managed by {manager}' if manager else 'made by somebody else'}; to hand it over, label it {wanted}"
    )


def owner_in(labels: Mapping[str, str]) -> str:
    """The release group or the app of ours that labels name; empty where they name none."""
    if labels.get(names.MANAGED_BY) != names.MANAGER:
        return ""
    if group := labels.get(names.RELEASE_GROUP):
        return f"the release group {group}"
    return f"the app {app}" if (app := labels.get(names.APP)) else ""
