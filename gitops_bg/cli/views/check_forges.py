"""The report of `check` in the formats of forges: SARIF, annotations of GitHub, code quality of GitLab. Pure.

``folder`` is where the checked files are in the repository; forges want paths from its root.
"""

from collections.abc import Iterator
from typing import Any

from gitops_bg.cli.output import clean
from gitops_bg.cli.views.check_report import Report
from gitops_bg.cli.views.sarif import Log, SarifResult, SarifRule, log_of
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.lint.app_folder import Finding, Severity

_COMMANDS = {Severity.ERROR: "error", Severity.NOTE: "notice"}
_SEVERITIES = {Severity.ERROR: "major", Severity.NOTE: "info"}


def sarif(report: Report, folder: str = "") -> Log:
    """Return a SARIF log with a result for each finding."""
    results = (_result(each, folder) for each in report.findings)
    return log_of(results, {"files": report.files}, str(report.error) if report.error else "")


def _result(finding: Finding, folder: str) -> SarifResult:
    problem = finding.problem
    rule = SarifRule(finding.rule.name, finding.rule.severity.value, finding.rule.says)
    file, text = _path(problem, folder), problem_text(problem)
    return SarifResult(rule, text, file, problem.line, problem.column, (file, problem.field, clean(text)))


def annotations(report: Report, folder: str = "") -> Iterator[str]:
    """Yield a workflow command of GitHub Actions for each finding, which shows it at its line.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    if report.error:
        yield f"::error title=gitops-bg::{_data(clean(str(report.error)))}"
    for finding in report.findings:
        problem = finding.problem
        place = {"file": _path(problem, folder), "line": problem.line, "col": problem.column}
        known = {"title": f"gitops-bg {finding.rule.name}", **{key: each for key, each in place.items() if each}}
        said = ",".join(f"{key}={_property(str(each))}" for key, each in known.items())
        yield f"::{_COMMANDS[finding.rule.severity]} {said}::{_data(clean(problem_text(problem)))}"


def problem_text(problem: Problem) -> str:
    """Return a problem without its place: the field, what is wrong, and the remedy."""
    subject = f"{problem.field}: " if problem.field else ""
    return f"{subject}{problem.message}" + (f" ({problem.remedy})" if problem.remedy else "")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(clean(text)).replace(":", "%3A").replace(",", "%2C")


def code_quality(report: Report, folder: str = "") -> list[dict[str, Any]]:
    """Return a code quality report of GitLab.

    https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
    """
    results = ((each, _result(each, folder)) for each in report.findings)
    return [
        {
            "check_name": finding.rule.name,
            "description": clean(result.text),
            "fingerprint": result.fingerprint,
            "severity": _SEVERITIES[finding.rule.severity],
            "location": {"path": result.file, "lines": {"begin": result.line or 1}},
        }
        for finding, result in results
    ]


def _path(problem: Problem, folder: str) -> str:
    return f"{folder}/{problem.file}" if folder else problem.file
