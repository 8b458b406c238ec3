"""Writes the tables of fields and of who has to act in docs/reference/status.md, from the declaration of the status and
the tables of situations.
"""

from __future__ import annotations

from pathlib import Path

from gitops_bg.core.model.conditions import ANY, CALM, OF_THE_PHASE, READY, Meanings
from gitops_bg.core.status.conditions import MEANINGS
from gitops_bg.core.status.groups import GROUP_MEANINGS
from gitops_bg.spec.crd import described_fields
from gitops_bg.spec.status import Status

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "status.md"
COMMAND = "python -m tests.documentation --write-docs"

BEGIN, END = f"<!-- Written by `{COMMAND}` (`make docs`) from gitops_bg/spec/status.py. -->\n\n", "\n<!-- End. -->"
ACTING = f"<!-- Written by `{COMMAND}` (`make docs`) from the tables of situations in gitops_bg/core. -->\n\n"

ARGO_ROLLOUTS = {
    "observedGeneration": "`observedGeneration`",
    "phase": "`phase`",
    "message": "`message`",
    "active": "`blueGreen.activeSelector`, `stableRS`",
    "preview": "`blueGreen.previewSelector`",
    "candidate": "`currentPodHash`",
    "desiredReplicas": "`spec.replicas`",
    "replicas": "the same",
    "updatedReplicas": "the same",
    "readyReplicas": "the same",
    "availableReplicas": "the same",
    "conditions": "the same",
    "gates": "`pauseConditions`, `controllerPause`",
    "rollouts": "`status.duration`, of the last one",
    "analysisRuns": "`blueGreen.prePromotionAnalysisRunStatus`, `postPromotionAnalysisRunStatus`",
}
"""What Argo Rollouts says in the same place (argo-rollouts.md §4)."""


def page() -> str:
    """The whole page: what is between the marks is made anew."""
    text = _filled(PAGE.read_text(), BEGIN, _table())
    of_apps, of_groups = (
        "Of an app:\n\n" + _who_acts(MEANINGS, "APP"),
        "\nOf a release group:\n\n" + _who_acts(GROUP_MEANINGS, "GROUP"),
    )
    return _filled(text, ACTING, of_apps + of_groups)


def _filled(text: str, begin: str, table: str) -> str:
    before, _, rest = text.partition(begin)
    return before + begin + table + END + rest.partition(END)[2]


def _who_acts(meanings: Meanings, subject: str) -> str:
    """What each reason means that is not calm. The conditions of the phase say the same: one of them is shown."""
    lines = ["| Condition | Reason | Live traffic | Who acts | What to do | Command |", "|---|---|---|---|---|---|"]
    for (kind, reason), meaning in sorted(meanings.items()):
        if meaning is CALM or (kind in OF_THE_PHASE and kind != READY):
            continue
        word, command = "any other" if reason == ANY else f"`{reason}`", f"`{meaning.of(subject, 'BRANCH').command}`"
        lines.append(f"| `{kind}` | {word} | {meaning.traffic} | {meaning.who} | {meaning.what} | {command} |")
    return "\n".join(lines) + "\n"


def _table() -> str:
    lines = ["| Field of `status` | Is | Argo Rollouts |", "|---|---|---|"]
    for name, text in described_fields(Status).items():
        lines.append(f"| `{name}` | {text} | {ARGO_ROLLOUTS.get(name, '–')} |")
    return "\n".join(lines) + "\n"
