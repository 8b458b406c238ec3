"""OAM's own workloads become apps (versions-and-routes.md §5). Reads nothing; Services come later (`beside`).

A PodSpecWorkload is a target as it is: it has the spec of its pods. A ContainerizedWorkload, with containers in a form
of its own, becomes a Deployment and ConfigMaps. Both, and a Deployment, may be written inside of a Component.

All is as OAM's runtime makes it (oam-kubernetes-runtime v0.3, containerizedworkload/translate.go), but for two things:
a file stands at its path by itself, and hides none of its neighbours; a volume that ends with its pod is there at all.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.importing.draft import AppDraft, deployment_of, of_other_tools, target_of
from gitops_bg.spec.importing.manifest import Manifest, Table, cleaned, imported, left, left_fields
from gitops_bg.spec.importing.tools import without_marks
from gitops_bg.spec.manifests.target import POD_SPEC_WORKLOAD
from gitops_bg.spec.yaml.scalars import Body, Path, as_map, as_maps

HELD = (POD_SPEC_WORKLOAD, "ContainerizedWorkload", "Deployment")
"""The kinds of workloads that are imported out of a Component."""
_FIRST_PORT = 8080
"""The port of the Service of a PodSpecWorkload for the first port of its containers; the next has the next number
(kubevela v1.0, podspecworkload_controller.go).
"""

TABLE: Table = imported("replicas", "podSpec")
"""Every field of `spec` of a PodSpecWorkload."""


def is_component(manifest: Manifest) -> bool:
    """Return whether it is a Component of OAM: other systems have that kind, too."""
    return manifest.kind == "Component" and manifest.api.startswith("core.oam.dev/")


def workload_in(component: Manifest) -> Manifest | None:
    """Return the workload that a Component holds, called as the Component where it has no name; None where it holds
    none.
    """
    held = component.spec.get("workload")
    if not isinstance(held, Mapping) or held.get("kind") not in HELD:
        return None
    metadata = {"name": component.name, **as_map(held.get("metadata")), "namespace": component.namespace}
    place = (*component.path, "spec", "workload")
    return replace(component, path=place, value={**held, "metadata": metadata}, text="")


def left_of(component: Manifest) -> Iterator[Problem]:
    """Yield what a Component says beside its workload: the parameters that an ApplicationConfiguration fills in."""
    for number, each in enumerate(as_maps(component.spec.get("parameters"))):
        message = f"{each.get('name')} is filled in by an ApplicationConfiguration, and here by nobody"
        yield component.problem(("spec", "parameters", number), message, "write its value into target.yaml")


def draft_of(workload: Manifest) -> AppDraft:
    """Return the app that a PodSpecWorkload or a ContainerizedWorkload becomes."""
    app = AppKey(workload.namespace, workload.name)
    if workload.kind == POD_SPEC_WORKLOAD:
        draft, table = AppDraft(app, workload, workload, target_of(workload)), TABLE
    else:
        draft, table = _of_containers(workload), CONTAINERIZED_FIELDS
    if _ports(draft):
        draft.blue_green["activeService"] = workload.name
    draft.listed.extend(of_other_tools(workload))
    draft.listed.extend(left_fields(workload, table))
    return draft


def service_of(draft: AppDraft) -> dict[str, Any]:
    """Return the Service that OAM's controller makes of a workload with ports: it has the workload's name."""
    metadata = {"name": draft.app.name, "namespace": draft.app.namespace}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": _ports(draft)}}


def _of_containers(workload: Manifest) -> AppDraft:
    theirs = Translation(workload)
    draft = AppDraft(AppKey(workload.namespace, workload.name), workload, workload, theirs.deployment())
    draft.parts.extend(("ConfigMap", each, workload) for each in theirs.config_maps())
    draft.problems.extend(theirs.problems())
    message = "says no number of pods: OAM has it from a ManualScalerTrait, and without one it is 1"
    draft.listed.append(workload.problem(("spec",), message, "write replicas into target.yaml"))
    lost = list(theirs.lost())
    draft.listed.extend(lost)
    if lost:
        draft.suspend("a volume of the ContainerizedWorkload has no equal: add it to target.yaml, then remove this")
    return draft


def _ports(draft: AppDraft) -> list[dict[str, Any]]:
    """Return the ports of that Service: of a PodSpecWorkload for each port, else for the first one of the first
    container.
    """
    containers = as_maps(as_map(draft.template.get("spec")).get("containers"))
    of_each = [as_maps(each.get("ports")) for each in containers]
    if draft.workload.kind != POD_SPEC_WORKLOAD:
        first = of_each[0][0].get("containerPort") if of_each and of_each[0] else None
        return [{"name": draft.app.name, "port": first, "targetPort": first}] if first else []
    ports = [port for each in of_each for port in each]
    return [
        {
            **{key: port[key] for key in ("name", "protocol") if port.get(key)},
            "port": _FIRST_PORT + number,
            "targetPort": port.get("containerPort"),
        }
        for number, port in enumerate(ports)
    ]


_PROBES = ("livenessProbe", "readinessProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket")
_LISTS = (("env",), ("config",), ("ports",), ("resources", "volumes"))
"""The fields of a container that are lists of mappings."""
_ARCHITECTURES = {"i386": "386"}
"""Where the label kubernetes.io/arch of a node is not what OAM calls it."""
_NO_KEY = re.compile(r"[^-._a-zA-Z0-9]+")
_VOLUMES = "containers[].resources.volumes[]"

CONTAINERIZED_FIELDS: Table = {
    **imported(
        "osType", "arch", "containers[].name", "containers[].image", "containers[].command", "containers[].args"
    ),
    **imported("containers[].env[].name", "containers[].env[].value", "containers[].imagePullSecret"),
    **imported("containers[].config[].path", "containers[].config[].value"),
    **imported(*(f"containers[].{field}[].fromSecret.{key}" for field in ("env", "config") for key in ("name", "key"))),
    **imported("containers[].ports", *(f"containers[].{probe}" for probe in _PROBES)),
    **imported("containers[].resources.cpu.required", "containers[].resources.memory.required"),
    **left(
        "is no device by the name that a node offers it, and OAM's runtime leaves it out, too",
        "write it into resources.limits of the container, such as nvidia.com/gpu",
        "containers[].resources.gpu",
        "containers[].resources.extended",
    ),
    **imported(*(f"{_VOLUMES}.{field}" for field in ("name", "mountPath", "accessMode"))),
    **imported(f"{_VOLUMES}.disk.required", f"{_VOLUMES}.disk.ephemeral"),
    **left(
        "is of storage that several pods use",
        "write a volume with a claim that is ReadWriteMany",
        f"{_VOLUMES}.sharingPolicy",
        unless=("Exclusive",),
    ),
}
"""Every field of `spec` of a ContainerizedWorkload."""


@dataclass(frozen=True, slots=True)
class _File:
    """A configuration file of a container."""

    path: Any
    key: str
    """Its key in the container's ConfigMap."""
    value: str | None
    secret: Body
    volume: str
    """The volume that it is in."""

    @property
    def mount(self) -> dict[str, Any]:
        """The mount of it; a key of a Secret stands, with OAM, in a folder at the path."""
        return {"name": self.volume, "mountPath": self.path, **({} if self.value is None else {"subPath": self.key})}


class Translation:
    """One ContainerizedWorkload."""

    def __init__(self, workload: Manifest) -> None:
        self.workload = workload
        self.spec = as_map(cleaned(workload.value).get("spec"))
        self.containers = as_maps(self.spec.get("containers"))

    def deployment(self) -> dict[str, Any]:
        """Return the Deployment: its pods have the labels of the workload."""
        own = as_map(without_marks(as_map(self.workload.value.get("metadata"))).get("labels"))
        labels = dict(own) or {"app": self.workload.name}
        template = {"metadata": {"labels": labels}, "spec": self._pod()}
        spec = {"selector": {"matchLabels": dict(labels)}, "template": template}
        return deployment_of(self.workload.name, self.workload.namespace, spec, own)

    def config_maps(self) -> Iterator[dict[str, Any]]:
        """Yield the files of each container that are written in the workload."""
        for container in self.containers:
            files = {each.key: each.value for each in _files(container) if each.value is not None}
            if files:
                metadata = {"name": self._config_map(container), "namespace": self.workload.namespace}
                yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": files}

    def problems(self) -> Iterator[Problem]:
        """Yield what keeps the Deployment from being made."""
        if not self.containers:
            message = "has no containers, so there is nothing to run"
            yield self.workload.problem(("spec",), message, "add spec.containers")
        yield from self._no_mappings(("spec", "containers"), self.spec.get("containers"))
        for number, container in enumerate(self.containers):
            place: Path = ("spec", "containers", number)
            for path in _LISTS:
                inner = as_map(container.get("resources")) if len(path) > 1 else container
                yield from self._no_mappings((*place, *path), inner.get(path[-1]))
            yield from self._of_probes(place, container)
            yield from self._of_files(place, container)

    def lost(self) -> Iterator[Problem]:
        """Yield the volumes that the pods are without: nobody says what they are of."""
        for number, container in enumerate(self.containers):
            for index, each in enumerate(_volumes(container)):
                if not _is_ephemeral(each):
                    message = f"is storage that outlives a pod, at {each.get('mountPath')}, and nothing says which"
                    remedy = "add a volume and its volumeMounts to target.yaml; pods of two versions use it at once"
                    place = ("spec", "containers", number, "resources", "volumes", index)
                    yield self.workload.problem(place, message, remedy)

    def _no_mappings(self, place: Path, value: Any) -> Iterator[Problem]:
        for number, each in enumerate(value if isinstance(value, list) else ()):
            if not as_map(each):
                yield self.workload.problem((*place, number), "says nothing that is known here", "write its fields")
        if value is not None and not isinstance(value, list):
            yield self.workload.problem(place, "is no list", "write a list")

    def _of_probes(self, place: Path, container: Body) -> Iterator[Problem]:
        for probe in _PROBES:
            found = [each for each in _HANDLERS if as_map(container.get(probe)).get(each)]
            if len(found) > 1:
                message = f"asks in {len(found)} ways ({', '.join(found)}), and Kubernetes takes one"
                yield self.workload.problem((*place, probe), message, "keep one of them")

    def _of_files(self, place: Path, container: Body) -> Iterator[Problem]:
        for index, each in enumerate(_files(container)):
            if not isinstance(each.path, str) or (each.value is None and not (each.secret.get("name"))):
                message = "is no file: it has no path, or neither value nor fromSecret"
                yield self.workload.problem((*place, "config", index), message, "add what is missing")

    def _pod(self) -> dict[str, Any]:
        system, architecture = self.spec.get("osType"), self.spec.get("arch")
        nodes = {"kubernetes.io/os": system, "kubernetes.io/arch": _ARCHITECTURES.get(str(architecture), architecture)}
        secrets = dict.fromkeys(str(each["imagePullSecret"]) for each in self.containers if each.get("imagePullSecret"))
        return _filled(
            nodeSelector=_filled(**nodes),
            imagePullSecrets=[{"name": each} for each in secrets],
            containers=[_container(each) for each in self.containers],
            volumes=[volume for each in self.containers for volume in self._pod_volumes(each)],
        )

    def _pod_volumes(self, container: Body) -> Iterator[dict[str, Any]]:
        for each in _volumes(container):
            if _is_ephemeral(each):
                yield {"name": each.get("name"), "emptyDir": _filled(sizeLimit=as_map(each["disk"]).get("required"))}
        files = _files(container)
        if any(each.value is not None for each in files):
            yield {"name": _volume(container), "configMap": {"name": self._config_map(container)}}
        for file in files:
            if file.value is None:
                items = [{"key": file.secret.get("key"), "path": file.secret.get("key")}]
                yield {"name": file.volume, "secret": {"secretName": file.secret.get("name"), "items": items}}

    def _config_map(self, container: Body) -> str:
        return f"{self.workload.name}-{container.get('name')}"


def _container(theirs: Body) -> dict[str, Any]:
    resources = as_map(theirs.get("resources"))
    requests = _filled(**{key: as_map(resources.get(key)).get("required") for key in ("cpu", "memory")})
    mounts = [_mount(each) for each in _volumes(theirs) if _is_ephemeral(each)]
    return _filled(
        **{key: theirs.get(key) for key in ("name", "image", "command", "args", "ports")},
        env=[_variable(each) for each in as_maps(theirs.get("env"))],
        resources=_filled(requests=requests),
        volumeMounts=[*mounts, *(each.mount for each in _files(theirs))],
        **{probe: theirs.get(probe) for probe in _PROBES},
    )


def _files(container: Body) -> list[_File]:
    """Return the configuration files of a container, each with a key of its own."""
    found: dict[str, _File] = {}
    for number, each in enumerate(as_maps(container.get("config"))):
        key = _NO_KEY.sub("-", str(each.get("path", "")).strip("/")) or "file"
        key = f"{key}-{number}" if key in found else key
        value = each.get("value")
        volume = _volume(container) if isinstance(value, str) else f"secret-{container.get('name')}-{number}"
        text = value if isinstance(value, str) else None
        found[key] = _File(each.get("path"), key, text, as_map(each.get("fromSecret")), volume)
    return list(found.values())


def _volume(container: Body) -> str:
    """Return the volume of the files that are written in the workload."""
    return f"files-{container.get('name')}"


def _volumes(container: Body) -> list[Body]:
    return as_maps(as_map(container.get("resources")).get("volumes"))


def _is_ephemeral(volume: Body) -> bool:
    return as_map(volume.get("disk")).get("ephemeral") is True


def _mount(volume: Body) -> dict[str, Any]:
    mount = {"name": volume.get("name"), "mountPath": volume.get("mountPath")}
    return {**mount, "readOnly": True} if volume.get("accessMode") == "RO" else mount


def _variable(variable: Body) -> dict[str, Any]:
    secret, value = as_map(variable.get("fromSecret")), variable.get("value")
    source = {"secretKeyRef": {"name": secret.get("name"), "key": secret.get("key")}}
    return {"name": variable.get("name"), **({"valueFrom": source} if value is None and secret else {"value": value})}


def _filled(**fields: Any) -> dict[str, Any]:
    """Return the fields that say something."""
    return {key: each for key, each in fields.items() if each is not None and each not in ([], {})}
