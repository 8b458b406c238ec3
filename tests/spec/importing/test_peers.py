"""The peers' own manifests, where somebody has their repositories: each is taken over whole, or refused by its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.importing.convert import convert
from tests.spec.importing.texts import EMPTY, lost

FOLDER = os.environ.get("GITOPS_BG_PEERS", "")
KINDS = (b"kind: Rollout", b"kind: Canary", b"kind: AnalysisTemplate", b"kind: MetricTemplate", b"kind: AlertProvider")
LARGEST = 100_000


def manifests() -> list[Path]:
    found = sorted(each for each in Path(FOLDER).rglob("*.yaml") if each.is_file()) if FOLDER else []
    return [each for each in found if each.stat().st_size < LARGEST and any(map(each.read_bytes().__contains__, KINDS))]


@pytest.mark.skipif(not FOLDER, reason="GITOPS_BG_PEERS names no folder with repositories of the peers")
def test_each_manifest_of_the_peers_is_imported_whole_or_refused_with_its_place() -> None:
    whole, refused = 0, 0
    for path in manifests():
        found = convert([(path.name, path.read_bytes())], EMPTY, "test")
        assert not (found.files and found.problems), path
        assert all(each.line for each in (*found.problems, *found.listed)), path
        files = {**EMPTY, **{name: text.encode() for name, text in found.files.items()}}
        assert [str(each) for each in check_repository(files.items()).problems] == [], path
        if found.files:
            assert list(lost(yaml.safe_load_all(path.read_text()), found)) == [], path
        whole, refused = whole + bool(found.files), refused + bool(found.problems)
    assert whole > refused > 0, f"{whole} whole, {refused} refused"
