"""`-o yaml` says the same as `-o json`: to every parser of YAML, whatever the texts look like."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from gitops_bg.cli.options.options import Format, OutputOptions
from gitops_bg.cli.output import Output

VALUE = {
    "digest": "v1:3f9c",
    "answers": ["yes", "on", "010", "12:30:45", "2026-11-25", "", "null", "a: b", "# no", "two\nlines", "ä → ☃"],
    "version": 7,
    "ratio": 0.5,
    "missing": None,
    "held": False,
    "at": datetime(2026, 11, 25, 9, tzinfo=UTC),
    "nothing": {"apps": [], "of": {}},
    "apps": [{"name": "web", "gates": [{"open": True}]}],
}


@pytest.mark.parametrize("one_of_many", [False, True], ids=["one object", "one of many"])
def test_yaml_says_the_same_as_json(capsys: pytest.CaptureFixture[str], one_of_many: bool) -> None:
    def printed(how: Format) -> str:
        output = Output(OutputOptions(output=how))
        (output.data_line if one_of_many else output.data)(VALUE)
        return capsys.readouterr().out

    said: Any = json.loads(printed(Format.JSON))
    assert yaml.safe_load(printed(Format.YAML)) == said
    assert said["answers"] == VALUE["answers"]
