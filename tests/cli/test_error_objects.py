"""With `-o json` every error is an object on stderr, of one shape, whatever went wrong, and stdout stays empty."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gitops_bg.cli import errors, main
from gitops_bg.cli.lazy_commands import wants_programs
from gitops_bg.cli.options.options import Format
from tests.documentation.commands.shown import demand_as_shown

KEYS = {"reason", "message", "exitCode", "problems"}
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def ended(*arguments: str, folder: Path) -> Result:
    return CliRunner().invoke(main.app, list(arguments), env={"KUBECONFIG": str(folder / "none"), "GITOPS_BG_REPO": ""})


WRONG: dict[str, tuple[tuple[str, ...], str, str]] = {
    "an option that there is not": (("get", "--fast"), "UsageError", "No such option: --fast"),
    "a verb that there is not": (("gte",), "UsageError", "No such command 'gte'"),
    "a duration that is none": (("get", "-w", "--timeout", "soon"), "UsageError", "is not a duration"),
    "an argument that is missing": (("history",), "UsageError", "which app?"),
    "a name that is none": (("get", "Shop/web"), "UsageError", "'Shop' is no name of a namespace"),
    "a cluster that nobody named": (("get",), "NoAccess", "there is no kubeconfig"),
    "a folder that is not there": (("policies", "test", "nowhere"), "ObjectNotFound", "nowhere is no folder"),
}


@pytest.mark.parametrize("how", ["json", "yaml"])
@pytest.mark.parametrize("name", WRONG)
def test_every_error_is_an_object(name: str, how: str, tmp_path: Path) -> None:
    arguments, reason, message = WRONG[name]
    done = ended(*arguments, "-o", how, folder=tmp_path)
    said = json.loads(done.stderr)["error"]
    assert done.stdout == ""
    assert said.keys() == KEYS
    assert (said["reason"], said["exitCode"], said["problems"]) == (reason, done.exit_code, [])
    assert message in said["message"]


@pytest.mark.parametrize("name", WRONG)
def test_for_people_it_is_text_and_ends_the_same(name: str, tmp_path: Path) -> None:
    arguments = WRONG[name][0]
    done = ended(*arguments, folder=tmp_path)
    assert not done.stderr.startswith("{")
    assert done.exit_code == ended(*arguments, "-o", "json", folder=tmp_path).exit_code != 0


def test_a_wrong_file_is_named_with_each_of_its_problems(tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "night.yaml").write_text("apiVersion: gitops-bg.dev/v1alpha1\nkind: PromotionPolicy\nspec: 5\n")
    done = ended("policies", "test", str(policies), "-o", "json", folder=tmp_path)
    said = json.loads(done.stderr)["error"]
    assert (said["reason"], said["exitCode"]) == ("InvalidInput", errors.NOT_SO)
    assert {each["file"] for each in said["problems"]} == {"policies/night.yaml"}
    assert all(each["message"] for each in said["problems"])


def test_a_bug_is_an_object_with_its_trace(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(main, "app", broken)
    monkeypatch.setattr("sys.argv", ["gitops-bg", "get", "-o", "json"])
    with pytest.raises(SystemExit):
        main.main()
    said: dict[str, Any] = json.loads(capsys.readouterr().err)["error"]
    assert (said["reason"], said["message"], said["exitCode"]) == ("Bug", "ZeroDivisionError: oh", errors.BUG)
    assert "in broken" in said["trace"]


def test_every_format_is_for_people_or_for_programs() -> None:
    of_programs = {each for each in Format if wants_programs(["-o", each])}
    assert of_programs == {Format.JSON, Format.YAML}


def test_the_page_shows_what_an_error_is(tmp_path: Path) -> None:
    done = ended("get", "Shop/web", "-o", "json", folder=tmp_path)
    demand_as_shown("docs/reference/cli.md", "gitops-bg get Shop/web -o json", done.stderr)


def test_the_page_has_every_exit_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [code for code, meaning in errors.TABLE.items() if f"| {code} | {meaning} |" not in text]
    assert missing == []
