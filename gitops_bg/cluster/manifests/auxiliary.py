"""The manifest of an auxiliary object, and whether a live one matches it. Pure.

An annotation keeps a hash of what was applied, so that a field that left Git is noticed as well, which `drift.contains`
cannot.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from gitops_bg.cluster.api.kinds import REPLICA_SETS, Kind, Object
from gitops_bg.cluster.manifests.render import owner_reference, with_quantities
from gitops_bg.cluster.observation.additions import additions
from gitops_bg.cluster.observation.drift import contains
from gitops_bg.core import names
from gitops_bg.core.model.auxiliary import ROUTES, AuxiliaryObject
from gitops_bg.core.model.version import AppKey

SCALE_TARGET_REF = "scaleTargetRef"
DATA = ("data", "binaryData")
_HEAD = ("apiVersion", "kind", "metadata", "status")


def auxiliary_manifest(
    app: AppKey,
    app_uid: str,
    kind: Kind,
    name: str,
    given: Mapping[str, Any],
    scale_target: str = "",
) -> Object:
    """Return the manifest of an auxiliary object in Git (``given``) as an object of ours, in the version of ``kind``.

    ``scale_target`` is the ReplicaSet that it scales; empty where it scales none.
    """
    theirs = given.get("metadata") or {}
    manifest: Object = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {
            "name": name,
            "namespace": app.namespace,
            "labels": {
                **(theirs.get("labels") or {}),
                names.MANAGED_BY: names.MANAGER,
                names.APP: names.app_label(app),
            },
            "annotations": dict(theirs.get("annotations") or {}),
            "ownerReferences": [owner_reference(app, app_uid)],
        },
        **with_quantities({key: value for key, value in _plain(given).items() if key not in _HEAD}),
    }
    manifest["metadata"]["annotations"][names.APPLIED] = _hash(manifest)
    return with_scale_target(manifest, scale_target) if scale_target else manifest


def with_scale_target(manifest: Object, replica_set: str) -> Object:
    """Return the autoscaler with a ReplicaSet as its scale target."""
    reference = {**manifest["spec"].get(SCALE_TARGET_REF, {}), **scale_target_ref(replica_set)}
    return {**manifest, "spec": {**manifest["spec"], SCALE_TARGET_REF: reference}}


def scale_target_ref(replica_set: str) -> Object:
    """Return the scaleTargetRef of an autoscaler that scales a ReplicaSet."""
    return {"apiVersion": REPLICA_SETS.api_version, "kind": REPLICA_SETS.name, "name": replica_set}


def scale_target_of(live: Mapping[str, Any]) -> str:
    """Return the ReplicaSet that a live autoscaler scales; empty where it scales none."""
    reference = (live.get("spec") or {}).get(SCALE_TARGET_REF) or {}
    return str(reference.get("name", "")) if reference.get("kind") == REPLICA_SETS.name else ""


def is_labelled(live: Mapping[str, Any], manifest: Object) -> bool:
    """Return whether labels, annotations and owner match, and so whether it was made from what Git says now."""
    ours, metadata = manifest["metadata"], live["metadata"]
    return all(contains(metadata.get(key), ours[key], key) for key in ("labels", "annotations", "ownerReferences"))


def is_as_given(live: Mapping[str, Any], manifest: Object) -> bool:
    """Return whether its content matches the manifest; including what others added."""
    if manifest["kind"] in ROUTES and not _is_same_route(live, manifest):
        return False
    rest = (key for key in manifest if key not in (*_HEAD, *DATA))
    missing = any(_data(manifest, key).items() - _data(live, key).items() for key in DATA)
    return (
        not missing
        and not more_data(live, manifest)
        and not additions(live, manifest)
        and all(contains(live.get(k), manifest[k], k) for k in rest)
    )


def _is_same_route(live: Mapping[str, Any], manifest: Object) -> bool:
    """Return whether a route says the same: a filter or a host more would send requests elsewhere."""
    said, wanted = live.get("spec") or {}, manifest["spec"]
    return all((said.get(key) or []) == (wanted.get(key) or []) for key in {*said, *wanted})


def more_data(live: Mapping[str, Any], manifest: Object) -> Object:
    """Return a merge patch that removes the data that somebody added; empty where nobody did."""
    extra = {key: dict.fromkeys(_data(live, key).keys() - _data(manifest, key).keys()) for key in DATA}
    return {key: each for key, each in extra.items() if each}


def content_of(live: Mapping[str, Any]) -> str:
    """Return the content of a live auxiliary object that its authors decide, comparable; without the scale target."""
    spec = {key: value for key, value in (live.get("spec") or {}).items() if key != SCALE_TARGET_REF}
    rest = {key: value for key, value in live.items() if key not in (*_HEAD, "spec")}
    return json.dumps([spec, rest], sort_keys=True)


def sentence(auxiliary_object: AuxiliaryObject, app: AppKey) -> str:
    """Return the name of the object in messages."""
    return f"{auxiliary_object.kind} {app.namespace}/{auxiliary_object.name}"


def _plain(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a Secret with its ``stringData`` as data: the API server keeps only that."""
    texts = given.get("stringData")
    if not texts:
        return given
    encoded = {key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}
    others = {key: value for key, value in given.items() if key != "stringData"}
    return {**others, "data": {**(given.get("data") or {}), **encoded}}


def _data(body: Mapping[str, Any], key: str) -> dict[str, str]:
    return body.get(key) or {}


def _hash(manifest: Object) -> str:
    """Return a hash of everything in Git: the scale target, and the version that a route names, are compared
    separately.
    """
    spec = {key: value for key, value in manifest.get("spec", {}).items() if key != SCALE_TARGET_REF}
    text = json.dumps({**manifest, "spec": spec}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
