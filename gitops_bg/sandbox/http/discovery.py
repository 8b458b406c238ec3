"""What the server says about itself: versions, groups, resources, and as much OpenAPI as kubectl asks for.

It must serve no object. Shapes: apimachinery `metav1.APIGroupList`, `APIResourceList`; the OpenAPI v3
documents only name the PATCH operations, by which kubectl finds out that the server validates fields.
"""

from __future__ import annotations

from gitops_bg.sandbox.http.errors import no_such_path
from gitops_bg.sandbox.objects.kinds import VERBS, Kinds, ServedKind
from gitops_bg.sandbox.objects.objects import Manifest

VERSION: Manifest = {
    "major": "1",
    "minor": "32",
    "gitVersion": "v1.32.0+sandbox",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2025-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "cpython",
    "platform": "linux/amd64",
}


def answer(kinds: Kinds, path: str) -> Manifest:
    """Return the document at a path outside of the resources; raise 404."""
    match [part for part in path.split("/") if part]:
        case []:
            document: Manifest = {
                "paths": ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]
            }
        case ["version"]:
            document = VERSION
        case ["api"]:
            document = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = [_group(kinds, group) for group in sorted({kind.group for kind in kinds} - {""})]
            document = {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["api", version]:
            document = _resources(kinds, "", version)
        case ["apis", group]:
            document = {"kind": "APIGroup", "apiVersion": "v1", **_group(kinds, group)}
        case ["apis", group, version]:
            document = _resources(kinds, group, version)
        case ["openapi", "v3", *rest]:
            document = _openapi(kinds, "/".join(rest))
        case _:
            raise no_such_path()
    return document


def _group(kinds: Kinds, group: str) -> Manifest:
    versions = list(dict.fromkeys(kind.version for kind in kinds if kind.group == group))
    if not versions:
        raise no_such_path()
    said = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": said, "preferredVersion": said[0]}


def _resources(kinds: Kinds, group: str, version: str) -> Manifest:
    found = [kind for kind in kinds if (kind.group, kind.version) == (group, version)]
    if not found:
        raise no_such_path()
    resources = [entry for kind in found for entry in _entries(kind)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": found[0].api_version,
        "resources": resources,
    }


def _entries(kind: ServedKind) -> list[Manifest]:
    entry: Manifest = {
        "name": kind.plural,
        "singularName": kind.singular or kind.kind.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(VERBS),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    return [entry, *_subresources(kind)]


def _subresources(kind: ServedKind) -> list[Manifest]:
    found = []
    common = {"singularName": "", "namespaced": kind.namespaced}
    if kind.has_status:
        found.append(
            {"name": f"{kind.plural}/status", **common, "kind": kind.kind, "verbs": ["get", "patch", "update"]}
        )
    if kind.scale:
        entry = {"name": f"{kind.plural}/scale", **common, "group": "autoscaling", "version": "v1"}
        found.append({**entry, "kind": "Scale", "verbs": ["get", "patch", "update"]})
    if kind.plural == "pods":
        found.append({"name": "pods/binding", **common, "kind": "Binding", "verbs": ["create"]})
        entry = {"name": "pods/eviction", **common, "group": "policy", "version": "v1"}
        found.append({**entry, "kind": "Eviction", "verbs": ["create"]})
        found.append({"name": "pods/log", **common, "kind": "Pod", "verbs": ["get"]})
    return found


def _openapi(kinds: Kinds, wanted: str) -> Manifest:
    served = {kind.path for kind in kinds}
    if not wanted:
        return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in sorted(served)}}
    if wanted not in served:
        raise no_such_path()
    paths = {_item_path(kind): {"patch": _patch_operation(kind)} for kind in kinds if kind.path == wanted}
    info = {"title": "sandbox", "version": VERSION["gitVersion"]}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": {}}}


def _item_path(kind: ServedKind) -> str:
    namespace = "namespaces/{namespace}/" if kind.namespaced else ""
    return f"/{kind.path}/{namespace}{kind.plural}/{{name}}"


def _patch_operation(kind: ServedKind) -> Manifest:
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in ("dryRun", "fieldManager", "fieldValidation", "force")
    ]
    return {
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {"group": kind.group, "kind": kind.kind, "version": kind.version},
    }
