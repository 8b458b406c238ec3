"""A plain Deployment, and bgd-controller's BlueGreenDeployment, with what stands beside them, become apps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spec.importing.texts import (
    DEPLOYMENT,
    EMPTY,
    POD,
    SERVICE,
    app,
    fields,
    imported,
    indented,
    manifest,
    value_of,
)

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {a: b}  # why\n"
USING = DEPLOYMENT + "          envFrom: [{configMapRef: {name: settings}}]\n"
BUDGET = manifest("PodDisruptionBudget", "policy/v1", "minAvailable: 1\nselector: {matchLabels: {app: web}}\n")
HPA = manifest(
    "HorizontalPodAutoscaler",
    "autoscaling/v2",
    "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\nmaxReplicas: 4\n",
)
KEDA = manifest(
    "ScaledObject", "keda.sh/v1alpha1", "scaleTargetRef: {name: web}\ntriggers: [{type: cron, metadata: {}}]\n"
)


def test_a_deployment_becomes_the_target_as_it_is_and_waits_for_a_person() -> None:
    found = imported(DEPLOYMENT, SERVICE)
    assert found.listed == ()
    assert found.files["apps/shop/web/target.yaml"] == f"# From 0.yaml:1, Deployment web.\n{DEPLOYMENT}"
    assert app(found) == {"strategy": {"blueGreen": {"activeService": "web", "previewService": "web-preview"}}}


FIELDS: dict[str, dict[str, Any]] = {
    "progressDeadlineSeconds: 60": {"progressDeadlineSeconds": 60},
    "progressDeadlineSeconds: 600": {},
    "revisionHistoryLimit: 2": {"revisionHistoryLimit": 2},
    "minReadySeconds: 5": {},  # read from the target
    "paused: true": {"suspend": {"reason": "spec.paused of the Deployment web"}},
    "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}": {},
}


@pytest.mark.parametrize("line", FIELDS)
def test_fields_of_a_deployment(line: str) -> None:
    found = imported(f"{DEPLOYMENT}  {line}\n", SERVICE)
    spec = app(found)
    del spec["strategy"]
    assert (spec, found.listed) == (FIELDS[line], ())


def test_a_strategy_of_its_own_is_listed() -> None:
    assert fields(imported(f"{DEPLOYMENT}  strategy: {{type: Recreate}}\n", SERVICE).listed) == [
        "0.yaml:15 spec.strategy"
    ]


def test_every_service_that_selects_its_pods_carries_live_traffic() -> None:
    found = imported(DEPLOYMENT, SERVICE, SERVICE.replace("name: web,", "name: web-admin,"))
    assert app(found)["strategy"]["blueGreen"] == {
        "activeServices": ["web", "web-admin"],
        "previewService": "web-preview",
    }


def test_the_preview_service_has_a_name_that_kubernetes_takes() -> None:
    strategy = app(imported(DEPLOYMENT, SERVICE.replace("name: web,", f"name: {'a' * 60},")))["strategy"]["blueGreen"]
    assert strategy["previewService"].startswith("a" * 54 + "-")
    assert len(strategy["previewService"]) == 63


def test_without_a_service_the_agent_makes_one_and_that_is_said() -> None:
    found = imported(DEPLOYMENT)
    assert app(found)["strategy"]["blueGreen"]["activeService"] == "web"
    assert fields(found.listed) == ["0.yaml:3 metadata.name"]


def test_without_a_service_and_without_ports_nobody_can_make_one_and_that_is_said() -> None:
    bare = "".join(line for line in DEPLOYMENT.splitlines(keepends=True) if "port" not in line)
    assert [each.message for each in imported(bare).listed] == [
        "no Service of the files selects its pods, and no container declares a port to make one of"
    ]


def test_a_service_that_leads_to_other_pods_is_never_taken_from_them() -> None:
    found = imported(DEPLOYMENT, SERVICE.replace("app: web", "app: other"))
    assert app(found)["strategy"]["blueGreen"]["activeService"] == "web-active"
    assert fields(found.listed) == ["0.yaml:3 metadata.name", "1.yaml:3 metadata.name"]
    assert "apps/shop/web/services.yaml" not in found.files


def test_a_live_service_comes_without_what_the_cluster_assigned() -> None:
    live = "clusterIP: 10.0.0.7\nclusterIPs: [10.0.0.7]\nipFamilies: [IPv4]\nipFamilyPolicy: SingleStack\n"
    live += "type: NodePort\nsessionAffinity: None\ninternalTrafficPolicy: Cluster\n"
    found = imported(DEPLOYMENT, SERVICE + indented(live))
    spec = value_of(found, "apps/shop/web/services.yaml")["spec"]
    assert set(spec) == {"ports", "type"}
    headless = imported(DEPLOYMENT, SERVICE + "  clusterIP: None\n")
    assert value_of(headless, "apps/shop/web/services.yaml")["spec"]["clusterIP"] == "None"


BESIDE = {
    "configuration.yaml": CONFIG,
    "autoscaler.yaml": HPA,
    "budget.yaml": BUDGET,
}


@pytest.mark.parametrize("file", BESIDE)
def test_what_stands_beside_it_comes_along_as_it_is(file: str) -> None:
    found = imported(USING, SERVICE, CONFIG, *([BESIDE[file]] if file != "configuration.yaml" else []))
    assert found.problems == ()
    assert found.files[f"apps/shop/web/{file}"].endswith(BESIDE[file])
    assert found.listed == ()


def test_a_scaled_object_comes_along() -> None:
    assert imported(DEPLOYMENT, SERVICE, KEDA).files["apps/shop/web/autoscaler.yaml"].endswith(KEDA)


def test_an_autoscaler_of_a_rollout_is_aimed_at_the_target() -> None:
    rollout = DEPLOYMENT.replace("apps/v1", "argoproj.io/v1alpha1").replace("Deployment", "Rollout")
    rollout += "  strategy: {blueGreen: {activeService: web}}\n"
    aimed = HPA.replace("apps/v1, kind: Deployment", "argoproj.io/v1alpha1, kind: Rollout")
    spec = value_of(imported(rollout, aimed), "apps/shop/web/autoscaler.yaml")["spec"]
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


STRANGERS = [
    CONFIG,
    HPA.replace("name: web}", "name: other}"),
    BUDGET.replace("app: web", "app: other"),
    BUDGET.replace("matchLabels: {app: web}", "matchExpressions: [{key: app, operator: NotIn, values: [web]}]"),
    BUDGET.replace("matchLabels: {app: web}", ""),
    CONFIG.replace("shop", "elsewhere"),
]


@pytest.mark.parametrize("text", STRANGERS)
def test_what_belongs_to_no_app_is_listed(text: str) -> None:
    found = imported(DEPLOYMENT, SERVICE, text)
    assert [each.message.partition(" belongs")[1] for each in found.listed] == [" belongs"]
    assert len(found.files) == 3


def test_a_budget_by_expressions_belongs_to_the_app_whose_pods_it_means() -> None:
    text = BUDGET.replace("matchLabels: {app: web}", "matchExpressions: [{key: app, operator: In, values: [web]}]")
    assert "apps/shop/web/budget.yaml" in imported(DEPLOYMENT, SERVICE, text).files


def test_two_apps_that_share_a_config_map_both_have_it() -> None:
    other = USING.replace("name: web", "name: api").replace("app: web", "app: api")
    found = imported(USING, other, CONFIG)
    assert found.problems == ()
    assert {path for path in found.files if "configuration" in path} == {
        "apps/shop/web/configuration.yaml",
        "apps/shop/api/configuration.yaml",
    }


def test_a_secret_is_left_out_and_its_values_are_not_said() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: shop}\ndata: {t: aHVzaGh1c2g=}\n"
    found = imported(DEPLOYMENT + "          envFrom: [{secretRef: {name: token}}]\n", SERVICE, secret)
    (said,) = found.listed
    assert "the pods read it" in said.message
    assert "aHVzaGh1c2g=" not in "".join([str(said), *found.files.values()])


def test_a_list_as_kubectl_prints_it_is_opened() -> None:
    live = DEPLOYMENT.replace(
        "name: web, namespace: shop}",
        "name: web, namespace: shop, uid: a, annotations: {deployment.kubernetes.io/revision: '1'}}",
    ).replace("metadata: {labels", "metadata: {creationTimestamp: null, labels")
    items = "".join(f"- {indented(text).strip()}\n" for text in (live + "status: {replicas: 3}\n", SERVICE))
    found = imported(f"apiVersion: v1\nkind: List\nitems:\n{items}")
    assert found.problems == ()
    assert value_of(found, "apps/shop/web/target.yaml") == value_of(imported(DEPLOYMENT), "apps/shop/web/target.yaml")


BGD = manifest(
    "BlueGreenDeployment",
    "controller.google.com/v1alpha1",
    "replicas: 2\npodSpec:\n  " + indented(POD.partition("  spec:\n")[2], 0).strip() + "\n",
)
OLD = manifest("BlueGreenDeployment", "demo.google.com/v1", "replicas: 2\n" + POD)


@pytest.mark.parametrize("text", [BGD, OLD], ids=["controller.google.com", "demo.google.com"])
def test_a_blue_green_deployment_of_bgd_controller_becomes_an_app(text: str) -> None:
    found = imported(text)
    assert found.problems == ()
    assert app(found) == {"strategy": {"blueGreen": {"activeService": "bgd-svc", "autoPromotionEnabled": True}}}
    target = value_of(found, "apps/shop/web/target.yaml")["spec"]
    assert (target["replicas"], target["selector"]) == (2, {"matchLabels": {"app": "web"}})
    assert target["template"]["spec"]["containers"][0]["image"] == "registry.example/shop/web:1.0.0"
    assert value_of(found, "apps/shop/web/services.yaml")["spec"] == {
        "ports": [{"port": 80, "targetPort": 443, "protocol": "TCP"}]
    }


def test_the_service_of_bgd_controller_keeps_its_ports() -> None:
    theirs = SERVICE.replace("name: web,", "name: bgd-svc,").replace("app: web", "color: blue")
    assert value_of(imported(BGD, theirs), "apps/shop/web/services.yaml")["spec"]["ports"][0]["targetPort"] == "http"


def test_what_bgd_controller_says_otherwise_is_listed() -> None:
    assert fields(imported(BGD.replace("  replicas: 2\n", "  surprise: 2\n")).listed) == [
        "0.yaml:4 spec.replicas",
        "0.yaml:5 spec.surprise",
    ]
    assert imported(BGD, repository=EMPTY).problems == ()
