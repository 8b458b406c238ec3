"""What each field of Argo Rollouts and Flagger is here: ours of that name, another of ours, or why there is none.

Ours are read off the models of app.yaml; a name below that they do not have fails `test_documented`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from gitops_bg.spec.analysis.providers import ProviderFields
from gitops_bg.spec.analysis.templates import TemplateSpec
from gitops_bg.spec.app.models import AppFields
from gitops_bg.spec.app.settings import Settings
from gitops_bg.spec.declared import DeclaredModel, described, is_declared, model_of
from gitops_bg.spec.environments.load import EnvironmentsDocument
from gitops_bg.spec.groups.models import GroupFields, RoutesDocument, VersionDocument
from gitops_bg.spec.notifications import ProviderSpec
from gitops_bg.spec.policies.models import People, PolicySpec
from gitops_bg.web.access.login_file import LoginFile


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """The models that a value of this type may hold: itself, or the items of a list."""
    if is_declared(annotation):
        yield model_of(annotation)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _is_list(annotation: object) -> bool:
    return get_origin(annotation) is list or any(map(_is_list, get_args(annotation)))


@dataclass(frozen=True)
class Field:
    """One field of app.yaml."""

    path: str
    """From `spec` on, as users write it."""
    default: str
    meaning: str

    @property
    def telling_name(self) -> str:
        """The outermost name that is of this field alone: `until` alone could be anything."""
        return self.path.removeprefix("strategy.blueGreen.").split(".")[0].removesuffix("[]")


@dataclass(frozen=True)
class Theirs:
    """A field of another system: the field of ours that means it, or else the words that say what stands for it.

    Where neither is given, or we have the words only until then, it is the field of ours with its name.
    """

    name: str
    ours: str = ""
    words: str = ""

    def here(self) -> Field | None:
        """The field of ours that means it."""
        known = ours()
        same = self.name.replace("blueGreen.", "strategy.blueGreen.")
        return known.get(self.ours or same)


def ours() -> dict[str, Field]:
    """Every field of `spec` of app.yaml by its path, in the order of the models."""
    return {field.path: field for field in _fields(AppFields, "", {})}


def of_templates() -> dict[str, Field]:
    """Every field of `spec` of an AnalysisTemplate; of a provider only its name (`of_metric_providers`)."""
    return {field.path: field for field in _fields(TemplateSpec, "", dict.fromkeys(_PROVIDERS, ""))}


def of_metric_providers() -> dict[str, Field]:
    """Every field of `provider` of a metric."""
    return {field.path: field for field in _fields(ProviderFields, "", {})}


def of_alert_providers() -> dict[str, Field]:
    """Every field of `spec` of an AlertProvider."""
    return {field.path: field for field in _fields(ProviderSpec, "", {})}


def of_settings() -> dict[str, Field]:
    """Every field of gitops-bg.yaml but those that say what the file is."""
    return {field.path: field for field in _fields(Settings, "", {}) if field.path not in _KIND}


def of_environments() -> dict[str, Field]:
    """Every field of environments.yaml but those that say what the file is."""
    return {field.path: field for field in _fields(EnvironmentsDocument, "", {}) if field.path not in _KIND}


def of_login() -> dict[str, Field]:
    """Every field of the file of ``--dashboard-login-file`` but those that say what it is."""
    return {field.path: field for field in _fields(LoginFile, "", {}) if field.path not in _KIND}


def of_groups() -> dict[str, Field]:
    """Every field of `spec` of group.yaml."""
    return {field.path: field for field in _fields(GroupFields, "", {})}


def of_versions() -> dict[str, Field]:
    """Every field of version.yaml but those that say what the file is."""
    return {field.path: field for field in _fields(VersionDocument, "", {}) if field.path not in _KIND}


def of_routes() -> dict[str, Field]:
    """Every field of routes.yaml but those that say what the file is."""
    return {field.path: field for field in _fields(RoutesDocument, "", {}) if field.path not in _KIND}


def of_policies() -> dict[str, Field]:
    """Every field of `spec` of a PromotionPolicy."""
    return {field.path: field for field in _fields(PolicySpec, "", {})}


def of_people() -> dict[str, Field]:
    """Every field of policies/people.yaml but those that say what the file is."""
    return {field.path: field for field in _fields(People, "", {}) if field.path not in _KIND}


_KIND = ("apiVersion", "kind")


_PROVIDERS = tuple(one for info in ProviderFields.model_fields.values() for one in _models_in(info.annotation))


def _fields(model: type[BaseModel], prefix: str, known: dict[type[BaseModel], str]) -> Iterator[Field]:
    """The fields of a model that is used twice are told once; the second time, where."""
    declared = described(model.declares) if issubclass(model, DeclaredModel) else {}
    for name, info in model.model_fields.items():
        path = f"{prefix}{info.alias or name}"
        inner = next(_models_in(info.annotation), None)
        meaning = (info.description or declared.get(name) or (inner.__doc__ if inner else "") or "").replace("``", "`")
        if inner and known.get(inner):
            meaning = f"{meaning} Its fields are those of `{known[inner]}`."
        yield Field(path, "required" if info.is_required() else _default(info.default), meaning)
        if inner and inner not in known:
            known[inner] = path
            yield from _fields(inner, f"{path}{'[]' if _is_list(info.annotation) else ''}.", known)


def _default(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "–" if value in (None, "", PydanticUndefined) else str(value)


def missing(theirs: tuple[Theirs, ...]) -> list[str]:
    """The fields that are said to be one of ours, and that the models do not have."""
    return [f"{each.name} -> {each.ours}" for each in theirs if each.here() is None and not each.words]


_SAME_NAMES = (
    "blueGreen.activeService",
    "blueGreen.previewService",
    "blueGreen.previewReplicaCount",
    "blueGreen.autoPromotionEnabled",
    "blueGreen.autoPromotionSeconds",
    "blueGreen.scaleDownDelaySeconds",
    "blueGreen.scaleDownDelayRevisionLimit",
    "blueGreen.abortScaleDownDelaySeconds",
    "blueGreen.antiAffinity",
    "blueGreen.prePromotionAnalysis",
    "blueGreen.postPromotionAnalysis",
    "blueGreen.activeMetadata",
    "blueGreen.previewMetadata",
    "blueGreen.maxUnavailable",
    "minReadySeconds",
    "progressDeadlineSeconds",
    "progressDeadlineAbort",
    "revisionHistoryLimit",
    "rollbackWindow.revisions",
    "restartAt",
    "analysis.successfulRunHistoryLimit",
    "analysis.unsuccessfulRunHistoryLimit",
)

ARGO = (
    *map(Theirs, _SAME_NAMES),
    Theirs("replicas", words="`spec.replicas` of the target; no part of the version, so a change of it is no rollout"),
    Theirs("selector", words="none: every ReplicaSet and Service selects by app and digest"),
    Theirs("template", words="the pod template of the target"),
    Theirs("paused", "suspend"),
    Theirs("workloadRef", "target"),
    Theirs("workloadRef.scaleDown", "adopt.scaleDown"),
)

FLAGGER = (
    Theirs("targetRef", "target"),
    Theirs("autoscalerRef"),
    Theirs("progressDeadlineSeconds"),
    Theirs("revertOnDeletion", "deletionPolicy"),
    Theirs("suspend"),
    Theirs("skipAnalysis", words="`gitops-bg promote --full`, for one version: no switch that is forgotten"),
    Theirs("service.name, service.port, …", words="the Services of the app's folder, as their author writes them"),
    Theirs("service.portDiscovery", words="a Service without a manifest takes the ports of the containers"),
    Theirs("analysis.interval"),
    Theirs("analysis.iterations"),
    Theirs("analysis.threshold"),
    Theirs("analysis.metrics"),
    Theirs("analysis.webhooks"),
    Theirs("analysis.alerts"),
    Theirs("AlertProvider", words="the same, in a file of `alerts/`; `metadata.namespace` says where its Secret is"),
    Theirs(
        "analysis.match, stepWeight, maxWeight, mirror, sessionAffinity", words="none: all traffic is on one version"
    ),
)
