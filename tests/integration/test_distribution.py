"""What users install works without the checkout: wheel and sdist, each in an environment of its own.

As `pipx install gitops-bg` does it: a new virtual environment, pip, the ordinary index, no development tools.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
_THEIRS = ("PYTHON", "VIRTUAL_ENV", "GITOPS_BG_", "KUBE", "XDG_", "COV_", "PYTEST_")

pytestmark = pytest.mark.slow


class Environment:
    """A new virtual environment, in a new folder, for somebody who has nothing else."""

    def __init__(self, folder: Path, downloads: Path) -> None:
        self.folder = folder / "here"
        self.folder.mkdir(parents=True)
        home = folder / "home"
        home.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_THEIRS)}
        self._env = kept | {"HOME": str(home), "PIP_CACHE_DIR": str(downloads), "PIP_NO_COMPILE": "1"}
        self._bin = folder / "venv" / "bin"
        self._run([sys.executable, "-m", "venv", str(folder / "venv")])

    def __call__(self, program: str, *arguments: str, at: Path | None = None) -> str:
        """Run a program of the environment, which is to succeed; what it printed on stdout."""
        return self._run([str(self._bin / program), *arguments], at)

    def has(self, module: str) -> bool:
        """Whether a module can be imported."""
        command = [
            str(self._bin / "python"),
            "-c",
            f"import importlib.util as u; exit(u.find_spec({module!r}) is None)",
        ]
        return subprocess.run(command, env=self._env, cwd=self.folder, check=False).returncode == 0

    def _run(self, command: list[str], at: Path | None = None) -> str:
        done = subprocess.run(
            command, env=self._env, cwd=at or self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pip has fetched from the index: the second environment need not fetch it again."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory, downloads: Path) -> dict[str, Path]:
    """The two files that a release consists of, by their ends, built as pip would build them."""
    folder = tmp_path_factory.mktemp("build")
    builder = Environment(folder, downloads)
    builder("pip", "install", "--quiet", "hatchling>=1.25")
    builder("hatchling", "build", "--directory", str(folder / "dist"), at=ROOT)
    return {path.name.removeprefix("gitops_bg-0.1.0"): path for path in (folder / "dist").iterdir()}


@pytest.mark.parametrize("end", ["-py3-none-any.whl", ".tar.gz"])
def test_what_is_installed_inits_checks_shows_and_installs(
    distributions: dict[str, Path], downloads: Path, end: str, tmp_path: Path
) -> None:
    user = Environment(tmp_path, downloads)
    user("pip", "install", "--quiet", str(distributions[end]))
    assert not [module for module in ("pytest", "hypothesis", "ruff", "mypy", "tests") if user.has(module)]

    assert user("gitops-bg", "--version").startswith("gitops-bg ")
    assert "Made config" in user("gitops-bg", "init", "config")
    assert (user.folder / "config/policies/library/people.yaml").is_file()
    assert "no problem" in user("gitops-bg", "check", "config")
    assert "rolled back" in user("gitops-bg", "demo", "day").lower()
    exported = yaml.load_all(user("gitops-bg", "install", "--export"), yaml.CSafeLoader)
    assert {"CustomResourceDefinition", "ClusterRole", "Deployment"} <= {each["kind"] for each in exported}
