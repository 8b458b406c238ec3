"""Real helm, where the machine has it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

HOW_TO_GET_IT = (
    "GITOPS_BG_HELM is not set or lacks bin/helm; with Go, GITOPS_BG_HELM=$(tests/support/helm/build.sh) makes it"
)


def helm_at_hand() -> Path | None:
    """The program, if the machine has it."""
    folder = os.environ.get("GITOPS_BG_HELM")
    program = Path(folder or "") / "bin" / "helm"
    return program if folder and os.access(program, os.X_OK) else None


class Helm:
    """Runs helm with a home of its own, against one cluster."""

    def __init__(self, program: Path, home: Path, kubeconfig: Path) -> None:
        self._program = program
        self._env = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(kubeconfig)}

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Run a command that is to end with this code; what it printed, stderr included."""
        done = subprocess.run(
            [self._program, *arguments], env=self._env, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout + (done.stderr if code else "")
