"""Whether a live object still has what the agent wrote: a comparison of plain JSON that tolerates server additions.

``desired`` must be contained in ``live`` (pitfalls.md §6, question 2). The comparison does not see a field that left
Git: for pod templates the digest does, for the rest `observe`. It never fills in defaults, because those differ between
servers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gitops_bg.spec.manifests.quantities import amount

# The keys by which Kubernetes merges lists: +listMapKey in k8s.io/api core/v1.
_MERGE_KEYS: Mapping[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "ownerReferences": ("uid",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
_PORT_KEYS = (("containerPort", "protocol"), ("port", "protocol"))
LIST_KEYS = frozenset((*_MERGE_KEYS.values(), *_PORT_KEYS))
"""All of these keys."""

_LISTS = (list, tuple)

QUANTITIES = frozenset({"limits", "requests", "sizeLimit", "divisor", "averageValue"})
"""The fields of a pod template or of an autoscaler that hold resource quantities, or maps of them."""


def contains(live: Any, desired: Any, field: str = "") -> bool:
    """Whether ``live`` contains everything in ``desired``; ``field`` is the name of both.

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
    """Whether the ports of a Service are exactly the desired ones.

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
    """The name of a port, its target, and what is spoken there."""
    said = port if isinstance(port, dict) else {}
    number = said.get("port")
    protocols = said.get("protocol") or "TCP", said.get("appProtocol")
    return repr((said.get("name") or "", number, *protocols, said.get("targetPort") or number))


def same_quantity(one: object, other: object) -> bool:
    """Whether two resource quantities are the same amount.

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


def merge_keys(desired: Sequence[Any], field: str) -> tuple[str, ...]:
    """The keys by which the items of a list are told apart; empty where they are told apart by their places."""
    if not all(isinstance(item, dict) for item in desired):
        return ()
    if field == "ports":
        return next((keys for keys in _PORT_KEYS if all(keys[0] in item for item in desired)), ())
    return _MERGE_KEYS.get(field, ())


def item_key(item: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    """The values of these keys in an item, comparable."""
    return tuple(repr(item.get(key) or ("TCP" if key == "protocol" else None)) for key in keys)
