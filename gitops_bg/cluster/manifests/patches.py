"""The JSON patches that move traffic and scale: compare-and-swap, so that nobody's decision is overwritten. Pure.

A JSON patch is carried out as a whole or not at all; its ``test`` makes the API server refuse where the object has
changed since the decision (pitfalls.md §1.4, §7; RFC 6902 §4.6).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from gitops_bg.cluster.api.kinds import NAMESPACES, Object
from gitops_bg.cluster.manifests.adoption import (
    before_in,
    before_of,
    given_back,
    is_of_before,
    routing_given_back,
    selects_by_us,
)
from gitops_bg.cluster.manifests.render import with_protocols
from gitops_bg.cluster.observation.additions import additions
from gitops_bg.cluster.observation.drift import ChangedField, Path, ports_are
from gitops_bg.cluster.observation.ownership import controlling_app
from gitops_bg.cluster.observation.states import meta_of
from gitops_bg.core import names
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.actions import (
    HandBack,
    MarkService,
    PointPreview,
    RepairSelector,
    ScaleReplicaSet,
    SwitchTraffic,
)
from gitops_bg.core.model.version import AppKey

_SELECTOR = "/spec/selector"
_PORTS = "/spec/ports"
_REPLICAS = "/spec/replicas"
_NODES = "/spec/template/spec/nodeSelector"


def unchanged(version: str) -> list[Object]:
    """Return the test that nobody has written to the object since this version of it."""
    return [{"op": "test", "path": "/metadata/resourceVersion", "value": version}]


def removals(live: Object | None, manifest: Object) -> list[Object]:
    """Take out of an object that was read just before what others added, which an apply leaves alone."""
    return without(live, additions(live, manifest)) if live is not None else []


def without(live: Object, fields: Iterable[ChangedField]) -> list[Object]:
    """Take these fields out of an object that was read just before, unless somebody changed what holds all of them.

    In one operation, however many they are: the API server takes 10,000 of them, and an item that is removed moves
    those behind it.
    """
    paths = [each.path for each in fields]
    if not paths:
        return []
    shared = _shared([path[:-1] for path in paths])
    pointer, held = _held(live, shared)
    left = _pruned(held, [path[len(shared) :] for path in paths])
    return [{"op": "test", "path": pointer, "value": held}, {"op": "replace", "path": pointer, "value": left}]


def _shared(paths: Sequence[Path]) -> Path:
    """Return the steps that all of these begin with."""
    same = takewhile(lambda steps: all(step == steps[0] for step in steps), zip(*paths, strict=False))
    return tuple(steps[0] for steps in same)


def _held(live: Any, path: Path) -> tuple[str, Any]:
    """Return the JSON pointer of a place, and what is there."""
    pointer = ""
    for step in path:
        at = step if isinstance(step, str) else next(place for place, item in enumerate(live) if item is step.item)
        pointer, live = f"{pointer}/{_escaped(str(at))}", live[at]
    return pointer, live


def _pruned(held: Any, paths: Iterable[Path]) -> Any:
    """Return what is left of a value without what is at these paths; what is below one of them goes with it."""
    below: dict[str | int, list[Path]] = {}
    for step, *rest in paths:
        below.setdefault(step if isinstance(step, str) else id(step.item), []).append(tuple(rest))
    gone = {place for place, rests in below.items() if () in rests}
    if isinstance(held, Mapping):
        return {key: _pruned(each, below.get(key, ())) for key, each in held.items() if key not in gone}
    if isinstance(held, list):
        return [_pruned(each, below.get(id(each), ())) for each in held if id(each) not in gone]
    return held


def change_selector(app: AppKey, action: SwitchTraffic | PointPreview | RepairSelector, live: Object) -> list[Object]:
    """Move a Service of ours from exactly the expected selector to the pods of another version, with its ports, unless
    somebody wrote it since it was read (``live``): ports that are right stay untouched.
    """
    expected = dict(action.expected_selector) or None
    wanted = {"ports": read_json(action.ports)} if action.ports else {}
    return [
        *unchanged(live["metadata"]["resourceVersion"]),
        *_still_ours(app, live),
        {"op": "test", "path": _SELECTOR, "value": expected},
        *keep_before(live),
        {"op": "add", "path": _SELECTOR, "value": names.selector(app, action.digest)},
        *_replace_ports(live["spec"], with_protocols(wanted)),
    ]


def take_ownership(action: SwitchTraffic | PointPreview, live: Object, manifest: Object) -> list[Object]:
    """Make a Service ours and move it to our pods, all in one write, from exactly the state that was read.

    What it had before stays in an annotation; of one that another app of ours had, what it had before that.
    """
    expected = dict(action.expected_selector) or None
    annotations = {**(live["metadata"].get("annotations") or {})}
    if not selects_by_us(expected):
        annotations[names.BEFORE_ADOPTION] = before_of(live)
    return [
        {"op": "test", "path": _SELECTOR, "value": expected},
        *adopt_service(live, manifest),
        {"op": "add", "path": "/metadata/annotations", "value": annotations},
        *_claim_selector(live),
    ]


def hand_back(app: AppKey, action: HandBack, live: Object, app_uid: str) -> list[Object]:
    """Give a Service of ours the selector, the ports, the labels and the annotations that it had before it was taken
    over, and let it go, all in one write.
    """
    before = before_in(live["metadata"].get("annotations") or {})
    manager = {names.MANAGED_BY: before.managed_by} if before.managed_by else {}
    labels = given_back(live, "labels", before.labels) | manager
    annotations = given_back(live, "annotations", before.annotations)
    return [
        *_still_ours(app, live),
        *_let_go(live, app_uid, labels, annotations),
        {"op": "test", "path": _SELECTOR, "value": dict(action.expected_selector) or None},
        {"op": "add", "path": _SELECTOR, "value": dict(action.selector)},
        *_replace_ports(live["spec"], {"ports": list(before.ports)}),
        *_change_routing(live["spec"], routing_given_back(live, before)),
    ]


def _change_routing(live: Object, wanted: Mapping[str, Any]) -> list[Object]:
    return [
        {"op": "remove", "path": f"/spec/{name}"}
        if value is None
        else {"op": "add", "path": f"/spec/{name}", "value": value}
        for name, value in wanted.items()
        if value is not None or name in live
    ]


def disown(live: Object, app_uid: str) -> list[Object]:
    """Let an object go as it is: our labels, annotations and owners leave its metadata.

    Its pods keep the labels that the selectors of ReplicaSets and Services name.
    """
    return _let_go(live, app_uid, given_back(live, "labels", None), given_back(live, "annotations", None))


def _let_go(live: Object, app_uid: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> list[Object]:
    """Leave an object to others, with these labels and annotations, and with the owners that are not ours."""
    metadata = live["metadata"]
    ours = {app_uid, *_anchors(metadata, app_uid)}
    owners = [each for each in metadata.get("ownerReferences") or () if each["uid"] not in ours]
    return [
        *unchanged(metadata["resourceVersion"]),
        {"op": "add", "path": "/metadata/labels", "value": labels},
        {"op": "add", "path": "/metadata/annotations", "value": annotations},
        {"op": "add", "path": "/metadata/ownerReferences", "value": owners},
    ]


def _anchors(metadata: Object, app_uid: str) -> list[str]:
    """Return the uid of the namespace, where we made it an owner beside us (``execution.writer``)."""
    owners = metadata.get("ownerReferences") or ()
    ours = any(each["uid"] == app_uid for each in owners)
    return [each["uid"] for each in owners if ours and each["kind"] == NAMESPACES.name]


def mark_service(app: AppKey, action: MarkService, live: Object) -> list[Object]:
    """Write the mark of a withdrawn switch into a Service of ours, or one that the switch would have taken over, unless
    somebody moved it; the rest stays unchanged.
    """
    annotations = {**(live["metadata"].get("annotations") or {}), names.WITHDRAWN: action.withdrawn}
    return [
        *([] if action.adopts else _still_ours(app, live)),
        *unchanged(live["metadata"]["resourceVersion"]),
        {"op": "test", "path": _SELECTOR, "value": dict(action.expected_selector) or None},
        {"op": "add", "path": "/metadata/annotations", "value": annotations},
    ]


def replace_selector(app: AppKey, live: Object, manifest: Object) -> list[Object]:
    """Set the selector of a Service of ours to exactly that of its manifest, unless somebody moved it meanwhile."""
    return [
        *_still_ours(app, live),
        {"op": "test", "path": _SELECTOR, "value": live["spec"].get("selector")},
        {"op": "add", "path": _SELECTOR, "value": manifest["spec"]["selector"]},
    ]


def prepare_service(live: Object, manifest: Object) -> list[Object]:
    """Return what no apply can do to a Service of ours: set its ports to exactly those of its manifest, with its
    selector, and take out what others added; and keep what it had before, where labels just handed it over. Unless
    somebody wrote it meanwhile; empty where nothing of that is to be done.

    Server-side apply merges ports by number and protocol: where somebody changed the number of a port, the Service
    would get two ports of one name, and the apply is refused. The version is the only test: of a Service that is a name
    of something else, newer API servers show another spec than the one they patch.
    """
    additional = (each for each in removals(live, manifest) if each["op"] != "test")
    changes = [*keep_before(live), *additional]
    if ports := _replace_ports(live["spec"], manifest["spec"]):
        changes += [{"op": "add", "path": _SELECTOR, "value": manifest["spec"]["selector"]}, *ports]
    return [*unchanged(live["metadata"]["resourceVersion"]), *changes] if changes else []


def keep_before(live: Object) -> list[Object]:
    """Keep in a Service what it has, where somebody's labels made it ours, and this is the first write of ours."""
    if not is_of_before(live):
        return []
    value = {**(live["metadata"].get("annotations") or {}), names.BEFORE_ADOPTION: before_of(live)}
    return [{"op": "add", "path": "/metadata/annotations", "value": value}, *_claim_selector(live)]


def _claim_selector(live: Object) -> list[Object]:
    """Take the selector from all who manage it, in the write by which the Service becomes ours: API servers may leave
    it to them beside us, key by key, and it would look as if they wrote what we write.

    https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership
    """
    entries = live["metadata"].get("managedFields") or []
    left = [_without_selector(each) for each in entries if each.get("manager") != names.FIELD_MANAGER]
    ours = [each for each in entries if each.get("manager") == names.FIELD_MANAGER]
    kept = [*ours, *(each for each in left if each["fieldsV1"])]
    if not kept or kept == entries:
        return []
    return [{"op": "add", "path": "/metadata/managedFields", "value": kept}]


def _without_selector(entry: Object) -> Object:
    fields = entry.get("fieldsV1") or {}
    spec = {key: below for key, below in (fields.get("f:spec") or {}).items() if key != "f:selector"}
    others = {key: below for key, below in fields.items() if key != "f:spec"}
    return {**entry, "fieldsV1": others | ({"f:spec": spec} if spec else {})}


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
    """Return a port with the node port that it had under its name: clients outside the cluster know that number."""
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
    return [] if after == before else [*_still_ours(app, live), test, change]


def change_annotation(app: AppKey, annotation: str, current: str, text: str) -> list[Object]:
    """Change an annotation of an object of ours from exactly the observed value; an empty text removes it."""
    path = f"/metadata/annotations/{_escaped(annotation)}"
    change = {"op": "replace", "path": path, "value": text} if text else {"op": "remove", "path": path}
    return [*_still_ours(app), {"op": "test", "path": path, "value": current}, change]


def _still_ours(app: AppKey, live: Object | None = None) -> list[Object]:
    """Return the tests that the object is still ours, by what makes it ours (``cluster.observation.ownership``): its
    controller, if it was read and has one. Its labels are anybody's to write, and must not hold up a switch.
    """
    if live is not None and controlling_app(meta_of(live)) == app:
        return [{"op": "test", "path": "/metadata/ownerReferences", "value": live["metadata"]["ownerReferences"]}]
    labels = {names.MANAGED_BY: names.MANAGER, names.APP: names.app_label(app)}
    return [
        {"op": "test", "path": f"/metadata/labels/{_escaped(label)}", "value": value} for label, value in labels.items()
    ]


def _escaped(key: str) -> str:
    """Return a key as part of a JSON pointer (RFC 6901 §3).

    >>> _escaped("gitops-bg.dev/app")
    'gitops-bg.dev~1app'
    """
    return key.replace("~", "~0").replace("/", "~1")
