"""What `make release` makes: the same bytes each time, what it says about itself is true, and each part of it runs.

What users of a registry get is proven by test_installed.py.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from deploy.release import build, source
from deploy.release.archives import sha256
from deploy.release.source import Refused
from tests.support.release.made import REGISTRY, URL, Release, Releases, prepare, tool

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def release(releases: Releases) -> Release:
    """0.1.0, as it is worked on here."""
    return releases("0.1.0")


def test_twice_the_same_bytes(releases: Releases, tmp_path: Path) -> None:
    made = (releases("0.1.1"), Releases(tmp_path / "again")("0.1.1"))
    left, right = ({path.relative_to(each.folder): sha256(path) for path in files(each.folder)} for each in made)
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
        f"{REGISTRY}/{name}": named[f"{name}:0.1.0"].removeprefix("sha256:")
        for name in ("gitops-bg", "charts/gitops-bg")
    }
    assert artifacts.items() <= subjects.items()
    used = said["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert used[0]["digest"].keys() == {"gitCommit"}
    assert {each["uri"].partition("?")[0].partition("@")[0] for each in used} >= {"pkg:deb/debian/git"}


def test_image_and_chart_have_their_signature_bill_and_provenance_beside_them(release: Release) -> None:
    named = release.layout.named()
    for name in ("gitops-bg", "charts/gitops-bg"):
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
        build.build(prepare(tmp_path / "tree", version), tmp_path / "made", None, "")


def test_the_command_line_runs_from_its_archive_without_pip(release: Release, tmp_path: Path) -> None:
    with tarfile.open(release.folder / "gitops-bg-0.1.0-linux-amd64.tar.gz") as archive:
        archive.extractall(tmp_path / "store", filter="data")
    linked = tmp_path / "bin" / "kubectl-bg"
    linked.parent.mkdir()
    linked.symlink_to(tmp_path / "store" / "kubectl-bg")
    for program in (tmp_path / "store" / "gitops-bg", linked):
        assert run(tmp_path, str(program), "--version") == "gitops-bg 0.1.0\n"
    assert "CustomResourceDefinition" in run(tmp_path, str(linked), "install", "--export")
    assert "rollback\t" in run(tmp_path, str(tmp_path / "store" / "kubectl_complete-bg"), "roll")


def test_krew_installs_the_command_line_as_a_plugin_of_kubectl(release: Release, tmp_path: Path) -> None:
    """As it would from its index, but for the download."""
    manifest, archive = release.folder / "bg.krew.yaml", release.folder / "gitops-bg-0.1.0-linux-amd64.tar.gz"
    env = {"KREW_ROOT": str(tmp_path), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [tool("krew"), "install", "--manifest", manifest, "--archive", archive]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert run(tmp_path, str(tmp_path / "bin" / "kubectl-bg"), "--version") == "gitops-bg 0.1.0\n"


def test_the_formula_of_brew_names_each_archive_with_its_checksum(release: Release) -> None:
    text = (release.folder / "gitops-bg.rb").read_text()
    assert text.startswith("class GitopsBg < Formula\n")
    found = dict(re.findall(r'url "(\S+)"\n +sha256 "([0-9a-f]{64})"', text))
    (archive,) = release.folder.glob("gitops-bg-0.1.0-linux-*.tar.gz")
    assert found == {f"{URL}/releases/download/v0.1.0/{archive.name}": sha256(archive)}
    blocks = len(re.findall(r"^ *(?:class|def|test do|on_\w+ do)", text, re.MULTILINE))
    assert blocks == len(re.findall(r"^ *end$", text, re.MULTILINE))


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
