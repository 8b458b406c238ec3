"""The places where a pod template refers to ConfigMaps and Secrets: one table to find and to change references.

https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#podspec-v1-core
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

CONFIG_MAP = "ConfigMap"
SECRET = "Secret"  # noqa: S105 (a kind)

Named = tuple[str, str]
"""Kind and name of an object of the app's namespace."""

_CONTAINER: tuple[tuple[str, str], ...] = (
    ("env.valueFrom.configMapKeyRef.name", CONFIG_MAP),
    ("env.valueFrom.secretKeyRef.name", SECRET),
    ("envFrom.configMapRef.name", CONFIG_MAP),
    ("envFrom.secretRef.name", SECRET),
)
_VOLUME: tuple[tuple[str, str], ...] = (
    ("configMap.name", CONFIG_MAP),
    ("secret.secretName", SECRET),
    ("projected.sources.configMap.name", CONFIG_MAP),
    ("projected.sources.secret.name", SECRET),
    ("csi.nodePublishSecretRef.name", SECRET),
    ("azureFile.secretName", SECRET),
    ("cephfs.secretRef.name", SECRET),
    ("cinder.secretRef.name", SECRET),
    ("flexVolume.secretRef.name", SECRET),
    ("iscsi.secretRef.name", SECRET),
    ("rbd.secretRef.name", SECRET),
    ("scaleIO.secretRef.name", SECRET),
    ("storageos.secretRef.name", SECRET),
)
TABLE: tuple[tuple[tuple[str, ...], str], ...] = tuple(
    (tuple(f"spec.{path}".split(".")), kind)
    for path, kind in (
        ("imagePullSecrets.name", SECRET),
        *((f"volumes.{path}", kind) for path, kind in _VOLUME),
        *((f"{group}.{path}", kind) for group in ("containers", "initContainers") for path, kind in _CONTAINER),
    )
)
"""Each path from the template to a name, and the kind of the named object. A list on the path means each of
its items.
"""


def references(template: Any) -> frozenset[Named]:
    """Every ConfigMap and Secret that a pod template refers to, optional or not.

    >>> pod = {"volumes": [{"configMap": {"name": "web"}}], "imagePullSecrets": [{"name": "registry"}]}
    >>> sorted(references({"spec": pod}))
    [('ConfigMap', 'web'), ('Secret', 'registry')]
    """
    return frozenset(
        (kind, holder[path[-1]])
        for path, kind in TABLE
        for holder in _holders(template, path[:-1])
        if isinstance(holder.get(path[-1]), str)
    )


def redirected(template: Mapping[str, Any], names: Mapping[Named, str]) -> Mapping[str, Any]:
    """Return a pod template that refers to the objects of ``names`` instead of its own. Changes nothing in place.

    >>> redirected({"spec": {"volumes": [{"configMap": {"name": "web"}}]}}, {("ConfigMap", "web"): "web-3f9c012345"})
    {'spec': {'volumes': [{'configMap': {'name': 'web-3f9c012345'}}]}}
    """
    if not names:
        return template
    changed = copy.deepcopy(template)
    for path, kind in TABLE:
        for holder in _holders(changed, path[:-1]):
            if (kind, holder.get(path[-1])) in names:
                holder[path[-1]] = names[kind, holder[path[-1]]]
    return changed


def _holders(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """The maps at the end of a path; values of an unexpected shape are ignored."""
    if isinstance(value, list):
        for item in value:
            yield from _holders(item, path)
    elif isinstance(value, dict):
        if path:
            yield from _holders(value.get(path[0]), path[1:])
        else:
            yield value
