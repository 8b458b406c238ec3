"""Small releases, each built once for all processes that test: one platform and one Python of the command line, and
nothing compressed.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import sys
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from deploy.release import build, source
from deploy.release.oci import Layout
from deploy.release.source import Scope, Unavailable
from deploy.release.statements import Key

URL = "https://forge.example/tools/gitops-bg"
REGISTRY = "registry.example/tools"
SCOPES = {
    "0.1.0": Scope(("linux-amd64",), (f"3.{sys.version_info[1]}",), effort=0),
    "0.1.1": Scope(("linux-amd64",), (f"3.{sys.version_info[1]}",), ("amd64",), effort=0),
}
"""How much of a release tests need; 0.1.1 is what comes after the one that is worked on."""


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
        (said,) = self.folder.glob("*.intoto.jsonl")
        return self.verified(said.read_bytes())

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
        index = json.loads(self.layout.read(self.layout.named()["gitops-bg:0.1.0"]))
        (found,) = (each for each in index["manifests"] if each["platform"]["architecture"] == architecture)
        return dict(json.loads(self.layout.read(found["digest"])))


class Releases:
    """The releases in a folder; skips the test where what they are made of cannot be had here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, version: str) -> Release:
        with (self._folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            made = self._folder / version
            if not made.is_dir():
                try:
                    self._make(version, made)
                except Unavailable as error:
                    pytest.skip(str(error))
        return Release(made)

    def _make(self, version: str, made: Path) -> None:
        with tempfile.TemporaryDirectory(dir=self._folder) as work:
            tree = prepare(Path(work) / "tree", version)
            build.build(tree, Path(work) / "made", new_key(), "https://forge.example/builder", SCOPES[version])
            (Path(work) / "made").rename(made)


def prepare(folder: Path, version: str) -> source.Source:
    """The tree of a release, of what is here; the changelog has a section of 0.1.1."""
    folder.mkdir()
    tree = source.prepare(folder, version, REGISTRY, URL, may_be_dirty=True)
    changelog = folder / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("\n## ", "\n## 0.1.1\n\nNothing.\n\n## ", 1))
    return tree


def new_key() -> Key:
    """A key that is the same each time."""
    return Key(ec.derive_private_key(7, ec.SECP256R1()))


def tool(name: str) -> Path:
    """A program that a release is held to: crane, cosign or krew; skips the test where the machine lacks it."""
    program = Path(os.environ.get("GITOPS_BG_RELEASE_TOOLS", "")) / "bin" / name
    if not program.is_absolute() or not os.access(program, os.X_OK):
        pytest.skip(
            f"GITOPS_BG_RELEASE_TOOLS is not set or lacks bin/{name}; with Go, "
            "GITOPS_BG_RELEASE_TOOLS=$(tests/support/release/build.sh) makes it"
        )
    return program
