"""Runs a verb for each of several apps: one that fails is told and stops none of the others. Knows no verb."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from gitops_bg.cli.exit_codes import OK, code_of
from gitops_bg.cli.reporting import report
from gitops_bg.core.errors import GitopsBgError

_T = TypeVar("_T")


def each_of(names: Iterable[str], act: Callable[[str], _T]) -> tuple[list[_T], int]:
    """What came of those that went well, and the exit code: that of the first that did not."""
    done: list[_T] = []
    code = OK
    for name in dict.fromkeys(names):
        try:
            done.append(act(name))
        except GitopsBgError as error:
            report(error)
            code = code or code_of(error)
    return done, code
