"""The autoscaler of an app's folder: which one it is, its problems, and the copy of it.

A HorizontalPodAutoscaler of Kubernetes or a ScaledObject of KEDA, with the fields of Flagger's ``autoscalerRef``. The
copy is what Git says, except for its name, its bounds and its queries; its scale target is filled in when it is
applied.
"""

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.names import fit
from gitops_bg.core.written import Count, Positive, Text
from gitops_bg.spec.app.fields import Model
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.manifests.objects import ALLOWED, Loose, Object
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Path

HPA, SCALED_OBJECT = "HorizontalPodAutoscaler", "ScaledObject"
AUTOSCALERS = (HPA, SCALED_OBJECT)

PAUSED_AT = "autoscaling.keda.sh/paused-replicas"
"""https://keda.sh/docs/latest/concepts/scaling-deployments/#pausing-autoscaling"""
KEDA_MAXIMUM = 100
"""https://keda.sh/docs/latest/reference/scaledobject-spec/#maxreplicacount"""


class ScalerReplicas(Model):
    """The bounds of the copy, instead of those in Git."""

    min_replicas: Count | None = Field(None, description="The fewest pods; those of the autoscaler where absent.")
    max_replicas: Positive | None = Field(None, description="The most pods; those of the autoscaler where absent.")


class AutoscalerRef(Model):
    """Flagger's autoscalerRef: which autoscaler of the folder is copied, and what is different in the copy."""

    api_version: Text | None = Field(None, description="Its API version; need not be said.")
    kind: Literal["HorizontalPodAutoscaler", "ScaledObject"] = Field(description="Its kind.")
    name: Text = Field(description="Its name in the folder.")
    primary_scaler_queries: dict[str, str] | None = Field(
        None, description="Of a ScaledObject: the query of a trigger in the copy, by the trigger's name."
    )
    primary_scaler_replicas: ScalerReplicas | None = Field(
        None, description="The bounds of the copy, instead of those in Git."
    )


class ScaleTarget(Loose):
    """The scale target of an autoscaler; for KEDA, a missing kind means Deployment."""

    kind: Text = "Deployment"
    name: Text


class HpaSpec(Loose):
    """The part of an HPA that is read."""

    scale_target_ref: ScaleTarget
    min_replicas: Count = 1
    max_replicas: Positive

    @property
    def bounds(self) -> tuple[int, int]:
        """The fewest and the most pods."""
        return self.min_replicas, self.max_replicas


class ScalerTrigger(Loose):
    """A trigger of a ScaledObject."""

    type: Text
    name: Text | None = None
    metadata: dict[str, str]


class HpaConfig(Loose):
    """The part of a ScaledObject about the HPA that KEDA creates from it."""

    name: Text | None = None


class Advanced(Loose):
    """Further fields of a ScaledObject."""

    horizontal_pod_autoscaler_config: HpaConfig | None = None


class ScaledObjectSpec(Loose):
    """The part of a ScaledObject that is read."""

    scale_target_ref: ScaleTarget
    min_replica_count: Count = 0
    max_replica_count: Positive = KEDA_MAXIMUM
    idle_replica_count: Count | None = None
    triggers: Annotated[list[ScalerTrigger], Field(min_length=1)]
    advanced: Advanced | None = None

    @property
    def bounds(self) -> tuple[int, int]:
        """The fewest and the most pods while it is not idle."""
        return self.min_replica_count, self.max_replica_count


class Hpa(Object):
    """An HPA."""

    spec: HpaSpec


class ScaledObject(Object):
    """A ScaledObject."""

    spec: ScaledObjectSpec


_FIELDS = {HPA: ("minReplicas", "maxReplicas"), SCALED_OBJECT: ("minReplicaCount", "maxReplicaCount")}

Scaler = Hpa | ScaledObject


def read_autoscaler(document: Document, target: Mapping[str, Any]) -> tuple[Scaler | None, tuple[Problem, ...]]:
    """Return an autoscaler that scales the target (a manifest); None and the problems where it is invalid."""
    model: type[Hpa] | type[ScaledObject] = Hpa if document.value["kind"] == HPA else ScaledObject
    found, problems = validate(model, document)
    if found is not None:
        problems = (*_check_aim(document, found, target), *_check_bounds(document, found), *_check_pause(document))
    return (None, problems) if problems else (found, ())


def copy_of(
    scaler: Scaler,
    written: Mapping[str, Any],
    ref: AutoscalerRef | None,
    service: str,
    live_name: Callable[[str], str] = str,
) -> tuple[Autoscaler, dict[str, Any]]:
    """Return the core's view of an autoscaler, and the manifest of its copy.

    ``service`` carries live traffic; ``live_name`` makes names of the folder those that they have in the cluster.
    """
    made = {key: copy.deepcopy(written[key]) for key in ("apiVersion", "kind", "metadata", "spec")}
    name = copy_name(live_name(scaler.metadata.name))
    made["metadata"] = {**made["metadata"], "name": name}
    replicas = ref.primary_scaler_replicas if ref else None
    for field, bound in zip(_FIELDS[scaler.kind], _own_bounds(replicas), strict=True):
        if bound is not None:
            made["spec"][field] = bound
    if isinstance(scaler, ScaledObject):
        _rewrite(made["spec"], scaler, (ref and ref.primary_scaler_queries) or {}, service)
        _rename_hpa(made["spec"], live_name)
    return Autoscaler(AuxiliaryObject(scaler.kind, name), *bounds_of(scaler, written, ref)), made


def copy_name(name: str) -> str:
    """Return the name of the copy of an autoscaler, and of the HPA that KEDA makes of it, as Flagger's.

    >>> copy_name("web")
    'web-primary'
    """
    return fit(f"{name}-primary")


def bounds_of(scaler: Scaler, written: Mapping[str, Any], ref: AutoscalerRef | None) -> tuple[int, int]:
    """Return the bounds of the copy: the fewest and the most pods of the serving version."""
    own = _own_bounds(ref.primary_scaler_replicas if ref else None)
    pairs = zip(scaler.spec.bounds, own, strict=True)
    lowest, highest = (theirs if bound is None else bound for theirs, bound in pairs)
    paused = _annotations(written).get(PAUSED_AT)
    if isinstance(scaler, ScaledObject) and paused is not None:
        return int(paused), int(paused)
    if isinstance(scaler, ScaledObject) and scaler.spec.idle_replica_count is not None:
        lowest = min(lowest, scaler.spec.idle_replica_count)
    return lowest, highest


def check_ref(app: Document, ref: AutoscalerRef, scaler: Scaler, written: Mapping[str, Any]) -> Iterator[Problem]:
    """Check that what ``autoscalerRef`` changes in the copy of this autoscaler exists, and is consistent."""
    path: Path = ("spec", "autoscalerRef")
    if ref.api_version and ref.api_version not in ALLOWED[ref.kind]:
        message = f"{ref.api_version} is no version of {ref.kind}"
        yield app.problem((*path, "apiVersion"), message, f"write {' or '.join(ALLOWED[ref.kind])}")
    lowest, highest = bounds_of(scaler, written, ref)
    if lowest > highest:
        message = f"the copy would have at least {lowest} pods and at most {highest}"
        yield app.problem((*path, "primaryScalerReplicas"), message, "lower minReplicas, or raise maxReplicas")
    triggers = scaler.spec.triggers if isinstance(scaler, ScaledObject) else []
    with_queries = {trigger.name for trigger in triggers if "query" in trigger.metadata}
    for name in ref.primary_scaler_queries or {}:
        if name not in with_queries:
            known = ", ".join(sorted(filter(None, with_queries))) or "none has both a name and a query"
            message = f"{scaler.kind} {scaler.metadata.name} has no trigger {name} with a query"
            yield app.problem((*path, "primaryScalerQueries", name), message, f"its triggers: {known}", at_key=True)


def _own_bounds(replicas: ScalerReplicas | None) -> tuple[int | None, int | None]:
    return (replicas.min_replicas, replicas.max_replicas) if replicas else (None, None)


def _rewrite(spec: dict[str, Any], scaler: ScaledObject, queries: Mapping[str, str], service: str) -> None:
    """Set the queries of the copy."""
    target = scaler.spec.scale_target_ref.name
    for trigger in spec["triggers"]:
        metadata = trigger["metadata"]
        if "query" in metadata:
            metadata["query"] = queries.get(trigger.get("name", ""), what_runs_here(metadata["query"], target, service))


def _rename_hpa(spec: dict[str, Any], live_name: Callable[[str], str]) -> None:
    """Name the HPA that KEDA creates from the copy."""
    config = (spec.get("advanced") or {}).get("horizontalPodAutoscalerConfig") or {}
    if config.get("name"):
        config["name"] = copy_name(live_name(config["name"]))


def what_runs_here(query: str, target: str, service: str) -> str:
    """Translate a query written for Flagger: ``<target>-canary``, a name that nothing has here, becomes the Service
    that carries live traffic. The target's own name stays: pods carry the labels of its template.

    >>> what_runs_here('sum(rate(http{svc="web-canary",app="web"}[1m]))', "web", "web-live")
    'sum(rate(http{svc="web-live",app="web"}[1m]))'
    """
    return re.sub(rf"(?<![\w-]){re.escape(target)}-canary(?![\w-])", lambda _: service, query, flags=re.ASCII)


def _check_aim(document: Document, found: Scaler, target: Mapping[str, Any]) -> Iterator[Problem]:
    reference = found.spec.scale_target_ref
    wanted = (target["kind"], target["metadata"]["name"])
    if (reference.kind, reference.name) != wanted:
        message = f"names {reference.kind} {reference.name}, and the target of this folder is {' '.join(wanted)}"
        remedy = f"write kind: {wanted[0]} and name: {wanted[1]}, or move the file elsewhere"
        yield document.problem(("spec", "scaleTargetRef"), message, remedy, at_key=True)


def _check_bounds(document: Document, found: Scaler) -> Iterator[Problem]:
    (lowest, highest), (low, high) = found.spec.bounds, _FIELDS[found.kind]
    if lowest > highest:
        message = f"{lowest} is more than {high} ({highest})"
        yield document.problem(("spec", low), message, f"lower it, or raise {high}")


def _check_pause(document: Document) -> Iterator[Problem]:
    paused = _annotations(document.value).get(PAUSED_AT)
    if paused is not None and not (isinstance(paused, str) and paused.isdecimal()):
        path = ("metadata", "annotations", PAUSED_AT)
        yield document.problem(path, f"{paused} is not a number of pods", 'write a quoted whole number, such as "0"')


def _annotations(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    annotations = manifest["metadata"].get("annotations")
    return annotations if isinstance(annotations, Mapping) else {}
