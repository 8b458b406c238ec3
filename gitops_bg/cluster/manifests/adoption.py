"""What a Service had before it was taken over: written into it by the write that takes it over, and read back. Pure.

So the way back needs no memory but the Service itself, which no record and no commit can outlive.
"""

import json
from collections.abc import Mapping
from typing import Any

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.observation.states import Pairs, pairs
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import NotJson, read_json

_SELECTOR, _PORTS, _MANAGED_BY, _LABELS, _ANNOTATIONS = "selector", "ports", "managedBy", "labels", "annotations"
_ROUTING = "routing"
_FILLED_IN: Mapping[str, object] = {
    "externalName": None,
    "internalTrafficPolicy": "Cluster",
    "publishNotReadyAddresses": False,
    "sessionAffinity": "None",
    "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
    "trafficDistribution": None,
}
"""The fields of a Service beside its selector that say which pods get requests, with what each is where nobody says it.

https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/#ServiceSpec
https://github.com/kubernetes/kubernetes/blob/v1.31.0/pkg/apis/core/v1/defaults.go (SetDefaults_Service)
"""
_GOES_WITH = {"sessionAffinityConfig": "sessionAffinity"}
"""The fields of these that the API server drops where another one is not set."""
_OF_KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"
"""Written by whoever applies a Service, never by the agent; it repeats the whole Service."""
MOST_BYTES = 64 * 1024
"""An object may have 256 KiB of annotations; with more than this, labels and annotations are not kept a second time."""

Texts = Mapping[str, str]
"""Labels or annotations."""


@dataclass(frozen=True, slots=True)
class Before:
    """What a Service had before it was taken over."""

    selector: Pairs = ()
    ports: tuple[Object, ...] = ()
    labels: Texts | None = None
    """None where they were not kept."""
    annotations: Texts | None = None
    routing: Mapping[str, Any] | None = None
    """What it said of which pods get requests (`routing_of`)."""
    managed_by: str = ""
    """The label app.kubernetes.io/managed-by, where no others were kept."""


def selects_by_us(selector: Mapping[str, str] | None) -> bool:
    """Return whether a selector names labels that only our pods have."""
    return any(key.startswith(f"{names.GROUP}/") for key in selector or ())


def is_of_before(live: Mapping[str, Any]) -> bool:
    """Return whether a Service is as it was before it became ours, by somebody's labels: nobody controls it, it selects
    other pods, and nothing keeps yet what it has.
    """
    metadata = live["metadata"]
    controlled = any(each.get("controller") for each in metadata.get("ownerReferences") or ())
    known = controlled or names.BEFORE_ADOPTION in (metadata.get("annotations") or {})
    return not known and not selects_by_us((live.get("spec") or {}).get("selector"))


def before_of(live: Object) -> str:
    """Return the annotation that keeps what a live Service has that the agent changes when it takes it over, or
    later.
    """
    spec, labels = live["spec"], live["metadata"].get("labels") or {}
    annotations = {key: text for key, text in (live["metadata"].get("annotations") or {}).items() if key != _OF_KUBECTL}
    kept = {_SELECTOR: spec.get("selector") or {}, _PORTS: spec.get("ports") or [], _ROUTING: routing_of(spec)}
    whole = json.dumps(kept | {_LABELS: labels, _ANNOTATIONS: annotations}, sort_keys=True)
    if len(whole.encode()) <= MOST_BYTES:
        return whole
    manager = labels.get(names.MANAGED_BY)
    return json.dumps(kept | ({_MANAGED_BY: manager} if manager else {}), sort_keys=True)


def before_in(annotations: Texts) -> Before:
    """Return what that annotation says; nothing where there is none, or somebody made it unreadable.

    >>> before_in({names.BEFORE_ADOPTION: '{"selector": {"app": "orders"}}'}).selector, before_in({}).selector
    ((('app', 'orders'),), ())
    """
    try:
        found = read_json(annotations.get(names.BEFORE_ADOPTION, "") or "{}")
        selector, ports = found.get(_SELECTOR) or {}, found.get(_PORTS) or []
        return Before(
            pairs(_texts(selector)),
            tuple(dict(each) for each in ports),
            _texts(found[_LABELS]) if _LABELS in found else None,
            _texts(found[_ANNOTATIONS]) if _ANNOTATIONS in found else None,
            dict(found[_ROUTING]) if _ROUTING in found else None,
            str(found.get(_MANAGED_BY) or ""),
        )
    except (NotJson, AttributeError, TypeError, ValueError):
        return Before()


def routing_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a Service says of which pods get requests, beside its selector, and without what the API server fills
    in.

    >>> routing_of({"sessionAffinity": "ClientIP", "internalTrafficPolicy": "Cluster", "type": "NodePort"})
    {'sessionAffinity': 'ClientIP'}
    """
    return {name: spec[name] for name, filled in _FILLED_IN.items() if (spec.get(name) or None) not in (filled, None)}


def given_back(live: Object, kind: str, before: Texts | None) -> dict[str, str]:
    """Return the labels or the annotations (``kind``) of a Service as they were before: what the agent wrote since
    goes, or gets its former value; what others wrote since stays.
    """
    texts, ours = live["metadata"].get(kind) or {}, _written_by_us(live, "metadata", kind)
    others = {key: text for key, text in texts.items() if not is_mark(key, text)}
    if before is None:
        return others
    kept = {key: text for key, text in others.items() if key not in ours}
    return kept | {key: text for key, text in before.items() if key in ours and not is_mark(key, text)}


def is_mark(key: str, text: str) -> bool:
    """Return whether a label or an annotation says that an object is the agent's, or is its memory.

    >>> is_mark(names.APP, "web"), is_mark(names.MANAGED_BY, "gitops-bg"), is_mark(names.MANAGED_BY, "Helm")
    (True, True, False)
    """
    return key.startswith(f"{names.GROUP}/") or (key, text) == (names.MANAGED_BY, names.MANAGER)


def routing_given_back(live: Object, before: Before) -> dict[str, Any]:
    """Return what a Service is to say of which pods get requests once it is handed back, where it says something else
    now that the agent wrote; None where a field goes. Nothing where nobody knows what was before.
    """
    if before.routing is None:
        return {}
    now, was, ours = routing_of(live["spec"]), before.routing, _written_by_us(live, "spec")
    both = {name for name, of in _GOES_WITH.items() if of in ours} | ours
    return {name: was.get(name) for name in _FILLED_IN if name in both and now.get(name) != was.get(name)}


def _written_by_us(live: Object, *at: str) -> frozenset[str]:
    """Return the keys that ``managedFields`` names as ours:
    https://kubernetes.io/docs/reference/using-api/server-side-apply/
    """
    found = set()
    for entry in live["metadata"].get("managedFields") or ():
        fields = entry.get("fieldsV1") or {}
        for step in at:
            fields = fields.get(f"f:{step}") or {}
        found |= set(fields) if entry.get("manager") == names.FIELD_MANAGER else set()
    return frozenset(key.removeprefix("f:") for key in found)


def _texts(given: Mapping[object, object]) -> dict[str, str]:
    return {str(key): str(value) for key, value in given.items()}
