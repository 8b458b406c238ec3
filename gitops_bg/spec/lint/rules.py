"""All rules of `check` about an app's folder, in the order of the documentation. One of them is here: about what other
tools left in the objects that the agent applies.
"""

from collections.abc import Iterator

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.importing.tool_marks import Mark, marks_in_file
from gitops_bg.spec.lint.app_folder import (
    FIELD,
    NO_EFFECT,
    PROBLEM,
    REFUSED_ADDRESS,
    STALE,
    AppFolder,
    Finding,
    FolderRule,
    Rule,
    Severity,
    note_rule,
)
from gitops_bg.spec.lint.configuration import CONFIGURATION_RULES
from gitops_bg.spec.lint.containers import CONTAINER_RULES, PROBE_RULES
from gitops_bg.spec.lint.pods import POD_RULES, SCALING_RULES
from gitops_bg.spec.lint.services import SERVICE_RULES
from gitops_bg.spec.yaml.reader import first_of
from gitops_bg.spec.yaml.scalars import as_map


def _tool_mark(folder: AppFolder) -> Iterator[Problem]:
    """The marks on what is applied with its metadata: not on the target, of which only the pods' come to be."""
    for document in folder.others:
        for mark in marks_in_file(as_map(document.value.get("metadata"))):
            remedy = f"remove it, once {mark.tool} applies the object no more: docs/how-to/argo-cd-and-flux.md"
            yield document.problem(("metadata", mark.field, mark.key), _meaning(mark), remedy, at_key=True)


def _meaning(mark: Mark) -> str:
    if not mark.tracks:
        return f"tells {mark.tool} what to do with an object that the agent applies"
    what = ", and it deletes what is not in its own Git" if mark.tool == "Argo CD" else ""
    return f"is how {mark.tool} knows its objects{what}: this one is the agent's"


OTHER_TOOLS_RULES = (note_rule("tool-mark", "What another tool left on an object that the agent applies.", _tool_mark),)


FOLDER_RULES: tuple[FolderRule, ...] = (
    *CONTAINER_RULES,
    *PROBE_RULES,
    *POD_RULES,
    *CONFIGURATION_RULES,
    *SERVICE_RULES,
    *SCALING_RULES,
    *OTHER_TOOLS_RULES,
)

RULES: tuple[Rule, ...] = (PROBLEM, FIELD, STALE, *FOLDER_RULES, REFUSED_ADDRESS, NO_EFFECT)
"""Every rule of `check`: those about a folder, and what the loaders and the linter of fields find."""


def findings(folder: AppFolder, *severities: Severity) -> Iterator[Finding]:
    """What the rules of these severities find."""
    for rule in FOLDER_RULES:
        if rule.severity in severities:
            yield from (Finding(rule, problem) for problem in first_of(rule.find(folder)))
