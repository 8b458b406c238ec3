"""Checks of a Kubernetes object before the API server is asked; and what does not belong into an app's folder: other
kinds, templates where a manifest should be, the files of kustomize and helm. Changes nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.written import Count, DnsLabel, Text
from gitops_bg.spec.app.layout import KUSTOMIZATIONS
from gitops_bg.spec.yaml.reader import Document

ALLOWED = {
    "Service": ("v1",),
    "ConfigMap": ("v1",),
    "Secret": ("v1",),
    "HorizontalPodAutoscaler": ("autoscaling/v2", "autoscaling/v1", "autoscaling/v2beta2"),
    "ScaledObject": ("keda.sh/v1alpha1",),
    "PodDisruptionBudget": ("policy/v1", "policy/v1beta1"),
}
"""The kinds allowed in an app's folder beside its own three files, with their known API versions."""


class Loose(BaseModel):
    """Base of models of Kubernetes objects: wrong types are errors, unknown fields are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", strict=True, frozen=True, defer_build=True)


class ObjectMeta(Loose):
    """Metadata of any namespaced object; without a namespace, the folder's applies."""

    name: Text
    namespace: Text | None = None


class Object(Loose):
    """Any namespaced object."""

    api_version: Text
    kind: Text
    metadata: ObjectMeta


class LabelledMeta(ObjectMeta):
    """Metadata of an object that is applied with its labels and annotations."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Applied(Object):
    """An object of an app's folder that is applied, beside its own three files."""

    metadata: LabelledMeta


PortNumber = Annotated[int, Field(ge=1, le=65535)]


class ServicePort(Loose):
    """One port of a Service, as strict as the API server, which would refuse every write with an invalid one."""

    port: PortNumber
    name: DnsLabel | None = None
    protocol: Literal["TCP", "UDP", "SCTP"] | None = None
    target_port: PortNumber | DnsLabel | None = None


class ServiceSpec(Loose):
    """The part of a Service that is read."""

    type: Literal["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"] | None = None
    ports: list[ServicePort] | None = None


class ServiceObject(Applied):
    """A Service; its missing fields come from the target's ports."""

    spec: ServiceSpec | None = None


class Container(Loose):
    """A container; its order among the others is kept."""

    name: DnsLabel
    image: Text


class PodSpec(Loose):
    """The part of a pod's spec that is checked."""

    containers: Annotated[list[Container], Field(min_length=1)]
    init_containers: list[Container] | None = None


class PodMeta(Loose):
    """Labels and annotations of the pods."""

    labels: dict[str, str]
    annotations: dict[str, str] | None = None


class PodTemplate(Loose):
    """The pod template: what a snapshot is made of."""

    metadata: PodMeta
    spec: PodSpec


class MatchExpression(Loose):
    """One requirement of a selector."""

    key: Text
    operator: Text
    values: list[str] | None = None

    def matches(self, labels: dict[str, str]) -> bool:
        """Return whether labels fulfil the requirement, by the rules of Kubernetes' label selectors."""
        present, value = self.key in labels, labels.get(self.key)
        match self.operator:
            case "In":
                return present and value in (self.values or [])
            case "NotIn":
                return value not in (self.values or [])
            case "Exists":
                return present
            case "DoesNotExist":
                return not present
            case _:
                return False


class Selector(Loose):
    """A label selector."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[MatchExpression] | None = None


class WorkloadSpec(Loose):
    """The part of a workload's spec that is read."""

    replicas: Count = 1
    min_ready_seconds: Count = 0
    selector: Selector | None = None
    template: PodTemplate


class AppsSpec(WorkloadSpec):
    """The spec of a workload of apps/v1, which requires a selector."""

    selector: Selector


class Workload(Object):
    """Any kind with a pod template in its spec, such as a Rollout of Argo."""

    spec: WorkloadSpec


class AppsWorkload(Workload):
    """A Deployment, ReplicaSet or DaemonSet."""

    spec: AppsSpec


class PodTemplateObject(Object):
    """A core/v1 PodTemplate: a pod template and nothing else; without a number of replicas, it means one."""

    template: PodTemplate


class PodSpecWorkloadSpec(Loose):
    """The spec of OAM's PodSpecWorkload."""

    replicas: Count = 1
    pod_spec: PodSpec


class PodSpecWorkload(Object):
    """OAM's PodSpecWorkload: the spec of pods, whose metadata are its own."""

    metadata: LabelledMeta
    spec: PodSpecWorkloadSpec


def check_place(document: Document, app: AppKey, meta: Any, *, named: bool, also: str = "") -> Iterator[Problem]:
    """Check that an object belongs to its folder: its namespace, and with ``named`` its name: the app's or ``also``."""
    if meta.namespace is not None and meta.namespace != app.namespace:
        yield document.problem(
            ("metadata", "namespace"),
            f"{meta.namespace} is not the namespace of the folder {document.folder}",
            f"write {app.namespace}, or move the file to {document.folder.partition('/')[0]}/{meta.namespace}/",
        )
    if named and meta.name not in (app.name, also):
        yield document.problem(
            ("metadata", "name"),
            f"{meta.name} is not the name of the folder {document.folder}",
            f"write {app.name}, or rename the folder",
        )


def check_supported(document: Document, found: Object) -> Iterator[Problem]:
    """Check that an object beside app.yaml is of a supported kind."""
    versions = ALLOWED.get(found.kind)
    if versions is None:
        remedy = remedy_for(found.kind, ", ".join(ALLOWED))
        yield document.problem(("kind",), f"{found.kind} is not supported here", remedy)
    elif found.api_version not in versions:
        yield document.problem(
            ("apiVersion",), f"{found.api_version} is no version of {found.kind}", f"write {' or '.join(versions)}"
        )


def kind_in(written: Any) -> Any:
    """Return the kind of an object as written, whatever it is; None where there is none."""
    return written.get("kind") if isinstance(written, Mapping) else None


def model_of(written: Any) -> type[Applied]:
    """Return the model of an object of an app's folder beside its own three files."""
    return ServiceObject if kind_in(written) == "Service" else Applied


_APPLIER = "gitops-bg does not apply it; move it out of apps/, to where Flux, Argo CD or kubectl does"

_IS_A_TARGET = "the workload of an app is its target: name this file as spec.target in app.yaml, or move it away"

REMEDIES = {
    "Deployment": _IS_A_TARGET,
    "StatefulSet": f"two versions cannot both have the names and the storage of its pods: {_APPLIER}",
    "ReplicaSet": _IS_A_TARGET,
    "Rollout": _IS_A_TARGET,
    "Canary": "an app.yaml takes its place: `gitops-bg import` writes it",
    "DaemonSet": _IS_A_TARGET,
    "PodSpecWorkload": _IS_A_TARGET,
    "ContainerizedWorkload": "a Deployment as the target takes its place: `gitops-bg import` writes it",
    "Ingress": f"it leads to the active Service, whose name never changes: {_APPLIER}",
    "HTTPRoute": "write spec.strategy.blueGreen.routes in app.yaml, and the agent makes it",
    "GRPCRoute": "write spec.strategy.blueGreen.routes in app.yaml, and the agent makes it",
    "Job": "before the pods of each version it runs as spec.jobs.beforePods of app.yaml, and as a check of a rollout "
    f"it is a metric with provider.job in analysis/; else {_APPLIER}",
    "CronJob": _APPLIER,
    "AnalysisTemplate": "move it to analysis/",
    "ClusterAnalysisTemplate": "move it to analysis/",
    "MetricTemplate": "write it as an AnalysisTemplate in analysis/, or let `gitops-bg import` do it",
    "AlertProvider": "move it to alerts/",
    "PromotionPolicy": "move it to policies/",
    "People": "move it to policies/",
    "BlueGreenDeployment": "it is the app: call the file app.yaml",
    "ReleaseGroup": "move it to groups/<namespace>/<group>/group.yaml",
    "ServiceRoutes": "it belongs to a service of a release group: groups/<namespace>/<group>/<version>/<service>/",
}
"""By kind: who takes care of it instead, as the remedy of a problem."""

_IT_IS_THE_TARGET = "it is the target: call the file target.yaml, and write app.yaml beside it"
_INSTEAD_OF_APP = {
    "Rollout": "let `gitops-bg import` write it, or write a BlueGreenDeployment: strategy.blueGreen keeps its field "
    "names, and template belongs into a Deployment in target.yaml; docs/how-to/come-from-argo-rollouts.md",
    "Canary": "let `gitops-bg import` write it, or write a BlueGreenDeployment: analysis and its webhooks keep their "
    "field names, and targetRef is the Deployment in target.yaml; docs/how-to/come-from-flagger.md",
    "Deployment": _IT_IS_THE_TARGET,
    "PodSpecWorkload": _IT_IS_THE_TARGET,
}
"""By kind of what somebody called app.yaml: what to write instead."""


def instead_of_app(kind: object) -> str:
    """Return the remedy for an object that is no app, in place of app.yaml; empty where its fields tell more.

    >>> instead_of_app("Deployment"), instead_of_app("BlueGreenDeployment")
    ('it is the target: call the file target.yaml, and write app.yaml beside it', '')
    """
    return _INSTEAD_OF_APP.get(kind, "") if isinstance(kind, str) else ""


def remedy_for(kind: str, allowed: str) -> str:
    """Return where an object of a kind belongs that no app's folder may have; ``allowed``: the kinds that it may.

    >>> remedy_for("Ingress", "Service")[:57]
    'it leads to the active Service, whose name never changes:'
    """
    return REMEDIES.get(kind) or f"allowed: {allowed}; {_APPLIER}"


HOW = "name it as spec.render in app.yaml, and run `gitops-bg render`: docs/how-to/rendered-manifests.md"
UNRENDERED_FILES = {
    **dict.fromkeys(KUSTOMIZATIONS, f"move it out of apps/ with what it names; {HOW}"),
    **dict.fromkeys(("Chart.yaml", "values.yaml"), f"move the chart out of apps/; {HOW}"),
}
"""Files that only kustomize or helm reads, by name, each with what to do."""

_OF_HELM = re.compile(
    r"\{\{-?\s*(?:\.(?:Values|Release|Chart|Capabilities)\b|(?:include|toYaml|tpl)\s)",
    re.ASCII,
)
"""What nothing but helm fills in. Braces alone may be meant: agents of Vault and others read such annotations."""


def unrendered(
    file: str, data: bytes, problems: Sequence[Problem], *, holds_texts: bool = False
) -> tuple[Problem, ...]:
    """Return the problem of a manifest that is a template; none where it is none, or only looks like one.

    It is one where one of the ``problems`` that it has as YAML is at braces, and where it asks for what helm alone
    knows; unless it ``holds_texts``, as a ConfigMap does: those are for whoever reads it.
    """
    if b"{{" not in data:
        return ()
    text = data.decode(errors="replace")
    found = None if holds_texts else _OF_HELM.search(text)
    start = found.start() if found else _braces_at(text, problems)
    if start is None:
        return ()
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    message = "holds {{ }}: it is a template, and the agent renders none"
    return (Problem(file, message, line, column, remedy=f"commit what it renders to; {HOW}"),)


def _braces_at(text: str, problems: Sequence[Problem]) -> int | None:
    """Return where the first braces are in a line with a problem; None where there are none."""
    lines = text.split("\n")
    wrong = sorted({each.line for each in problems if each.line and each.line <= len(lines)})
    line = next((each for each in wrong if "{{" in lines[each - 1]), None)
    return sum(len(each) + 1 for each in lines[: line - 1]) + lines[line - 1].index("{{") if line else None


def unrendered_file(path: str) -> Problem | None:
    """Return the problem of a file that only kustomize or helm reads."""
    remedy = UNRENDERED_FILES.get(path.rpartition("/")[2])
    return Problem(path, "is not run: the agent renders nothing", 1, 1, remedy=remedy) if remedy else None
