"""docs/how-to/ci.md says what the action takes, what `check` prints, and with which codes it exits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from gitops_bg.cli import errors
from gitops_bg.cli.commands.inspect.check_report import ReportJson
from gitops_bg.cli.options.options import CheckFormat

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "ci.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_report_is_one() -> None:
    [shown] = blocks("json")
    assert ReportJson.model_validate_json(shown).exit_code == 1
    assert json.loads(shown).keys() == ReportJson.model_json_schema(by_alias=True)["properties"].keys()


def test_every_format_and_every_input_is_named() -> None:
    action = yaml.safe_load((ROOT / "deploy/ci/github/action.yml").read_text())
    for name in (*CheckFormat, *action["inputs"], *action["outputs"]):
        assert f"`{name}`" in PAGE, name
    of_the_action = (ROOT / "deploy/ci/github/README.md").read_text()
    assert {name for name in (*action["inputs"], *action["outputs"]) if f"`{name}`" not in of_the_action} == set()


def test_the_examples_use_what_there_is() -> None:
    hook, workflow, pipeline = map(yaml.safe_load, blocks("yaml"))
    [offered] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["repos"][0]["hooks"] == [{"id": offered["id"]}]
    steps = workflow["jobs"]["check"]["steps"]
    action = yaml.safe_load((ROOT / "deploy/ci/github/action.yml").read_text())
    assert steps[1]["with"].keys() <= action["inputs"].keys()
    template = yaml.safe_load((ROOT / pipeline["include"][0]["file"]).read_text())
    assert pipeline["variables"].keys() <= template["variables"].keys()


def test_the_exit_codes_are_those_of_the_command() -> None:
    said = set(map(int, re.findall(r"(?:Exit codes:\n|; |\n)(\d+) ", PAGE.partition("Exit codes:")[2])))
    of_status = {errors.ASKED, errors.NOT_YET, errors.NOT_SEEN}
    assert said | {0} == set(errors.TABLE) - of_status
