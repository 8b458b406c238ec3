"""What a Service had before it was taken over: written into it by the write that takes it over, and read back. Pure.

So the way back needs no memory but the Service itself, which no record and no commit can outlive.
"""

import json
from collections.abc import Mapping

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.observation.states import Pairs, pairs
from gitops_bg.core import names
from gitops_bg.core.text.foreign_json import NotJson, read_json

_SELECTOR, _PORTS, _MANAGED_BY = "selector", "ports", "managedBy"


def before_of(live: Object) -> str:
    """The annotation that keeps what a live Service has that the agent changes when it takes it over."""
    spec, labels = live["spec"], live["metadata"].get("labels") or {}
    kept = {_SELECTOR: spec.get("selector") or {}, _PORTS: spec.get("ports") or []}
    manager = labels.get(names.MANAGED_BY)
    return json.dumps(kept | ({_MANAGED_BY: manager} if manager else {}), sort_keys=True)


def selector_before(annotations: Mapping[str, str]) -> Pairs:
    """The selector in that annotation; empty where there is none, or somebody made it unreadable.

    >>> selector_before({names.BEFORE_ADOPTION: '{"selector": {"app": "orders"}}'}), selector_before({})
    ((('app', 'orders'),), ())
    """
    selector = _read(annotations).get(_SELECTOR)
    if not isinstance(selector, dict):
        return ()
    return pairs({str(key): str(value) for key, value in selector.items()})


def _read(annotations: Mapping[str, str]) -> Object:
    try:
        found = read_json(annotations.get(names.BEFORE_ADOPTION, "") or "{}")
    except NotJson:
        return {}
    return found if isinstance(found, dict) else {}
