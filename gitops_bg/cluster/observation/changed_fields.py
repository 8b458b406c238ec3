"""How a live object differs from what the agent applies, field by field, for people; and who changed it. Pure.

It sees what `drift.contains` sees, and what others added to pods, and decides nothing. Values below ``data`` and the
like are shown nowhere, nor those of environment variables whose names are those of secrets.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitops_bg.cluster.api.kinds import REPLICA_SETS, SERVICES, WORKLOADS, Object
from gitops_bg.cluster.observation.drift import LIST_KEYS, QUANTITIES, contains, item_key, merge_keys, ports_are
from gitops_bg.core.model.auxiliary import ROUTES
from gitops_bg.core.model.drift import FieldChange
from gitops_bg.core.names import FIELD_MANAGER, NOWHERE
from gitops_bg.core.text.foreign_json import NotJson, read_json
from gitops_bg.core.text.masking import HOLDERS
from gitops_bg.core.text.printable import one_line
from gitops_bg.spec.manifests.differences import Difference, Marks, field_of, looks_secret, without_secrets

_METADATA = ("labels", "annotations", "ownerReferences")
_APART = ("apiVersion", "kind", "metadata", "status")
_LONGEST_NAME, _LONGEST_TEXT = 60, 240
_MOST_ADDITIONS = 20
"""How many are said; all of them are removed."""
_TEMPLATE = ("spec", "template")
_RESTART_POLICY = (*_TEMPLATE, "spec", "restartPolicy")
"""Of a pod; that of a container is filled in nowhere, and makes a sidecar of it."""
_RUNNING = frozenset(kind.name for kind in WORKLOADS.values())
_SAME = {"serviceAccount": "serviceAccountName"}
"""The old names of fields: the API server fills in each from the other, so they are there, or go, together."""
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
    "restartPolicy": ("Always",),
    "schedulerName": ("default-scheduler",),
    "scheme": ("HTTP",),
    "successThreshold": (1,),
    "terminationGracePeriodSeconds": (30,),
    "terminationMessagePath": ("/dev/termination-log",),
    "terminationMessagePolicy": ("File",),
    "timeoutSeconds": (1,),
}
"""What a field of a pod template is where nobody writes it, if that is not nothing; who writes the same adds nothing.

https://github.com/kubernetes/kubernetes/blob/v1.31.0/pkg/apis/core/v1/defaults.go
"""


@dataclass(frozen=True, slots=True)
class ListItem:
    """A step to an item of a list, by the keys that it is merged by."""

    keys: tuple[str, ...]
    item: Mapping[str, Any]

    def __str__(self) -> str:
        return "/".join(str(self.item[key]) for key in self.keys if self.item.get(key) is not None)


Path = tuple[str | ListItem, ...]


@dataclass(frozen=True, slots=True)
class ChangedField:
    """One place where a live object differs; None: nothing is there."""

    path: Path
    found: Any
    wanted: Any

    @property
    def field(self) -> str:
        """The path in words."""
        text = ""
        for step in self.path:
            text = f"{text}[{step}]" if isinstance(step, ListItem) else field_of(text, step)
        return text

    @property
    def change(self) -> FieldChange:
        """The difference as it is shown."""
        field, part = one_line(self.field), ".".join(step for step in self.path[:2] if isinstance(step, str))
        if str(self.path[0]).lower() in HOLDERS:
            return FieldChange(field, str(self.path[0]), field)
        of_secret = any(isinstance(step, ListItem) and looks_secret(str(step)) for step in self.path)
        if of_secret and self.path[-1] == "value":
            return FieldChange(field, part, field)
        text = one_line(Difference(field, *map(_present, (self.found, self.wanted))).sentence)
        return FieldChange(field, part, text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…")


def _present(side: Any) -> Any:
    """A side as it is shown; None where nothing is there, as Kubernetes drops what is empty."""
    return None if side in ("", {}, []) else without_secrets(side, Marks())


def changed_fields(live: Object, manifest: Object) -> tuple[ChangedField, ...]:
    """Where a live object is not as its manifest; fields that the manifest does not name belong to others, and the size
    of a ReplicaSet is written by itself.

    >>> live = {"metadata": {}, "spec": {"maxReplicas": 3}}
    >>> (found,) = changed_fields(live, {"kind": "HorizontalPodAutoscaler", "metadata": {}, "spec": {"maxReplicas": 9}})
    >>> found.change.text
    'spec.maxReplicas: 3 → 9'
    """
    return (*_of_metadata(live["metadata"], manifest["metadata"]), *_of_content(live, manifest))


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
    if manifest["kind"] in _RUNNING:
        yield from additions(live, manifest["spec"]["template"])[:_MOST_ADDITIONS]


def _key_by_key(live: Object, manifest: Object, at: str) -> Iterator[ChangedField]:
    """Where every key counts, including one that somebody added."""
    found, wanted = live.get(at) or {}, manifest.get(at) or {}
    for key in sorted({*found, *wanted}):
        if (found.get(key) or None) != (wanted.get(key) or None):
            yield ChangedField((at, key), found.get(key), wanted.get(key))


def _of_service(live: Object, manifest: Object) -> Iterator[ChangedField]:
    """Its selector and its ports count as a whole."""
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


def additions(live: Object, template: Object) -> tuple[ChangedField, ...]:
    """What other field managers added to the pod template of a live workload, beyond ``template``.

    The server's own additions are nobody's, so a comparison has to tolerate them, and cannot see these: a container, a
    variable, a node selector, with which the pods would not be those that were checked.

    >>> fields = {"f:spec": {"f:template": {"f:spec": {"f:hostNetwork": {}}}}}
    >>> live = {"metadata": {"managedFields": [{"manager": "kubectl-edit", "fieldsV1": fields}]}}
    >>> live["spec"] = {"template": {"spec": {"hostNetwork": True, "dnsPolicy": "ClusterFirst"}}}
    >>> [each.change.text for each in additions(live, {"spec": {}})]
    ['spec.template.spec.hostNetwork: - true']
    """
    found: dict[str, ChangedField] = {}
    for entry in live["metadata"].get("managedFields") or ():
        fields, there = entry.get("fieldsV1"), live
        for step in _TEMPLATE:
            fields = fields.get(f"f:{step}") if isinstance(fields, Mapping) else None
            there = there.get(step) or {}
        if entry.get("manager") != FIELD_MANAGER and isinstance(fields, Mapping):
            for each in _beyond(fields, there, template, _TEMPLATE):
                found.setdefault(each.field, each)
    return tuple(found[field] for field in sorted(found))


def _beyond(fields: Mapping[str, Any], live: Any, wanted: Any, at: Path) -> Iterator[ChangedField]:
    """What is below ``live`` and not below ``wanted``, of a set of fields that somebody owns."""
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
        yield from _beyond(below, live.get(name), wanted.get(_SAME.get(name, name)), (*at, name))
        for twin in (old for old, new in _SAME.items() if new == name):
            yield from _beyond_whole(live.get(twin), wanted.get(name), (*at, twin))


def _beyond_items(fields: Mapping[str, Any], live: list[Any], wanted: list[Any], at: Path) -> Iterator[ChangedField]:
    """Go once over both lists for each of the few sets of keys: an author may have thousands of items."""
    items: dict[tuple[str, ...], tuple[dict[Any, Any], dict[Any, Any]]] = {}
    for key, below in fields.items():
        said = _item_in(key)
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
    """Of a value that somebody owns as a whole."""
    if isinstance(live, Mapping) and isinstance(wanted, Mapping):
        for key in live:
            if key not in wanted and key != NOWHERE:  # The agent's own, and part of no version.
                yield from _beyond_whole(live[key], None, (*at, key))
    elif wanted is None and not _is_filled_in(live, at):
        yield ChangedField(at, live, None)


def _is_filled_in(value: Any, at: Path) -> bool:
    """Whether a field has the value that it has where nobody writes it; that of most is nothing."""
    field = str(at[-1])
    if value in ("", [], {}, None):
        return True
    if field == "restartPolicy" and at != _RESTART_POLICY:
        return False
    return value in _FILLED_IN[field] if field in _FILLED_IN else not value


def managers_of(live: Object, path: Path) -> tuple[str, ...]:
    """The other field managers that own a place of a live object, or something below it; of several, who wrote last.

    https://kubernetes.io/docs/reference/using-api/server-side-apply/#managedfields

    >>> fields = {"f:spec": {"f:selector": {}}}
    >>> live = {"metadata": {"managedFields": [{"manager": "kubectl-edit", "fieldsV1": fields}]}}
    >>> managers_of(live, ("spec", "selector")), managers_of(live, ("spec", "ports"))
    (('kubectl-edit',), ())
    """
    entries = live["metadata"].get("managedFields") or ()
    others = [each for each in entries if each.get("manager") not in (None, "", FIELD_MANAGER)]
    owners = [each for each in others if _owns(each.get("fieldsV1"), path)]
    last = max((str(each.get("time")) for each in owners), default="")
    return tuple(
        sorted({one_line(each["manager"])[:_LONGEST_NAME] for each in owners if str(each.get("time")) == last})
    )


def _owns(fields: Any, path: Sequence[str | ListItem]) -> bool:
    """Whether a set of fields has something at a path, or the whole of what is above it."""
    if not path:
        return True
    if not isinstance(fields, Mapping) or not fields:
        return fields == {}
    step = path[0]
    if isinstance(step, str):
        return f"f:{step}" in fields and _owns(fields[f"f:{step}"], path[1:])
    return any(_owns(below, path[1:]) for key, below in fields.items() if _names(key, step))


def _names(key: str, step: ListItem) -> bool:
    """Whether a step in a set of fields is to this item."""
    said = _item_in(key)
    return bool(said) and item_key(said, step.keys) == item_key(step.item, step.keys)


def _item_in(key: str) -> Mapping[str, Any]:
    """What a step in a set of fields says of an item of a list; nothing where it is another step."""
    try:
        said = read_json(key[2:]) if key.startswith("k:") else None
    except NotJson:
        return {}
    return said if isinstance(said, dict) else {}
