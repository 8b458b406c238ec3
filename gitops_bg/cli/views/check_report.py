"""The report of `check` as plain data, and as JSON: the models here are its documented schema. Pure; prints nothing."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from gitops_bg.cli import errors
from gitops_bg.cli.output import clean
from gitops_bg.core.errors import GitopsBgError, InvalidInput
from gitops_bg.spec.lint.app_folder import PROBLEM, Finding, Severity


@dataclass(frozen=True, slots=True)
class Report:
    """What `check` found in ``files`` files. ``error``: why it could not look; then nothing was found."""

    findings: tuple[Finding, ...] = ()
    files: int = 0
    strict: bool = False
    """Whether notes count as errors do."""
    error: GitopsBgError | None = None

    def count(self, severity: Severity) -> int:
        """Return how many findings are as bad as this."""
        return sum(each.rule.severity is severity for each in self.findings)

    @property
    def exit_code(self) -> int:
        """The exit code of `check`."""
        if self.error is not None:
            return errors.code_of(self.error)
        bad = self.findings if self.strict else [each for each in self.findings if each.rule.severity is Severity.ERROR]
        return errors.NOT_SO if bad else errors.OK


class _Json(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


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


class ErrorJson(_Json):
    """Why `check` could not look at the files."""

    reason: str = Field(description="The kind of error, in CamelCase.")
    message: str = Field(description="What is wrong, and what would be right.")


class ReportJson(_Json):
    """What `gitops-bg check -o json` prints, whether or not it could look at the files."""

    files: int = Field(description="How many files were checked.")
    problems: list[FindingJson] = Field(description="The errors, by place.")
    notes: list[FindingJson] = Field(description="What is no error, by place.")
    exit_code: int = Field(description="The exit code of the command, as `gitops-bg --help` explains it.")
    error: ErrorJson | None = Field(description="Why nothing could be checked; else null.")


def report_json(report: Report) -> ReportJson:
    """Return the report as it is printed for programs."""
    findings = [_finding(each) for each in (*report.findings, *_from(report.error))]
    return ReportJson(
        files=report.files,
        problems=[each for each in findings if each.severity == "error"],
        notes=[each for each in findings if each.severity == "note"],
        exit_code=report.exit_code,
        error=ErrorJson(reason=report.error.reason, message=clean(str(report.error))) if report.error else None,
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
