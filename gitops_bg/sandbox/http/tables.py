"""`meta.k8s.io/v1` Tables: what `kubectl get` prints. It must take no decision from what it shows.

Columns of built-in types: kubernetes `pkg/printers/internalversion/printers.go`; those of custom
types: `additionalPrinterColumns`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from gitops_bg.sandbox.objects import selectors
from gitops_bg.sandbox.objects.kinds import ServedKind
from gitops_bg.sandbox.objects.objects import Manifest, age_of, dig

Cells = Callable[[Manifest], list[Any]]
_STEP = re.compile(r"\.?([\w-]+)|\[([^\]]+)\]")
_FILTER = re.compile(r"""^\?\(@\.([\w.]+)\s*==\s*["']?([^"')]*)["']?\)$""")


def age(text: str | None) -> str:
    """Return how long ago something was, in the words of `duration.HumanDuration`."""
    if not text:
        return "<unknown>"
    return _span(age_of(text))


def _span(length: float) -> str:
    seconds = int(max(length, 0))
    for limit, divisor, unit in ((120, 1, "s"), (7200, 60, "m"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds // divisor}{unit}"
    return f"{seconds // 86400}d"


def _born(obj: Manifest) -> str:
    return age(obj["metadata"].get("creationTimestamp"))


def _pod_status(pod: Manifest) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for status in pod.get("status", {}).get("containerStatuses") or ():
        state = status.get("state") or {}
        for name in ("waiting", "terminated"):
            if dig(state, (name, "reason")):
                return str(state[name]["reason"])
    return str(dig(pod, ("status", "phase"), "Unknown"))


def _pod(pod: Manifest) -> list[Any]:
    statuses = pod.get("status", {}).get("containerStatuses") or []
    ready = f"{sum(s['ready'] for s in statuses)}/{len(pod['spec']['containers'])}"
    restarts = str(sum(s.get("restartCount", 0) for s in statuses))
    address = dig(pod, ("status", "podIP"), "<none>")
    node = pod["spec"].get("nodeName", "<none>")
    return [_name(pod), ready, _pod_status(pod), restarts, _born(pod), address, node]


def _name(obj: Manifest) -> str:
    return str(obj["metadata"]["name"])


def _images(obj: Manifest) -> list[Any]:
    containers = dig(obj, ("spec", "template", "spec", "containers"), [])
    names, images = (",".join(c.get(key, "") for c in containers) for key in ("name", "image"))
    return [names, images, selectors.as_text(dig(obj, ("spec", "selector")))]


def _replica_set(obj: Manifest) -> list[Any]:
    status = obj.get("status") or {}
    counts = [obj["spec"]["replicas"], status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [_name(obj), *counts, _born(obj), *_images(obj)]


def _daemon_set(obj: Manifest) -> list[Any]:
    status = obj.get("status") or {}
    fields = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled")
    counts = [status.get(name, 0) for name in (*fields, "numberAvailable")]
    selector = dig(obj, ("spec", "template", "spec", "nodeSelector")) or {}
    chosen = ",".join(f"{key}={value}" for key, value in sorted(selector.items())) or "<none>"
    return [_name(obj), *counts, chosen, _born(obj), *_images(obj)]


def _deployment(obj: Manifest) -> list[Any]:
    status = obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{obj['spec']['replicas']}"
    counts = [status.get("updatedReplicas", 0), status.get("availableReplicas", 0)]
    return [_name(obj), ready, *counts, _born(obj), *_images(obj)]


def _job(obj: Manifest) -> list[Any]:
    status, spec = obj.get("status") or {}, obj["spec"]
    done = f"{status.get('succeeded', 0)}/{spec.get('completions', spec['parallelism'])}"
    started, ended = status.get("startTime"), status.get("completionTime")
    took = _span(age_of(started) - (age_of(ended) if ended else 0)) if started else ""
    return [_name(obj), _job_status(obj, status), done, took, _born(obj), *_images(obj)]


def _job_status(obj: Manifest, status: Manifest) -> str:
    said = {c["type"] for c in status.get("conditions") or () if c["status"] == "True"}
    found = next((kind for kind in ("Complete", "Failed") if kind in said), "")
    return found or (
        "Terminating" if obj["metadata"].get("deletionTimestamp") else "Suspended" if "Suspended" in said else "Running"
    )


def _service(obj: Manifest) -> list[Any]:
    spec = obj["spec"]
    ports = ",".join(f"{port['port']}/{port.get('protocol', 'TCP')}" for port in spec.get("ports") or ())
    selector = ",".join(f"{k}={v}" for k, v in sorted((spec.get("selector") or {}).items()))
    address = spec.get("clusterIP", "<none>")
    return [_name(obj), spec.get("type"), address, "<none>", ports or "<none>", _born(obj), selector or "<none>"]


def _endpoints(obj: Manifest) -> list[Any]:
    said = [
        f"{address['ip']}:{port['port']}"
        for subset in obj.get("subsets") or ()
        for address in subset.get("addresses") or ()
        for port in subset.get("ports") or ()
    ]
    return [_name(obj), ",".join(said) or "<none>", _born(obj)]


def _slice(obj: Manifest) -> list[Any]:
    ports = ",".join(str(port.get("port")) for port in obj.get("ports") or ()) or "<unset>"
    addresses = ",".join(a for endpoint in obj.get("endpoints") or () for a in endpoint["addresses"]) or "<unset>"
    return [_name(obj), obj["addressType"], ports, addresses, _born(obj)]


def _data(obj: Manifest) -> list[Any]:
    number = len(obj.get("data") or {}) + len(obj.get("binaryData") or {})
    return [_name(obj), *([obj.get("type")] if obj["kind"] == "Secret" else []), number, _born(obj)]


def _event(obj: Manifest) -> list[Any]:
    about = obj.get("involvedObject") or {}
    seen = age(obj.get("lastTimestamp") or obj.get("eventTime") or obj["metadata"].get("creationTimestamp"))
    target = f"{about.get('kind', '').lower()}/{about.get('name', '')}"
    return [seen, obj.get("type", ""), obj.get("reason", ""), target, obj.get("message", "")]


def _autoscaler(obj: Manifest) -> list[Any]:
    spec, target = obj["spec"], obj["spec"].get("scaleTargetRef") or {}
    reference = f"{target.get('kind')}/{target.get('name')}"
    current = dig(obj, ("status", "currentReplicas"), 0)
    return [
        _name(obj),
        reference,
        "<unknown>",
        str(spec.get("minReplicas", 1)),
        spec["maxReplicas"],
        current,
        _born(obj),
    ]


def _budget(obj: Manifest) -> list[Any]:
    spec = obj["spec"]
    limits = [str(spec.get(name, "N/A")) for name in ("minAvailable", "maxUnavailable")]
    return [_name(obj), *limits, dig(obj, ("status", "disruptionsAllowed"), 0), _born(obj)]


def _namespace(obj: Manifest) -> list[Any]:
    return [_name(obj), dig(obj, ("status", "phase"), ""), _born(obj)]


def _lease(obj: Manifest) -> list[Any]:
    return [_name(obj), dig(obj, ("spec", "holderIdentity"), ""), _born(obj)]


def _plain(obj: Manifest) -> list[Any]:
    return [_name(obj), _born(obj)]


_OWNED = ("+Containers", "+Images", "+Selector")
_TABLES: dict[str, tuple[tuple[str, ...], Cells]] = {
    "Pod": (("Name", "Ready", "Status", "Restarts", "Age", "+IP", "+Node"), _pod),
    "DaemonSet": (
        (
            *("Name", "Desired", "Current", "Ready", "Up-to-date", "Available", "Node Selector", "Age"),
            *_OWNED,
        ),
        _daemon_set,
    ),
    "ReplicaSet": (("Name", "Desired", "Current", "Ready", "Age", *_OWNED), _replica_set),
    "Deployment": (("Name", "Ready", "Up-to-date", "Available", "Age", *_OWNED), _deployment),
    "Job": (("Name", "Status", "Completions", "Duration", "Age", "+Containers", "+Images", "+Selector"), _job),
    "Service": (("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "+Selector"), _service),
    "Endpoints": (("Name", "Endpoints", "Age"), _endpoints),
    "EndpointSlice": (("Name", "AddressType", "Ports", "Endpoints", "Age"), _slice),
    "ConfigMap": (("Name", "Data", "Age"), _data),
    "Secret": (("Name", "Type", "Data", "Age"), _data),
    "Event": (("Last Seen", "Type", "Reason", "Object", "Message"), _event),
    "HorizontalPodAutoscaler": (
        ("Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"), _autoscaler,
    ),
    "PodDisruptionBudget": (
        ("Name", "Min Available", "Max Unavailable", "Allowed Disruptions", "Age"), _budget,
    ),
    "Namespace": (("Name", "Status", "Age"), _namespace),
    "Lease": (("Name", "Holder", "Age"), _lease),
}  # fmt: skip


def _column(title: str, kind: str = "string") -> Manifest:
    priority, name = (1, title[1:]) if title.startswith("+") else (0, title)
    hint = "name" if name == "Name" else ""
    return {"name": name, "type": kind, "format": hint, "description": "", "priority": priority}


def lookup(obj: Any, path: str) -> Any:
    """Return the first value at a simple JSONPath such as `.status.conditions[?(@.type=="Ready")].status`."""
    for match in _STEP.finditer(path):
        name, index = match[1], match[2]
        if name is not None:
            obj = obj.get(name) if isinstance(obj, dict) else None
        elif isinstance(obj, list):
            obj = _pick(obj, index)
        elif isinstance(obj, dict):
            obj = obj.get(index.strip("'\""))
        if obj is None:
            return None
    return obj


def _pick(items: list[Any], index: str) -> Any:
    condition = _FILTER.match(index)
    if condition:
        path = condition[1].split(".")
        return next((item for item in items if str(dig(item, path)) == condition[2]), None)
    if index == "*":
        return items[0] if items else None
    return items[int(index)] if index.lstrip("-").isdigit() and int(index) < len(items) else None


def _custom_cells(kind: ServedKind) -> Cells:
    def cells(obj: Manifest) -> list[Any]:
        shown: list[Any] = [_name(obj)]
        for column in kind.columns or ({"type": "date", "jsonPath": ".metadata.creationTimestamp"},):
            value = lookup(obj, column["jsonPath"])
            shown.append(age(value) if column["type"] == "date" else value)
        return shown

    return cells


def _custom_columns(kind: ServedKind) -> list[Manifest]:
    columns = [_column("Name")]
    if not kind.columns:
        return [*columns, _column("Age", "date")]
    for own in kind.columns:
        kind_of = "string" if own["type"] == "date" else own["type"]
        columns.append({**_column(own["name"], kind_of), "priority": own.get("priority", 0)})
    return columns


def table(kind: ServedKind, objects: Iterable[Manifest], metadata: Manifest, include: str) -> Manifest:
    """Return a Table of `objects`; `include` (None, Metadata, Object) is what each row carries of its object."""
    if kind.is_custom:
        columns, cells = _custom_columns(kind), _custom_cells(kind)
    else:
        titles, cells = _TABLES.get(kind.kind, (("Name", "Age"), _plain))
        columns = [_column(title) for title in titles]
    rows = [{"cells": cells(obj), "object": _carried(obj, include)} for obj in objects]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    }


def _carried(obj: Manifest, include: str) -> Manifest | None:
    if include == "None":
        return None
    if include == "Object":
        return obj
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
