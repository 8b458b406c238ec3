"""Whatever is in a file, and whatever is wrong with it: four times the file takes about four times as long to read.

Every reader of files that users write, each with what a file can have many of, right and wrong.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from gitops_bg.cluster.lint import lint
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.check import Checked, check_repository
from gitops_bg.spec.app.layout import SETTINGS_FILE
from gitops_bg.spec.app.load import load_app
from gitops_bg.spec.app.models import Render
from gitops_bg.spec.app.moved import moved
from gitops_bg.spec.importing.convert import convert
from gitops_bg.spec.manifests.edit import set_field, set_image, with_document
from gitops_bg.spec.policies.cases import run_cases
from gitops_bg.spec.policies.load import load_policies
from gitops_bg.spec.rendered import rendered
from gitops_bg.spec.yaml.parser import MAX_PROBLEMS
from gitops_bg.spec.yaml.reader import read
from tests.attacks.mistakes.long_files import (
    ANYTHING,
    CASE_SHAPES,
    EDITED,
    FILES,
    FOLDER,
    IMPORTS,
    OBJECTS,
    OF_ANY_PLACE,
    OF_ONE,
    ONE,
    PLACES,
    REPOSITORY,
    SERVICE,
    STRATEGY,
    Shape,
    many,
)

NOW = datetime(2026, 11, 25, tzinfo=UTC)
SMALL, LARGE = 4_000, 16_000
"""The sizes of files, in bytes."""
MOST = 8.0
"""How many times as long four times the file may take: 16 where the time grows with the square of its size."""
NOISE = 0.02
"""Seconds that another process costs this one, by the caches of the core that they share."""
TRIES = 4
"""How often it is measured at most: a busy machine slows one measurement, a square law each."""

WEB = AppKey("shop", "web")
_POLICIES = tuple(
    each.policy
    for each in load_policies(
        {f"policies/{path.name}": path.read_bytes() for path in (REPOSITORY / "policies").glob("*.yaml")}
    ).written
)


def _checked(path: str) -> Callable[[bytes], Checked]:
    beside = {each: data for each, data in FILES.items() if each.split("/")[:3] == path.split("/")[:3]}
    files = {SETTINGS_FILE: FILES[SETTINGS_FILE]} | beside
    return lambda data: check_repository({**files, path: data}.items(), lint, NOW)


def _set_image(data: bytes) -> object:
    with suppress(InvalidInput):
        return set_image(data, "web", "registry.example/web:2")
    return None


def _set_field(data: bytes) -> object:
    with suppress(InvalidInput):
        return set_field(data, ("spec", "suspend"), {"reason": "x"}, "app.yaml")
    return None


def _put_in(data: bytes) -> object:
    with suppress(InvalidInput):
        return with_document("more.yaml", data, ("Service", "s1"), "kind: Service\nmetadata: {name: s1}\n")
    return None


def _rendered(data: bytes) -> object:
    with suppress(InvalidInput):
        return rendered(FOLDER, Render.model_validate({"kustomize": "web"}), "target.yaml", data, "")
    return None


def _moved(data: bytes) -> object:
    folder = {path.rpartition("/")[2]: each for path, each in FILES.items() if path.startswith(f"{FOLDER}/")}
    files = {**folder, "primary.yaml": folder["target.yaml"], "more.yaml": data}
    config = load_app(WEB, files, lambda *_: None)  # type: ignore[arg-type,return-value]
    with suppress(InvalidInput):
        return moved(config, files, AppKey("shop", "other"))
    return None


READERS: Mapping[str, tuple[Callable[[bytes], object], Mapping[str, Shape]]] = {
    "any file": (lambda data: read("a.yaml", data), ANYTHING),
    **{path: (_checked(path), OF_ANY_PLACE) for path in PLACES},
    "import": (lambda data: convert([("a.yaml", data)], {SETTINGS_FILE: FILES[SETTINGS_FILE]}, "shop"), IMPORTS),
    "the cases of policies": (lambda data: run_cases("a.test.yaml", data, _POLICIES), CASE_SHAPES),
    "another image": (_set_image, EDITED),
    "another field": (_set_field, {"fields": OF_ONE["alerts"][1], "comments": many("# a\n", STRATEGY)}),
    "another document": (_put_in, OBJECTS),
    "what helm prints": (_rendered, {**OBJECTS, "target": many(SERVICE + "---\n", ONE + "---\n")}),
    "another name": (_moved, OBJECTS),
}

ALL = {
    **{f"{name}: {shape}": (reader, text) for name, (reader, of) in READERS.items() for shape, text in of.items()},
    **{f"{path}: {shape}": (_checked(path), text) for shape, (path, text) in OF_ONE.items()},
}


def _seconds(reader: Callable[[bytes], object], data: bytes, attempt: int) -> float:
    """What it takes at best: another process may have the core in between."""
    took = []
    for number in range(2):
        fresh = data + b"\n" * (2 * attempt + number)  # what is remembered of a file does not count
        begun = time.thread_time()
        reader(fresh)
        took.append(time.thread_time() - begun)
    return min(took)


@pytest.fixture
def without_collections() -> Iterator[None]:
    """A collection of garbage takes as long as all that the process has, whatever is read."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collections")
@pytest.mark.parametrize("name", ALL)
def test_a_file_four_times_as_long_takes_about_four_times_as_long_to_read(name: str) -> None:
    reader, shape = ALL[name]
    reader(shape(SMALL).encode())  # what is made at the first use
    measured = []
    for attempt in range(TRIES):
        small, large = (_seconds(reader, shape(size).encode(), attempt) for size in (SMALL, LARGE))
        if large < MOST * small + NOISE:
            return
        measured.append(f"{small:.3f} s, and {large:.3f} s for four times the file")
    pytest.fail("; ".join(measured))


@pytest.mark.parametrize("path", PLACES)
def test_of_each_file_the_first_mistakes_are_named_and_that_there_are_more(path: str) -> None:
    for shape in OF_ANY_PLACE.values():
        found = [each.problem for each in _checked(path)(shape(LARGE).encode()).findings if each.problem.file == path]
        assert len(found) <= 2 * (MAX_PROBLEMS + 1)
        assert len(found) < MAX_PROBLEMS or any("more problems" in each.message for each in found)
