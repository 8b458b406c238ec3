"""`schema`: what it prints and writes, and that a repository of `init` refers to it where it is."""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema import Draft202012Validator
from typer.testing import CliRunner, Result

from gitops_bg.cli.main import app
from gitops_bg.spec.crd import MODELS
from gitops_bg.spec.yaml.reader import read

MODELINE = "# yaml-language-server: $schema="


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(arguments), env={"GITOPS_BG_REPO": ""})
    assert result.exit_code == code, result.output
    return result


def test_a_kind_is_printed_and_an_unknown_one_is_guessed() -> None:
    assert json.loads(run("schema", "ReleaseGroup").stdout)["title"] == "ReleaseGroup"
    assert "did you mean ReleaseGroup?" in run("schema", "releasegroup", code=5).stderr
    assert "there are BlueGreenDeployment, Primary" in run("schema", "x", code=5).stderr


def test_a_folder_gets_a_file_for_each_kind_and_one_for_all(tmp_path: Path) -> None:
    told = json.loads(run("schema", "--dir", str(tmp_path / "new"), "-o", "json").stdout)
    there = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert told["files"] == there == sorted([*(f"{kind}.json" for kind in MODELS), "schema.json", "CheckReport.json"])
    assert json.loads(run("schema").stdout) == json.loads((tmp_path / "new/schema.json").read_text())


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written" in run("schema", "--dir", str(tmp_path / "file"), code=1).stderr


def test_what_check_prints_for_programs_is_what_its_schema_says(tmp_path: Path) -> None:
    schema = Draft202012Validator(json.loads(run("schema", "CheckReport").stdout))
    for folder, code in ((Path(__file__).parents[2] / "repo-template", 0), (tmp_path, 1), (tmp_path / "no", 5)):
        assert list(schema.iter_errors(json.loads(run("check", str(folder), "-o", "json", code=code).stdout))) == []
    assert not schema.is_valid({"files": 1})


def test_editors_find_the_schema_of_every_file_of_ours_that_init_makes(tmp_path: Path) -> None:
    run("init", str(tmp_path / "config"))
    named = 0
    for path in (tmp_path / "config").rglob("*.yaml"):
        first, _, _ = path.read_text().partition("\n")
        if first.startswith(MODELINE):
            named += 1
            schema = json.loads((path.parent / first.removeprefix(MODELINE)).read_text())
            for document in read(path.name, path.read_bytes()).documents:
                assert list(Draft202012Validator(schema).iter_errors(document.value)) == []
    assert named == 6, "two app.yaml, gitops-bg.yaml, two templates, one provider"
    assert "no problem" in run("check", str(tmp_path / "config"), "--strict").stdout
