"""Prints errors on stderr: for people one message per problem, with its place and remedy; for programs an object."""

import json
import sys
import traceback
from collections.abc import Iterable
from typing import Any

from gitops_bg.cli.exit_codes import BUG, code_of
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


def report(error: GitopsBgError, *, for_programs: bool = False) -> None:
    """Print an error, or, for programs, write it as an object (docs/reference/cli.md)."""
    problems = error.problems if isinstance(error, InvalidInput) else ()
    if for_programs:
        report_object(error.reason, str(error), code_of(error), problems)
        return
    for line in [problem_line(each) for each in problems] or [str(error)]:
        console_for(OutputOptions(), stderr=True).print(said(f"error: {line}", "red"), soft_wrap=True)


def report_object(reason: str, message: str, exit_code: int, problems: Iterable[Problem] = (), **more: str) -> None:
    """Write one line of JSON on stderr: an object ``error``."""
    from gitops_bg.spec.codec import to_json

    said: dict[str, Any] = {"reason": reason, "message": clean(message), "exitCode": exit_code}
    said |= {"problems": [to_json(each) for each in problems]} | more
    sys.stderr.write(json.dumps({"error": said}, ensure_ascii=False) + "\n")
    sys.stderr.flush()


def report_bug(error: Exception, *, for_programs: bool = False) -> None:
    """Report an unexpected exception, with what is needed to find its cause."""
    trace = clean("".join(traceback.format_exception(error)))
    if for_programs:
        report_object("Bug", f"{type(error).__name__}: {error}", BUG, trace=trace)
    else:
        sys.stderr.write(f"{trace}\nThis is a bug in gitops-bg; please report it with the lines above.\n")
