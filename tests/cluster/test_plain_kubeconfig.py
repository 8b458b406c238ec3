"""What counts as a plain kubeconfig: all else is the client library's, with its errors."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.library_transport import LibraryTransport
from gitops_bg.cluster.api.transport import Plain, plain_of, plain_transport

CLUSTER = {"server": "https://example.com:6443/", "certificate-authority-data": base64.b64encode(b"CA").decode()}


def config(cluster: Any = CLUSTER, user: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "one", "user": "me"}}],
        "clusters": [{"name": "one", "cluster": cluster}],
        "users": [{"name": "me", "user": {"token": "t"} if user is None else user}],
        **more,
    }


@pytest.fixture(autouse=True)
def _outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def read(folder: Path, content: object, context: str | None = None) -> Plain | None:
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(content))
    return plain_of(Access(kubeconfig=file, context=context))


def test_a_token_and_an_authority_are_plain(tmp_path: Path) -> None:
    assert read(tmp_path, config()) == Plain("https://example.com:6443", "t", "CA")


def test_certificates_lie_beside_the_kubeconfig(tmp_path: Path) -> None:
    for name in ("ca", "crt", "key"):
        (tmp_path / f"{name}.pem").write_text(name.upper())
    cluster = {"server": "https://x", "certificate-authority": "ca.pem", "extensions": []}
    user = {"client-certificate": "crt.pem", "client-key": str(tmp_path / "key.pem")}
    assert read(tmp_path, config(cluster, user)) == Plain("https://x", "", "CA", b"CRT", b"KEY")


def test_http_needs_no_authority(tmp_path: Path) -> None:
    assert read(tmp_path, config({"server": "http://x"})) == Plain("http://x", "t")


def test_the_context_that_is_named_decides(tmp_path: Path) -> None:
    other = {"name": "there", "context": {"cluster": "two", "user": "me"}}
    content = config()
    content["contexts"].append(other)
    content["clusters"].append({"name": "two", "cluster": {"server": "http://two"}})
    assert read(tmp_path, content, "there") == Plain("http://two", "t")


NOT_PLAIN: dict[str, Any] = {
    "a plugin": config(user={"exec": {"command": "aws"}}),
    "a provider": config(user={"auth-provider": {"name": "oidc"}}),
    "a password": config(user={"username": "me", "password": "x"}),
    "a file with the token": config(user={"tokenFile": "/x"}),
    "a proxy": config({**CLUSTER, "proxy-url": "http://proxy"}),
    "another name of the server": config({**CLUSTER, "tls-server-name": "x"}),
    "no check of the server": config({"server": "https://x", "insecure-skip-tls-verify": True}),
    "an authority of the system": config({"server": "https://x"}),
    "a certificate that is not there": config(user={"client-certificate": "gone.pem", "client-key": "gone.pem"}),
    "a certificate that is none": config(user={"client-certificate-data": "!"}),
    "no context": config(**{"current-context": "elsewhere"}),
    "two of one name": config(clusters=[{"name": "one", "cluster": CLUSTER}] * 2),
    "no clusters": config(clusters=None),
    "no mapping": ["kubeconfig"],
}


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_all_else_is_left_to_the_library(name: str, tmp_path: Path) -> None:
    assert read(tmp_path, NOT_PLAIN[name]) is None


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "http_proxy", "KUBERNETES_SERVICE_HOST"])
def test_so_is_what_the_environment_may_change(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config()))
    monkeypatch.setenv("KUBECONFIG", str(file))
    assert plain_of(Access()) is not None
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    assert plain_of(Access()) is None


def test_several_files_are_left_to_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/b")
    assert plain_of(Access()) is None


def test_text_that_is_no_yaml_is_left_to_the_library(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text("a: [")
    assert plain_of(Access(kubeconfig=tmp_path / "kubeconfig")) is None


def test_a_certificate_that_cannot_be_used_is_left_to_the_library(tmp_path: Path) -> None:
    garbage = base64.b64encode(b"garbage").decode()
    content = config(user={"client-certificate-data": garbage, "client-key-data": garbage})
    assert read(tmp_path, content) is not None
    assert plain_transport(Access(kubeconfig=tmp_path / "kubeconfig")) is None


def test_of_several_files_the_first_that_names_a_context_decides_as_for_kubectl(tmp_path: Path) -> None:
    """The library takes the last one's: the command line would act in another cluster than kubectl."""
    files = [tmp_path / name for name in ("none", "first", "second")]
    for file in files:
        content = config({"server": f"http://{file.name}"})
        names = {
            "current-context": file.name,
            "contexts": [],
            "clusters": [{**content["clusters"][0], "name": file.name}],
        }
        names["contexts"] = [{"name": file.name, "context": {"cluster": file.name, "user": "me"}}]
        file.write_text(
            yaml.safe_dump({**content, **names, **({"current-context": ""} if file.name == "none" else {})})
        )
    joined = Path(os.pathsep.join(map(str, files)))
    assert LibraryTransport(Access(kubeconfig=joined)).host == "http://first"
    assert LibraryTransport(Access(kubeconfig=joined, context="second")).host == "http://second"
