"""Checks of a Kubernetes object before the API server is asked. Changes nothing.

Only what this tool relies on is checked; everything else is left to the API server.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.fields import Count, DnsLabel, Text
from gitops_bg.spec.manifests.other_kinds import remedy_for
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

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", strict=True, frozen=True)


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
        """Whether labels fulfil the requirement, by the rules of Kubernetes' label selectors."""
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
    """The kind of an object as written, whatever it is; None where there is none."""
    return written.get("kind") if isinstance(written, Mapping) else None


def model_of(written: Any) -> type[Applied]:
    """The model of an object of an app's folder beside its own three files."""
    return ServiceObject if kind_in(written) == "Service" else Applied
