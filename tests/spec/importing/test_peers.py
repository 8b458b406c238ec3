"""The peers' own manifests, where somebody has their repositories: each is taken over whole, or refused by its line.

Those of their examples and tests, by file and by folder; those that their scripts apply, that their tests in Go hold,
and that their pages show.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.importing.convert import Imported, convert
from tests.spec.importing.texts import EMPTY, lost

FOLDER = os.environ.get("GITOPS_BG_PEERS", "")
KINDS = ("kind: Rollout", "kind: Canary", "kind: AnalysisTemplate", "kind: MetricTemplate", "kind: AlertProvider")
LARGEST = 100_000
_BLOCKS = {
    ".sh": re.compile(r"<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n(?P<text>.*?)^\s*\1$", re.DOTALL | re.MULTILINE),
    ".go": re.compile(r"`(?P<text>[^`]*)`"),
    ".md": re.compile(r"^```ya?ml[^\n]*\n(?P<text>.*?)^```", re.DOTALL | re.MULTILINE),
}
"""How a manifest stands in a file that is none."""
TRUE = (
    "(is|are) not (there|among)|among the files|the files have no",
    "this is not YAML|holds {{ }}|is read by kustomize or helm|the key is there twice|unquoted",
    "is required|expected an object|has neither a pod template nor a workloadRef|there is no such field",
    r"is no name of a folder|there is a \w+ \S+ already|so does|and so has|is the workload of another app already",
    "without count never ends|is no CEL|would be wrong as|one of the two would not count|nothing was found to import",
    "can be imported|has no equal|is 0, as Flagger leaves it|there is no AnalysisTemplate|must be|is not allowed",
    "is none of Flagger's builtin metrics|is filled in by nobody|expected text, found a number",
    "is no JSONPath|is a provider that only Argo Rollouts has",
)
"""Reasons that are so of the file itself: what is missing in it, or what it says and neither side would run."""


def texts() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """The sources of each import: a file, a block of one, or a folder."""
    for path in sorted(each for each in Path(FOLDER).rglob("*") if each.is_file() and each.stat().st_size < LARGEST):
        name = path.relative_to(FOLDER).as_posix()
        if path.suffix in (".yaml", ".yml"):
            yield name, [(path.name, path.read_bytes())]
        elif path.suffix in _BLOCKS:
            for number, block in enumerate(_BLOCKS[path.suffix].finditer(path.read_text(errors="replace"))):
                yield f"{name} {number}", [("block.yaml", block["text"].replace("\t", "  ").encode())]
    for folder in sorted(each for each in Path(FOLDER).rglob("*") if each.is_dir()):
        files = sorted(each for each in folder.iterdir() if each.suffix in (".yaml", ".yml"))
        small = [each for each in files if each.stat().st_size < LARGEST]
        if len(small) > 1:
            yield folder.relative_to(FOLDER).as_posix(), [(each.name, each.read_bytes()) for each in small]


@pytest.mark.skipif(not FOLDER, reason="GITOPS_BG_PEERS names no folder with repositories of the peers")
def test_each_manifest_of_the_peers_is_imported_whole_or_refused_with_its_place() -> None:
    whole, refused = 0, 0
    odd: list[str] = []
    for name, sources in texts():
        if any(kind in content.decode(errors="replace") for _, content in sources for kind in KINDS):
            found = convert(sources, EMPTY, "test")
            _is_whole_or_refused(name, found, [content.decode(errors="replace") for _, content in sources])
            odd += [f"{name}: {each}" for each in found.problems if not _is_true(each)]
            if name.endswith((".yaml", ".yml")):  # a block or a folder may lack what stands elsewhere
                whole, refused = whole + bool(found.files), refused + bool(found.problems)
    assert odd == []
    assert whole > refused > 0, f"{whole} whole, {refused} refused"


def _is_whole_or_refused(name: str, found: Imported, contents: list[str]) -> None:
    assert bool(found.files) != bool(found.problems) or found.listed, name
    assert all(each.line for each in (*found.problems, *found.listed)), name
    files = {**EMPTY, **{path: text.encode() for path, text in found.files.items()}}
    assert [str(each) for each in check_repository(files.items()).problems] == [], name
    if found.files:
        documents = [document for content in contents for document in yaml.safe_load_all(content)]
        assert list(lost(documents, found)) == [], name


def _is_true(problem: Problem) -> bool:
    return any(re.search(reason, problem.message) for reason in TRUE)
