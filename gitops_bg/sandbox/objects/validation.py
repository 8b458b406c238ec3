"""What the API server refuses in built-in types (422), each with its causes. It must change nothing.

Rules: apimachinery `pkg/api/validation`, kubernetes `pkg/apis/{core,apps}/validation`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from gitops_bg.sandbox.http.errors import cause, required, wrong
from gitops_bg.sandbox.objects import selectors
from gitops_bg.sandbox.objects.configuration import config_map_causes, secret_causes
from gitops_bg.sandbox.objects.objects import Manifest, dig, labels_of

_SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
_SERVICE_NAME = re.compile(r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
_QUALIFIED = re.compile(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")

_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
    "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SERVICE_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_ANNOTATIONS_LIMIT = 256 * 1024

Causes = Iterator[Manifest]


def _name(plural: str, name: str) -> Causes:
    rule, text, limit = _SUBDOMAIN, _SUBDOMAIN_TEXT, 253
    if plural == "services":
        rule, text, limit = _SERVICE_NAME, _SERVICE_TEXT, 63
    elif plural == "namespaces":
        rule, text, limit = _LABEL, _LABEL_TEXT, 63
    if len(name) > limit:
        yield wrong("metadata.name", name, f"must be no more than {limit} characters")
    elif not rule.match(name):
        yield wrong("metadata.name", name, text)


def _label_key(field: str, key: str) -> Causes:
    prefix, _, name = key.rpartition("/")
    if not _QUALIFIED.match(name) or len(name) > 63 or (prefix and not _SUBDOMAIN.match(prefix)):
        yield wrong(field, key, "name part must consist of alphanumeric characters, '-', '_' or '.'")


def _labels(field: str, labels: Manifest) -> Causes:
    for key, value in labels.items():
        yield from _label_key(field, key)
        if not isinstance(value, str):
            yield wrong(field, value, "must be a string")
        elif len(value) > 63:
            yield wrong(field, value, "must be no more than 63 characters")
        elif value and not _QUALIFIED.match(value):
            yield wrong(field, value, _VALUE_TEXT)


def metadata(plural: str, obj: Manifest) -> Causes:
    """Yield what is wrong with the metadata of any object."""
    meta = obj["metadata"]
    if "role" not in plural:  # any path segment names a role: `system:node`
        yield from _name(plural, meta["name"])
    yield from _labels("metadata.labels", meta.get("labels") or {})
    annotations = meta.get("annotations") or {}
    for key in annotations:
        yield from _label_key("metadata.annotations", key)
    if sum(len(str(key)) + len(str(value)) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        message = f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes"
        yield cause("metadata.annotations", message, "FieldValueTooLong")


def _containers(spec: Manifest, path: str) -> Causes:
    containers = spec.get("containers") or []
    if not containers:
        yield required(f"{path}.containers")
    names = set()
    for place, container in enumerate(containers):
        at = f"{path}.containers[{place}]"
        name = container.get("name")
        if not name:
            yield required(f"{at}.name")
        elif not _LABEL.match(name):
            yield wrong(f"{at}.name", name, _LABEL_TEXT)
        elif name in names:
            yield cause(f"{at}.name", f'Duplicate value: "{name}"', "FieldValueDuplicate")
        names.add(name)
        if not container.get("image"):
            yield required(f"{at}.image")


def _pod(obj: Manifest, old: Manifest | None) -> Causes:
    yield from _containers(obj["spec"], "spec")
    if old is not None and _frozen_part(obj) != _frozen_part(old):
        yield cause(
            "spec",
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
            "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
            "previously negative)",
            "FieldValueForbidden",
        )


def _frozen_part(pod: Manifest) -> Manifest:
    spec = {k: v for k, v in pod["spec"].items() if k not in ("tolerations", "activeDeadlineSeconds", "nodeName")}
    for part in ("containers", "initContainers"):
        spec[part] = [{k: v for k, v in c.items() if k != "image"} for c in spec.get(part) or ()]
    return spec


def _workload(obj: Manifest, old: Manifest | None) -> Causes:
    spec = obj["spec"]
    if not isinstance(spec.get("replicas"), int) or spec["replicas"] < 0:
        yield wrong("spec.replicas", spec.get("replicas"), "must be greater than or equal to 0")
    yield from _lasting(obj, old)


def _lasting(obj: Manifest, old: Manifest | None) -> Causes:
    """Return what holds for every workload whose pods do not end."""
    spec = obj["spec"]
    yield from _workload_selector(obj)
    template = spec["template"]
    yield from _labels("spec.template.labels", labels_of(template))
    yield from _containers(template.get("spec") or {}, "spec.template.spec")
    policy = dig(template, ("spec", "restartPolicy"), "Always")
    if policy != "Always":
        message = f'Unsupported value: "{policy}": supported values: "Always"'
        yield cause("spec.template.spec.restartPolicy", message, "FieldValueNotSupported")
    if old is not None and old["spec"].get("selector") != spec.get("selector"):
        yield wrong("spec.selector", spec.get("selector"), "field is immutable")


def _job(obj: Manifest, old: Manifest | None) -> Causes:
    spec = obj["spec"]
    for field in ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"):
        number = spec.get(field)
        if isinstance(number, int) and number < 0:
            yield wrong(f"spec.{field}", number, "must be greater than or equal to 0")
    template = spec["template"]
    yield from _labels("spec.template.labels", labels_of(template))
    yield from _containers(template.get("spec") or {}, "spec.template.spec")
    policy = dig(template, ("spec", "restartPolicy"), "")
    if policy not in ("OnFailure", "Never"):
        message = f'Unsupported value: "{policy}": supported values: "OnFailure", "Never"'
        yield cause("spec.template.spec.restartPolicy", message, "FieldValueNotSupported")
    for field in ("completions", "selector", "template"):
        if old is not None and old["spec"].get(field) != spec.get(field):
            yield wrong(f"spec.{field}", spec.get(field), "field is immutable")


def _workload_selector(obj: Manifest) -> Causes:
    spec = obj["spec"]
    if spec.get("selector") is None:
        yield required("spec.selector")
        return
    selector = selectors.from_object(spec["selector"])
    labels = labels_of(spec["template"])
    if not selector:
        yield wrong("spec.selector", spec["selector"], f"empty selector is invalid for {obj['kind'].lower()}")
    elif not selectors.accepts(selector, labels):
        yield wrong("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def _service(obj: Manifest, old: Manifest | None) -> Causes:
    spec = obj["spec"]
    yield from _labels("spec.selector", spec.get("selector") or {})
    ports = spec.get("ports") or []
    if not ports and spec.get("clusterIP") != "None" and spec.get("type") != "ExternalName":
        yield required("spec.ports")
    names = set()
    for place, port in enumerate(ports):
        if not isinstance(port.get("port"), int) or not 0 < port["port"] < 65536:
            why = "must be between 1 and 65535, inclusive"
            yield wrong(f"spec.ports[{place}].port", port.get("port"), why)
        if len(ports) > 1 and not port.get("name"):
            yield required(f"spec.ports[{place}].name")
        elif len(ports) > 1 and port["name"] in names:
            message = f'Duplicate value: "{port["name"]}"'
            yield cause(f"spec.ports[{place}].name", message, "FieldValueDuplicate")
        names.add(port.get("name"))
    had = old["spec"].get("clusterIP") if old else None
    if had and spec.get("clusterIP") != had and spec.get("type") != "ExternalName":
        yield wrong("spec.clusterIPs[0]", spec.get("clusterIP"), "may not change once set")


def _definition(obj: Manifest, _: Manifest | None) -> Causes:
    spec = obj["spec"]
    plural, group = dig(spec, ("names", "plural"), ""), spec.get("group", "")
    if obj["metadata"]["name"] != f"{plural}.{group}":
        yield wrong("metadata.name", obj["metadata"]["name"], 'must be spec.names.plural+"."+spec.group')
    if spec.get("scope") not in ("Namespaced", "Cluster"):
        yield required("spec.scope")
    versions = spec.get("versions") or []
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield wrong("spec.versions", None, "must have exactly one version marked as storage version")
    for place, version in enumerate(versions):
        if dig(version, ("schema", "openAPIV3Schema")) is None:
            yield required(f"spec.versions[{place}].schema.openAPIV3Schema", "schemas are required")


def _lease(obj: Manifest, _: Manifest | None) -> Causes:
    seconds = dig(obj, ("spec", "leaseDurationSeconds"))
    if seconds is not None and seconds <= 0:
        yield wrong("spec.leaseDurationSeconds", seconds, "must be greater than 0")


_RULES: dict[tuple[str, str], Callable[[Manifest, Manifest | None], Iterable[Manifest]]] = {
    ("", "pods"): _pod,
    ("", "services"): _service,
    ("", "configmaps"): config_map_causes,
    ("", "secrets"): secret_causes,
    ("apps", "replicasets"): _workload,
    ("apps", "deployments"): _workload,
    ("apps", "daemonsets"): _lasting,
    ("batch", "jobs"): _job,
    ("coordination.k8s.io", "leases"): _lease,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _definition,
}


def causes(key: tuple[str, str], obj: Manifest, old: Manifest | None) -> list[Manifest]:
    """Return everything that is wrong with `obj`; `old` is what it replaces, None for a create."""
    rule = _RULES.get(key)
    found = list(metadata(key[1], obj))
    return [*found, *rule(obj, old)] if rule else found
