"""What is more in a live object than was applied: what others added where that is not theirs to do, which no apply of
the agent takes out, and what the server itself made of the last apply; and how it differs altogether, for people.

The API server fills in dozens of fields, which differ between releases, so a comparison of values has to tolerate all
that is more; ``metadata.managedFields`` says what of it somebody wrote (docs/decisions/0066). The live state right
after an apply of our whole intent is no drift either: repairing a normalisation that `drift` does not know again and
again would be a hot loop (DESIGN §5, I5).
"""

from collections.abc import Hashable, Iterator, Mapping
from itertools import islice
from typing import Any

from gitops_bg.cluster.api.kinds import APPS, RELEASE_GROUPS, REPLICA_SETS, SERVICES, WORKLOADS, Object
from gitops_bg.cluster.manifests.adoption import before_in, is_of_before, routing_of
from gitops_bg.cluster.observation.drift import (
    QUANTITIES,
    ChangedField,
    ListItem,
    Path,
    contains,
    item_in,
    ports_are,
)
from gitops_bg.cluster.observation.states import AppState, ReplicaSetState, ServiceState
from gitops_bg.core import names
from gitops_bg.core.foreign_text import HOLDERS
from gitops_bg.core.model.auxiliary import ROUTES
from gitops_bg.spec.manifests.merge_keys import LIST_KEYS, item_key, merge_keys

_TEMPLATE, _TYPE, _OWNERS = ("spec", "template"), "type", "f:ownerReferences"
_OURS = (APPS.name, RELEASE_GROUPS.name)
"""The kinds whose spec is the agent's alone: the API server fills nothing in there, and Git says all of it."""
_RUNNING = frozenset(kind.name for kind in WORKLOADS.values())
_SAME = {"serviceAccount": "serviceAccountName"}
"""The old names of fields: the API server fills in each from the other, so they are there, or go, together."""
_DOUBLE = {"type": "Percent", "value": 100, "periodSeconds": 15}
_FOUR_PODS = {"type": "Pods", "value": 4, "periodSeconds": 15}
_USED = {"type": "Utilization", "averageUtilization": 80}
_FILLED_IN: Mapping[str, tuple[object, ...]] = {
    "allowPrivilegeEscalation": (True,),
    "apiVersion": ("v1",),
    "automountServiceAccountToken": (True,),
    "defaultMode": (420,),
    "dnsPolicy": ("ClusterFirst",),
    "enableServiceLinks": (True,),
    "expirationSeconds": (3600,),
    "failureThreshold": (3,),
    "hostUsers": (True,),
    "imagePullPolicy": ("Always", "IfNotPresent"),
    "periodSeconds": (10,),
    "protocol": ("TCP",),
    "scaleDown.policies": ([_DOUBLE],),
    "scaleDown.stabilizationWindowSeconds": (300,),
    "scaleUp.policies": ([_FOUR_PODS, _DOUBLE],),
    "schedulerName": ("default-scheduler",),
    "scheme": ("HTTP",),
    "selectPolicy": ("Max",),
    "spec.metrics": ([{"type": "Resource", "resource": {"name": "cpu", "target": _USED}}],),
    "spec.minReplicas": (1,),
    "spec.restartPolicy": ("Always",),
    "successThreshold": (1,),
    "targetCPUUtilizationPercentage": (80,),
    "terminationGracePeriodSeconds": (30,),
    "terminationMessagePath": ("/dev/termination-log",),
    "terminationMessagePolicy": ("File",),
    "timeoutSeconds": (1,),
}
"""What a field of a pod template, or of an autoscaler, is where nobody writes it, if that is not nothing: who writes
the same adds nothing. With the field above it where its name alone does not say which is meant: the ``restartPolicy``
of a container is filled in nowhere, and makes a sidecar of it.

https://github.com/kubernetes/kubernetes/blob/v1.31.0/pkg/apis/core/v1/defaults.go
https://github.com/kubernetes/kubernetes/blob/v1.31.0/pkg/apis/autoscaling/v2/defaults.go
"""


def additions(live: Mapping[str, Any], manifest: Object) -> tuple[ChangedField, ...]:
    """Return what other field managers added to a live object of ours, beyond its manifest.

    Of a Service only what says which pods get requests: how it is reached from outside is for load balancers to say,
    but not that it is a name of something else, whose type goes with that name. Of an object of our own kinds all that
    no apply takes out, whoever wrote it. A route is compared as a whole, and metadata is for everybody.
    """
    kind, spec = manifest["kind"], manifest.get("spec")
    if spec is None or kind in ROUTES:
        return ()
    if kind in _RUNNING:
        return additions_to_pods(live, spec["template"])
    if kind in _OURS:
        ours = applied_fields(live).get("f:spec") or {}
        return tuple(_beyond_ours(ours, live.get("spec") or {}, spec, ("spec",)))
    if kind == SERVICES.name:
        added = added_to_service(live)
        gone = (name for name in added if name not in spec or name == _TYPE)
        return tuple(ChangedField(("spec", name), live["spec"][name], None) for name in gone)
    return _beyond_at(live, spec, ("spec",))


def additions_to_pods(live: Mapping[str, Any], template: Object) -> tuple[ChangedField, ...]:
    """Return what other field managers added to the pod template of a live workload, beyond ``template``: a container,
    a variable, a node selector, with which the pods would not be those that were checked.

    >>> fields = {"f:spec": {"f:template": {"f:spec": {"f:hostNetwork": {}}}}}
    >>> live = {"metadata": {"managedFields": [{"manager": "kubectl-edit", "fieldsV1": fields}]}}
    >>> live["spec"] = {"template": {"spec": {"hostNetwork": True, "dnsPolicy": "ClusterFirst"}}}
    >>> [each.change.text for each in additions_to_pods(live, {"spec": {}})]
    ['spec.template.spec.hostNetwork: - true']
    """
    return _beyond_at(live, template, _TEMPLATE)


def added_to_service(live: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields of a live Service that say which pods get requests, and that other field managers wrote since
    it is ours.

    One that was taken over keeps those that it had (``manifests.adoption``).

    >>> fields = {"f:spec": {"f:publishNotReadyAddresses": {}}}
    >>> live = {"metadata": {"managedFields": [{"manager": "kubectl-edit", "fieldsV1": fields}]}}
    >>> spec = {"publishNotReadyAddresses": True, "sessionAffinity": "None", "selector": {names.APP: "web"}}
    >>> added_to_service(live | {"spec": spec})
    ('publishNotReadyAddresses',)
    """
    said = routing_of(live.get("spec") or {})
    annotations = live["metadata"].get("annotations") or {}
    before = before_in(annotations).routing if names.BEFORE_ADOPTION in annotations else {}
    if not said or before is None or is_of_before(live):
        return ()
    theirs = {key for fields in _fields_of_others(live, ("spec",)) for key in fields}
    added = tuple(name for name in said if f"f:{name}" in theirs and name not in before)
    leads_away = "externalName" in added and live["spec"].get(_TYPE) == "ExternalName"
    return (*added, _TYPE) if leads_away else added


def _fields_of_others(live: Mapping[str, Any], at: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the sets of fields below a place that each other field manager owns."""
    for entry in live["metadata"].get("managedFields") or ():
        fields = entry.get("fieldsV1")
        for step in at:
            fields = fields.get(f"f:{step}") if isinstance(fields, Mapping) else None
        if entry.get("manager") != names.FIELD_MANAGER and isinstance(fields, Mapping):
            yield fields


def applied_fields(live: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields that are in the agent's last apply, as far as the API server knows; but for owners, of which
    others have some.
    """
    for entry in live["metadata"].get("managedFields") or ():
        if (entry.get("manager"), entry.get("operation")) == (names.FIELD_MANAGER, "Apply"):
            fields = entry.get("fieldsV1") or {}
            metadata = {key: each for key, each in fields.get("f:metadata", {}).items() if key != _OWNERS}
            return {**fields, "f:metadata": metadata}
    return {}


def left_git(applied: Mapping[str, Any], live: Any, wanted: Any, at: Path = ()) -> Iterator[ChangedField]:
    """Yield the fields of ``live`` that were ``applied`` by the agent and are wanted no more, whatever their values:
    the next apply takes them out. The items of lists are compared elsewhere (`drift.ports_are`).

    >>> applied = {"f:metadata": {"f:labels": {"f:team": {}}}}
    >>> live = {"metadata": {"labels": {"team": "shop"}}}
    >>> [each.field for each in left_git(applied, live, {"metadata": {"labels": {}}})]
    ['metadata.labels.team']
    >>> list(left_git(applied, live, live))
    []
    """
    below = _left_below(applied, live, wanted if isinstance(wanted, Mapping) else {}, at)
    if wanted is None and live is not None:
        whole = ChangedField(at, live, None)
        yield from (whole for _ in islice(below, 1)) if applied else (whole,)
    else:
        yield from below


def _left_below(applied: Mapping[str, Any], live: Any, wanted: Mapping[str, Any], at: Path) -> Iterator[ChangedField]:
    for key, below in applied.items() if isinstance(live, Mapping) else ():
        if (name := key.removeprefix("f:")) != key:
            yield from left_git(below, live.get(name), wanted.get(name), (*at, name))


def left_behind(live: Mapping[str, Any], answer: Mapping[str, Any], manifest: Object) -> tuple[ChangedField, ...]:
    """Return what an apply over ``live`` was to take out of the spec, and the ``answer`` still has.

    Kubernetes before 1.23 keeps ``behavior`` of an autoscaler in annotations of autoscaling/v1, in which its own
    controller writes; an apply then keeps what it should take out.
    """
    applied = {"f:spec": applied_fields(live).get("f:spec") or {}}
    before = {each.field: each.found for each in left_git(applied, live, manifest)}
    return tuple(each for each in left_git(applied, answer, manifest) if before.get(each.field) == each.found)


def _beyond_ours(
    applied: Mapping[str, Any], live: Mapping[str, Any], wanted: Mapping[str, Any], at: Path
) -> Iterator[ChangedField]:
    """Yield what is in a map of ours and is not wanted there, unless it was ``applied``: an apply without it takes it
    out.

    It does not do so of a map that is to be empty, of which Kubernetes before 1.22 makes null and refuses that.
    """
    for key, value in live.items():
        below, said = applied.get(f"f:{key}"), wanted.get(key)
        if isinstance(value, Mapping) and (isinstance(said, Mapping) or (said is None and below)):
            yield from _beyond_ours(below or {} if said != {} else {}, value, said or {}, (*at, key))
        elif said is None and below is None:
            yield ChangedField((*at, key), value, None)


def _beyond_at(live: Mapping[str, Any], wanted: Object, at: tuple[str, ...]) -> tuple[ChangedField, ...]:
    there: Any = live
    for step in at:
        there = there.get(step) or {}
    found: dict[str, ChangedField] = {}
    for fields in _fields_of_others(live, at):
        for each in _beyond(fields, there, wanted, at):
            found.setdefault(each.field, each)
    return tuple(found[field] for field in sorted(found))


def _beyond(fields: Mapping[str, Any], live: Any, wanted: Any, at: Path) -> Iterator[ChangedField]:
    """Yield what is below ``live`` and not below ``wanted``, of a set of fields that somebody owns."""
    if not fields:
        yield from _beyond_whole(live, wanted, at)
    elif isinstance(live, Mapping):
        yield from _beyond_fields(fields, live, wanted if isinstance(wanted, Mapping) else {}, at)
    elif isinstance(live, list):
        yield from _beyond_items(fields, live, wanted if isinstance(wanted, list) else [], at)


def _beyond_fields(
    fields: Mapping[str, Any], live: Mapping[str, Any], wanted: Mapping[str, Any], at: Path
) -> Iterator[ChangedField]:
    for key, below in fields.items():
        name = key.removeprefix("f:")
        if name == key:
            continue
        said = wanted.get(_SAME.get(name, name))
        beyond = _beyond(below, live.get(name), said, (*at, name))
        if said is None and isinstance(live.get(name), Mapping):
            # What the server fills in below goes with it, and what it refuses without it: ``behavior``, a probe.
            yield from (ChangedField((*at, name), live[name], None) for _ in islice(beyond, 1))
        else:
            yield from beyond
        for twin in (old for old, new in _SAME.items() if new == name):
            yield from _beyond_whole(live.get(twin), wanted.get(name), (*at, twin))


def _beyond_items(fields: Mapping[str, Any], live: list[Any], wanted: list[Any], at: Path) -> Iterator[ChangedField]:
    """Go once over both lists for each of the few sets of keys: an author may have thousands of items."""
    items: dict[tuple[str, ...], tuple[dict[Any, Any], dict[Any, Any]]] = {}
    for key, below in fields.items():
        said = item_in(key)
        keys = tuple(sorted(said))
        if keys not in LIST_KEYS:
            continue
        if keys not in items:
            items[keys] = _by_keys(live, keys), _by_keys(wanted, keys)
        there, known = items[keys]
        if (item := there.get(item_key(said, keys))) is None:
            continue
        step = ListItem(keys, item)
        if item_key(said, keys) in known:
            yield from _beyond(below, item, known[item_key(said, keys)], (*at, step))
        else:
            yield ChangedField((*at, step), item, None)


def _by_keys(items: list[Any], keys: tuple[str, ...]) -> dict[Any, Any]:
    return {item_key(item, keys): item for item in items if isinstance(item, Mapping)}


def _beyond_whole(live: Any, wanted: Any, at: Path) -> Iterator[ChangedField]:
    """Yield what differs of a value that somebody owns as a whole."""
    if at[-1] == names.NOWHERE:
        return  # The agent's own, and part of no version.
    if isinstance(live, Mapping) and (isinstance(wanted, Mapping) or names.NOWHERE in live):
        for key in live:
            yield from _beyond_whole(live[key], (wanted or {}).get(key), (*at, key))
    elif wanted is None and not _is_filled_in(live, at):
        yield ChangedField(at, live, None)


def _is_filled_in(value: Any, at: Path) -> bool:
    """Return whether a field has the value that it has where nobody writes it; that of most is nothing."""
    if value in ("", [], {}, None):
        return True
    above, field = at[-2], str(at[-1])
    filled = _FILLED_IN.get(f"{above}.{field}") if isinstance(above, str) else None
    filled = filled or _FILLED_IN.get(field)
    return value in filled if filled else not value


Fingerprint = tuple[Hashable, ...]


class AppliedStates:
    """Pairs of intent and resulting live state. Thread-safe: single dict operations."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], tuple[Fingerprint, Fingerprint]] = {}

    def add(self, state: ReplicaSetState | ServiceState | AppState, intent: Fingerprint) -> None:
        """Note that applying ``intent`` resulted in ``state``."""
        self._known[_key(state)] = (_fingerprint(state), intent)

    def covers(self, state: ReplicaSetState | ServiceState | AppState, intent: Fingerprint) -> bool:
        """Return whether this state is the result of this intent."""
        return self._known.get(_key(state)) == (_fingerprint(state), intent)


def intent_of(manifest: Object) -> Fingerprint:
    """Return a comparable form of a manifest."""
    return (repr(manifest),)


def _key(state: ReplicaSetState | ServiceState | AppState) -> tuple[str, str, str]:
    return type(state).__name__, state.meta.namespace, state.meta.name


def _fingerprint(state: ReplicaSetState | ServiceState | AppState) -> Fingerprint:
    if isinstance(state, ReplicaSetState):
        version = (state.full_digest, state.snapshot, state.configuration, state.color, state.number)
        return state.meta, state.meta.generation, version
    content = state.content if isinstance(state, ServiceState) else state.spec
    return state.meta, content


_METADATA = ("labels", "annotations", "ownerReferences")


_APART = ("apiVersion", "kind", "metadata", "status")


_MOST_ADDITIONS = 20
"""How many are said; all of them are removed."""


def changed_fields(live: Object, manifest: Object) -> tuple[ChangedField, ...]:
    """Return where a live object is not as its manifest, each place once; the size of a ReplicaSet is written by
    itself.

    >>> live = {"metadata": {}, "spec": {"maxReplicas": 3}}
    >>> (found,) = changed_fields(live, {"kind": "HorizontalPodAutoscaler", "metadata": {}, "spec": {"maxReplicas": 9}})
    >>> found.change.text
    'spec.maxReplicas: 3 → 9'
    """
    found: dict[str, ChangedField] = {}
    for each in (*_of_metadata(live["metadata"], manifest["metadata"]), *_of_content(live, manifest)):
        found.setdefault(each.field, each)
    return tuple(found.values())


def _of_metadata(live: Object, manifest: Object) -> Iterator[ChangedField]:
    for key in _METADATA:
        if key in manifest:
            yield from _below(live.get(key), manifest[key], ("metadata", key))


def _of_content(live: Object, manifest: Object) -> Iterator[ChangedField]:
    for key in manifest:
        if key == "spec" and manifest["kind"] == SERVICES.name:
            yield from _of_service(live.get(key) or {}, manifest[key])
        elif key == "spec" and manifest["kind"] == REPLICA_SETS.name:
            kept = {each: value for each, value in manifest[key].items() if each != "replicas"}
            yield from _below(live.get(key), kept, (key,))
        elif key == "spec" and manifest["kind"] in ROUTES:
            yield from _key_by_key(live, manifest, key)
        elif key not in _APART and key.lower() not in HOLDERS:
            yield from _below(live.get(key), manifest[key], (key,))
    for key in sorted({*live, *manifest}):
        if key.lower() in HOLDERS:
            yield from _key_by_key(live, manifest, key)
    yield from additions(live, manifest)[:_MOST_ADDITIONS]


def _key_by_key(live: Object, manifest: Object, at: str) -> Iterator[ChangedField]:
    """Yield what differs where every key counts, also one that somebody added."""
    found, wanted = live.get(at) or {}, manifest.get(at) or {}
    for key in sorted({*found, *wanted}):
        if (found.get(key) or None) != (wanted.get(key) or None):
            yield ChangedField((at, key), found.get(key), wanted.get(key))


def _of_service(live: Object, manifest: Object) -> Iterator[ChangedField]:
    """Yield what differs of a Service: its selector and its ports count as a whole."""
    if live.get("selector") != manifest["selector"]:
        yield ChangedField(("spec", "selector"), live.get("selector"), manifest["selector"])
    if "ports" in manifest and not ports_are(live.get("ports") or (), manifest["ports"]):
        yield ChangedField(("spec", "ports"), live.get("ports"), manifest["ports"])
    for key in manifest:
        if key not in ("selector", "ports"):
            yield from _below(live.get(key), manifest[key], ("spec", key))


def _below(live: Any, wanted: Any, at: Path) -> Iterator[ChangedField]:
    named = [step for step in at if isinstance(step, str)]
    field = next((step for step in named if step in QUANTITIES), named[-1])
    if contains(live, wanted, field):
        return
    keys = merge_keys(wanted, field) if isinstance(wanted, list | tuple) else ()
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        for key in wanted:
            yield from _below(live.get(key), wanted[key], (*at, key))
    elif keys and isinstance(live, list):
        items = {item_key(item, keys): item for item in live if isinstance(item, Mapping)}
        for item in wanted:
            yield from _below(items.get(item_key(item, keys)), item, (*at, ListItem(keys, item)))
    else:
        yield ChangedField(at, live, wanted)
