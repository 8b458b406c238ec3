"""What `check` found, for programs and forges: the parts they need, where things are shown, nothing breaks it."""

from __future__ import annotations

import pytest

from gitops_bg.cli.commands.inspect.check_report import (
    Report,
    ReportJson,
    annotations,
    code_quality,
    report_json,
    sarif,
)
from gitops_bg.cli.errors import ObjectNotFound
from gitops_bg.core.errors import GitopsBgError, InvalidInput, Transient
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.lint.app_folder import NO_EFFECT, PROBLEM, Finding
from gitops_bg.spec.lint.rules import FOLDER_RULES
from tests.support.sarif import check_sarif, told

BROKEN = Finding(PROBLEM, Problem("apps/shop/api/a b.yaml", "is no port", 7, 3, "spec.ports[0]", "write a number"))
MISSING = Finding(PROBLEM, Problem("gitops-bg.yaml", "is missing"))
NOTED = Finding(NO_EFFECT, Problem("apps/shop/web/x.yaml", "does nothing", 1, 1))
REPORT = Report((BROKEN, MISSING, NOTED), 9)
NOWHERE = Report(error=ObjectNotFound("x is no folder"))


def test_each_finding_is_a_result_where_it_is_written() -> None:
    assert told(sarif(REPORT)) == [
        ("problem", "error", "apps/shop/api/a%20b.yaml", {"startLine": 7, "startColumn": 3}),
        ("problem", "error", "gitops-bg.yaml", {"startLine": 1}),
        ("no-effect", "note", "apps/shop/web/x.yaml", {"startLine": 1, "startColumn": 1}),
    ]
    [text, *_] = [result["message"]["text"] for result in check_sarif(sarif(REPORT))]
    assert text == "spec.ports[0]: is no port (write a number)"


def test_every_rule_makes_a_result_that_code_scanning_takes() -> None:
    findings = tuple(Finding(rule, Problem("a.yaml", "x", 2)) for rule in FOLDER_RULES)
    assert len(check_sarif(sarif(Report(findings, 1)))) == len(FOLDER_RULES)


def test_a_result_is_the_same_one_after_lines_moved_and_another_one_in_another_file() -> None:
    def fingerprint(problem: Problem) -> str:
        [result] = check_sarif(sarif(Report((Finding(PROBLEM, problem),), 1)))
        return str(result["partialFingerprints"]["gitopsBg/v1"])

    first = Problem("a.yaml", "is wrong", 7, 3, "spec.x")
    assert fingerprint(first) == fingerprint(Problem("a.yaml", "is wrong", 9, 5, "spec.x"))
    others = (Problem("b.yaml", "is wrong", 7, 3, "spec.x"), Problem("a.yaml", "is wrong", 7, 3, "spec.y"))
    assert len({fingerprint(first), *map(fingerprint, others)}) == 3


def test_paths_begin_at_the_root_of_the_repository() -> None:
    assert [uri for _, _, uri, _ in told(sarif(REPORT, "config"))][1] == "config/gitops-bg.yaml"
    assert code_quality(REPORT, "config")[1]["location"] == {"path": "config/gitops-bg.yaml", "lines": {"begin": 1}}
    assert "file=config/gitops-bg.yaml::" in list(annotations(REPORT, "config"))[1]


def test_an_annotation_is_at_its_line_and_a_note_is_a_notice() -> None:
    assert list(annotations(REPORT)) == [
        "::error title=gitops-bg problem,file=apps/shop/api/a b.yaml,line=7,col=3::"
        "spec.ports[0]: is no port (write a number)",
        "::error title=gitops-bg problem,file=gitops-bg.yaml::is missing",
        "::notice title=gitops-bg no-effect,file=apps/shop/web/x.yaml,line=1,col=1::does nothing",
    ]


def test_nothing_that_others_wrote_ends_an_annotation_or_begins_one() -> None:
    evil = Problem("a,b:c%.yaml\n::error::x", "100 %\n::set-output name=a::b\r::warning::c", 1)
    [line] = annotations(Report((Finding(PROBLEM, evil),), 1))
    assert "\n" not in line
    assert "\r" not in line
    assert "file=a%2Cb%3Ac%25.yaml%0A%3A%3Aerror%3A%3Ax," in line
    assert line.endswith("::100 %25%0A::set-output name=a::b ::warning::c")


def test_gitlab_gets_what_its_format_asks_for() -> None:
    report = code_quality(REPORT)
    for each in report:
        assert each.keys() == {"check_name", "description", "fingerprint", "severity", "location"}
        assert each["severity"] in {"info", "minor", "major", "critical", "blocker"}
    assert len({each["fingerprint"] for each in report}) == 3
    assert report[0]["location"] == {"path": "apps/shop/api/a b.yaml", "lines": {"begin": 7}}
    assert [each["severity"] for each in report] == ["major", "major", "info"]


def test_programs_get_every_part_of_every_finding() -> None:
    found = report_json(REPORT).model_dump(by_alias=True)
    assert found["problems"][0] == {
        "rule": "problem",
        "severity": "error",
        "file": "apps/shop/api/a b.yaml",
        "line": 7,
        "column": 3,
        "field": "spec.ports[0]",
        "message": "is no port",
        "remedy": "write a number",
    }
    assert [each["file"] for each in found["notes"]] == ["apps/shop/web/x.yaml"]
    assert (found["files"], found["exitCode"], found["error"]) == (9, 1, None)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ObjectNotFound("x is no folder"), 5),
        (Transient("no answer"), 4),
        (InvalidInput(Problem("--branch", "is no branch")), 2),
    ],
    ids=str,
)
def test_programs_get_an_error_in_the_same_document(error: GitopsBgError, code: int) -> None:
    found = report_json(Report(error=error))
    assert ReportJson.model_validate(found.model_dump()) == found
    assert found.exit_code == code
    assert found.error is not None
    assert found.error.reason == error.reason
    assert found.error.message == str(error)
    assert [each.file for each in found.problems] == (["--branch"] if isinstance(error, InvalidInput) else [])


def test_forges_are_told_that_nothing_could_be_checked() -> None:
    [run] = sarif(NOWHERE)["runs"]
    assert check_sarif(sarif(NOWHERE)) == []
    assert run["invocations"][0]["executionSuccessful"] is False
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "x is no folder"
    assert list(annotations(NOWHERE)) == ["::error title=gitops-bg::x is no folder"]


def test_only_errors_fail_unless_notes_are_to() -> None:
    notes = (NOTED,)
    assert [Report(each, 1).exit_code for each in ((), notes, (BROKEN,), (NOTED, MISSING))] == [0, 0, 1, 1]
    assert [Report(each, 1, strict=True).exit_code for each in ((), notes)] == [0, 1]
