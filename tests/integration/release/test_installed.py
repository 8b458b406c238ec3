"""A release as its users get it: out of a registry, verified, installed by helm on a real control plane, upgraded and
rolled back while an app serves.

The registry, cosign and helm are real; the agent runs from the image that was pushed. Nobody else is asked.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from deploy.release.oci import Layout
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.helm import HOW_TO_GET_IT, Helm, helm_at_hand
from tests.support.git.https_server import serving
from tests.support.release.installed import InstalledAgent
from tests.support.release.made import Release, Releases, tool
from tests.support.release.registry import CHART, REGISTRY, push, registry_with
from tests.support.release.users import Users
from tests.support.scenario import scenario
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def second(releases: Releases) -> Release:
    return releases("0.1.1")


@pytest.fixture(scope="module")
def registry(first: Release, second: Release) -> Iterator[None]:
    """A registry with both releases."""
    with registry_with(first, second):
        yield


@pytest.fixture
def helm(cluster: ControlPlaneCluster, tmp_path: Path) -> Helm:
    program = helm_at_hand()
    if program is None:
        pytest.skip(HOW_TO_GET_IT)
    return Helm(program, tmp_path, cluster.kubeconfig)


def test_what_is_in_the_registry_is_whole_and_a_tag_there_never_changes(
    registry: None, first: Release, tmp_path: Path
) -> None:
    for name in ("gitops-bg", "charts/gitops-bg"):
        subprocess.run([tool("crane"), "validate", "--insecure", "--remote", f"{REGISTRY}/{name}:0.1.1"], check=True)
    changed = Layout(tmp_path / "changed")
    changed.publish_as("charts/gitops-bg:0.1.0", changed.add_manifest(changed.add(b"{}", "a/b"), [], {}))
    with pytest.raises(FileExistsError, match=r"charts/gitops-bg:0.1.0 is sha256:.*take a new version"):
        push(changed)
    push(first.layout)


def test_cosign_verifies_signatures_bills_and_provenance_in_the_registry_and_refuses_another_key(
    registry: None, first: Release, tmp_path: Path
) -> None:
    cosign = tool("cosign")

    def verify(what: str, name: str, *options: str, key: Path = first.folder / "cosign.pub") -> int:
        known = ["--key", str(key), "--insecure-ignore-tlog", "--allow-http-registry", "--new-bundle-format=false"]
        command = [cosign, what, *known, *options, f"{REGISTRY}/{name}:0.1.0"]
        done = subprocess.run(command, env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=False)
        print(done.stderr)
        return done.returncode

    for name in ("gitops-bg", "charts/gitops-bg"):
        assert verify("verify", name) == 0
        assert verify("verify-attestation", name, "--type", "https://slsa.dev/provenance/v1") == 0
        assert verify("verify-attestation", name, "--type", "https://cyclonedx.org/bom") == 0
    other = tmp_path / "other.pub"
    private = subprocess.run(["openssl", "ecparam", "-genkey", "-name", "prime256v1"], capture_output=True, check=True)
    subprocess.run(["openssl", "ec", "-pubout", "-out", other], input=private.stdout, check=True)
    assert verify("verify", "gitops-bg", key=other) != 0


@pytest.mark.control_plane
def test_helm_installs_it_from_the_registry_upgrades_it_and_goes_back_while_an_app_serves(
    cluster: ControlPlaneCluster, helm: Helm, tmp_path: Path
) -> None:
    with (
        scenario(cluster, tmp_path, kubeconfig=cluster.kubeconfig) as world,
        serving(world.remote.bare.parent, tmp_path / "git-server", "hush") as git,
    ):
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gitops-bg"}})
        files = {"token": "hush", "ca.crt": git.certificate.read_text()}
        metadata = {"name": "gitops-bg-git", "namespace": "gitops-bg"}
        cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": files})
        values = {
            "image": {"repository": f"{REGISTRY}/gitops-bg"},
            "repository": f"{git.url}/{world.remote.bare.name}",
            "cluster": "test",
            "watchNamespaces": [world.namespace],
            "settings": {
                "GITOPS_BG_GIT_TOKEN_FILE": "/etc/gitops-bg/git/token",
                "GITOPS_BG_GIT_CA_FILE": "/etc/gitops-bg/git/ca.crt",
                "GITOPS_BG_POLL": "1s",
            },
        }
        (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
        of = ("gitops-bg", CHART, "--plain-http", "--namespace", "gitops-bg", "--wait", "--values")
        of = (*of, str(tmp_path / "values.yaml"), "--take-ownership", "--force-conflicts")
        agent = InstalledAgent(cluster, "gitops-bg", tool("crane"), tmp_path / "nodes")
        try:
            assert "gitops-bg 0.1.0 is installed" in helm("install", *of, "--version", "0.1.0")
            assert agent.restart() == f"{REGISTRY}/gitops-bg:0.1.0"
            web = world.app().deploy("v1")
            with Users(cluster, world.namespace, "web").asking() as users:
                web.promote("v2")
                assert "gitops-bg 0.1.1 is upgraded" in helm("upgrade", *of, "--version", "0.1.1")
                assert agent.restart() == f"{REGISTRY}/gitops-bg:0.1.1"
                merged = web.promote("v3")
                helm("rollback", "gitops-bg", "1", "--namespace", "gitops-bg", "--wait", "--force-conflicts")
                assert agent.restart() == f"{REGISTRY}/gitops-bg:0.1.0"
                web.revert(merged)
                web.wait_live("v2")
                web.promote("v4")
                eventually(lambda: users.tags.count("v4") > 50, what="people are served by what was promoted last")
        except BaseException:
            print(agent.log[-4000:])
            raise
        finally:
            agent.stop()
        print(dict(Counter(users.tags)))
        assert users.failures == []
        assert len(users.tags) > 300
        history = helm("history", "gitops-bg", "--namespace", "gitops-bg")
        assert [line.split("\t")[3].strip() for line in history.splitlines()[1:]] == [
            "gitops-bg-0.1.0",
            "gitops-bg-0.1.1",
            "gitops-bg-0.1.0",
        ]
