"""An API server accepts the manifests in deploy/, and they are consistent."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.support.cluster.clusters import DEPLOY, TestCluster


def manifests() -> dict[tuple[str, str], dict[str, object]]:
    """All manifests that the kustomization names, by kind and name."""
    resources = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"]
    found = [each for file in resources for each in yaml.safe_load_all((DEPLOY / file).read_text())]
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def test_every_manifest_is_accepted(cluster: TestCluster) -> None:
    for (kind, _), manifest in manifests().items():
        if kind != "CustomResourceDefinition":
            assert cluster.apply(manifest)["metadata"]["uid"]


def test_the_names_point_to_each_other() -> None:
    found = manifests()
    agent = found["Deployment", "gitops-bg"]["spec"]["template"]  # type: ignore[index]
    assert ("ServiceAccount", agent["spec"]["serviceAccountName"]) in found
    service = found["Service", "gitops-bg"]["spec"]
    assert service["selector"].items() <= agent["metadata"]["labels"].items()  # type: ignore[index]
    ports = {port["name"] for container in agent["spec"]["containers"] for port in container["ports"]}
    assert {port["targetPort"] for port in service["ports"]} <= ports  # type: ignore[index]


def test_kustomize_builds_it(cluster: TestCluster) -> None:
    built = cluster.kubectl("kustomize", str(DEPLOY))
    assert built.returncode == 0, built.stderr
    kinds = {each["kind"] for each in yaml.safe_load_all(built.stdout)}
    assert {"Deployment", "Service", "CustomResourceDefinition", "ClusterRole"} <= kinds


def test_applying_it_again_leaves_the_users_settings_alone(cluster: TestCluster) -> None:
    """docs/start/install.md has the ConfigMap made before; one in here would put an example's in its place."""
    built = cluster.kubectl("kustomize", str(DEPLOY))
    assert "ConfigMap" not in {each["kind"] for each in yaml.safe_load_all(built.stdout)}


def test_user_of_the_agent_has_a_name_in_the_image() -> None:
    """ssh ends with `No user exists for uid …` otherwise."""
    user = manifests()["Deployment", "gitops-bg"]["spec"]["template"]["spec"]["securityContext"]["runAsUser"]  # type: ignore[index]
    assert f"useradd --uid {user} " in (DEPLOY / "Dockerfile").read_text()


def pod(file: str) -> Any:
    """What the one Deployment of a file says of its pods."""
    found = yaml.safe_load_all((DEPLOY / file).read_text())
    (spec,) = (each["spec"]["template"]["spec"] for each in found if each["kind"] == "Deployment")
    return spec


@pytest.mark.parametrize("file", ["agent.yaml", "deny-service.yaml"])
def test_our_pods_keep_to_the_restricted_standard_and_write_to_no_root(file: str) -> None:
    """https://kubernetes.io/docs/concepts/security/pod-security-standards/"""
    spec = pod(file)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]


def test_no_volume_of_the_agent_takes_all_of_a_nodes_disk() -> None:
    written = [each for each in pod("agent.yaml")["volumes"] if "emptyDir" in each]
    assert [each["name"] for each in written] == ["mirror", "temporary"]
    assert all(each["emptyDir"]["sizeLimit"] for each in written)


def test_pods_of_the_cluster_reach_the_agents_http_and_nobody_else_reaches_anything() -> None:
    found = manifests()
    spec: Any = found["NetworkPolicy", "gitops-bg"]["spec"]
    agent: Any = found["Deployment", "gitops-bg"]["spec"]["template"]  # type: ignore[index]
    assert spec["podSelector"]["matchLabels"].items() <= agent["metadata"]["labels"].items()
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    http = {"port": "http", "protocol": "TCP"}
    assert spec["ingress"] == [{"from": [{"namespaceSelector": {}}], "ports": [http]}]
