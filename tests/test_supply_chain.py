"""What is installed is what `pyproject.toml` asks for, each file by its hash, and compiled code has a reason."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / ".ci" / "lock"
REASONS = ROOT / "docs" / "decisions" / "0003-libraries.md"
_PACKAGE = re.compile(
    r"^(?P<name>[a-z0-9][a-z0-9._-]*)(?:\[(?P<extras>\S+)\])?==(?P<version>\S+)(?P<rest>.*?)(?=^\S|\Z)",
    re.MULTILINE | re.DOTALL,
)
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = _PROJECT["optional-dependencies"]
WANTED = {
    "image.txt": _PROJECT["dependencies"],
    "image-with-extras.txt": [*_PROJECT["dependencies"], *EXTRAS["tracing"]],
    "development.txt": [*_PROJECT["dependencies"], *(each for extra in EXTRAS.values() for each in extra)],
    "build.txt": (LOCKS / "build.in").read_text().split(),
}


def locked(name: str) -> dict[str, tuple[str, str]]:
    """Version and the rest of the entry, by package."""
    found = _PACKAGE.finditer((LOCKS / name).read_text())
    return {canonicalize_name(each["name"]): (each["version"], each["rest"]) for each in found}


def extras_in(name: str) -> dict[str, set[str]]:
    """The extras of each package."""
    found = _PACKAGE.finditer((LOCKS / name).read_text())
    return {canonicalize_name(each["name"]): set((each["extras"] or "").split(",")) - {""} for each in found}


@pytest.mark.parametrize("name", WANTED)
def test_a_lock_has_the_extras_that_packages_ask_others_for(name: str) -> None:
    """pip takes ``coverage[toml]`` for unpinned where the lock has ``coverage`` alone, and there is a newer release."""
    have = extras_in(name)
    texts = [text for package in have if _is_installed(package) for text in distribution(package).requires or ()]
    asked = [each for each in map(Requirement, [*texts, *WANTED[name]]) if each.extras]
    needed = [each for each in asked if each.marker is None or each.marker.evaluate({"extra": ""})]
    lacking = {str(each) for each in needed if not each.extras <= have.get(canonicalize_name(each.name), each.extras)}
    assert lacking == set()


def _is_installed(package: str) -> bool:
    try:
        return bool(distribution(package))
    except PackageNotFoundError:
        return False


@pytest.mark.parametrize("name", WANTED)
def test_a_lock_has_what_the_project_asks_for(name: str) -> None:
    """Where it fails: `make lock`."""
    have = locked(name)
    wanted = [Requirement(text) for text in WANTED[name] if not text.startswith("gitops-bg")]
    missing = [str(each) for each in wanted if not _fits(each, have)]
    assert missing == []


def _fits(wanted: Requirement, have: dict[str, tuple[str, str]]) -> bool:
    version, _ = have.get(canonicalize_name(wanted.name), ("", ""))
    return bool(version) and wanted.specifier.contains(version, prereleases=True)


@pytest.mark.parametrize("name", WANTED)
def test_every_file_of_a_lock_has_a_hash(name: str) -> None:
    entries = locked(name)
    assert entries
    assert [package for package, (_, rest) in entries.items() if "--hash=sha256:" not in rest] == []


def test_every_stage_of_the_image_begins_with_a_base_by_its_digest() -> None:
    lines = (ROOT / "deploy" / "Dockerfile").read_text().splitlines()
    (base,) = [line.removeprefix("ARG BASE=") for line in lines if line.startswith("ARG BASE=")]
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+@sha256:[0-9a-f]{64}", base)
    assert {line.split()[1] for line in lines if line.startswith("FROM ")} == {"${BASE}"}


def test_this_environment_is_the_locked_one() -> None:
    """`make` installs from the lock, here as in CI."""
    have = locked("development.txt")
    asked = {canonicalize_name(Requirement(text).name) for text in WANTED["development.txt"]} - {"gitops-bg"}
    assert {name: distribution(name).version for name in asked} == {name: have[name][0] for name in asked}


def test_compiled_code_has_a_reason_each() -> None:
    rows = [line.split("|")[1] for line in REASONS.read_text().splitlines() if line.startswith("| ")][1:]
    reasons = {name.strip() for row in rows for name in row.split(",")}
    compiled = set()
    for name in locked("image-with-extras.txt"):
        files = _installed(name)
        compiled |= {name} if any(str(file).endswith(".so") for file in files) else set()
    assert compiled == reasons


def _installed(name: str) -> list[str]:
    """The files of a package; none where the lock has it for another platform."""
    try:
        return list(map(str, distribution(name).files or ()))
    except ModuleNotFoundError:
        return []
