"""An API server accepts the manifests in deploy/, and they are consistent."""

from __future__ import annotations

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
