"""The findings of the demo, and their JSON for `--report`. It must not look at anything itself."""

import json
from dataclasses import field
from pathlib import Path
from typing import Any

from gitops_bg.cli.demo.ledger import Switched
from gitops_bg.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step. ``error`` says what was not as expected; empty where everything was."""

    name: str
    seconds: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class TimedSwitch:
    """A move of live traffic and the seconds from the end of `git push` to the first answer of the new version."""

    cluster: str
    switched: Switched
    seconds: float


@dataclass(slots=True)
class Findings:
    """All findings, collected as the demo runs."""

    steps: list[StepResult] = field(default_factory=list)
    switches: list[TimedSwitch] = field(default_factory=list)
    requests: int = 0
    failed_requests: int = 0
    complete: bool = False
    """Whether the story was played to its end."""

    @property
    def ok(self) -> bool:
        """Whether everything was as expected."""
        return self.complete and not self.failed_requests and not any(step.error for step in self.steps)


def write(findings: Findings, file: Path) -> None:
    """Write the report. Raises ``OSError`` where the file cannot be written."""
    file.write_text(json.dumps(_as_json(findings), indent=2) + "\n", encoding="utf-8")


def _as_json(findings: Findings) -> dict[str, Any]:
    return {
        "steps": [_step(step) for step in findings.steps],
        "requests": findings.requests,
        "failed_requests": findings.failed_requests,
        "switches": [_switch(timed) for timed in findings.switches],
        "ok": findings.ok,
    }


def _step(step: StepResult) -> dict[str, Any]:
    said = {"name": step.name, "seconds": round(step.seconds, 2), "ok": not step.error}
    return said | ({"error": step.error} if step.error else {})


def _switch(timed: TimedSwitch) -> dict[str, Any]:
    switched = timed.switched
    return {
        "cluster": timed.cluster,
        "commit": switched.line.commit,
        "ledger": switched.line.ledger,
        "event": str(switched.line.event),
        "from": switched.came_from or None,
        "to": switched.went_to,
        "seconds": round(timed.seconds, 3),
    }
