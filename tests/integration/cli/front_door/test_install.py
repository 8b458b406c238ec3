"""`install` and `uninstall` on a real control plane: what is made, what is told, and what stays when the agent goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_bg.cli.commands import install as command
from gitops_bg.cluster import installation
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from tests.integration.cli.test_files import run
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.paths import path_in
from tests.support.scenario import scenario
from tests.support.waiting import eventually

NAMESPACE = "gitops-bg"
AGENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/gitops-bg"
SETTINGS = path_in(NAMESPACE, "ConfigMap", "gitops-bg")
CREDENTIALS = path_in(NAMESPACE, "Secret", "gitops-bg-git")
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/gitops-bg"
URL = "https://git.example.com/shop/config.git"


class Installer:
    """The two commands, on one cluster."""

    def __init__(self, cluster: ControlPlaneCluster) -> None:
        self.cluster = cluster

    def __call__(self, verb: str, *arguments: str, code: int = 0) -> str:
        return run(verb, *arguments, "--kubeconfig", str(self.cluster.kubeconfig), code=code).output

    def json(self, verb: str, *arguments: str, code: int = 0) -> Any:
        kubeconfig = ("--kubeconfig", str(self.cluster.kubeconfig))
        return json.loads(run(verb, *arguments, *kubeconfig, "-o", "json", code=code).stdout)

    def forget_settings(self) -> None:
        """Delete what `uninstall` leaves, this test's or that of another one on this cluster."""
        for path in (SETTINGS, CREDENTIALS):
            self.cluster.request("DELETE", path)


@pytest.fixture
def installer(control_plane_cluster: ControlPlaneCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installer]:
    """A cluster without the agent, and without its settings."""
    monkeypatch.setattr(command, "_PAUSE", 0.05)
    installer = Installer(control_plane_cluster)
    installer.forget_settings()
    yield installer
    installer("uninstall")
    installer.forget_settings()


def options(folder: Path, *watched: str, **more: str) -> list[str]:
    """What a user gives; without ``watched``, apps may live in all namespaces."""
    token = folder / "token"
    token.write_text("s3cret")
    given = {"repo": URL, "cluster": "prod", "git-token-file": str(token), "image": "registry.example/bg:1", **more}
    where = [part for each in watched for part in ("--watch-namespace", each)] or ["--watch-all-namespaces"]
    return [*(part for name, value in given.items() for part in (f"--{name}", value)), *where]


@pytest.mark.control_plane
def test_one_command_installs_it_and_the_same_one_upgrades_it_or_takes_new_settings(
    installer: Installer, tmp_path: Path
) -> None:
    told = installer("install", *options(tmp_path))
    assert "configmap/gitops-bg created" in told
    assert "The agent is ready: namespace gitops-bg, image registry.example/bg:1." in told
    assert "s3cret" not in told
    cluster = installer.cluster
    assert cluster.get(SETTINGS)["data"] == {
        "GITOPS_BG_REPO": URL,
        "GITOPS_BG_CLUSTER": "prod",
        "GITOPS_BG_GIT_TOKEN_FILE": "/etc/gitops-bg/git/token",
    }
    assert cluster.get(CREDENTIALS)["data"] == {"token": "czNjcmV0"}

    again = installer.json("install")
    assert [each for each in again["objects"] if each["change"] != "unchanged"] == []
    assert (again["ready"], again["image"]) == (True, "registry.example/bg:1")

    upgraded = installer.json("install", "--image", "registry.example/bg:2")
    assert [each["kind"] for each in upgraded["objects"] if each["change"] != "unchanged"] == ["Deployment"]
    (container,) = cluster.get(AGENT)["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/bg:2"

    cluster.patch(SETTINGS, {"data": {"GITOPS_BG_POLL": "10s"}})
    restarted = installer.json("install")
    assert [each["kind"] for each in restarted["objects"] if each["change"] != "unchanged"] == ["Deployment"]
    assert cluster.get(SETTINGS)["data"]["GITOPS_BG_POLL"] == "10s"


@pytest.mark.control_plane
def test_the_agent_has_its_rights_in_the_namespaces_that_were_named_and_in_no_other(
    installer: Installer, tmp_path: Path
) -> None:
    """They can be added to, exchanged for all, and narrowed again; what is superseded goes."""
    cluster = installer.cluster
    shop, pay = cluster.namespace(), cluster.namespace()
    account = "system:serviceaccount:gitops-bg:gitops-bg"

    def may_create_pods_owners() -> list[bool]:
        asked = ("auth", "can-i", "create", "replicasets.apps", "--as", account)
        return [cluster.kubectl(*asked, *where).returncode == 0 for where in (["-n", shop], ["-n", pay], ["-A"])]

    installer("install", *options(tmp_path, shop, timeout="0"))
    assert cluster.get(SETTINGS)["data"]["GITOPS_BG_NAMESPACE"] == shop
    eventually(lambda: may_create_pods_owners() == [True, False, False], what="the rights have arrived")

    installer("install", "--watch-namespace", shop, "--watch-namespace", pay, "--timeout", "0")
    assert cluster.get(SETTINGS)["data"]["GITOPS_BG_NAMESPACE"] == f"{shop} {pay}"
    assert cluster.get(SETTINGS)["data"]["GITOPS_BG_REPO"] == URL
    eventually(lambda: may_create_pods_owners() == [True, True, False], what="the second right has arrived")
    kept = installer.json("install", "--timeout", "0")
    assert [each for each in kept["objects"] if each["change"] != "unchanged"] == []

    told = installer("install", "--watch-all-namespaces", "--timeout", "0")
    assert told.count("rolebinding/gitops-bg deleted") == 2
    assert "GITOPS_BG_NAMESPACE" not in cluster.get(SETTINGS)["data"]
    eventually(lambda: may_create_pods_owners() == [True, True, True], what="the wide right has arrived")

    installer("install", *options(tmp_path, pay, timeout="0"))
    eventually(lambda: may_create_pods_owners() == [False, True, False], what="the wide right is gone")
    installer("uninstall")
    eventually(lambda: may_create_pods_owners() == [False, False, False], what="no right is left")


@pytest.mark.control_plane
def test_the_agent_acts_as_an_account_of_each_namespace_if_asked_until_it_is_no_longer(
    installer: Installer, tmp_path: Path
) -> None:
    cluster = installer.cluster
    shop, other = cluster.namespace(), cluster.namespace()
    account = "system:serviceaccount:gitops-bg:gitops-bg"

    def may_impersonate() -> list[bool]:
        asked = ("auth", "can-i", "impersonate", "serviceaccounts", "--as", account, "-n")
        return [cluster.kubectl(*asked, namespace).returncode == 0 for namespace in (shop, other)]

    installer("install", *options(tmp_path, shop, timeout="0"), "--impersonate-service-account", "apps")
    assert cluster.get(SETTINGS)["data"]["GITOPS_BG_IMPERSONATE_SERVICE_ACCOUNT"] == "apps"
    eventually(lambda: may_impersonate() == [True, False], what="the right has arrived")
    kept = installer.json("install", "--timeout", "0")
    assert [each for each in kept["objects"] if each["change"] != "unchanged"] == []

    installer("install", "--watch-namespace", other, "--timeout", "0")
    eventually(lambda: may_impersonate() == [False, True], what="the right has moved")
    assert cluster.get(SETTINGS)["data"]["GITOPS_BG_IMPERSONATE_SERVICE_ACCOUNT"] == "apps"

    installer("install", "--impersonate-service-account", "", "--timeout", "0")
    assert "GITOPS_BG_IMPERSONATE_SERVICE_ACCOUNT" not in cluster.get(SETTINGS)["data"]
    eventually(lambda: may_impersonate() == [False, False], what="the right is gone")
    installer("uninstall")


@pytest.mark.control_plane
def test_a_namespace_that_does_not_exist_stops_it_before_anything_changes(installer: Installer, tmp_path: Path) -> None:
    said = installer("install", *options(tmp_path, "not-there"), code=1)
    assert "namespace not-there does not exist: kubectl create namespace not-there, or name those that do" in said
    assert installer.cluster.request("GET", AGENT)[0] == 404


@pytest.mark.control_plane
def test_a_first_installation_asks_where_apps_may_live(installer: Installer, tmp_path: Path) -> None:
    said = installer("install", *options(tmp_path)[:-1], code=2)
    assert "--watch-namespace: say in which namespaces apps may live" in said
    assert installer.cluster.request("GET", AGENT)[0] == 404


@pytest.mark.control_plane
def test_it_tells_which_image_cannot_be_pulled_and_how_to_make_it(installer: Installer, tmp_path: Path) -> None:
    image = "registry.example/gitops-bg:missing"
    installer("install", *options(tmp_path, image=image, timeout="0"))
    client = Client(Access(installer.cluster.kubeconfig))
    eventually(lambda: installation.missing(client, NAMESPACE), what="the kubelet says why")
    client.close()
    told = installer.json("install", "--timeout", "10ms", code=1)
    (missing,) = told["missing"]
    assert missing["message"].startswith(f"the image {image} cannot be pulled")
    assert f"docker push {image}" in missing["remedy"]
    assert told["ready"] is False
    said = installer("install", "--timeout", "10ms", code=1)
    assert f"missing: the image {image} cannot be pulled" in said
    assert "It goes on trying" in said


@pytest.mark.control_plane
def test_uninstall_keeps_apps_serving_and_refuses_to_take_their_kind(installer: Installer, tmp_path: Path) -> None:
    installer("install", *options(tmp_path))
    cluster = installer.cluster
    with scenario(cluster, tmp_path / "world") as world:
        world.start()
        web = world.app().deploy("v1")
        addresses = cluster.ready_addresses(web.key.namespace, "web")
        world.stop()
        refused = installer("uninstall", "--crds", code=1)
        assert "--crds: " in refused
        assert str(web.key) in refused or "…" in refused
        assert "kubectl delete bluegreendeployments,releasegroups --all --all-namespaces" in refused
        assert cluster.get(AGENT)

        told = installer.json("uninstall")
        assert [each["kind"] for each in told["objects"]][:2] == ["Deployment", "Service"]
        assert str(web.key) in told["appsLeft"]
        assert cluster.request("GET", AGENT)[0] == cluster.request("GET", ROLE)[0] == 404
        assert cluster.ready_addresses(web.key.namespace, "web") == addresses != set()
        assert web.live_tag() == "v1"
        assert cluster.get(SETTINGS)["data"]["GITOPS_BG_REPO"] == URL
        assert "no agent is installed" in installer("uninstall")


@pytest.mark.control_plane
def test_a_second_installation_in_another_namespace_is_refused(installer: Installer, tmp_path: Path) -> None:
    """Both would have the same roles, and the one that goes would take them along."""
    installer("install", *options(tmp_path, timeout="0"))
    told = installer("install", *options(tmp_path), "--namespace", "other", code=3)
    assert "the agent is installed in namespace gitops-bg" in told
    assert "gitops-bg uninstall --namespace gitops-bg" in told
    assert installer.cluster.request("GET", "/api/v1/namespaces/other")[0] == 404


@pytest.mark.control_plane
def test_who_may_not_install_is_told_what_to_do(installer: Installer, tmp_path: Path) -> None:
    kubeconfig = installer.cluster.control_plane.user("ida")
    told = run("install", *options(tmp_path), "--kubeconfig", str(kubeconfig), code=3).output
    assert "ida" in told


# --- what needs no cluster -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cluster": ""}, "--cluster: say what this cluster is called"),
        ({"repo": "/srv/config.git"}, "--repo: file:///srv/config.git is on this machine"),
        ({"repo": "https://me:pw@git.example.com/x"}, "it contains credentials"),
        ({"repo": "git@git.example.com:x.git"}, "--ssh-key-file and --known-hosts-file: for ssh the agent needs both"),
        ({"git-token-file": "/nowhere/token"}, "--git-token-file: /nowhere/token cannot be read"),
        ({"state-dir": "/tmp/x"}, "--state-dir: leave it out"),
    ],
)
def test_what_no_agent_in_a_cluster_could_use_is_refused(tmp_path: Path, given: dict[str, str], said: str) -> None:
    told = run("install", "--export", *options(tmp_path, **given), code=2).output
    assert said in told
    assert "pw" not in told


def test_export_prints_no_credentials_and_says_how_to_make_them(tmp_path: Path) -> None:
    result = run("install", "--export", *options(tmp_path))
    assert "czNjcmV0" not in result.output
    assert "s3cret" not in result.output
    assert "Secret" not in {each["kind"] for each in yaml.safe_load_all(result.stdout)}
    assert "create secret generic gitops-bg-git --from-file=token=…" in result.stderr


def test_export_without_namespaces_says_that_rights_are_missing() -> None:
    said = run("install", "--export").stderr
    assert "the agent has rights in no namespace yet: give --watch-namespace NS, or --watch-all-namespaces" in said


@pytest.mark.parametrize(
    "given", [["--watch-namespace", "shop", "--watch-all-namespaces"], ["--watch-namespace", "a/b"]]
)
def test_namespaces_that_contradict_or_are_none_are_refused(given: list[str]) -> None:
    assert "namespace" in run("install", "--export", *given, code=2).output


def test_export_as_json_is_one_list(tmp_path: Path) -> None:
    listed = json.loads(run("install", "--export", *options(tmp_path), "-o", "json").stdout)
    assert listed["kind"] == "List"
    assert "ConfigMap" in {each["kind"] for each in listed["items"]}
