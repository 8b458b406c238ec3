"""What pod templates get beside the snapshot, and never as a part of it or its digest: the version stays the same.
Pure.

- Metadata by the role of a version, in the template and on live pods.
- A term that keeps the pods of a new version off the nodes of the live one (`antiAffinity`).
- In terms about an app's own pods (affinity, anti-affinity, topology spread) the label of the version: two versions run
  side by side, with the labels that the target gives both. "My replicas on different nodes" would find no node for the
  new ones, and "spread over zones" would spread them around the old ones. Flagger has it for anti-affinity and spread
  (flagger.md §1.4); for the ReplicaSets of a Deployment Kubernetes has ``matchLabelKeys: [pod-template-hash]``:
  https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/

Each is written when a ReplicaSet is created, and kept in an annotation, so that it is no drift and survives a repair.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.version import (
    NO_METADATA,
    AntiAffinityTerm,
    AppKey,
    PodMetadata,
)
from gitops_bg.spec.manifests.objects import Selector

TOPOLOGY = "kubernetes.io/hostname"


def written_anti_affinity(given: AntiAffinityTerm | None) -> str:
    """Return the value of the annotation; empty without a version to avoid."""
    return "" if given is None else json.dumps({"digest": given.digest, "weight": given.weight})


def read_anti_affinity(text: str) -> AntiAffinityTerm | None:
    """Return the term in an annotation; None where there is none, or somebody made it unreadable.

    >>> read_anti_affinity(written_anti_affinity(AntiAffinityTerm("v1:3f9c", 50)))
    AntiAffinityTerm(digest='v1:3f9c', weight=50)
    """
    try:
        value = read_json(text)
        return AntiAffinityTerm(str(value["digest"]), None if value["weight"] is None else int(value["weight"]))
    except (ValueError, TypeError, KeyError):
        return None


def add_anti_affinity(template: Object, app: AppKey, given: AntiAffinityTerm | None) -> Object:
    """Return a pod template with one more anti-affinity term, after its own (argo-rollouts.md §1.1)."""
    if given is None:
        return template
    affinity = template.setdefault("spec", {}).setdefault("affinity", {}).setdefault("podAntiAffinity", {})
    term = {"labelSelector": {"matchLabels": names.selector(app, given.digest)}, "topologyKey": TOPOLOGY}
    kind = "required" if given.weight is None else "preferred"
    item = term if given.weight is None else {"weight": given.weight, "podAffinityTerm": term}
    affinity.setdefault(f"{kind}DuringSchedulingIgnoredDuringExecution", []).append(item)
    return template


_FIELDS = ("labels", "annotations")


@dataclass(frozen=True, slots=True)
class EphemeralMetadata:
    """``metadata`` is in the template. While it is ``pending``, pods may lack it, or still have ``former``."""

    metadata: PodMetadata = NO_METADATA
    former: PodMetadata = NO_METADATA
    pending: bool = False

    def changed(self, metadata: PodMetadata) -> "EphemeralMetadata":
        """Return the state once the template has ``metadata`` instead."""
        if metadata == self.metadata:
            return self
        return EphemeralMetadata(metadata, _together(self.former, self.metadata), pending=True)

    def settled(self) -> "EphemeralMetadata":
        """Return the state once every pod is up to date."""
        return EphemeralMetadata(self.metadata)


def written_metadata(worn: EphemeralMetadata) -> str:
    """Return the value of the annotation; empty where there is nothing to remember."""
    if worn == EphemeralMetadata():
        return ""
    document = {**_as_json(worn.metadata), "former": _as_json(worn.former), "pending": worn.pending}
    return json.dumps(document, sort_keys=True)


def read_metadata(text: str) -> EphemeralMetadata:
    """Return the state in an annotation; the empty one where there is none, or somebody made it unreadable.

    >>> worn = EphemeralMetadata(PodMetadata((("role", "active"),)), PodMetadata((("role", "preview"),)), True)
    >>> read_metadata(written_metadata(worn)) == worn, read_metadata("x") == EphemeralMetadata()
    (True, True)
    """
    try:
        value = read_json(text) if text else {}
        return EphemeralMetadata(_from_json(value), _from_json(value.get("former") or {}), value.get("pending") is True)
    except (ValueError, TypeError, AttributeError):
        return EphemeralMetadata()


def dress(template: Object, metadata: PodMetadata, ours: Mapping[str, str]) -> Object:
    """Return a pod template with this metadata beside its own; ``ours`` are labels that nothing may replace."""
    if metadata == NO_METADATA:
        return template
    meta = template.setdefault("metadata", {})
    meta["labels"] = {**meta.get("labels", {}), **dict(metadata.labels), **ours}
    if metadata.annotations:
        meta["annotations"] = {**(meta.get("annotations") or {}), **dict(metadata.annotations)}
    return template


def change_of(pod: Object, template: Object, worn: EphemeralMetadata) -> Object | None:
    """Return the merge patch that brings a live pod to its ReplicaSet's template; None where nothing changes.

    Keys that the agent never added stay, whoever set them; a removed key gets the template's own value.
    """
    keys = _together(worn.former, worn.metadata)
    meta = {field: _difference(pod, template, field, dict(getattr(keys, field))) for field in _FIELDS}
    changes = {field: change for field, change in meta.items() if change}
    return {"metadata": changes} if changes else None


def _difference(pod: Object, template: Object, field: str, keys: Mapping[str, str]) -> dict[str, str | None]:
    live: Mapping[str, str] = pod["metadata"].get(field) or {}
    wanted: Mapping[str, str] = (template.get("metadata") or {}).get(field) or {}
    return {key: wanted.get(key) for key in keys if live.get(key) != wanted.get(key)}


def _together(one: PodMetadata, other: PodMetadata) -> PodMetadata:
    labels, annotations = ({**dict(getattr(one, field)), **dict(getattr(other, field))} for field in _FIELDS)
    return PodMetadata(tuple(sorted(labels.items())), tuple(sorted(annotations.items())))


def _as_json(metadata: PodMetadata) -> dict[str, dict[str, str]]:
    return {field: dict(getattr(metadata, field)) for field in _FIELDS}


def _from_json(value: Mapping[str, Any]) -> PodMetadata:
    labels, annotations = (
        tuple(sorted((str(key), str(item)) for key, item in (value.get(field) or {}).items())) for field in _FIELDS
    )
    return PodMetadata(labels, annotations)


Labels = Mapping[str, str]
"""The labels by which the target selects its pods: what an app calls itself."""


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def written_labels(own: Labels) -> str:
    """Return the value of the annotation; empty where a target selects by no label."""
    return json.dumps(dict(own), sort_keys=True) if own else ""


def read_labels(text: str) -> Labels:
    """Return the labels in an annotation; none where there is none, or somebody made it unreadable.

    >>> read_labels(written_labels({"app": "web"}))
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
    """Yield everything in a pod's spec that selects pods."""
    yield from spec.get("topologySpreadConstraints") or ()
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        yield from rules.get(_REQUIRED) or ()
        yield from (each.get("podAffinityTerm") or {} for each in rules.get(_PREFERRED) or ())


def _is_about(term: Mapping[str, Any], app: AppKey, labels: Labels, own: Labels) -> bool:
    """Return whether a term selects the target's own pods, and no more than those."""
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
