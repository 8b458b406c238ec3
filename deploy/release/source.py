"""The tree that a release is built of: the files of the commit that is checked out, with the version of the release,
and the addresses of its registry and its repository, in the few files that name them.

A checkout names no address, since nobody knows where it will be published; and it names the version that is worked on.
"""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE_URL = "https://git.example.com/tools/gitops-bg"
"""What a checkout names as its repository."""

_IMAGE = re.compile(r"(?<![\w./-])gitops-bg:\d[\w.+-]*")
_VERSIONS = {
    "pyproject.toml": r'^version = "(.+)"$',
    "gitops_bg/__init__.py": r'^__version__ = "(.+)"$',
    "deploy/chart/Chart.yaml": r"^(?:version|appVersion): (.+)$",
    "deploy/kustomization.yaml": r"^    newTag: (.+)$",
}
"""Where the version stands, by file."""
_WITH_IMAGE = ("deploy/agent.yaml", "deploy/deny-service.yaml", "deploy/ci/gitlab.yml")
_WITH_URL = (
    *("pyproject.toml", "deploy/Dockerfile", "deploy/monitoring/rules.yaml"),
    *("deploy/chart/Chart.yaml", "deploy/chart/values.yaml"),
)
_VERSION = re.compile(r"\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?", re.ASCII)


class Refused(Exception):
    """Why there can be no release, in one sentence."""


class Unavailable(Refused):
    """What a release is made of cannot be had on this machine."""


PYTHONS = ("3.14", "3.13", "3.12", "3.11")
"""The releases of Python that the command line has packages for, the newest first."""


IMAGE, CHART = "gitops-bg", "charts/gitops-bg"
"""The names below the registry."""


@dataclass(frozen=True, slots=True)
class Scope:
    """How much of a release to build; a test takes less."""

    platforms: tuple[str, ...] = ("linux-amd64", "linux-arm64", "darwin-arm64")
    """Those of the command line. Not Macs with Intel: the newest `cryptography` has no wheels for them."""
    pythons: tuple[str, ...] = PYTHONS
    architectures: tuple[str, ...] = ("amd64", "arm64")
    """Those of the image."""
    effort: int = 6
    """How hard archives are compressed, 1 to 9."""


EVERYTHING = Scope()


@dataclass(frozen=True, slots=True)
class Source:
    """The tree of one release."""

    folder: Path
    version: str
    commit: str
    date: int
    """The second of the commit, which every file of the release has as its date."""
    url: str
    """Where the repository is looked at."""
    downloads: str
    """Where the files of the release will be."""
    registry: str
    """Where images and charts are pushed, such as ``registry.example/tools``; empty: nowhere yet."""

    @property
    def created(self) -> str:
        """The date as OCI, in-toto and CycloneDX write it."""
        return datetime.fromtimestamp(self.date, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def published(self, name: str) -> str:
        """Return the image or the chart where it will be, without a tag."""
        return f"{self.registry}/{name}".removeprefix("/")


def prepare(
    folder: Path, version: str, registry: str, url: str, *, downloads: str = "", may_be_dirty: bool = False
) -> Source:
    """Copy what Git tracks into ``folder``, as the release ``version``. Refuses what is in no commit.

    Without ``downloads`` its files are where GitHub and Gitea have those of a release.
    """
    if not _VERSION.fullmatch(version):
        raise Refused(f"{version} is no version: write it as 0.1.0 or 0.1.0-rc.1")
    if (changed := _git("status", "--porcelain")) and not may_be_dirty:
        raise Refused(f"these files are in no commit:\n{changed}\ncommit them first")
    for name in filter(None, _git("ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    url = url.rstrip("/")
    there = downloads.rstrip("/") or f"{url}/releases/download/v{version}"
    commit, date = _git("rev-parse", "HEAD"), int(_git("log", "-1", "--format=%ct"))
    source = Source(folder, version, commit, date, url, there, registry)
    _stamp(source)
    return source


def notes(source: Source) -> str:
    """Return what the changelog says about this version, for its page at the forge. Refuses one that it does not
    name.
    """
    text = (source.folder / "CHANGELOG.md").read_text()
    for section in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        if source.version in re.findall(r"\d+\.\d+\.\d+\S*", title):
            return (
                re.sub(r"\]\((?!https?://|#)([^)\s]+)\)", rf"]({source.url}/blob/v{source.version}/\1)", body.strip())
                + "\n"
            )
    raise Refused(
        f"CHANGELOG.md has no section of {source.version}: write `## {source.version}` and what changes for users"
    )


def _stamp(source: Source) -> None:
    for name, pattern in _VERSIONS.items():
        _replace(source.folder / name, pattern, lambda found: _with_group(found, source.version))
    _replace(
        source.folder / "deploy/kustomization.yaml",
        r"newName: (.+)",
        lambda found: _with_group(found, source.published(IMAGE)),
    )
    _replace(
        source.folder / "deploy/chart/values.yaml",
        r"^  repository: (.+)$",
        lambda found: _with_group(found, source.published(IMAGE)),
    )
    for name in _WITH_IMAGE:
        _replace(source.folder / name, _IMAGE.pattern, lambda _: f"{source.published(IMAGE)}:{source.version}")
    for name in _WITH_URL:
        _replace(source.folder / name, re.escape(EXAMPLE_URL), lambda _: source.url)


def _replace(path: Path, pattern: str, by: Callable[[re.Match[str]], str]) -> None:
    text, found = re.subn(pattern, by, path.read_text(), flags=re.MULTILINE)
    if not found:
        raise Refused(f"{path} has nothing like {pattern}: correct deploy/release/source.py")
    path.write_text(text)


def _with_group(found: re.Match[str], text: str) -> str:
    return found[0].replace(found[1], text)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout.strip()
