"""OAM's own workloads become apps (versions-and-routes.md §5). Reads nothing; Services come later (`beside`).

A PodSpecWorkload is a target as it is: it has the spec of its pods. A ContainerizedWorkload becomes a Deployment
(`oam_containers`). Both, and a Deployment, may be written inside of a Component.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.importing import oam_containers
from gitops_bg.spec.importing.draft import AppDraft, of_other_tools, target_of
from gitops_bg.spec.importing.fields import Table, imported, left_fields
from gitops_bg.spec.importing.manifest import Manifest
from gitops_bg.spec.manifests.target import POD_SPEC_WORKLOAD
from gitops_bg.spec.yaml.scalars import as_map, as_maps

HELD = (POD_SPEC_WORKLOAD, "ContainerizedWorkload", "Deployment")
"""The kinds of workloads that are imported out of a Component."""
_FIRST_PORT = 8080
"""The port of the Service of a PodSpecWorkload for the first port of its containers; the next has the next number
(kubevela v1.0, podspecworkload_controller.go).
"""

TABLE: Table = imported("replicas", "podSpec")
"""Every field of `spec` of a PodSpecWorkload."""


def is_component(manifest: Manifest) -> bool:
    """Whether it is a Component of OAM: other systems have that kind, too."""
    return manifest.kind == "Component" and manifest.api.startswith("core.oam.dev/")


def workload_in(component: Manifest) -> Manifest | None:
    """The workload that a Component holds, called as the Component where it has no name; None where it holds none."""
    held = component.spec.get("workload")
    if not isinstance(held, Mapping) or held.get("kind") not in HELD:
        return None
    metadata = {"name": component.name, **as_map(held.get("metadata")), "namespace": component.namespace}
    place = (*component.path, "spec", "workload")
    return replace(component, path=place, value={**held, "metadata": metadata}, text="")


def left_of(component: Manifest) -> Iterator[Problem]:
    """What a Component says beside its workload: the parameters that an ApplicationConfiguration fills in."""
    for number, each in enumerate(as_maps(component.spec.get("parameters"))):
        message = f"{each.get('name')} is filled in by an ApplicationConfiguration, and here by nobody"
        yield component.problem(("spec", "parameters", number), message, "write its value into target.yaml")


def draft_of(workload: Manifest) -> AppDraft:
    """The app that a PodSpecWorkload or a ContainerizedWorkload becomes."""
    app = AppKey(workload.namespace, workload.name)
    if workload.kind == POD_SPEC_WORKLOAD:
        draft, table = AppDraft(app, workload, workload, target_of(workload)), TABLE
    else:
        draft, table = _of_containers(workload), oam_containers.TABLE
    if _ports(draft):
        draft.blue_green["activeService"] = workload.name
    draft.listed.extend(of_other_tools(workload))
    draft.listed.extend(left_fields(workload, table))
    return draft


def service_of(draft: AppDraft) -> dict[str, Any]:
    """The Service that OAM's controller makes of a workload with ports: it has the workload's name."""
    metadata = {"name": draft.app.name, "namespace": draft.app.namespace}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": _ports(draft)}}


def _of_containers(workload: Manifest) -> AppDraft:
    theirs = oam_containers.Translation(workload)
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
    """The ports of that Service: of a PodSpecWorkload for each port, else for the first one of the first container."""
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
