"""Keeps the pods of a new version off the nodes of the live one: `antiAffinity`, rendered beside the snapshot. Pure.

The term is written once, when a ReplicaSet is created, and kept in an annotation, so that it is no drift and survives a
repair. It is never part of a snapshot or its digest: the version stays the same.
"""

import json

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core import names
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.version import AntiAffinityTerm, AppKey

TOPOLOGY = "kubernetes.io/hostname"


def written(given: AntiAffinityTerm | None) -> str:
    """The value of the annotation; empty without a version to avoid."""
    return "" if given is None else json.dumps({"digest": given.digest, "weight": given.weight})


def read(text: str) -> AntiAffinityTerm | None:
    """The term in an annotation; None where there is none, or somebody made it unreadable.

    >>> read(written(AntiAffinityTerm("v1:3f9c", 50)))
    AntiAffinityTerm(digest='v1:3f9c', weight=50)
    """
    try:
        value = read_json(text)
        return AntiAffinityTerm(str(value["digest"]), None if value["weight"] is None else int(value["weight"]))
    except (ValueError, TypeError, KeyError):
        return None


def add(template: Object, app: AppKey, given: AntiAffinityTerm | None) -> Object:
    """Return a pod template with one more anti-affinity term, after its own (argo-rollouts.md §1.1)."""
    if given is None:
        return template
    affinity = template.setdefault("spec", {}).setdefault("affinity", {}).setdefault("podAntiAffinity", {})
    term = {"labelSelector": {"matchLabels": names.selector(app, given.digest)}, "topologyKey": TOPOLOGY}
    kind = "required" if given.weight is None else "preferred"
    item = term if given.weight is None else {"weight": given.weight, "podAffinityTerm": term}
    affinity.setdefault(f"{kind}DuringSchedulingIgnoredDuringExecution", []).append(item)
    return template
