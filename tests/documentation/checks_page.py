"""Writes docs/reference/checks.md: the rules of `check`, each with what it says of its smallest mistake."""

from __future__ import annotations

from pathlib import Path

from gitops_bg.spec.lint.app_folder import Rule, Severity
from gitops_bg.spec.lint.rules import RULES
from tests.spec.lint.test_rules import NEVER_LIVE, ROWS, WITHOUT_PORTS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "checks.md"
COMMAND = "python -m tests.documentation --write-docs"

_HEAD = f"""\
# What `check` finds

Written by `{COMMAND}` (`make docs`) from the rules of `gitops-bg check` and from the table of
its tests. How to run it in an editor, before a commit and in CI: [CI](../how-to/ci.md).

An **error** is what the agent or Kubernetes refuses, or what can never work: exit code 1. A **note** is valid, and
true, and probably not what its author meant: exit code 0, unless `--strict` is given; `--ignore RULE` leaves those of a
rule out. Each finding names file, line, column and field, what is wrong and what would be right. The name of its rule
never changes; it is in every format but text.

Only errors of the rule `problem` keep the agent from using a file: its last good state keeps serving. The others the
agent does not look for: Kubernetes would say them later, or nobody
([decision 47](../decisions/0047-check.md)).
An app with an error has no notes, because they could be wrong.

Good manners that have nothing to do with two versions (requests and limits, budgets, volumes that nobody mounts) are
for a linter of Kubernetes, such as [kube-linter](https://docs.kubelinter.io/), beside `check` in CI.

"""
_EXAMPLES = {rule: said for rule, _, _, said in reversed(ROWS)} | {
    "service-without-ports": WITHOUT_PORTS,
    "never-live": NEVER_LIVE,
}


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    for severity, title in ((Severity.ERROR, "Errors"), (Severity.NOTE, "Notes")):
        parts.append(f"## {title}\n\n| Rule | What it finds | Such as |\n| --- | --- | --- |\n")
        parts += [_row(rule) for rule in RULES if rule.severity is severity]
        parts.append("\n")
    return "".join(parts).rstrip("\n") + "\n"


def _row(rule: Rule) -> str:
    example = _EXAMPLES.get(rule.name, "")
    return f"| `{rule.name}` | {rule.says} | {f'`{example}`' if example else ''} |\n"
