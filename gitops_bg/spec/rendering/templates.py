"""Finds what nobody renders: templates where a manifest should be, and the files of kustomize and helm beside them."""

import re
from collections.abc import Sequence

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import KUSTOMIZATIONS

HOW = "name it as spec.render in app.yaml, and run `gitops-bg render`: docs/how-to/rendered-manifests.md"
UNRENDERED_FILES = {
    **dict.fromkeys(KUSTOMIZATIONS, f"move it out of apps/ with what it names; {HOW}"),
    **dict.fromkeys(("Chart.yaml", "values.yaml"), f"move the chart out of apps/; {HOW}"),
}
"""Files that only kustomize or helm reads, by name, each with what to do."""

_OF_HELM = re.compile(
    r"\{\{-?\s*(?:\.(?:Values|Release|Chart|Capabilities)\b|(?:include|toYaml|tpl)\s)",
    re.ASCII,
)
"""What nothing but helm fills in. Braces alone may be meant: agents of Vault and others read such annotations."""


def unrendered(
    file: str, data: bytes, problems: Sequence[Problem], *, holds_texts: bool = False
) -> tuple[Problem, ...]:
    """The problem of a manifest that is a template; none where it is none, or only looks like one.

    It is one where one of the ``problems`` that it has as YAML is at braces, and where it asks for what helm alone
    knows; unless it ``holds_texts``, as a ConfigMap does: those are for whoever reads it.
    """
    if b"{{" not in data:
        return ()
    text = data.decode(errors="replace")
    found = None if holds_texts else _OF_HELM.search(text)
    start = found.start() if found else _braces_at(text, problems)
    if start is None:
        return ()
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    message = "holds {{ }}: it is a template, and the agent renders none"
    return (Problem(file, message, line, column, remedy=f"commit what it renders to; {HOW}"),)


def _braces_at(text: str, problems: Sequence[Problem]) -> int | None:
    """Where the first braces are in a line with a problem; None where there are none."""
    lines = text.split("\n")
    wrong = sorted({each.line for each in problems if each.line and each.line <= len(lines)})
    line = next((each for each in wrong if "{{" in lines[each - 1]), None)
    return sum(len(each) + 1 for each in lines[: line - 1]) + lines[line - 1].index("{{") if line else None


def unrendered_file(path: str) -> Problem | None:
    """The problem of a file that only kustomize or helm reads."""
    remedy = UNRENDERED_FILES.get(path.rpartition("/")[2])
    return Problem(path, "is not run: the agent renders nothing", 1, 1, remedy=remedy) if remedy else None
