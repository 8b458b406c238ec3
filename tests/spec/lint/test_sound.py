"""What this project itself shows to copy, or tests with, has none of the mistakes that `check` finds."""

from __future__ import annotations

from pathlib import Path

from gitops_bg.cluster.lint import lint
from gitops_bg.spec.app.check import Checked, check_repository
from tests.fixtures.repos import texts

TEMPLATE = Path(__file__).parents[3] / "repo-template"


def checked(files: dict[str, bytes]) -> Checked:
    return check_repository(files.items(), lint)


def test_the_repository_to_copy_has_no_finding_nor_has_its_release_group_where_it_counts() -> None:
    paths = (path for path in TEMPLATE.rglob("*.yaml") if path.is_file())
    files = {path.relative_to(TEMPLATE).as_posix().removeprefix("examples/"): path.read_bytes() for path in paths}
    assert any(path.startswith("groups/") for path in files)
    assert checked(files).findings == ()


def test_the_fixtures_have_no_error_and_only_notes_that_are_true_of_them() -> None:
    """They have no probes, and no Services in Git."""
    found = checked({"gitops-bg.yaml": texts.SETTINGS, **texts.folder("shop", "web")})
    assert found.problems == []
    assert {each.rule.name for each in found.findings} == {"readiness-probe", "no-effect"}
