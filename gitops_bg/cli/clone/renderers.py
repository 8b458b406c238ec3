"""Runs helm and kustomize of the user, as they are on the PATH. The agent never does."""

import shutil
import subprocess
from pathlib import Path

from gitops_bg.cli.errors import CommandFailed
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.text.foreign_text import printable
from gitops_bg.spec.app.render import HelmChart, Render

PATIENCE = 120
"""Seconds that one rendering may take."""
_LONGEST_WORDS = 2_000


def render_with(render: Render, app: AppKey, root: Path) -> bytes:
    """What helm or kustomize prints. Raises `CommandFailed` where there is none, or it fails."""
    command = _helm(render.helm, app) if render.helm else _kustomize(render.kustomize or "")
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandFailed(f"{' '.join(command)}: {error}") from error
    if done.returncode:
        words = " ".join(done.stderr.decode(errors="replace")[:_LONGEST_WORDS].split())
        raise CommandFailed(f"{app}: {' '.join(command)} failed: {printable(words)}")
    return done.stdout


def _helm(helm: HelmChart, app: AppKey) -> list[str]:
    program = shutil.which("helm")
    if program is None:
        raise CommandFailed(f"{app} is rendered from a chart, and there is no helm on the PATH: https://helm.sh/docs")
    values = [word for file in helm.values for word in ("--values", file)]
    release = helm.release or app.name
    return [program, "template", release, f"./{helm.chart}", "--namespace", app.namespace, *values]


def _kustomize(folder: str) -> list[str]:
    if program := shutil.which("kustomize"):
        return [program, "build", folder]
    if program := shutil.which("kubectl"):
        return [program, "kustomize", folder]
    raise CommandFailed("there is neither kustomize nor kubectl on the PATH: https://kubectl.docs.kubernetes.io")
