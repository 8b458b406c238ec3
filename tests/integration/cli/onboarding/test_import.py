"""`import`: what it writes and prints, and that it writes all or nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.main import app
from gitops_bg.cli.repository.worktree import write_new_files
from tests.spec.importing.texts import CANARY, DEPLOYMENT, EXAMPLES, ROLLOUT, SERVICE
from tests.support.printed import demand_documented


def run(*arguments: str, code: int = 0, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(app, ["import", *arguments], input=stdin, env={"GITOPS_BG_REPO": "", "COLUMNS": "200"})
    assert result.exit_code == code, result.output
    demand_documented(["import", *arguments], result.stdout, result.stderr)
    return result


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "gitops-bg.yaml").write_text("apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n")
    return folder


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def manifests(folder: Path, *texts: str) -> list[str]:
    paths = [folder / f"{number}.yaml" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return [str(path) for path in paths]


def test_an_import_writes_files_that_check_finds_sound(repository: Path, tmp_path: Path) -> None:
    said = run(*manifests(tmp_path, ROLLOUT, SERVICE), "--into", str(repository)).stdout
    written = ["apps/shop/web/app.yaml", "apps/shop/web/services.yaml", "apps/shop/web/target.yaml"]
    assert files_in(repository) == [*written, "gitops-bg.yaml"]
    assert "Imported 1 app in 3 files; everything has an equal." in said
    assert all(f"wrote {path}" in said for path in written)
    checked = CliRunner().invoke(app, ["check", str(repository)])
    assert checked.exit_code == 0, checked.output


def test_what_has_no_equal_is_listed_with_file_and_line(repository: Path) -> None:
    said = run(str(EXAMPLES / "rollout-by-shares.yaml"), "--into", str(repository), "-n", "shop").stdout
    assert "no equal: " in said
    assert "rollout-by-shares.yaml:19:7: spec.strategy.canary.steps: shares live traffic between versions" in said
    assert "1 thing to look at." in said


def test_a_folder_of_files_and_standard_input_are_read_too(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    manifests(tmp_path / "manifests", DEPLOYMENT, SERVICE)
    run(str(tmp_path / "manifests"), "-", "--into", str(repository), stdin=CANARY)
    assert "# From standard input:1, Canary web" in (repository / "apps/shop/web/app.yaml").read_text()


def test_a_dry_run_shows_the_files_and_writes_none(repository: Path, tmp_path: Path) -> None:
    said = run(*manifests(tmp_path, ROLLOUT, SERVICE), "--into", str(repository), "--dry-run").stdout
    assert "# apps/shop/web/app.yaml\n# From " in said
    assert "Would import 1 app in 3 files" in said
    assert files_in(repository) == ["gitops-bg.yaml"]


def test_programs_get_the_files_and_what_is_listed(repository: Path, tmp_path: Path) -> None:
    paths = manifests(tmp_path, DEPLOYMENT + "  strategy: {type: Recreate}\n", SERVICE)
    found: dict[str, Any] = json.loads(run(*paths, "--into", str(repository), "-o", "json").stdout)
    assert found["apps"] == ["shop/web"]
    assert found["written"] is True
    assert [each["path"] for each in found["files"]] == [
        "apps/shop/web/app.yaml",
        "apps/shop/web/target.yaml",
        "apps/shop/web/services.yaml",
    ]
    assert [(each["line"], each["field"]) for each in found["listed"]] == [(15, "spec.strategy")]
    again = run(*paths, "--into", str(repository), "-o", "json", code=1)
    (problem,) = json.loads(again.stderr)["error"]["problems"]
    assert (problem["line"], problem["field"]) == (3, "metadata.name")


REFUSED = {
    "a Canary without its target": ((CANARY,), 1, "there is no Deployment shop/web among the files"),
    "no YAML": (("a: [",), 1, "this is not YAML"),
    "a file that is not there": ((), 1, "none.yaml: cannot be read: No such file or directory"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_whole_writes_nothing(case: str, repository: Path, tmp_path: Path) -> None:
    texts, code, said = REFUSED[case]
    paths = manifests(tmp_path, *texts) or [str(tmp_path / "none.yaml")]
    assert said in run(*paths, "--into", str(repository), code=code).stderr
    assert files_in(repository) == ["gitops-bg.yaml"]


def test_every_reason_is_said_at_once(repository: Path, tmp_path: Path) -> None:
    paths = manifests(tmp_path, CANARY, "a: [", ROLLOUT.replace("shop", "other") + "---\nkind: X\n")
    said = run(*paths, str(tmp_path / "none.yaml"), "--into", str(repository), code=1).stderr
    assert [name in said for name in ("none.yaml: cannot", "0.yaml:5", "1.yaml:2", "2.yaml:16")] == [True] * 4


def test_wrong_use(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "no manifest there" in run(str(tmp_path / "empty"), "--into", str(repository), code=2).stderr
    assert "is no folder" in run("-", "--into", str(tmp_path / "none"), code=5, stdin=ROLLOUT).stderr
    run("-", "-n", "No Namespace", code=2, stdin=ROLLOUT)


def test_a_link_is_not_followed(repository: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repository / "apps").symlink_to(outside)
    run(*manifests(tmp_path, ROLLOUT, SERVICE), "--into", str(repository), code=1)
    assert files_in(outside) == []


def test_where_one_file_cannot_be_written_none_is(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").mkdir()
    with pytest.raises(CommandFailed, match="nothing was"):
        write_new_files(tmp_path, {"apps/shop/a.yaml": "a", "b.yaml": "b", "c.yaml": "c"})
    assert [path.name for path in tmp_path.iterdir()] == ["b.yaml"]


def test_no_path_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    with pytest.raises(CommandFailed, match="it leads out of the folder"):
        write_new_files(tmp_path / "inside", {"a/../../b.yaml": "b"})
    assert files_in(tmp_path) == []


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("mine")
    with pytest.raises(CommandFailed, match=r"b\.yaml cannot be written"):
        write_new_files(tmp_path, {"a.yaml": "a", "b.yaml": "b"})
    assert (files_in(tmp_path), (tmp_path / "b.yaml").read_text()) == (["b.yaml"], "mine")
