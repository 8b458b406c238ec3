"""No field of the peers' kinds is forgotten: each is taken over, or listed with why and what to do instead."""

from __future__ import annotations

from typing import get_args

import pytest
import yaml
from pydantic import BaseModel

from gitops_bg.spec.analysis.providers import ONLY_OF_ARGO
from gitops_bg.spec.analysis.templates import TemplateSpec
from gitops_bg.spec.importing import flagger, flagger_metrics, oam, workloads
from gitops_bg.spec.importing.manifest import Left, Table, fate_of
from gitops_bg.spec.notifications import ProviderSpec
from tests.spec.importing.texts import CANARY, DEPLOYMENT, PEERS, ROLLOUT, fields, imported

METRICS = "analysis.metrics[]."


def schema(name: str) -> list[str]:
    """The path of every field below `spec` of a kind."""
    return (PEERS / "schemas" / f"{name}.txt").read_text().split()


def _below(place: str, *names: str) -> list[str]:
    return [f"{place}.{each}" for each in names]


OF_PROBES = ("exec", "httpGet", "initialDelaySeconds", "tcpSocket", "timeoutSeconds", "periodSeconds")
CONTAINERIZED = [
    "osType",
    "arch",
    *_below("containers[]", "name", "image", "command", "args", "ports", "imagePullSecret"),
    *_below("containers[]", "livenessProbe", "readinessProbe"),
    *_below("containers[].livenessProbe", *OF_PROBES),
    *_below("containers[].env[]", "name", "value", "fromSecret.name", "fromSecret.key"),
    *_below("containers[].config[]", "path", "value", "fromSecret.name", "fromSecret.key"),
    *_below("containers[].resources", "cpu.required", "memory.required", "gpu", "gpu.required"),
    *_below("containers[].resources", "extended", "extended[].name", "extended[].required"),
    *_below("containers[].resources.volumes[]", "name", "mountPath", "accessMode", "sharingPolicy"),
    *_below("containers[].resources.volumes[].disk", "required", "ephemeral"),
]
"""The fields of a ContainerizedWorkload of core.oam.dev/v1alpha2."""
FATES: dict[str, tuple[Table, list[str]]] = {
    "Rollout": (workloads.ROLLOUT_FIELDS, schema("rollout")),
    "Canary": (flagger.TABLE, schema("canary")),
    "metrics of a Canary": (
        flagger_metrics.METRIC_TABLE,
        [each.removeprefix(METRICS) for each in schema("canary") if each.startswith(METRICS)],
    ),
    "MetricTemplate": (flagger_metrics.TABLE, schema("metric-template")),
    "BlueGreenDeployment of bgd-controller": (workloads.BGD_FIELDS, ["replicas", "podSpec", "template"]),
    "PodSpecWorkload": (oam.TABLE, ["replicas", "podSpec"]),
    "ContainerizedWorkload": (oam.CONTAINERIZED_FIELDS, CONTAINERIZED),
    "Deployment": (
        workloads.DEPLOYMENT_FIELDS,
        [
            "minReadySeconds",
            "paused",
            "progressDeadlineSeconds",
            "replicas",
            "revisionHistoryLimit",
            "selector",
            "strategy",
            "template",
        ],
    ),
    "DaemonSet": (
        flagger.DAEMON_SET_FIELDS,
        ["minReadySeconds", "revisionHistoryLimit", "selector", "template", "updateStrategy"],
    ),
}


@pytest.mark.parametrize("kind", FATES)
def test_every_field_of_a_kind_is_taken_over_or_listed(kind: str) -> None:
    table, paths = FATES[kind]
    branches = {path for path in paths if any(other.startswith((f"{path}.", f"{path}[]")) for other in table)}
    assert [path for path in paths if path not in branches and fate_of(table, path) is None] == []


@pytest.mark.parametrize("kind", FATES)
def test_no_table_says_anything_of_a_field_that_there_is_not(kind: str) -> None:
    table, paths = FATES[kind]
    assert [path for path in table if path not in paths] == []


@pytest.mark.parametrize("kind", FATES)
def test_what_is_left_says_why_and_what_to_do_instead(kind: str) -> None:
    left = [fate for fate in FATES[kind][0].values() if isinstance(fate, Left)]
    assert all(len(each.why) > 10 and each.instead for each in left)


def paths_of(kind: str) -> list[str]:
    """The fields of a kind that have no equal."""
    return [path for path, fate in FATES[kind][0].items() if isinstance(fate, Left)]


def with_field(text: str, path: str) -> str:
    """The manifest with one more field below spec, which holds what nobody writes."""
    *parents, last = path.replace("[]", "").split(".")
    value = yaml.safe_load(text)
    at = value["spec"]
    for parent in parents:
        inner = at.setdefault(parent, [{}] if f"{parent}[]" in path else {})
        at = inner[0] if isinstance(inner, list) else inner
    at[last] = "surprising"
    return str(yaml.safe_dump(value))


@pytest.mark.parametrize("path", paths_of("Rollout"))
def test_a_field_of_a_rollout_without_an_equal_is_listed_where_it_is(path: str) -> None:
    text = ROLLOUT.replace("blueGreen: {activeService: web, previewService: web-preview}", "canary: {}")
    found = imported(with_field(text, path))
    assert f"spec.{path}" in [each.field for each in found.listed] or path.startswith("workloadRef")


@pytest.mark.parametrize("path", paths_of("Canary"))
def test_a_field_of_a_canary_without_an_equal_is_listed_where_it_is(path: str) -> None:
    found = imported(DEPLOYMENT, with_field(CANARY, path))
    assert f"spec.{path.replace('[]', '[0]')}" in [each.field for each in found.listed]


def test_a_field_that_no_schema_has_is_listed_too() -> None:
    found = imported(with_field(ROLLOUT, "surprise"))
    assert [each.message for each in found.listed] == ["is no field that gitops-bg knows of this kind"]
    found = imported(DEPLOYMENT, with_field(CANARY, "analysis.surprise"))
    assert "spec.analysis.surprise" in [each.field for each in found.listed]


OF_ARGO_ALONE = (
    *(f"metrics[].provider.{name}" for name in ONLY_OF_ARGO),
    *(
        f"metrics[].provider.{name}.authentication.sigv4.{field}"
        for name in ("prometheus", "web")
        for field in ("profile", "roleArn")
    ),
)
"""Fields of Argo Rollouts' templates that are refused with a reason (tests/spec/analysis/test_templates.py)."""


def models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in models_in(part)]


def has(model: type[BaseModel], path: str) -> bool:
    """Whether a model has the field; what is below a plain mapping is the author's."""
    first, _, rest = path.replace("[]", "").partition(".")
    info = next((each for name, each in model.model_fields.items() if (each.alias or name) == first), None)
    inner = models_in(info.annotation) if info else []
    return info is not None and (not rest or not inner or has(inner[0], rest))


@pytest.mark.parametrize("kind", ["analysis-template", "cluster-analysis-template"])
def test_every_field_of_an_analysis_template_is_one_of_ours_or_refused_with_a_reason(kind: str) -> None:
    missing = [path for path in schema(kind) if not has(TemplateSpec, path)]
    assert [path for path in missing if not path.startswith(OF_ARGO_ALONE)] == []
    assert not has(TemplateSpec, "metrics[].provider.prometheus.queries")


def test_every_field_of_an_alert_provider_but_its_proxy_is_one_of_ours() -> None:
    known = {info.alias or name for name, info in ProviderSpec.model_fields.items()}
    assert {path.partition(".")[0] for path in schema("alert-provider")} - known == {"proxy"}


def test_nothing_is_listed_of_what_asks_for_nothing() -> None:
    found = imported(ROLLOUT, DEPLOYMENT.replace("name: web,", "name: other,").replace("app: web", "app: other"))
    assert [each.field for each in found.listed if each.file == "0.yaml"] == []
    found = imported(
        DEPLOYMENT, CANARY.replace("  service:", "  skipAnalysis: false\n  provider: kubernetes\n  service:")
    )
    assert fields(found.listed) == []
