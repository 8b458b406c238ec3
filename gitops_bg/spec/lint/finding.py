"""A finding of `check`: a problem, the rule that found it, and how bad that is. Knows no rule in particular."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.lint.app_folder import AppFolder


class Severity(StrEnum):
    """An error is refused, or can never work; a note is true, and probably not what its author meant."""

    ERROR = "error"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding. ``name`` never changes: people filter by it, and forges remember what was dismissed."""

    name: str
    severity: Severity
    says: str
    """One sentence about all its findings."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `check` says."""

    rule: Rule
    problem: Problem


@dataclass(frozen=True, slots=True)
class FolderRule(Rule):
    """A rule about one app's folder, with the function that looks for it."""

    find: Callable[[AppFolder], Iterable[Problem]]


PROBLEM = Rule("problem", Severity.ERROR, "A file cannot be used as it is written; the last good state keeps serving.")
FIELD = Rule("field", Severity.ERROR, "Kubernetes has no such field, or the field is missing or of another type.")
STALE = Rule("stale-render", Severity.ERROR, "A rendered file is not what it would be rendered to now.")
REFUSED_ADDRESS = Rule("refused-address", Severity.NOTE, "An address that the agent refuses to call by default.")
NO_EFFECT = Rule("no-effect", Severity.NOTE, "Something written has no effect here, or comes from outside the folder.")


def error(name: str, says: str, find: Callable[[AppFolder], Iterable[Problem]]) -> FolderRule:
    """A rule whose findings Kubernetes refuses, or can never run."""
    return FolderRule(name, Severity.ERROR, says, find)


def note(name: str, says: str, find: Callable[[AppFolder], Iterable[Problem]]) -> FolderRule:
    """A rule whose findings are valid."""
    return FolderRule(name, Severity.NOTE, says, find)
