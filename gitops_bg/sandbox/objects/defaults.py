"""What the API server fills in for built-in types. It must refuse nothing: see `validation.py`.

Values: kubernetes `pkg/apis/{core,apps}/v1/defaults.go` (SetDefaults_*). Only the types that
blue-green deployments meet are covered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gitops_bg.sandbox.objects.configuration import fill_in_config_map, fill_in_secret
from gitops_bg.sandbox.objects.objects import Manifest

_POD_SPEC: Manifest = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_PROBE: Manifest = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_MODE = 0o644


def _fill(target: Manifest, defaults: Manifest) -> None:
    for key, value in defaults.items():
        if target.get(key) is None:
            target[key] = value


def _pull_policy(image: str) -> str:
    name = image.rsplit("/", 1)[-1]
    return "Always" if "@" not in name and (":" not in name or name.endswith(":latest")) else "IfNotPresent"


def _default_probe(container: Manifest, name: str) -> None:
    probe = container.get(name)
    if not probe:
        return
    _fill(probe, _PROBE)
    if "httpGet" in probe:
        _fill(probe["httpGet"], {"path": "/", "scheme": "HTTP"})


def _default_resources(container: Manifest) -> None:
    resources = container.setdefault("resources", {})
    for name, amount in (resources.get("limits") or {}).items():
        resources.setdefault("requests", {}).setdefault(name, amount)


def _default_container(container: Manifest) -> None:
    _fill(
        container,
        {
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": _pull_policy(container.get("image") or ""),
        },
    )
    _default_resources(container)
    for port in container.get("ports") or ():
        _fill(port, {"protocol": "TCP"})
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        _default_probe(container, name)
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference:
            _fill(reference, {"apiVersion": "v1"})


def _default_volume(volume: Manifest) -> None:
    for source in ("configMap", "secret", "downwardAPI", "projected"):
        if isinstance(volume.get(source), dict):
            _fill(volume[source], {"defaultMode": _MODE})
    if len(volume) == 1:
        volume["emptyDir"] = {}


def default_pod_spec(spec: Manifest) -> None:
    """Fill in a pod spec, of a Pod or of a template."""
    _fill(spec, _POD_SPEC)
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("serviceAccountName"):
        _fill(spec, {"serviceAccount": spec["serviceAccountName"]})
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        _default_container(container)
    for volume in spec.get("volumes") or ():
        _default_volume(volume)


def _template(obj: Manifest) -> None:
    template = obj["spec"].setdefault("template", {})
    template.setdefault("metadata", {}).setdefault("creationTimestamp", None)
    if isinstance(template.get("spec"), dict):
        default_pod_spec(template["spec"])


def _default_pod(pod: Manifest) -> None:
    default_pod_spec(pod["spec"])
    _fill(pod["spec"], {"enableServiceLinks": True, "serviceAccountName": "default", "serviceAccount": "default"})
    _fill(pod["spec"], {"preemptionPolicy": "PreemptLowerPriority", "priority": 0})


def _default_replica_set(obj: Manifest) -> None:
    _fill(obj["spec"], {"replicas": 1})
    _template(obj)


def _default_deployment(obj: Manifest) -> None:
    _fill(obj["spec"], {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600})
    strategy = obj["spec"].setdefault("strategy", {})
    _fill(strategy, {"type": "RollingUpdate"})
    if strategy["type"] == "RollingUpdate":
        _fill(strategy.setdefault("rollingUpdate", {}), {"maxSurge": "25%", "maxUnavailable": "25%"})
    _template(obj)


def _default_daemon_set(obj: Manifest) -> None:
    _fill(obj["spec"], {"revisionHistoryLimit": 10})
    strategy = obj["spec"].setdefault("updateStrategy", {})
    _fill(strategy, {"type": "RollingUpdate"})
    if strategy["type"] == "RollingUpdate":
        _fill(strategy.setdefault("rollingUpdate", {}), {"maxSurge": 0, "maxUnavailable": 1})
    _template(obj)


def _default_job(obj: Manifest) -> None:
    spec = obj["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    _fill(spec, {"parallelism": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False})
    _template(obj)


def _default_service(service: Manifest) -> None:
    spec = service["spec"]
    _fill(spec, {"type": "ClusterIP", "sessionAffinity": "None"})
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    if spec["sessionAffinity"] == "ClientIP":
        _fill(spec, {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}})
    if spec["type"] == "ExternalName":
        return
    _fill(spec, {"internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"})
    for port in spec.get("ports") or ():
        _fill(port, {"protocol": "TCP", "targetPort": port.get("port")})


def _default_namespace(namespace: Manifest) -> None:
    _fill(namespace.setdefault("spec", {}), {"finalizers": ["kubernetes"]})
    labels: dict[str, Any] = namespace["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = namespace["metadata"]["name"]
    _fill(namespace.setdefault("status", {}), {"phase": "Active"})


def _default_definition(definition: Manifest) -> None:
    names = definition["spec"].setdefault("names", {})
    kind = names.get("kind") or ""
    _fill(names, {"singular": kind.lower(), "listKind": f"{kind}List"})
    _fill(definition["spec"], {"conversion": {"strategy": "None"}})


_DEFAULTS: dict[tuple[str, str], Callable[[Manifest], None]] = {
    ("", "pods"): _default_pod,
    ("", "services"): _default_service,
    ("", "namespaces"): _default_namespace,
    ("", "configmaps"): fill_in_config_map,
    ("", "secrets"): fill_in_secret,
    ("apps", "replicasets"): _default_replica_set,
    ("apps", "deployments"): _default_deployment,
    ("apps", "daemonsets"): _default_daemon_set,
    ("batch", "jobs"): _default_job,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _default_definition,
}
_WITH_SPEC = {"pods", "services", "replicasets", "deployments", "daemonsets", "jobs", "customresourcedefinitions"}


def fill_in(key: tuple[str, str], obj: Manifest) -> None:
    """Fill in the defaults of a built-in type, in place; other types are left alone."""
    default = _DEFAULTS.get(key)
    if default is None:
        return
    if key[1] in _WITH_SPEC and not isinstance(obj.get("spec"), dict):
        obj["spec"] = {}
    default(obj)
