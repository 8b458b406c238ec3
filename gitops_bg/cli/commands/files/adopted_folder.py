"""The folder of an app that is adopted: its files, each with a comment that says where it came from. Pure.

What is live becomes what Git says, as its author would have written it: without what the API server, controllers and
kubectl added. A value that the server would fill in again means the same where it is left out, so nothing is lost;
everything else stays. Defaults: kubernetes `pkg/apis/{core,apps,autoscaling,policy}/v1/defaults.go` (SetDefaults_*).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gitops_bg.cli.commands.files.adopted_objects import Chosen
from gitops_bg.core.model.spec import ScaleDown
from gitops_bg.core.names import API_VERSION, KIND
from gitops_bg.spec.app.layout import APP_FILE, DEFAULT_TARGET_FILE
from gitops_bg.spec.importing.tools import without_marks
from gitops_bg.spec.yaml.scalars import to_yaml

Json = dict[str, Any]

_METADATA = ("name", "namespace", "labels", "annotations")
_NOT_AUTHORED = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/",
    "autoscaling.alpha.kubernetes.io/",
    "endpoints.kubernetes.io/",
)
"""Annotations, or their prefixes, that kubectl and controllers keep about an object; other tools: `importing.tools`."""

_DEPLOYMENT: Mapping[str, Any] = {
    "revisionHistoryLimit": 10,
    "progressDeadlineSeconds": 600,
    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
    "minReadySeconds": 0,
}
_POD: Mapping[str, Any] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "securityContext": {},
}
_CONTAINER: Mapping[str, Any] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "resources": {},
}
_PROBE: Mapping[str, Any] = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_SERVICE: Mapping[str, Any] = {
    "type": "ClusterIP",
    "sessionAffinity": "None",
    "internalTrafficPolicy": "Cluster",
    "externalTrafficPolicy": "Cluster",
    "ipFamilyPolicy": "SingleStack",
    "allocateLoadBalancerNodePorts": True,
}
_ALLOCATED = ("clusterIPs", "ipFamilies", "healthCheckNodePort")
_MODE = 0o644


def authored(live: Mapping[str, Any]) -> Json:
    """Return the object as a file: kind and version, the metadata that people write, and what its kind keeps.

    >>> live = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}, "status": {},
    ...         "metadata": {"name": "web", "namespace": "shop", "uid": "1", "managedFields": []}}
    >>> authored(live)["metadata"], authored(live)["data"]
    ({'name': 'web', 'namespace': 'shop'}, {'a': '1'})
    """
    head = {key: live[key] for key in ("apiVersion", "kind")}
    rest = {key: each for key, each in live.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    spec = _SPECS.get(live["kind"])
    if spec is not None and "spec" in rest:
        rest["spec"] = spec(dict(rest["spec"]))
    return {**head, "metadata": _metadata(live["metadata"]), **rest}


def _metadata(live: Mapping[str, Any]) -> Json:
    ours = without_marks(live)
    kept = {key: ours[key] for key in _METADATA if ours.get(key)}
    annotations = {key: text for key, text in kept.pop("annotations", {}).items() if not key.startswith(_NOT_AUTHORED)}
    return kept | ({"annotations": annotations} if annotations else {})


def _deployment(spec: Json) -> Json:
    kept = _without(spec, _DEPLOYMENT)
    template = dict(spec["template"])
    metadata = {key: each for key, each in (template.get("metadata") or {}).items() if each is not None}
    return {**kept, "template": {"metadata": metadata, "spec": _pod(dict(template["spec"]))}}


def _pod(spec: Json) -> Json:
    kept = _without(spec, _POD)
    if kept.get("serviceAccount") == kept.get("serviceAccountName"):
        kept.pop("serviceAccount", None)
    for group in ("initContainers", "containers"):
        if group in kept:
            kept[group] = [_container(dict(each)) for each in kept[group]]
    if "volumes" in kept:
        kept["volumes"] = [_volume(each) for each in kept["volumes"]]
    return kept


def _container(container: Json) -> Json:
    kept = _without(container, _CONTAINER)
    if kept.get("imagePullPolicy") == _pull_policy(kept.get("image", "")):
        del kept["imagePullPolicy"]
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in kept:
            kept[name] = _probe(dict(kept[name]))
    if "ports" in kept:
        kept["ports"] = [_without(dict(port), {"protocol": "TCP"}) for port in kept["ports"]]
    if "env" in kept:
        kept["env"] = [_variable(dict(each)) for each in kept["env"]]
    return kept


def _pull_policy(image: str) -> str:
    name = image.rpartition("/")[2]
    return "Always" if "@" not in name and (":" not in name or name.endswith(":latest")) else "IfNotPresent"


def _probe(probe: Json) -> Json:
    kept = _without(probe, _PROBE)
    if "httpGet" in kept:
        kept["httpGet"] = _without(dict(kept["httpGet"]), {"scheme": "HTTP"})
    return kept


def _variable(variable: Json) -> Json:
    source = variable.get("valueFrom") or {}
    if "fieldRef" not in source:
        return variable
    return {**variable, "valueFrom": {"fieldRef": _without(dict(source["fieldRef"]), {"apiVersion": "v1"})}}


def _volume(volume: Json) -> Json:
    kept = dict(volume)
    for source in ("configMap", "secret", "downwardAPI", "projected"):
        if isinstance(kept.get(source), Mapping):
            kept[source] = _without(dict(kept[source]), {"defaultMode": _MODE})
    return kept


def _service(spec: Json) -> Json:
    """Return the Service without its selector, which is the agent's from now on; node ports stay, clients know them."""
    kept = {key: each for key, each in _without(spec, _SERVICE).items() if key not in (*_ALLOCATED, "selector")}
    if kept.get("clusterIP") != "None":
        kept.pop("clusterIP", None)
    return {**kept, "ports": [_service_port(dict(port)) for port in spec.get("ports") or ()]}


def _service_port(port: Json) -> Json:
    kept = _without(port, {"protocol": "TCP"})
    if kept.get("targetPort") == kept["port"]:
        del kept["targetPort"]
    return kept


def _without(value: Json, defaults: Mapping[str, Any]) -> Json:
    return {key: each for key, each in value.items() if key not in defaults or each != defaults[key]}


_SPECS: Mapping[str, Callable[[Json], Json]] = {"Deployment": _deployment, "Service": _service}
Object = Mapping[str, Any]

SERVICES_FILE, _AUTOSCALER_FILE = "services.yaml", "autoscaler.yaml"


def folder_of(chosen: Chosen, scale_down: ScaleDown) -> dict[str, str]:
    """Return the text of each file, by its name in the folder, in the order in which people read them. Without a
    Service that carries live traffic, which is a reason to write nothing, there is no file of Services.
    """
    files = {
        APP_FILE: _commented(_about_app(chosen), _app(chosen, scale_down)),
        DEFAULT_TARGET_FILE: _commented(_about_target(chosen), authored(chosen.deployment)),
    }
    if chosen.services:
        files[SERVICES_FILE] = "---\n".join(_services(chosen))
    if chosen.autoscaler is not None:
        files[_AUTOSCALER_FILE] = _copied(chosen.autoscaler, "A copy of it scales the live version.")
    for body in chosen.budgets:
        files[_file_of(body)] = _copied(body, "The agent takes it over.")
    for body in chosen.config_maps:
        about = "It is part of a version: the pods of each version read a copy of their own."
        files[_file_of(body)] = _copied(body, about)
    return files


def origins_of(chosen: Chosen) -> dict[str, list[Object | None]]:
    """Return the live object of each document of a file, by the file's name; None for what is new."""
    found: dict[str, list[Object | None]] = {
        DEFAULT_TARGET_FILE: [chosen.deployment],
        SERVICES_FILE: [*chosen.services, None],
        **{_file_of(each): [each] for each in (*chosen.budgets, *chosen.config_maps)},
    }
    return found | ({_AUTOSCALER_FILE: [chosen.autoscaler]} if chosen.autoscaler is not None else {})


def _file_of(body: Object) -> str:
    """Return the file of a budget or a ConfigMap, of which there may be several."""
    kind = {"PodDisruptionBudget": "budget", "ConfigMap": "configmap"}[body["kind"]]
    return f"{kind}-{body['metadata']['name']}.yaml"


def _app(chosen: Chosen, scale_down: ScaleDown) -> dict[str, Any]:
    active = [str(each["metadata"]["name"]) for each in chosen.services] or [chosen.app.name]
    named: dict[str, Any] = {"activeService": active[0]} if len(active) == 1 else {"activeServices": active}
    spec: dict[str, Any] = {
        "target": DEFAULT_TARGET_FILE,
        "adopt": {"deployment": chosen.deployment["metadata"]["name"], "scaleDown": scale_down.value},
        "strategy": {"blueGreen": {**named, "previewService": chosen.preview}},
    }
    if chosen.autoscaler is not None:
        autoscaler = chosen.autoscaler
        spec["autoscalerRef"] = {"kind": autoscaler["kind"], "name": autoscaler["metadata"]["name"]}
    metadata = {"name": chosen.app.name, "namespace": chosen.app.namespace}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def _services(chosen: Chosen) -> Iterator[str]:
    for live in chosen.services:
        yield _copied(live, "Its selector is the agent's from now on: it names one version.")
    first = authored(chosen.services[0])
    metadata = {"name": chosen.preview, "namespace": chosen.app.namespace}
    ports = [{key: each for key, each in port.items() if key != "nodePort"} for port in first["spec"]["ports"]]
    preview = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}
    yield _commented(["New: the candidate is reached through it before it is live."], preview)


def _copied(live: Object, about: str) -> str:
    return _commented([*_origin(live), about], authored(live))


def _about_app(chosen: Chosen) -> list[str]:
    return [
        f"Written by `gitops-bg adopt` for {_name_of(chosen.deployment)}.",
        "`adopt` lets the agent take its Services over, once, when the agent's own pods are ready. It may be removed",
        "when the condition Adopting is False.",
    ]


def _about_target(chosen: Chosen) -> list[str]:
    lines = [*_origin(chosen.deployment), "The agent never writes this file: people and CI push to it."]
    if chosen.secrets:
        lines.append(f"Its Secrets stay in the cluster, and are no part of a version: {', '.join(chosen.secrets)}.")
    return lines


def _origin(live: Object) -> list[str]:
    return [f"From {_name_of(live)}; left out: status, managed fields, defaults of the API server."]


def _name_of(live: Object) -> str:
    return f"{live['kind']} {live['metadata']['namespace']}/{live['metadata']['name']}"


def _commented(lines: Sequence[str], body: Object) -> str:
    return "".join(f"# {line}\n" for line in lines) + to_yaml(body)
