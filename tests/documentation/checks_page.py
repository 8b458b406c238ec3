"""Writes docs/reference/checks.md: the rules of `check`, each with what it says of its smallest mistake."""

from __future__ import annotations

from pathlib import Path

from gitops_bg.spec.lint.app_folder import LintSeverity, Rule
from gitops_bg.spec.lint.rules import RULES
from tests.spec.lint.test_rules import NEVER_LIVE, ROWS, WITHOUT_PORTS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "checks.md"
COMMAND = "python -m tests.documentation --write-docs"

_HEAD = f"""\
# What `check` finds

Written by `{COMMAND}` (`make docs`) from the rules of `gitops-bg check` and from the table of its tests. To run it in
an editor, before a commit and in CI: [CI](../how-to/ci.md).

An **error** is a mistake that the agent or Kubernetes refuses, or that can never work: exit code 1. A **note** is
about something valid that its author probably did not mean: exit code 0, except with `--strict`; `--ignore RULE`
leaves out the notes of one rule. Each finding names file, line, column and field, what is wrong and what would be
right. The name of its rule never changes; every format except text has it.

Only errors of the rule `problem` keep the agent from using a file: its last good state keeps serving. The agent does
not check the other rules: Kubernetes would refuse the object later, or nobody would ([decision
47](../decisions/0047-check.md)). An app with an error has no notes, because they could be wrong.

For rules that have nothing to do with two versions (requests and limits, budgets, unused volumes), run a linter such
as [kube-linter](https://docs.kubelinter.io/), too.

"""
_EXAMPLES = {rule: said for rule, _, _, said in reversed(ROWS)} | {
    "service-without-ports": WITHOUT_PORTS,
    "never-live": NEVER_LIVE,
}


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    for severity, title in ((LintSeverity.ERROR, "Errors"), (LintSeverity.NOTE, "Notes")):
        parts.append(f"## {title}\n\n| Rule | What it finds | Such as |\n| --- | --- | --- |\n")
        parts += [_row(rule) for rule in RULES if rule.severity is severity]
        parts.append("\n")
    return "".join(parts).rstrip("\n") + "\n"


def _row(rule: Rule) -> str:
    example = _EXAMPLES.get(rule.name, "")
    return f"| `{rule.name}` | {rule.says} | {f'`{example}`' if example else ''} |\n"
