"""Prints errors on stderr: one message per problem, with its place and remedy; no traceback."""

import sys
import traceback

from gitops_bg.cli.options.options import OutputOptions
from gitops_bg.cli.views.output import clean, console_for, said
from gitops_bg.core.errors import GitopsBgError, InvalidInput
from gitops_bg.core.model.desired import Problem


def problem_line(problem: Problem) -> str:
    """Return ``file:line:column: field: message (remedy)``, without the parts that are unknown.

    >>> problem_line(Problem("a.yaml", "is wrong", 3, 5, "spec.x", "remove it"))
    'a.yaml:3:5: spec.x: is wrong (remove it)'
    """
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part is not None)
    field = f"{problem.field}: " if problem.field else ""
    remedy = f" ({problem.remedy})" if problem.remedy else ""
    return f"{place}: {field}{problem.message}{remedy}"


def report(error: GitopsBgError) -> None:
    """Print an error."""
    lines = [problem_line(each) for each in error.problems] if isinstance(error, InvalidInput) else [str(error)]
    for line in lines:
        console_for(OutputOptions(), stderr=True).print(said(f"error: {line}", "red"), soft_wrap=True)


def report_bug(error: Exception) -> None:
    """Report an unexpected exception, with what is needed to find its cause."""
    trace = "".join(traceback.format_exception(error))
    sys.stderr.write(clean(f"{trace}\nThis is a bug in gitops-bg; please report it with the lines above.\n"))
