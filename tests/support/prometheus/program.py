"""Real promtool and Prometheus, where the machine has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HOW_TO_GET_IT = (
    "GITOPS_BG_PROMETHEUS is not set or lacks bin/promtool; on Debian, "
    "GITOPS_BG_PROMETHEUS=$(tests/support/prometheus/fetch.sh) fetches it"
)


def prometheus_program(name: str) -> Path:
    """The program of this name, `prometheus` or `promtool`; skips the test where the machine lacks it."""
    program = Path(os.environ.get("GITOPS_BG_PROMETHEUS", "")) / "bin" / name
    if not program.is_absolute() or not os.access(program, os.X_OK):
        pytest.skip(HOW_TO_GET_IT)
    return program
