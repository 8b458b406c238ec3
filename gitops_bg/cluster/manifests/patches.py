"""The JSON patches that move traffic and scale: compare-and-swap, so that nobody's decision is overwritten. Pure.

A JSON patch is carried out as a whole or not at all; its ``test`` makes the API server refuse where the object has
changed since the decision (pitfalls.md §1.4, §7; RFC 6902 §4.6).
"""

from collections.abc import Sequence

from gitops_bg.cluster.api.kinds import NAMESPACES, Object
from gitops_bg.cluster.manifests.adoption import before_in, before_of
from gitops_bg.cluster.manifests.render import with_protocols
from gitops_bg.cluster.observation.drift import ports_are
from gitops_bg.core import names
from gitops_bg.core.model.actions import HandBack, MarkService, PointPreview, ScaleReplicaSet, SwitchTraffic
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.text.foreign_json import read_json

_SELECTOR = "/spec/selector"
_PORTS = "/spec/ports"
_REPLICAS = "/spec/replicas"
_NODES = "/spec/template/spec/nodeSelector"


def unchanged(version: str) -> list[Object]:
    """Only if nobody has written to the object since this version of it."""
    return [{"op": "test", "path": "/metadata/resourceVersion", "value": version}]


def change_selector(app: AppKey, action: SwitchTraffic | PointPreview, live: Object) -> list[Object]:
    """Move a Service of ours from exactly the expected selector to the pods of another version, with its ports.

    ``live`` is the spec of the observed Service: ports that are right stay untouched.
    """
    expected = dict(action.expected_selector) or None
    wanted = {"ports": read_json(action.ports)} if action.ports else {}
    return [
        *_still_ours(app),
        {"op": "test", "path": _SELECTOR, "value": expected},
        {"op": "add", "path": _SELECTOR, "value": names.selector(app, action.digest)},
        *_replace_ports(live, with_protocols(wanted)),
    ]


def take_over(action: SwitchTraffic, live: Object, manifest: Object) -> list[Object]:
    """Make a Service ours and move it to our pods, all in one write, from exactly the state that was read.

    What it had before stays in an annotation.
    """
    expected = dict(action.expected_selector) or None
    annotations = {**(live["metadata"].get("annotations") or {}), names.BEFORE_ADOPTION: before_of(live)}
    return [
        {"op": "test", "path": _SELECTOR, "value": expected},
        *adopt_service(live, manifest),
        {"op": "add", "path": "/metadata/annotations", "value": annotations},
    ]


def hand_back(app: AppKey, action: HandBack, live: Object, app_uid: str) -> list[Object]:
    """Give a Service of ours the selector, the ports and the manager that it had before it was taken over, and let it
    go, all in one write.
    """
    metadata = live["metadata"]
    annotations = dict(metadata.get("annotations") or {})
    before = before_in(annotations)
    labels = {key: text for key, text in metadata["labels"].items() if key not in (names.APP, names.MANAGED_BY)}
    labels |= {names.MANAGED_BY: before.managed_by} if before.managed_by else {}
    ours = {app_uid, *_anchors(metadata, app_uid)}
    owners = [each for each in metadata.get("ownerReferences") or () if each["uid"] not in ours]
    kept = {key: text for key, text in annotations.items() if key not in (names.BEFORE_ADOPTION, names.WITHDRAWN)}
    return [
        *_still_ours(app),
        *unchanged(metadata["resourceVersion"]),
        {"op": "test", "path": _SELECTOR, "value": dict(action.expected_selector) or None},
        {"op": "add", "path": _SELECTOR, "value": dict(action.selector)},
        {"op": "add", "path": "/metadata/labels", "value": labels},
        {"op": "add", "path": "/metadata/annotations", "value": kept},
        {"op": "add", "path": "/metadata/ownerReferences", "value": owners},
        *_replace_ports(live["spec"], {"ports": list(before.ports)}),
    ]


def _anchors(metadata: Object, app_uid: str) -> list[str]:
    """The uid of the namespace, where we made it an owner beside us (``execution.anchors``)."""
    owners = metadata.get("ownerReferences") or ()
    ours = any(each["uid"] == app_uid for each in owners)
    return [each["uid"] for each in owners if ours and each["kind"] == NAMESPACES.name]


def mark_service(app: AppKey, action: MarkService, live: Object) -> list[Object]:
    """Write the mark of a withdrawn switch into a Service of ours, or one that the switch would have taken over, unless
    somebody moved it; the rest stays unchanged.
    """
    annotations = {**(live["metadata"].get("annotations") or {}), names.WITHDRAWN: action.withdrawn}
    return [
        *([] if action.adopts else _still_ours(app)),
        *unchanged(live["metadata"]["resourceVersion"]),
        {"op": "test", "path": _SELECTOR, "value": dict(action.expected_selector) or None},
        {"op": "add", "path": "/metadata/annotations", "value": annotations},
    ]


def replace_selector(app: AppKey, live: Object, manifest: Object) -> list[Object]:
    """Set the selector of a Service of ours to exactly that of its manifest, unless somebody moved it meanwhile."""
    return [
        *_still_ours(app),
        {"op": "test", "path": _SELECTOR, "value": live["spec"].get("selector")},
        {"op": "add", "path": _SELECTOR, "value": manifest["spec"]["selector"]},
    ]


def replace_ports(live: Object, manifest: Object) -> list[Object]:
    """Set the ports of a Service to exactly those of its manifest, with its selector, unless somebody wrote it
    meanwhile.

    Server-side apply merges ports by number and protocol: where somebody changed the number of a port, the Service
    would get two ports of one name, and the apply is refused. Empty where the ports are right.
    """
    ports = _replace_ports(live["spec"], manifest["spec"])
    if not ports:
        return []
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
        {"op": "add", "path": _SELECTOR, "value": manifest["spec"]["selector"]},
        *ports,
    ]


def adopt_service(live: Object, manifest: Object) -> list[Object]:
    """Give a Service our labels, owner, selector and ports, unless somebody wrote it meanwhile; leave the rest
    unchanged.
    """
    metadata, ours = live["metadata"], manifest["metadata"]
    uids = {each["uid"] for each in ours["ownerReferences"]}
    owners = metadata.get("ownerReferences") or ()
    others = [each for each in owners if not each.get("controller") and each["uid"] not in uids]
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
        {"op": "add", "path": "/metadata/labels", "value": {**(metadata.get("labels") or {}), **ours["labels"]}},
        {"op": "add", "path": "/metadata/ownerReferences", "value": [*others, *ours["ownerReferences"]]},
        {"op": "add", "path": _SELECTOR, "value": manifest["spec"]["selector"]},
        *_replace_ports(live["spec"], manifest["spec"]),
    ]


def _replace_ports(live: Object, wanted: Object) -> list[Object]:
    """Replace the whole list of ports where the live one differs; both arguments are specs of a Service."""
    before, ports = live.get("ports") or [], wanted.get("ports") or []
    if not ports or ports_are(before, ports):
        return []
    return [{"op": "add", "path": _PORTS, "value": [_with_node_port(port, before) for port in ports]}]


def _with_node_port(port: Object, before: Sequence[Object]) -> Object:
    """A port with the node port that it had under its name: clients outside the cluster know that number."""
    had = next((each for each in before if each.get("name") == port.get("name") and each.get("nodePort")), None)
    return {**port, "nodePort": had["nodePort"]} if had and "nodePort" not in port else port


def change_replicas(app: AppKey, action: ScaleReplicaSet) -> list[Object]:
    """Scale a ReplicaSet of ours from exactly the replicas it was seen with."""
    return [
        *_still_ours(app),
        {"op": "test", "path": _REPLICAS, "value": action.current},
        {"op": "replace", "path": _REPLICAS, "value": action.replicas},
    ]


def change_nodes(app: AppKey, action: ScaleReplicaSet, live: Object) -> list[Object]:
    """Put a DaemonSet of ours on its nodes, or take it off them, from exactly the node selector that was read."""
    before = live["spec"]["template"]["spec"].get("nodeSelector") or {}
    kept = {key: value for key, value in before.items() if key != names.NOWHERE}
    after = kept if action.replicas else {**kept, names.NOWHERE: "true"}
    change = {"op": "add", "path": _NODES, "value": after} if after else {"op": "remove", "path": _NODES}
    test = {"op": "test", "path": _NODES, "value": before or None}
    return [] if after == before else [*_still_ours(app), test, change]


def change_annotation(app: AppKey, annotation: str, current: str, text: str) -> list[Object]:
    """Change an annotation of an object of ours from exactly the observed value; an empty text removes it."""
    path = f"/metadata/annotations/{_escaped(annotation)}"
    change = {"op": "replace", "path": path, "value": text} if text else {"op": "remove", "path": path}
    return [*_still_ours(app), {"op": "test", "path": path, "value": current}, change]


def _still_ours(app: AppKey) -> list[Object]:
    labels = {names.MANAGED_BY: names.MANAGER, names.APP: names.app_label(app)}
    return [
        {"op": "test", "path": f"/metadata/labels/{_escaped(label)}", "value": value} for label, value in labels.items()
    ]


def _escaped(key: str) -> str:
    """A key as part of a JSON pointer (RFC 6901 §3).

    >>> _escaped("gitops-bg.dev/app")
    'gitops-bg.dev~1app'
    """
    return key.replace("~", "~0").replace("/", "~1")
