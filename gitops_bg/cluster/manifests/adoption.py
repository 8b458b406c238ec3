"""What a Service had before it was taken over: written into it by the write that takes it over, and read back. Pure.

So the way back needs no memory but the Service itself, which no record and no commit can outlive.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.observation.states import Pairs, pairs
from gitops_bg.core import names
from gitops_bg.core.text.foreign_json import NotJson, read_json

_SELECTOR, _PORTS, _MANAGED_BY = "selector", "ports", "managedBy"


@dataclass(frozen=True, slots=True)
class Before:
    """What a Service had before it was taken over."""

    selector: Pairs = ()
    ports: tuple[Object, ...] = ()
    managed_by: str = ""
    """The label app.kubernetes.io/managed-by; empty where it had none."""


def before_of(live: Object) -> str:
    """The annotation that keeps what a live Service has that the agent changes when it takes it over."""
    spec, labels = live["spec"], live["metadata"].get("labels") or {}
    kept = {_SELECTOR: spec.get("selector") or {}, _PORTS: spec.get("ports") or []}
    manager = labels.get(names.MANAGED_BY)
    return json.dumps(kept | ({_MANAGED_BY: manager} if manager else {}), sort_keys=True)


def before_in(annotations: Mapping[str, str]) -> Before:
    """What that annotation says; nothing where there is none, or somebody made it unreadable.

    >>> before_in({names.BEFORE_ADOPTION: '{"selector": {"app": "orders"}}'}).selector, before_in({}).selector
    ((('app', 'orders'),), ())
    """
    try:
        found = read_json(annotations.get(names.BEFORE_ADOPTION, "") or "{}")
        selector, ports = found.get(_SELECTOR) or {}, found.get(_PORTS) or []
        texts = pairs({str(key): str(value) for key, value in selector.items()})
        return Before(texts, tuple(dict(each) for each in ports), str(found.get(_MANAGED_BY) or ""))
    except (NotJson, AttributeError, TypeError, ValueError):
        return Before()
