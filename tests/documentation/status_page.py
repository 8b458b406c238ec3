"""Writes the table of fields in docs/reference/status.md, from the model of the status."""

from __future__ import annotations

from pathlib import Path

from gitops_bg.spec.crd import described_fields
from gitops_bg.spec.status import Status

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "status.md"
COMMAND = "python -m tests.documentation --write-docs"

BEGIN, END = f"<!-- Written by `{COMMAND}` (`make docs`) from gitops_bg/spec/status.py. -->\n\n", "\n<!-- End. -->"

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
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return before + BEGIN + _table() + END + rest.partition(END)[2]


def _table() -> str:
    lines = ["| Field of `status` | Is | Argo Rollouts |", "|---|---|---|"]
    for name, text in described_fields(Status).items():
        lines.append(f"| `{name}` | {text} | {ARGO_ROLLOUTS.get(name, '–')} |")
    return "\n".join(lines) + "\n"
