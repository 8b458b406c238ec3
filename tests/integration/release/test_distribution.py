"""What users install works without the checkout: the wheel by pipx, by itself, and the sdist is the same.

A new virtual environment, the ordinary index, no development tools.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
_THEIRS = ("PYTHON", "VIRTUAL_ENV", "GITOPS_BG_", "KUBE", "XDG_", "COV_", "PYTEST_")

pytestmark = pytest.mark.slow


class User:
    """Somebody who has nothing but Python: a new home, a new folder, and what they install."""

    def __init__(self, folder: Path, downloads: Path) -> None:
        self.folder = folder / "here"
        self.folder.mkdir(parents=True)
        home = folder / "home"
        home.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_THEIRS)}
        self._env = kept | {"HOME": str(home), "PIP_CACHE_DIR": str(downloads), "PIP_NO_COMPILE": "1"}
        self._python = folder / "venv" / "bin" / "python"
        self._programs = self._python.parent

    def installs_by_pip(self, *what: str) -> None:
        """Install into a new virtual environment."""
        self._run([sys.executable, "-m", "venv", str(self._python.parents[1])])
        self._run([str(self._python), "-m", "pip", "install", "--quiet", *what])

    def installs_by_pipx(self, pipx: Path, what: Path) -> None:
        """Install with pipx, which makes a virtual environment for each program."""
        rooms = self.folder.parent / "pipx"
        self._programs = rooms / "bin"
        self._env |= {"PIPX_HOME": str(rooms), "PIPX_BIN_DIR": str(self._programs), "PIPX_MAN_DIR": str(rooms / "man")}
        self._run([str(pipx), "install", "--quiet", str(what)])
        self._python = rooms / "venvs" / "gitops-bg" / "bin" / "python"

    def program(self, name: str) -> Path:
        """Where a program is that was installed."""
        return self._programs / name

    def __call__(self, program: str, *arguments: str, at: Path | None = None) -> str:
        """Run a program that was installed, which is to succeed; what it printed on stdout."""
        return self._run([str(self.program(program)), *arguments], at)

    def has(self, module: str) -> bool:
        """Whether what was installed can import a module."""
        command = [str(self._python), "-c", f"import importlib.util as u; exit(u.find_spec({module!r}) is None)"]
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
def builder(tmp_path_factory: pytest.TempPathFactory, downloads: Path) -> User:
    """Who builds a release, and has pipx."""
    found = User(tmp_path_factory.mktemp("build"), downloads)
    found.installs_by_pip("hatchling>=1.25", "pipx>=1.7")
    return found


@pytest.fixture(scope="module")
def distributions(builder: User) -> dict[str, Path]:
    """The two files that a release consists of, by their ends, built as pip would build them."""
    builder("hatchling", "build", "--directory", str(builder.folder / "dist"), at=ROOT)
    return {path.name.removeprefix("gitops_bg-0.1.0"): path for path in (builder.folder / "dist").iterdir()}


def test_the_wheel_is_installed_by_pipx(
    builder: User, distributions: dict[str, Path], downloads: Path, tmp_path: Path
) -> None:
    user = User(tmp_path, downloads)
    user.installs_by_pipx(builder.program("pipx"), distributions["-py3-none-any.whl"])
    _see_that_it_works(user)
    assert user("kubectl-bg", "--version") == user("gitops-bg", "--version")
    assert "explain" in user("kubectl_complete-bg", "expl"), "kubectl asks it what follows `kubectl bg`"


def test_what_pip_makes_of_the_sdist_is_the_wheel(
    builder: User, distributions: dict[str, Path], tmp_path: Path
) -> None:
    """With the same metadata, and so with the same dependencies; what the wheel does, the other test shows."""
    builder("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(distributions[".tar.gz"]))
    (made,) = tmp_path.glob("*.whl")
    assert made.name == distributions["-py3-none-any.whl"].name
    assert _contents(made) == _contents(distributions["-py3-none-any.whl"])


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def _see_that_it_works(user: User) -> None:
    assert not [module for module in ("pytest", "hypothesis", "ruff", "mypy", "tests") if user.has(module)]
    assert user.has("gitops_bg")
    assert user("gitops-bg", "--version").startswith("gitops-bg ")
    assert "Made config" in user("gitops-bg", "init", "config")
    assert (user.folder / "config/policies/library/people.yaml").is_file()
    assert "no problem" in user("gitops-bg", "check", "config")
    assert "rolled back" in user("gitops-bg", "demo", "day").lower()
    exported = yaml.load_all(user("gitops-bg", "install", "--export"), yaml.CSafeLoader)
    assert {"CustomResourceDefinition", "ClusterRole", "Deployment"} <= {each["kind"] for each in exported}
