"""The report of `check`: as plain data; as JSON, whose models are its documented schema; and in the formats of forges:
SARIF, annotations of GitHub, code quality of GitLab. Pure; prints nothing. ``folder`` is where the checked files are in
the repository: forges want paths from its root.

SARIF is 2.1.0 (OASIS) as GitHub's code scanning takes it
(https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning),
which demands more than the schema: of a rule both descriptions and a help, of a result a region; lines begin at 1, and
a path is relative to the root of the repository.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from gitops_bg import __version__
from gitops_bg.cli import errors
from gitops_bg.cli.output import clean
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.lint.app_folder import PROBLEM, Finding, LintSeverity


@dataclass(frozen=True, slots=True)
class Report:
    """What `check` found in ``files`` files. ``error``: why it could not look; then nothing was found."""

    findings: tuple[Finding, ...] = ()
    files: int = 0
    strict: bool = False
    """Whether notes count as errors do."""
    error: GitopsBgError | None = None

    def count(self, severity: LintSeverity) -> int:
        """Return how many findings are as bad as this."""
        return sum(each.rule.severity is severity for each in self.findings)

    @property
    def exit_code(self) -> int:
        """The exit code of `check`."""
        if self.error is not None:
            return errors.code_of(self.error)
        bad = (
            self.findings
            if self.strict
            else [each for each in self.findings if each.rule.severity is LintSeverity.ERROR]
        )
        return errors.NOT_SO if bad else errors.OK


class _Json(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", defer_build=True)


class FindingJson(_Json):
    """One thing that `check` says of a file."""

    rule: str = Field(description="The name of the rule that found it; it never changes.")
    severity: Literal["error", "note"] = Field(description="An error fails the check; a note does with --strict.")
    file: str = Field(description="The path below PATH, with slashes; of an option that is wrong, the option.")
    line: int | None = Field(description="The line, from 1; null where it is about the whole file.")
    column: int | None = Field(description="The column, from 1, in characters; null where it is about the whole file.")
    field: str = Field(description="The field, such as spec.ports[0].name; empty where it is about the whole file.")
    message: str = Field(description="What is wrong.")
    remedy: str = Field(description="What would be right; empty where there is nothing to add.")


class CheckErrorJson(_Json):
    """Why `check` could not look at the files."""

    reason: str = Field(description="The kind of error, in CamelCase.")
    message: str = Field(description="What is wrong, and what would be right.")


class ReportJson(_Json):
    """What `gitops-bg check -o json` prints, whether or not it could look at the files."""

    files: int = Field(description="How many files were checked.")
    problems: list[FindingJson] = Field(description="The errors, by place.")
    notes: list[FindingJson] = Field(description="What is no error, by place.")
    exit_code: int = Field(description="The exit code of the command, as `gitops-bg --help` explains it.")
    error: CheckErrorJson | None = Field(description="Why nothing could be checked; else null.")


def report_json(report: Report) -> ReportJson:
    """Return the report as it is printed for programs."""
    findings = [_finding(each) for each in (*report.findings, *_from(report.error))]
    return ReportJson(
        files=report.files,
        problems=[each for each in findings if each.severity == "error"],
        notes=[each for each in findings if each.severity == "note"],
        exit_code=report.exit_code,
        error=CheckErrorJson(reason=report.error.reason, message=clean(str(report.error))) if report.error else None,
    )


def _from(error: GitopsBgError | None) -> list[Finding]:
    return [Finding(PROBLEM, each) for each in error.problems] if isinstance(error, InvalidInput) else []


def _finding(finding: Finding) -> FindingJson:
    problem = finding.problem
    return FindingJson(
        rule=finding.rule.name,
        severity=finding.rule.severity.value,
        file=problem.file,
        line=problem.line,
        column=problem.column,
        field=problem.field,
        message=clean(problem.message),
        remedy=clean(problem.remedy),
    )


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
Log = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SarifRule:
    """What results have in common. ``level``: ``error``, ``warning`` or ``note``."""

    name: str
    level: str
    says: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class SarifResult:
    """One result. Lines and columns count from 1; without a line it is about the whole file."""

    rule: SarifRule
    text: str
    file: str
    line: int | None = None
    column: int | None = None
    same: tuple[str, ...] = ()
    """What makes it the same result in another commit; empty: its place and text."""

    @property
    def fingerprint(self) -> str:
        """The same for the same result: whoever dismissed it is not asked again."""
        same = self.same or (self.file, str(self.line), clean(self.text))
        return hashlib.sha256("\0".join((self.rule.name, *same)).encode()).hexdigest()


_COMMANDS = {LintSeverity.ERROR: "error", LintSeverity.NOTE: "notice"}
_SEVERITIES = {LintSeverity.ERROR: "major", LintSeverity.NOTE: "info"}


def sarif(report: Report, folder: str = "") -> Log:
    """Return a SARIF log with a result for each finding."""
    results = (_result(each, folder) for each in report.findings)
    return log_of(results, {"files": report.files}, str(report.error) if report.error else "")


def _result(finding: Finding, folder: str) -> SarifResult:
    problem = finding.problem
    rule = SarifRule(finding.rule.name, finding.rule.severity.value, finding.rule.says)
    file, text = _path(problem, folder), problem_text(problem)
    return SarifResult(rule, text, file, problem.line, problem.column, (file, problem.field, clean(text)))


def log_of(results: Iterable[SarifResult], properties: Mapping[str, Any], failure: str = "") -> Log:
    """Return the log; a result occurs once, whoever shares it. ``failure``: why the run could not look at all."""
    unique = list({each.fingerprint: each for each in results}.values())
    rules = sorted({each.rule for each in unique}, key=lambda rule: rule.name)
    run: Log = {
        "tool": {"driver": {"name": "gitops-bg", "version": __version__, "rules": [_rule(each) for each in rules]}},
        "columnKind": "unicodeCodePoints",
        "properties": dict(properties),
        "results": [_sarif_result(each, rules.index(each.rule)) for each in unique],
    }
    if failure:
        told = {"level": "error", "message": {"text": clean(failure)}}
        run["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": [told]}]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: SarifRule) -> Log:
    said = {"text": rule.says}
    return {
        "id": rule.name,
        "shortDescription": said,
        "fullDescription": said,
        "help": {"text": rule.help or rule.says},
        "defaultConfiguration": {"level": rule.level},
    }


def _sarif_result(result: SarifResult, place: int) -> Log:
    region = {"startLine": result.line or 1} | ({"startColumn": result.column} if result.column else {})
    return {
        "ruleId": result.rule.name,
        "ruleIndex": place,
        "level": result.rule.level,
        "message": {"text": clean(result.text)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(result.file)}, "region": region}}],
        "partialFingerprints": {"gitopsBg/v1": result.fingerprint},
    }


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
