"""The JSON patches that move traffic and scale: compare-and-swap, so that nobody's decision is overwritten. Pure.

A JSON patch is carried out as a whole or not at all; its ``test`` makes the API server refuse where the object is
no longer what was decided on (reference pitfalls.md §1.4, §7; RFC 6902 §4.6).
"""

from gitops_bg.cluster.kinds import Object
from gitops_bg.core import names
from gitops_bg.core.actions import PointPreview, ScaleReplicaSet, SwitchTraffic
from gitops_bg.core.model import AppKey

_SELECTOR = "/spec/selector"
_REPLICAS = "/spec/replicas"


def change_selector(app: AppKey, action: SwitchTraffic | PointPreview) -> list[Object]:
    """Move a Service of ours from exactly the expected selector to the pods of another version."""
    expected = dict(action.expected_selector) or None
    return [
        *_still_ours(app),
        {"op": "test", "path": _SELECTOR, "value": expected},
        {"op": "add", "path": _SELECTOR, "value": names.selector(app, action.digest)},
    ]


def replace_selector(app: AppKey, live: Object, manifest: Object) -> list[Object]:
    """Make the selector of a Service of ours exactly that of its manifest, unless somebody moved it meanwhile."""
    return [
        *_still_ours(app),
        {"op": "test", "path": _SELECTOR, "value": live["spec"].get("selector")},
        {"op": "add", "path": _SELECTOR, "value": manifest["spec"]["selector"]},
    ]


def adopt_service(live: Object, manifest: Object) -> list[Object]:
    """Give a Service our labels, owner and selector, unless anybody wrote it meanwhile; leave the rest of it alone."""
    metadata, ours = live["metadata"], manifest["metadata"]
    others = [each for each in metadata.get("ownerReferences") or () if not each.get("controller")]
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
        {"op": "add", "path": "/metadata/labels", "value": {**(metadata.get("labels") or {}), **ours["labels"]}},
        {"op": "add", "path": "/metadata/ownerReferences", "value": [*others, *ours["ownerReferences"]]},
        {"op": "add", "path": _SELECTOR, "value": manifest["spec"]["selector"]},
    ]


def change_replicas(app: AppKey, action: ScaleReplicaSet) -> list[Object]:
    """Scale a ReplicaSet of ours from exactly the replicas it was seen with."""
    return [
        *_still_ours(app),
        {"op": "test", "path": _REPLICAS, "value": action.current},
        {"op": "replace", "path": _REPLICAS, "value": action.replicas},
    ]


def change_annotation(app: AppKey, annotation: str, current: str, text: str) -> list[Object]:
    """Change an annotation of an object of ours from exactly what it was seen with; an empty text removes it."""
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
