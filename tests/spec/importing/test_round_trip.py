"""Examples in the manner of both peers: each is imported whole, and `check` agrees; what has no equal is listed."""

from __future__ import annotations

import pytest
import yaml

from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.importing.convert import Imported, convert
from tests.spec.importing.texts import EMPTY, EXAMPLES, lost

WEIGHTS = ["spec.analysis.maxWeight", "spec.analysis.stepWeight"]
LISTED: dict[str, list[str]] = {
    "canary-by-checks": ["spec.strategy"],
    "canary-by-shares": [
        "spec.provider",
        "spec.service.gateways",
        "spec.service.hosts",
        "spec.service.retries",
        *WEIGHTS,
        "spec.analysis.metrics[0].name",
        "spec.analysis.metrics[1].name",
    ],
    "metric-templates": ["spec.query", "spec.provider.secretRef", "spec.provider.type"],
    "rollout-by-hand": [],
    "rollout-by-shares": ["spec.strategy.canary.steps"],
    "rollout-of-a-deployment": [],
    "rollout-with-analyses": [],
}
"""What has no equal in each example, in the order of its lines."""


def imported(*names: str) -> Imported:
    return convert([(f"{name}.yaml", (EXAMPLES / f"{name}.yaml").read_bytes()) for name in names], EMPTY, "test")


def demand_whole(found: Imported) -> None:
    assert [str(each) for each in found.problems] == []
    assert found.files
    files = {**EMPTY, **{path: text.encode() for path, text in found.files.items()}}
    assert [str(each) for each in check_repository(files.items()).problems] == []
    assert all(text.startswith("# ") for text in found.files.values())


@pytest.mark.parametrize("name", LISTED)
def test_an_example_is_imported_whole(name: str) -> None:
    found = imported(name)
    demand_whole(found)
    assert [each.field for each in found.listed] == LISTED[name]
    assert all(each.line and each.remedy for each in found.listed)


@pytest.mark.parametrize("name", LISTED)
def test_every_value_of_an_example_is_in_the_files_or_listed(name: str) -> None:
    documents = [*yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text())]
    assert list(lost(documents, imported(name))) == []


def test_no_example_is_forgotten() -> None:
    assert {path.stem for path in EXAMPLES.iterdir()} == LISTED.keys()


def test_all_examples_together_are_one_import() -> None:
    found = imported(*LISTED)
    demand_whole(found)
    assert len(found.apps) == 6
