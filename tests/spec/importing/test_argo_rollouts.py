"""A Rollout becomes an app that behaves as the Rollout did; what it cannot do is said, with its place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spec.importing.texts import (
    DEPLOYMENT,
    POD,
    ROLLOUT,
    SELECTOR,
    SERVICE,
    app,
    fields,
    imported,
    manifest,
    value_of,
)

API = "argoproj.io/v1alpha1"


def rollout(*lines: str, strategy: str = "blueGreen: {activeService: web}", more: str = "") -> str:
    spec = SELECTOR + POD + "".join(f"{line}\n" for line in lines) + f"strategy: {{{strategy}}}\n"
    return manifest("Rollout", API, spec, more=more)


def test_a_rollout_becomes_an_app_and_its_target() -> None:
    found = imported(ROLLOUT, SERVICE)
    assert [str(each) for each in found.apps] == ["shop/web"]
    assert found.listed == ()
    assert (
        found.files["apps/shop/web/app.yaml"]
        == """\
# From 0.yaml:1, Rollout web, by gitops-bg import.
apiVersion: gitops-bg.dev/v1alpha1
kind: BlueGreenDeployment
metadata:
  name: web
  namespace: shop
spec:
  strategy:
    blueGreen:
      activeService: web
      previewService: web-preview
      autoPromotionEnabled: true  # the default of Argo Rollouts; remove it, and a person decides
      scaleDownDelaySeconds: 30  # the default of Argo Rollouts; 600 here
"""
    )
    target = value_of(found, "apps/shop/web/target.yaml")
    assert (target["kind"], target["metadata"]) == ("Deployment", {"name": "web", "namespace": "shop"})
    assert set(target["spec"]) == {"selector", "template"}
    assert (
        found.files["apps/shop/web/services.yaml"]
        == """\
# From 1.yaml:1, Service web.
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
spec:
  ports:
    - name: http
      port: 80
      targetPort: http
"""
    )


SPEC: dict[str, dict[str, Any]] = {
    "minReadySeconds: 10": {"minReadySeconds": 10},
    "progressDeadlineSeconds: 600": {},
    "progressDeadlineSeconds: 60": {"progressDeadlineSeconds": 60},
    "progressDeadlineAbort: true": {"progressDeadlineAbort": True},
    "revisionHistoryLimit: 3": {"revisionHistoryLimit": 3},
    "rollbackWindow: {revisions: 2}": {"rollbackWindow": {"revisions": 2}},
    'restartAt: "2026-11-25T07:00:00Z"': {"restartAt": "2026-11-25T07:00:00Z"},
    "analysis: {successfulRunHistoryLimit: 2}": {"analysis": {"successfulRunHistoryLimit": 2}},
    "paused: true": {"suspend": {"reason": "spec.paused of the Rollout web"}},
    "paused: false": {},
}


@pytest.mark.parametrize("line", SPEC)
def test_fields_beside_the_strategy(line: str) -> None:
    spec = app(imported(rollout(line)))
    del spec["strategy"]
    assert spec == SPEC[line]


BLUE_GREEN: dict[str, dict[str, Any]] = {
    "autoPromotionEnabled: false": {"autoPromotionEnabled": False},
    "autoPromotionSeconds: 60": {"autoPromotionSeconds": 60},
    "previewReplicaCount: 1": {"previewReplicaCount": 1},
    "scaleDownDelaySeconds: 5": {"scaleDownDelaySeconds": 5},
    "scaleDownDelayRevisionLimit: 2": {"scaleDownDelayRevisionLimit": 2},
    "abortScaleDownDelaySeconds: 0": {"abortScaleDownDelaySeconds": "never"},
    "abortScaleDownDelaySeconds: 10": {"abortScaleDownDelaySeconds": 10},
    "maxUnavailable: 50%": {"maxUnavailable": "50%"},
    "antiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}": {"antiAffinity": {"required": {}}},
    "antiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: {weight: 9}}": {
        "antiAffinity": {"preferred": {"weight": 9}}
    },
    "activeMetadata: {labels: {role: live}}": {"activeMetadata": {"labels": {"role": "live"}}},
    "previewMetadata: {annotations: {a: b}}": {"previewMetadata": {"annotations": {"a": "b"}}},
}


@pytest.mark.parametrize("line", BLUE_GREEN)
def test_fields_of_the_strategy(line: str) -> None:
    found = app(imported(rollout(strategy=f"blueGreen: {{activeService: web, {line}}}")))
    defaults = {"activeService": "web", "autoPromotionEnabled": True, "scaleDownDelaySeconds": 30}
    assert found["strategy"]["blueGreen"] == {**defaults, **BLUE_GREEN[line]}


def test_a_delay_of_zero_means_the_opposite_and_is_said() -> None:
    found = imported(rollout(strategy="blueGreen: {activeService: web, scaleDownDelaySeconds: 0}"))
    assert app(found)["strategy"]["blueGreen"]["scaleDownDelaySeconds"] == 0
    assert 'write "never" if it is meant' in [each.remedy for each in found.listed]


TEMPLATE = f"""\
apiVersion: {API}
kind: AnalysisTemplate
metadata: {{name: errors, namespace: shop}}
spec:
  args: [{{name: hash}}]
  metrics:
    # few of them
    - {{name: errors, successCondition: "result < 1", provider: {{web: {{url: "http://a/{{{{args.hash}}}}"}}}}}}
"""
ANALYSIS = (
    "blueGreen: {activeService: web, prePromotionAnalysis: {templates: [{templateName: errors}], "
    "args: [{name: hash, valueFrom: {podTemplateHashValue: Latest}}]}}"
)


def test_analysis_templates_are_written_as_they_are() -> None:
    found = imported(rollout(strategy=ANALYSIS), TEMPLATE)
    assert found.problems == ()
    assert found.files["analysis/errors.yaml"] == f"# From 1.yaml:1, AnalysisTemplate errors.\n{TEMPLATE}"
    analysis = app(found)["strategy"]["blueGreen"]["prePromotionAnalysis"]
    assert analysis["args"] == [{"name": "hash", "valueFrom": {"podTemplateHashValue": "Latest"}}]


def test_a_template_that_the_repository_has_is_known() -> None:
    there: dict[str, Any] = {"analysis/errors.yaml": TEMPLATE.encode()}
    assert imported(rollout(strategy=ANALYSIS), repository=there).problems == ()
    assert "analysis/errors.yaml" not in imported(rollout(strategy=ANALYSIS), TEMPLATE, repository=there).files


def test_the_label_of_argo_rollouts_in_a_query_is_said() -> None:
    asking = TEMPLATE.replace("http://a/", "http://a/?q=rollouts_pod_template_hash")
    (said,) = imported(asking).listed
    assert "gitops_bg_dev_digest" in said.remedy


WORKLOAD = """\
workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
replicas: 5
strategy: {blueGreen: {activeService: web}}
"""


def test_a_rollout_with_a_reference_takes_the_deployment_of_the_files_with_its_own_size() -> None:
    commented = DEPLOYMENT.replace("replicas: 3", "replicas: 0  # Argo Rollouts has it").replace(
        "  selector:", "  minReadySeconds: 5\n  selector:"
    )
    found = imported(commented, manifest("Rollout", API, WORKLOAD))
    target = found.files["apps/shop/web/target.yaml"]
    assert "replicas: 5  # Argo Rollouts has it" in target
    assert app(found)["minReadySeconds"] == 0  # that of the Deployment does not count for Argo Rollouts
    assert list(found.files) == ["apps/shop/web/app.yaml", "apps/shop/web/target.yaml"]


def test_an_app_with_a_reference_is_called_as_its_deployment() -> None:
    found = imported(DEPLOYMENT, manifest("Rollout", API, WORKLOAD, name="web-rollout"))
    assert [str(each) for each in found.apps] == ["shop/web"]
    assert "1.yaml:3 metadata.name" in fields(found.listed)


SCALE_DOWN = {"never": [], "onsuccess": ["spec.workloadRef.scaleDown"], "progressively": ["spec.workloadRef.scaleDown"]}


@pytest.mark.parametrize("how", SCALE_DOWN)
def test_scaling_the_old_deployment_down_is_listed(how: str) -> None:
    spec = WORKLOAD.replace("name: web}", f"name: web, scaleDown: {how}}}")
    listed = imported(DEPLOYMENT, SERVICE, manifest("Rollout", API, spec)).listed
    assert [each.field for each in listed] == SCALE_DOWN[how]


CANARY: dict[str, dict[str, Any]] = {
    "canary: {stableService: web, canaryService: web-new}": {
        "activeService": "web",
        "previewService": "web-new",
        "autoPromotionEnabled": True,
    },
    "canary: {steps: [{setWeight: 20}, {pause: {}}]}": {"activeService": "web", "previewService": "web-preview"},
    "canary: {steps: [{pause: {duration: 10s}}]}": {
        "activeService": "web",
        "previewService": "web-preview",
        "autoPromotionEnabled": True,
    },
    "canary: {analysis: {templates: [{templateName: errors}]}}": {
        "activeService": "web",
        "previewService": "web-preview",
        "autoPromotionEnabled": False,  # nothing goes live unmeasured
    },
    "canary: {steps: [{analysis: {templates: [{templateName: errors}]}}]}": {
        "activeService": "web",
        "previewService": "web-preview",
        "autoPromotionEnabled": False,
    },
    "canary: {canaryMetadata: {labels: {role: new}}, stableMetadata: {labels: {role: old}}, steps: [{pause: }]}": {
        "activeService": "web",
        "previewService": "web-preview",
        "previewMetadata": {"labels": {"role": "new"}},
        "activeMetadata": {"labels": {"role": "old"}},
    },
}


@pytest.mark.parametrize("strategy", CANARY)
def test_a_canary_becomes_blue_green_and_waits_for_a_person_where_a_step_did(strategy: str) -> None:
    found = imported(rollout(strategy=strategy), SERVICE)
    assert app(found)["strategy"]["blueGreen"] == CANARY[strategy]
    assert ("spec.strategy.canary.steps" in [each.field for each in found.listed]) == ("steps" in strategy)


def test_a_canary_beside_blue_green_counts_for_nothing_and_each_field_of_it_is_listed() -> None:
    canary = "canary: {stableService: web-old, canaryService: web-new, maxUnavailable: 1, antiAffinity: , maxSurge: 1}"
    both = f"blueGreen: {{activeService: web}}, {canary}"
    found = imported(rollout(strategy=both), SERVICE)
    assert app(found)["strategy"]["blueGreen"]["activeService"] == "web"
    assert "maxUnavailable" not in app(found)["strategy"]["blueGreen"]
    assert sorted(each.field.rpartition(".")[2] for each in found.listed) == [
        "canaryService",
        "maxSurge",
        "maxUnavailable",
        "stableService",
    ]
    assert str(found.listed[0]).endswith(
        "spec.strategy.canary.stableService: stands beside strategy.blueGreen, which counts (leave it out, or write "
        "activeService into strategy.blueGreen)"
    )
    alone = imported(rollout(strategy="blueGreen: , canary: {stableService: web, canaryService: web-new}"), SERVICE)
    assert app(alone)["strategy"]["blueGreen"]["previewService"] == "web-new", "a blueGreen that says nothing is none"


def test_what_the_api_server_wrote_is_no_part_of_it_and_what_speaks_to_other_tools_is_listed() -> None:
    live = (
        ", labels: {team: web}, uid: a, resourceVersion: '7', generation: 3, creationTimestamp: '2026-01-01T00:00:00Z',"
        " annotations: {rollout.argoproj.io/revision: '11', owner: ada,"
        " notifications.argoproj.io/subscribe.on-rollout-aborted.slack: shop, argocd.argoproj.io/sync-wave: '1'}"
    )
    found = imported(rollout(more=live) + "status: {phase: Healthy}\n", SERVICE)
    metadata = value_of(found, "apps/shop/web/app.yaml")["metadata"]
    assert metadata == {
        "name": "web",
        "namespace": "shop",
        "labels": {"team": "web"},
        "annotations": {"owner": "ada"},
    }
    assert [each.message for each in found.listed] == [
        "subscribes at Argo",
        "tells another tool what to do with this object, which it does not apply any more",
    ]
