"""All rules of `check` about an app's folder, in the order of the documentation."""

from collections.abc import Iterator

from gitops_bg.spec.lint.app_folder import AppFolder
from gitops_bg.spec.lint.configuration import CONFIGURATION_RULES
from gitops_bg.spec.lint.containers import CONTAINER_RULES
from gitops_bg.spec.lint.finding import (
    FIELD,
    NO_EFFECT,
    PROBLEM,
    REFUSED_ADDRESS,
    STALE,
    Finding,
    FolderRule,
    Rule,
    Severity,
)
from gitops_bg.spec.lint.other_tools import OTHER_TOOLS_RULES
from gitops_bg.spec.lint.pods import POD_RULES
from gitops_bg.spec.lint.probes import PROBE_RULES
from gitops_bg.spec.lint.scaling import SCALING_RULES
from gitops_bg.spec.lint.services import SERVICE_RULES
from gitops_bg.spec.yaml.reader import first_of

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
