"""Runs a verb for each of several apps: a failure is reported and does not stop the others. Knows no verb."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from gitops_bg.cli.exit_codes import OK, code_of
from gitops_bg.cli.reporting import report
from gitops_bg.core.errors import GitopsBgError

_T = TypeVar("_T")


def each_of(names: Iterable[str], act: Callable[[str], _T], *, for_programs: bool) -> tuple[list[_T], int]:
    """Return the results of the apps that succeeded, and the exit code: that of the first app that failed."""
    done: list[_T] = []
    code = OK
    for name in dict.fromkeys(names):
        try:
            done.append(act(name))
        except GitopsBgError as error:
            report(error, for_programs=for_programs)
            code = code or code_of(error)
    return done, code
