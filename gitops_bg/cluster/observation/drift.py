"""Whether a live object still has what the agent wrote, and who wrote a field of it. Pure.

``desired`` must be contained in ``live`` (pitfalls.md §6, question 2): a comparison of plain JSON that tolerates what
the server added, and never fills in defaults, because those differ between servers. It does not see a field that left
Git: for pod templates the digest does, for the rest `observe`. Of a place in a live object people see what is there and
what is wanted; values below ``data`` and the like are shown nowhere, nor those of environment variables whose names are
those of secrets.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import NotJson, read_json
from gitops_bg.core.foreign_text import HOLDERS, one_line
from gitops_bg.core.model.drift import FieldChange
from gitops_bg.core.names import FIELD_MANAGER
from gitops_bg.spec.lint.containers import amount
from gitops_bg.spec.manifests.differences import Difference, Marks, field_of, looks_secret, without_secrets
from gitops_bg.spec.manifests.merge_keys import item_key, merge_keys

_LISTS = (list, tuple)

QUANTITIES = frozenset({"limits", "requests", "sizeLimit", "divisor", "averageValue"})
"""The fields of a pod template or of an autoscaler that hold resource quantities, or maps of them."""


def contains(live: Any, desired: Any, field: str = "") -> bool:
    """Return whether ``live`` contains everything in ``desired``; ``field`` is the name of both.

    Empty values (``""``, 0, false, empty lists and maps) equal absence: the server drops them.

    >>> contains({"replicas": 2, "paused": False}, {"replicas": 2})
    True
    >>> contains({"limits": {"cpu": "500m"}}, {"limits": {"cpu": 0.5}})
    True
    """
    if not desired and not live:
        return True
    if isinstance(desired, dict):
        return isinstance(live, dict) and all(
            contains(live.get(key), value, field if field in QUANTITIES else key) for key, value in desired.items()
        )
    if isinstance(desired, _LISTS):
        return isinstance(live, _LISTS) and _list_contains(live, desired, field)
    return bool(live == desired) or (field in QUANTITIES and same_quantity(live, desired))


def ports_are(live: Sequence[Any], desired: Sequence[Any]) -> bool:
    """Return whether the ports of a Service are exactly the desired ones.

    A name or an appProtocol that Git leaves out means none, and a missing targetPort means the port itself; none of
    them is a field of another manager.

    >>> ports_are([{"port": 80, "protocol": "TCP", "targetPort": 80}], [{"port": 80}])
    True
    >>> ports_are([{"port": 80, "protocol": "TCP", "targetPort": "http"}], [{"port": 80}])
    False
    """
    if not contains(live, desired, "ports"):
        return False
    return sorted(map(_leads, live)) == sorted(map(_leads, desired))


def _leads(port: Any) -> str:
    """Return the name of a port, its target, and what is spoken there."""
    said = port if isinstance(port, dict) else {}
    number = said.get("port")
    protocols = said.get("protocol") or "TCP", said.get("appProtocol")
    return repr((said.get("name") or "", number, *protocols, said.get("targetPort") or number))


def same_quantity(one: object, other: object) -> bool:
    """Return whether two resource quantities are the same amount.

    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/

    >>> same_quantity("0.5", "500m"), same_quantity("1Gi", "1024Mi"), same_quantity(1, "1k")
    (True, True, False)
    """
    its = amount(one)
    return its is not None and its == amount(other)


def _list_contains(live: Sequence[Any], desired: Sequence[Any], field: str) -> bool:
    keys = merge_keys(desired, field)
    if not keys:
        return len(live) == len(desired) and all(map(contains, live, desired))
    by_key = {item_key(item, keys): item for item in live if isinstance(item, dict)}
    return all(contains(by_key.get(item_key(item, keys)), item) for item in desired)


_LONGEST_NAME, _LONGEST_TEXT = 60, 240


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
        field = one_line(self.field)
        if str(self.path[0]).lower() in HOLDERS:
            return FieldChange(field, field)
        of_secret = any(isinstance(step, ListItem) and looks_secret(str(step)) for step in self.path)
        if of_secret and self.path[-1] == "value":
            return FieldChange(field, field)
        text = one_line(Difference(field, *map(_present, (self.found, self.wanted))).sentence)
        return FieldChange(field, text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…")


def _present(side: Any) -> Any:
    """Return a side as it is shown; None where nothing is there, as Kubernetes drops what is empty."""
    return None if side in ("", {}, []) else without_secrets(side, Marks())


def is_ours(live: Object, field: ChangedField) -> bool:
    """Return whether what was found in a field is the agent's own doing: it manages all of it. Whoever changes a value
    takes it from all who managed it; who only says the same, or said it before, manages it beside others.

    >>> fields = {"f:spec": {"f:selector": {"f:app": {}}}}
    >>> live = {"metadata": {"managedFields": [{"manager": FIELD_MANAGER, "fieldsV1": fields}]}}
    >>> is_ours(live, ChangedField(("spec", "selector"), {"app": "web"}, {}))
    True
    >>> is_ours(live, ChangedField(("spec", "selector"), {"app": "web", "tier": "x"}, {}))
    False
    """
    entries = live["metadata"].get("managedFields") or ()
    ours = [each.get("fieldsV1") for each in entries if each.get("manager") == FIELD_MANAGER]
    return field.found is not None and any(_has_all(fields, field.path, field.found) for fields in ours)


def _has_all(fields: Any, path: Sequence[str | ListItem], found: Any) -> bool:
    """Return whether a set of fields has all of what is at a path."""
    if not isinstance(fields, Mapping):
        return False
    if fields == {}:
        return True
    if path:
        return any(_has_all(below, path[1:], found) for key, below in fields.items() if _is_step(key, path[0]))
    return isinstance(found, Mapping) and all(_has_all(fields.get(f"f:{key}"), (), found[key]) for key in found)


def managers_of(live: Object, path: Path) -> tuple[str, ...]:
    """Return the other field managers that own a place of a live object, or something below it; of several, who wrote
    last.

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
    """Return whether a set of fields has something at a path, or the whole of what is above it."""
    if not path:
        return True
    if not isinstance(fields, Mapping) or not fields:
        return fields == {}
    return any(_owns(below, path[1:]) for key, below in fields.items() if _is_step(key, path[0]))


def _is_step(key: str, step: str | ListItem) -> bool:
    """Return whether a key in a set of fields is this step."""
    if isinstance(step, str):
        return key == f"f:{step}"
    said = item_in(key)
    return bool(said) and item_key(said, step.keys) == item_key(step.item, step.keys)


def item_in(key: str) -> Mapping[str, Any]:
    """Return what a step in a set of fields says of an item of a list; nothing where it is another step."""
    try:
        said = read_json(key[2:]) if key.startswith("k:") else None
    except NotJson:
        return {}
    return said if isinstance(said, dict) else {}
