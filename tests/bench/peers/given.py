"""Where the peers are on this machine, and how one gets them."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.cluster.rawapi import Json

_OF_NO_RELEASE = "99.99.99"
"""What Argo Rollouts says of itself where it was built by a plain `go build`."""


@dataclass(frozen=True)
class Peer:
    """A controller of somebody else's."""

    name: str
    variable: str
    """The environment variable with its folder."""
    binary: str
    repository: str
    definitions: str
    """Where its CustomResourceDefinitions are in its repository."""

    @property
    def how_to_get_it(self) -> str:
        """For whoever has not."""
        return (
            f"{self.name} is not given: {self.variable} is not a folder with bin/{self.binary} and crds/*.yaml; build "
            f"the one by `go build ./cmd/{self.binary}` in {self.repository}, and copy the other ({self.definitions}): "
            "docs/architecture/peers/speed.md has the commands"
        )

    def folder(self) -> Path | None:
        """Where it is, if it is whole."""
        folder = Path(os.environ.get(self.variable) or "/nowhere")
        is_whole = os.access(folder / "bin" / self.binary, os.X_OK) and any((folder / "crds").glob("*.yaml"))
        return folder if is_whole else None

    def with_version(self, folder: Path) -> str:
        """Its name with what the file `version` in its folder says, or else the binary itself, where one knows."""
        file = folder / "version"
        if file.exists():
            return f"{self.name} {file.read_text(encoding='utf-8').strip()}"
        command = [folder / "bin" / self.binary, "--version"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        found = re.search(r"\d+\.\d+\.\d+", done.stdout + done.stderr)
        return f"{self.name} {found[0]}" if found and found[0] != _OF_NO_RELEASE else self.name


ARGO_ROLLOUTS = Peer(
    "Argo Rollouts",
    "GITOPS_BG_ARGO_ROLLOUTS",
    "rollouts-controller",
    "https://github.com/argoproj/argo-rollouts",
    "manifests/crds/*-crd.yaml",
)
FLAGGER = Peer(
    "Flagger",
    "GITOPS_BG_FLAGGER",
    "flagger",
    "https://github.com/fluxcd/flagger",
    "artifacts/flagger/crd.yaml",
)


def definitions(folder: Path) -> list[Json]:
    """The CustomResourceDefinitions of a peer's folder."""
    texts = (file.read_text(encoding="utf-8") for file in sorted((folder / "crds").glob("*.yaml")))
    found = [each for text in texts for each in yaml.load_all(text, yaml.CSafeLoader) if each]
    return [each for each in found if each.get("kind") == "CustomResourceDefinition"]
