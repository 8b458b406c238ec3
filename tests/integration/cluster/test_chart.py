"""The chart, rendered and linted by real helm: the same objects as by kustomize and `gitops-bg install --export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_bg.cluster.chart import KEEP, POD_FIELDS
from tests.integration.cli.test_files import run
from tests.support.cluster.clusters import DEPLOY, ControlPlaneCluster, SandboxCluster, TestCluster
from tests.support.cluster.helm import HOW_TO_GET_IT, Helm, helm_at_hand
from tests.support.waiting import eventually

CHART = str(DEPLOY / "chart")
RUNBOOKS = "https://git.example.com/tools/gitops-bg/blob/main/docs/features/monitoring.md"
PLACE = ("gitops-bg", CHART, "--namespace", "gitops-bg")
Objects = dict[tuple[str, str], Any]


@pytest.fixture
def helm(cluster: TestCluster, tmp_path: Path) -> Helm:
    program = helm_at_hand()
    if program is None:
        pytest.skip(HOW_TO_GET_IT)
    return Helm(program, tmp_path, cluster.kubeconfig)


@pytest.fixture
def cluster(sandbox_cluster: SandboxCluster) -> TestCluster:
    """Rendering asks no cluster."""
    return sandbox_cluster


def objects(text: str) -> Objects:
    found = (each for each in yaml.load_all(text, yaml.CSafeLoader) if each)
    return {(each["kind"], _name(each["metadata"])): each for each in found}


def _name(metadata: dict[str, str]) -> str:
    """The name of an object, with the namespace where it is not the agent's own."""
    where = metadata.get("namespace")
    return f"{where}/{metadata['name']}" if where in ("shop", "pay") else metadata["name"]


RELEASE = {
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
}
"""The labels that an object of a release of helm has beside its own."""


def without_helms(found: Objects) -> Objects:
    """Only helm needs to be told to keep the definitions, labels its releases, and makes the namespace itself."""
    for each in found.values():
        labels = each["metadata"]["labels"]
        assert {"app.kubernetes.io/name", "app.kubernetes.io/part-of"} <= labels.keys()
        each["metadata"]["labels"] = {name: value for name, value in labels.items() if name not in RELEASE}
        if each["kind"] == "CustomResourceDefinition" and each["metadata"].pop("annotations", {}) not in ({}, KEEP):
            pytest.fail(f"{each['metadata']['name']} has more annotations than that")
    return {key: each for key, each in found.items() if each["kind"] != "Namespace"}


def test_kustomize_and_export_have_the_same_objects(cluster: TestCluster) -> None:
    built = cluster.kubectl("kustomize", str(DEPLOY))
    assert built.returncode == 0, built.stderr
    assert objects(run("install", "--export").stdout) == objects(built.stdout)


def test_the_chart_by_default_has_the_same_objects(helm: Helm) -> None:
    assert without_helms(objects(helm("template", *PLACE))) == without_helms(objects(run("install", "--export").stdout))


def test_image_namespace_and_settings_are_the_same_by_chart_and_by_export(helm: Helm) -> None:
    image, url = "registry.example:5000/tools/gitops-bg:1.2", "https://git.example.com/shop/config.git"
    values = [f"image.repository={image.removesuffix(':1.2')}", "image.tag=1.2", f"repository={url}", "cluster=prod-eu"]
    values += ["watchNamespaces={shop,pay}", "impersonateServiceAccount=apps"]
    sets = [part for value in values for part in ("--set", value)]
    by_chart = without_helms(objects(helm("template", "any", CHART, "--namespace", "tools", *sets)))
    options = ("--image", image, "--repo", url, "--cluster", "prod-eu", "--namespace", "tools")
    options += ("--watch-namespace", "shop", "--watch-namespace", "pay", "--impersonate-service-account", "apps")
    by_export = without_helms(objects(run("install", "--export", *options).stdout))
    for found in (by_chart, by_export):
        annotations = found["Deployment", "gitops-bg"]["spec"]["template"]["metadata"].pop("annotations")
        assert list(annotations) == ["gitops-bg.dev/settings"]
    assert by_chart == by_export
    assert by_chart["ConfigMap", "gitops-bg"]["data"] == {
        "GITOPS_BG_REPO": url,
        "GITOPS_BG_CLUSTER": "prod-eu",
        "GITOPS_BG_NAMESPACE": "shop pay",
        "GITOPS_BG_IMPERSONATE_SERVICE_ACCOUNT": "apps",
    }
    bound = {f"{namespace}/{role}" for namespace in ("shop", "pay") for role in ("gitops-bg", "gitops-bg-impersonator")}
    assert {("RoleBinding", each) for each in bound} <= by_chart.keys()


def test_rights_in_all_namespaces_are_one_binding(helm: Helm) -> None:
    by_chart = without_helms(objects(helm("template", *PLACE, "--set", "watchAllNamespaces=true")))
    assert by_chart == without_helms(objects(run("install", "--export", "--watch-all-namespaces").stdout))
    assert ("ClusterRoleBinding", "gitops-bg") in by_chart
    assert ("ClusterRoleBinding", "gitops-bg-impersonator") not in by_chart


def test_every_object_of_a_release_has_its_labels(helm: Helm) -> None:
    made = objects(helm("template", "blue-green", CHART, "--set", "monitoring.enabled=true,watchAllNamespaces=true"))
    assert {name for name, each in made.items() if not each["metadata"]["labels"].keys() >= RELEASE} == set()
    labels = made["Deployment", "gitops-bg"]["metadata"]["labels"]
    assert (labels["app.kubernetes.io/instance"], labels["app.kubernetes.io/managed-by"]) == ("blue-green", "Helm")


def test_a_digest_comes_before_a_tag(helm: Helm) -> None:
    digest = f"sha256:{'a' * 64}"
    made = objects(helm("template", *PLACE, "--set", f"image.repository=reg/bg,image.tag=v7,image.digest={digest}"))
    (container,) = made["Deployment", "gitops-bg"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"reg/bg@{digest}"


FIELDS: dict[str, Any] = {
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "spot", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
    "imagePullSecrets": [{"name": "pull"}],
    "priorityClassName": "system-cluster-critical",
    "runtimeClassName": "gvisor",
    "schedulerName": "own",
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["git"]}],
    "dnsPolicy": "None",
    "dnsConfig": {"nameservers": ["10.0.0.2"]},
}
"""A value for each field of the pod."""


def test_every_value_of_the_pod_reaches_it(helm: Helm, tmp_path: Path) -> None:
    assert FIELDS.keys() == set(POD_FIELDS)
    more = {
        "podAnnotations": {"a.example/b": "c"},
        "podLabels": {"team": "web"},
        "serviceAccount": {"annotations": {"cloud.example/role": "bg"}},
        "extraArgs": ["--poll=5s"],
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "extraVolumes": [{"name": "ca", "configMap": {"name": "ca"}}],
        "extraVolumeMounts": [{"name": "ca", "mountPath": "/ca"}],
    }
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(FIELDS | more))
    made = objects(helm("template", *PLACE, "--values", str(values)))
    pod = made["Deployment", "gitops-bg"]["spec"]["template"]
    assert {name: pod["spec"][name] for name in FIELDS} == FIELDS
    assert pod["metadata"]["annotations"] == more["podAnnotations"]
    assert pod["metadata"]["labels"] == {"app.kubernetes.io/name": "gitops-bg", "team": "web"}
    (container,) = pod["spec"]["containers"]
    assert container["args"][-1:] == more["extraArgs"]
    assert container["env"][-1:] == more["extraEnv"]
    assert container["volumeMounts"][-1:] == more["extraVolumeMounts"]
    assert pod["spec"]["volumes"][-1:] == more["extraVolumes"]
    assert made["ServiceAccount", "gitops-bg"]["metadata"]["annotations"] == {"cloud.example/role": "bg"}


def test_more_settings_reach_the_agent(helm: Helm) -> None:
    sets = (
        "repository=git@h:x.git",
        "cluster=c",
        "watchAllNamespaces=true",
        "settings.GITOPS_BG_POLL=10s",
    )
    found = objects(helm("template", *PLACE, *(part for each in sets for part in ("--set", each))))
    assert found["ConfigMap", "gitops-bg"]["data"]["GITOPS_BG_POLL"] == "10s"


def test_the_network_and_the_size_of_the_mirror_are_values(helm: Helm) -> None:
    narrowed = "networkPolicy.egress[0].ports[0].port=443,mirrorSize=20Gi"
    found = objects(helm("template", *PLACE, "--set", narrowed))
    assert found["NetworkPolicy", "gitops-bg"]["spec"]["egress"] == [{"ports": [{"port": 443}]}]
    volumes = {each["name"]: each for each in found["Deployment", "gitops-bg"]["spec"]["template"]["spec"]["volumes"]}
    assert volumes["mirror"]["emptyDir"] == {"sizeLimit": "20Gi"}
    kinds = {kind for kind, _ in objects(helm("template", *PLACE, "--set", "networkPolicy.enabled=false"))}
    assert "NetworkPolicy" not in kinds


def test_monitoring_by_the_chart_has_the_objects_of_its_kustomization(helm: Helm, cluster: TestCluster) -> None:
    """Braces of Prometheus and Grafana are not helm's; the labels are what an operator selects by."""
    built = cluster.kubectl("kustomize", str(DEPLOY / "monitoring"))
    assert built.returncode == 0, built.stderr
    plain = objects(helm("template", *PLACE))
    by_chart = objects(helm("template", *PLACE, "--set", "monitoring.enabled=true"))
    assert without_helms({key: each for key, each in by_chart.items() if key not in plain}) == objects(built.stdout)
    labelled = objects(helm("template", *PLACE, "--set", "monitoring.enabled=true,monitoring.labels.release=kube"))
    more = [each["metadata"]["labels"].get("release") for key, each in labelled.items() if key not in plain]
    assert more == ["kube"] * len(objects(built.stdout)) == ["kube"] * 3


@pytest.mark.parametrize("published", [True, False])
def test_every_alert_links_to_its_runbook_and_a_value_says_where_else_the_page_is(helm: Helm, published: bool) -> None:
    page = "https://docs.example.com/features/monitoring.html" if published else RUNBOOKS
    elsewhere = f",monitoring.runbookUrl={page}" if published else ""
    made = objects(helm("template", *PLACE, "--set", f"monitoring.enabled=true{elsewhere}"))
    (rules,) = (each for each in made.values() if each["kind"] == "PrometheusRule")
    told = [rule["annotations"] for group in rules["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    assert [each["runbook_url"].partition("#")[0] for each in told] == [page] * len(told)
    assert len({each["runbook_url"] for each in told}) == len(told) >= 20


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("image.repository=not an image", "/image/repository"),
        ("image=gitops-bg:1", "/image"),
        ("image.pullPolicy=Sometimes", "/image/pullPolicy"),
        ("imag=x", "imag"),
        ("repository=https://git.example.com/x", "/cluster"),
        ("repository=https://git.example.com/x,cluster=c", "watchNamespaces"),
        ("watchNamespaces={shop},watchAllNamespaces=true", "not"),
        ("watchNamespaces={a/b}", "/watchNamespaces/0"),
        ("replicas=two", "/replicas"),
        ("podAnnotations.a=7", "/podAnnotations"),
        ("settings.POLL=10s", "settings"),
        ("mirrorSize=much", "/mirrorSize"),
        ("networkPolicy.egres=x", "egres"),
        ("monitoring.enabled=yes-please", "/monitoring/enabled"),
        ("monitoring.rules=x", "rules"),
        ("monitoring.runbookUrl=docs/features/monitoring.md", "/monitoring/runbookUrl"),
    ],
)
def test_the_schema_refuses_other_values_and_names_the_field(helm: Helm, value: str, said: str) -> None:
    assert said in helm("template", *PLACE, "--set", value, code=1)


def test_it_passes_the_lint(helm: Helm) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART)


@pytest.mark.control_plane
def test_helm_installs_it_and_keeps_the_kinds_when_it_goes(
    control_plane_cluster: ControlPlaneCluster, tmp_path: Path
) -> None:
    """The API server accepts its objects; `install` and `uninstall` leave to helm what is helm's."""
    program = helm_at_hand()
    if program is None:
        pytest.skip(HOW_TO_GET_IT)
    cluster = control_plane_cluster
    cluster.install_our_kind()
    for path in ("clusterrolebindings/gitops-bg", "clusterroles/gitops-bg"):
        cluster.request("DELETE", f"/apis/rbac.authorization.k8s.io/v1/{path}")
    helm, namespace = Helm(program, tmp_path, cluster.kubeconfig), cluster.namespace()
    taken = ("--take-ownership", "--force-conflicts", "--create-namespace", "--namespace", namespace)
    helm("install", "blue-green", CHART, *taken, "--set", "image.repository=registry.example/gitops-bg,image.tag=1.0.0")
    agent = f"/apis/apps/v1/namespaces/{namespace}/deployments/gitops-bg"
    (container,) = cluster.get(agent)["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/gitops-bg:1.0.0"
    (kubeconfig, where) = ("--kubeconfig", str(cluster.kubeconfig)), ("--namespace", namespace)
    for verb in ("install", "uninstall"):
        assert "helm installed the agent, as release blue-green" in run(verb, *kubeconfig, *where, code=3).output
    helm("uninstall", "blue-green", "--namespace", namespace)
    eventually(lambda: cluster.request("GET", agent)[0] == 404, what="the agent is gone")
    definitions = cluster.list("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    assert {"bluegreendeployments.gitops-bg.dev", "releasegroups.gitops-bg.dev"} <= {
        each["metadata"]["name"] for each in definitions
    }
