"""The image of the agent, for each architecture: Debian's packages in one layer, Python's and ours in the other.

What is in it, whom it runs as and what it starts says `deploy/Dockerfile`; here it is put together without a daemon,
without a base image, and without running anything of another architecture.
"""

import json
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.release.archives import PROGRAM, Member, members_below, write_tarball
from deploy.release.oci import Descriptor, Layout, canonical
from deploy.release.packages import DebianPackage, debian_packages, install_python
from deploy.release.source import Refused, Scope, Source

PLATFORMS = {"amd64": "x86_64-unknown-linux-gnu", "arm64": "aarch64-unknown-linux-gnu"}
"""What Python calls the architectures of the image."""
_BASE = ("base-files", "ca-certificates", "coreutils", "dash", "python3")
"""What a base image has, beside what `deploy/Dockerfile` installs: certificates, a shell, Python."""
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
_UNUSED = re.compile(r"usr/share/(doc/.*(?<!/copyright)|man/.*|info/.*|locale/.*|lintian/.*|perl/.*\.pod)")
"""What nobody reads in a container; copyrights stay."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What `deploy/Dockerfile` says of the image."""

    debian: tuple[str, ...]
    user: int
    home: str
    entrypoint: list[str]
    command: list[str]


@dataclass(frozen=True, slots=True)
class Image:
    """An image for several architectures, in a layout."""

    descriptor: Descriptor
    debian: dict[str, tuple[DebianPackage, ...]]
    """The packages of Debian, by architecture."""


def recipe_of(dockerfile: str) -> Recipe:
    """Read what `deploy/Dockerfile` says."""
    joined = dockerfile.replace("\\\n", "")

    def of(pattern: str) -> str:
        found = re.findall(pattern, joined, re.MULTILINE)
        if len(found) != 1:
            raise Refused(f"deploy/Dockerfile does not say once what matches {pattern}")
        return str(found[0])

    installed = shlex.split(of(r"apt-get install (.*?) &&"))
    return Recipe(
        tuple(each for each in installed if not each.startswith("-")),
        int(of(r"^USER (\d+):")),
        of(r"^WORKDIR (\S+)$"),
        json.loads(of(r"^ENTRYPOINT (\[.*\])$")),
        json.loads(of(r"^CMD (\[.*\])$")),
    )


def build(source: Source, wheel: Path, layout: Layout, scope: Scope) -> Image:
    """Build the image for every architecture, into a layout."""
    recipe = recipe_of((source.folder / "deploy/Dockerfile").read_text())
    debian = {each: debian_packages((*_BASE, *recipe.debian), each) for each in scope.architectures}
    manifests = []
    for architecture, packages in debian.items():
        with tempfile.TemporaryDirectory() as work:
            layers = _layers(source, wheel, Path(work), recipe, architecture, packages)
            manifests.append(_of_one(source, layout, Path(work), recipe, architecture, layers, scope))
    return Image(layout.add_index(manifests, labels(source)), debian)


def labels(source: Source) -> dict[str, str]:
    """Return what OCI's annotations say of an artifact."""
    said = {
        "title": "gitops-bg",
        "description": "A GitOps blue-green reconciler for Kubernetes",
        "version": source.version,
        "revision": source.commit,
        "created": source.created,
        "source": source.url,
        "url": source.url,
        "documentation": f"{source.url}/blob/v{source.version}/docs/README.md",
        "licenses": "Apache-2.0",
    }
    return {f"org.opencontainers.image.{name}": text for name, text in said.items()}


def _layers(
    source: Source, wheel: Path, work: Path, recipe: Recipe, architecture: str, debian: Sequence[DebianPackage]
) -> dict[str, Iterator[Member]]:
    """Return what each layer has, the lowest first; ``work`` is a folder for it."""
    python = next(each.fields["Version"] for each in debian if each.fields["Package"] == "python3")
    minor = ".".join(python.split(".")[:2])
    lock = source.folder / ".ci/lock/image-with-extras.txt"
    install_python(lock, wheel, work / "packages", PLATFORMS[architecture], minor)
    return {
        "Debian": _system(recipe, debian),
        "Python": _programs(work / "packages", f"usr/local/lib/python{minor}/dist-packages/"),
    }


def _of_one(
    source: Source,
    layout: Layout,
    work: Path,
    recipe: Recipe,
    architecture: str,
    contents: Mapping[str, Iterator[Member]],
    scope: Scope,
) -> Descriptor:
    """Return the image for one architecture."""
    layers, diffs = [], []
    for members in contents.values():
        diffs.append(f"sha256:{write_tarball(work / 'layer', members, source.date, scope.effort)}")
        layers.append(layout.add_file(work / "layer", _LAYER))
    config = {
        "architecture": architecture,
        "os": "linux",
        "created": source.created,
        "config": {
            "User": f"{recipe.user}:{recipe.user}",
            "WorkingDir": recipe.home,
            "Entrypoint": recipe.entrypoint,
            "Cmd": recipe.command,
            "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", f"SSL_CERT_FILE=/{_CERTIFICATES}", "LANG=C.UTF-8"],
            "Labels": labels(source),
        },
        "rootfs": {"type": "layers", "diff_ids": diffs},
        "history": [{"created": source.created, "created_by": f"deploy/release/image.py: {name}"} for name in contents],
    }
    manifest = layout.add_manifest(layout.add(canonical(config), _CONFIG), layers, labels(source))
    return manifest | {"platform": {"architecture": architecture, "os": "linux"}}


def _system(recipe: Recipe, debian: Sequence[DebianPackage]) -> Iterator[Member]:
    """Yield what Debian's packages bring, and what their scripts would have made: nothing of them is run."""
    files: dict[str, Member] = {}
    for package in debian:
        files |= {each.name: each for each in package.members() if not _UNUSED.fullmatch(each.name)}
        name = package.fields["Package"]
        files[f"var/lib/dpkg/status.d/{name}"] = Member(f"var/lib/dpkg/status.d/{name}", package.control.encode())
    trusted = [each.content for name, each in sorted(files.items()) if name.startswith("usr/share/ca-certificates/")]
    user, home = recipe.user, recipe.home
    made = (
        Member(_CERTIFICATES, b"".join(each for each in trusted if isinstance(each, bytes))),
        Member("etc/passwd", f"root:x:0:0:root:/root:/bin/sh\ngitops-bg:x:{user}:{user}::{home}:/bin/sh\n".encode()),
        Member("etc/group", f"root:x:0:\ngitops-bg:x:{user}:\n".encode()),
        Member("etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files dns\n"),
        Member("tmp", None, 0o1777),
        Member(home.strip("/"), None, 0o755, owner=user),
        *(Member(each, None, 0o777, f"usr/{each}") for each in ("bin", "sbin", "lib", "lib64")),
        *(Member(each, None, 0o755) for each in ("dev", "proc", "sys", "run", "root")),
    )
    yield from (files | {each.name: each for each in made}).values()


def _programs(packages: Path, place: str) -> Iterator[Member]:
    """Yield the packages of Python where Debian's Python looks, and the program that starts ours."""
    yield from (each for each in members_below(packages, place) if not each.name.startswith(f"{place}bin/"))
    starts = b"#!/usr/bin/python3\nfrom gitops_bg.cli.main import main\n\nmain()\n"
    yield Member("usr/local/bin/gitops-bg", starts, PROGRAM)
