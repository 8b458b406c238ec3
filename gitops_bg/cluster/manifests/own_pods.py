"""Lets terms about an app's own pods mean those of one version: affinity, anti-affinity, topology spread. Pure.

Two versions run side by side, with the labels that the target gives both. "My replicas on different nodes" would find
no node for the new ones, and "spread over zones" would spread them around the old ones. So a term that names the
target's own pods gets the version's label, in the ReplicaSet and never in the snapshot: the version stays the same.

It is written when a ReplicaSet is created, and kept in an annotation, so that it is no drift and survives a repair.
Flagger has it for anti-affinity and spread (flagger.md §1.4). For the
ReplicaSets of a Deployment Kubernetes has ``matchLabelKeys: [pod-template-hash]``:
https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core import names
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.manifests.objects import Selector

Labels = Mapping[str, str]
"""The labels by which the target selects its pods: what an app calls itself."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def written(own: Labels) -> str:
    """The value of the annotation; empty where a target selects by no label."""
    return json.dumps(dict(own), sort_keys=True) if own else ""


def read(text: str) -> Labels:
    """The labels in an annotation; none where there is none, or somebody made it unreadable.

    >>> read(written({"app": "web"}))
    {'app': 'web'}
    """
    try:
        value = read_json(text)
    except ValueError:
        return {}
    return {str(key): str(label) for key, label in value.items()} if isinstance(value, dict) else {}


def narrow(template: Object, app: AppKey, digest: str, own: Labels) -> Object:
    """Return a pod template whose terms about the target's own pods name those of one version.

    A term that selects more than the app (``team: shop``), or pods of other namespaces, stays as it is.
    """
    labels = {key: str(value) for key, value in (template["metadata"].get("labels") or {}).items()}
    for term in _terms(template.get("spec") or {}):
        if _is_about(term, app, labels, own):
            selector = term["labelSelector"]
            term["labelSelector"] = {
                **selector,
                "matchLabels": {**(selector.get("matchLabels") or {}), **names.selector(app, digest)},
            }
    return template


def _terms(spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Everything in a pod's spec that selects pods."""
    yield from spec.get("topologySpreadConstraints") or ()
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        yield from rules.get(_REQUIRED) or ()
        yield from (each.get("podAffinityTerm") or {} for each in rules.get(_PREFERRED) or ())


def _is_about(term: Mapping[str, Any], app: AppKey, labels: Labels, own: Labels) -> bool:
    """Whether a term selects the target's own pods, and no more than those."""
    elsewhere = term.get("namespaceSelector") is not None or (term.get("namespaces") or [app.namespace]) != [
        app.namespace
    ]
    if not own or elsewhere or not isinstance(term.get("labelSelector"), Mapping):
        return False
    try:
        selector = Selector.model_validate(term["labelSelector"])
    except ValidationError:
        return False
    named, expressions = selector.match_labels or {}, selector.match_expressions or []
    single = ((each.key, each.values or []) for each in expressions if each.operator == "In")
    exact = {key: values[0] for key, values in single if len(values) == 1}
    selects = named.items() <= labels.items() and all(each.matches(dict(labels)) for each in expressions)
    return selects and own.items() <= {**exact, **named}.items()
