"""What `make release` makes: the same bytes each time, what it says about itself is true, and each part of it runs.

One small release is built for all tests: one platform and one Python of the command line, and nothing compressed; the
image for both architectures.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from deploy.release import build, source
from deploy.release.archives import sha256
from deploy.release.oci import Layout
from deploy.release.source import Refused, Scope
from deploy.release.statements import Key

pytestmark = pytest.mark.slow

URL = "https://forge.example/tools/gitops-bg"
REGISTRY = "registry.example/tools"
SMALL = Scope(("linux-amd64",), (f"3.{sys.version_info[1]}",), effort=0)


def new_key() -> Key:
    return Key(ec.derive_private_key(7, ec.SECP256R1()))


def make(folder: Path, version: str, registry: str = REGISTRY) -> Path:
    """Build a release, once for all processes that test; returns where it is."""
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = folder / version
        if not made.is_dir():
            (folder / f"{version}-tree").mkdir()
            tree = source.prepare(folder / f"{version}-tree", version, registry, URL, may_be_dirty=True)
            build.build(tree, folder / "unfinished", new_key(), "https://forge.example/builder", SMALL)
            (folder / "unfinished").rename(made)
    return made


class Release:
    """A release, and what is in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def layout(self) -> Layout:
        return Layout(self.folder / "oci")

    @cached_property
    def statement(self) -> dict[str, Any]:
        """What it says about how it came about; its signature is verified."""
        return self.verified((self.folder / "gitops-bg-0.1.0.intoto.jsonl").read_bytes())

    def verified(self, envelope: bytes) -> dict[str, Any]:
        """What a signed statement says."""
        body = json.loads(envelope)
        payload = base64.b64decode(body["payload"])
        signed = b"DSSEv1 %d %s %d %s" % (len(body["payloadType"]), body["payloadType"].encode(), len(payload), payload)
        (signature,) = body["signatures"]
        public = serialization.load_pem_public_key((self.folder / "cosign.pub").read_bytes())
        assert isinstance(public, ec.EllipticCurvePublicKey)
        public.verify(base64.b64decode(signature["sig"]), signed, ec.ECDSA(hashes.SHA256()))
        return dict(json.loads(payload))

    def image(self, architecture: str) -> dict[str, Any]:
        """The manifest of the image for an architecture."""
        index = json.loads(self.layout.read(self.layout.named()[f"{REGISTRY}/gitops-bg:0.1.0"]))
        (found,) = (each for each in index["manifests"] if each["platform"]["architecture"] == architecture)
        return dict(json.loads(self.layout.read(found["digest"])))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """0.1.0, as it is worked on here."""
    shared = (
        tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else tmp_path_factory.getbasetemp()
    )
    try:
        return Release(make(shared / "release", "0.1.0"))
    except Refused as error:
        pytest.skip(str(error))


def test_twice_the_same_bytes(release: Release, tmp_path: Path) -> None:
    again = make(tmp_path / "again", "0.1.0")
    left, right = ({path.relative_to(at): sha256(path) for path in files(at)} for at in (release.folder, again))
    assert left == right
    assert len(left) > 20


def files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def test_the_checksums_are_those_of_the_files_and_openssl_verifies_their_signature(
    release: Release, tmp_path: Path
) -> None:
    (tmp_path / "signature").write_bytes(base64.b64decode((release.folder / "SHA256SUMS.sig").read_bytes()))
    for command in (
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        [
            "openssl",
            "dgst",
            "-sha256",
            "-verify",
            "cosign.pub",
            "-signature",
            str(tmp_path / "signature"),
            "SHA256SUMS",
        ],
    ):
        done = subprocess.run(command, cwd=release.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    listed = {line.split()[1] for line in (release.folder / "SHA256SUMS").read_text().splitlines()}
    unlisted = {path.name for path in release.folder.iterdir() if path.is_file()} - listed
    assert unlisted == {"SHA256SUMS", "SHA256SUMS.sig", "cosign.pub"}


def test_the_provenance_names_every_artifact_and_what_it_was_made_of(release: Release) -> None:
    said = release.statement
    assert said["predicateType"] == "https://slsa.dev/provenance/v1"
    subjects = {each["name"]: each["digest"]["sha256"] for each in said["subject"]}
    artifacts = {path.name: sha256(path) for path in release.folder.glob("gitops*") if path.suffix != ".jsonl"}
    named = release.layout.named()
    artifacts |= {
        name: named[f"{name}:0.1.0"].removeprefix("sha256:")
        for name in (f"{REGISTRY}/gitops-bg", f"{REGISTRY}/charts/gitops-bg")
    }
    assert artifacts.items() <= subjects.items()
    used = said["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert used[0]["digest"].keys() == {"gitCommit"}
    assert {each["uri"].partition("?")[0].partition("@")[0] for each in used} >= {"pkg:deb/debian/git"}


def test_image_and_chart_have_their_signature_bill_and_provenance_beside_them(release: Release) -> None:
    named = release.layout.named()
    for name in (f"{REGISTRY}/gitops-bg", f"{REGISTRY}/charts/gitops-bg"):
        digest = named[f"{name}:0.1.0"]
        attested = json.loads(release.layout.read(named[f"{name}:{digest.replace(':', '-')}.att"]))
        said = [release.verified(release.layout.read(each["digest"])) for each in attested["layers"]]
        assert [each["predicateType"] for each in said] == [
            "https://cyclonedx.org/bom",
            "https://slsa.dev/provenance/v1",
        ]
        assert {each["subject"][0]["digest"]["sha256"] for each in said} == {digest.removeprefix("sha256:")}


def test_the_bill_of_the_image_has_every_package_of_python_and_of_debian(release: Release) -> None:
    bill = json.loads((release.folder / "gitops-bg-0.1.0-image.cdx.json").read_bytes())
    kinds = [each["purl"].partition("/")[0] for each in bill["components"]]
    locked = re.findall(r"^\S+==", (source.ROOT / ".ci/lock/image-with-extras.txt").read_text(), re.MULTILINE)
    assert kinds.count("pkg:pypi") == len(locked)
    assert kinds.count("pkg:deb") > 100


def test_the_version_the_registry_and_the_repository_stand_where_users_read_them(release: Release) -> None:
    with tarfile.open(release.folder / "gitops-bg-0.1.0.tgz") as archive:
        about = yaml.safe_load(archive.extractfile("gitops-bg/Chart.yaml") or b"")
        values = yaml.safe_load(archive.extractfile("gitops-bg/values.yaml") or b"")
    assert (about["version"], about["appVersion"], about["home"]) == ("0.1.0", "0.1.0", URL)
    assert values["image"]["repository"] == f"{REGISTRY}/gitops-bg"
    with tarfile.open(release.folder / "gitops_bg-0.1.0.tar.gz") as archive:
        agent = archive.extractfile("gitops_bg-0.1.0/deploy/agent.yaml")
        assert agent
        assert f"image: {REGISTRY}/gitops-bg:0.1.0\n" in agent.read().decode()
    notes = (release.folder / "notes.md").read_text()
    assert "### Delivery" in notes
    assert f"]({URL}/blob/v0.1.0/docs/start/concepts.md)" in notes


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.0", "1.0 is no version"),
        ("v0.1.0", "v0.1.0 is no version"),
        ("7.0.0", "CHANGELOG.md has no section of 7.0.0"),
    ],
)
def test_what_is_no_release_is_refused(version: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=said):
        make(tmp_path / "made", version)


def test_the_command_line_runs_from_its_archive_without_pip(release: Release, tmp_path: Path) -> None:
    with tarfile.open(release.folder / "gitops-bg-0.1.0-linux-amd64.tar.gz") as archive:
        archive.extractall(tmp_path / "store", filter="data")
    linked = tmp_path / "bin" / "kubectl-bg"
    linked.parent.mkdir()
    linked.symlink_to(tmp_path / "store" / "kubectl-bg")
    for program in (tmp_path / "store" / "gitops-bg", linked):
        assert run(tmp_path, str(program), "--version") == "gitops-bg 0.1.0\n"
    assert "CustomResourceDefinition" in run(tmp_path, str(linked), "install", "--export")


def run(home: Path, *command: str) -> str:
    """What a program prints to somebody who has nothing but a PATH."""
    env = {"PATH": f"{Path(sys.executable).resolve().parent}:{os.environ['PATH']}", "HOME": str(home)}
    done = subprocess.run(command, env=env, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


ELF_MACHINE = {"amd64": 0x3E, "arm64": 0xB7}


@pytest.mark.parametrize("architecture", ELF_MACHINE)
def test_every_program_of_the_image_is_of_its_architecture(release: Release, architecture: str) -> None:
    found = set()
    for layer in release.image(architecture)["layers"]:
        blob = release.folder / "oci/blobs/sha256" / layer["digest"].removeprefix("sha256:")
        with tarfile.open(blob) as archive:
            for each in archive:
                if each.isreg() and (content := archive.extractfile(each)):
                    head = content.read(20)
                    found |= {(each.name, head[18])} if head.startswith(b"\x7fELF") else set()
    names = {Path(name).name for name, _ in found}
    assert names >= {"git", "ssh", "gpg", "tini"}
    assert [name for name, machine in found if machine != ELF_MACHINE[architecture]] == []
    assert len(found) > 200


def test_the_image_runs_as_its_user_and_has_what_the_agent_needs(release: Release, tmp_path: Path) -> None:
    if os.geteuid() or os.uname().machine != "x86_64":
        pytest.skip("needs root, and a machine of the image's architecture")
    image = release.image("amd64")
    config = json.loads(release.layout.read(image["config"]["digest"]))["config"]
    assert (config["User"], config["Cmd"]) == ("65532:65532", ["agent"])
    assert config["Labels"]["org.opencontainers.image.source"] == URL
    for layer in image["layers"]:
        with tarfile.open(release.folder / "oci/blobs/sha256" / layer["digest"].removeprefix("sha256:")) as archive:
            archive.extractall(tmp_path, filter="fully_trusted")
    assert [path for path in files(tmp_path) if not path.is_symlink() and path.stat().st_mode & 0o6000] == []
    inside = ["chroot", f"--userspec={config['User']}", str(tmp_path), "/usr/bin/env", "-i", *config["Env"]]
    inside += ["TINI_SUBREAPER=1", f"HOME={config['WorkingDir']}"]
    tmp_path.chmod(0o755)
    (tmp_path / "dev/null").touch()
    (tmp_path / "dev/null").chmod(0o666)
    for command, said in {
        (*config["Entrypoint"], "--version"): "gitops-bg 0.1.0",
        ("git", "--version"): "git version",
        ("gpg", "--version"): "gpg (GnuPG)",
        ("ssh", "-G", "git.example.com"): "user gitops-bg",
        ("python3", "-c", "import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 100)"): "True",
    }.items():
        done = subprocess.run([*inside, *command], capture_output=True, text=True, check=False)
        assert said in done.stdout, done.stdout + done.stderr
