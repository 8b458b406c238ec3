"""Runs a verb for each of several apps or groups: a failure is reported and does not stop the others. Knows no verb."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from gitops_bg.cli.exit_codes import OK, code_of
from gitops_bg.cli.reporting import report
from gitops_bg.core.errors import GitopsBgError

_Of = TypeVar("_Of", bound=Hashable)
_T = TypeVar("_T")


def each_of(them: Iterable[_Of], act: Callable[[_Of], _T], *, for_programs: bool) -> tuple[list[_T], int]:
    """Return the results of those that succeeded, and the exit code: that of the first one that failed."""
    done: list[_T] = []
    code = OK
    for each in dict.fromkeys(them):
        try:
            done.append(act(each))
        except GitopsBgError as error:
            report(error, for_programs=for_programs)
            code = code or code_of(error)
    return done, code
