"""Writes the table of series in docs/reference/metrics.md, from a registry in which each was counted once."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import Metric

from gitops_bg.agent.metrics import Metrics
from tests.agent.test_metrics import WEB, everything

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
COMMAND = "python -m tests.documentation --write-docs"

BEGIN, END = f"<!-- Written by `{COMMAND}` (`make docs`) from the agent's registry. -->\n\n", "\n<!-- End. -->"


def page() -> str:
    """The whole page: what is between the marks is made anew."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return before + BEGIN + _table() + END + rest.partition(END)[2]


def _table() -> str:
    metrics = Metrics()
    everything(metrics, WEB)
    families = sorted(metrics.registry.collect(), key=lambda family: family.name)
    declared = metrics.registry._names_to_collectors
    rows = [
        _row(family, getattr(declared.get(family.name), "_labelnames", ()))
        for family in families
        if family.name.startswith("gitops_bg_")
    ]
    return "\n".join(["| Series | Type | Labels | Meaning |", "|---|---|---|---|", *rows]) + "\n"


def _row(family: Metric, declared: tuple[str, ...]) -> str:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    sampled = {label: None for sample in family.samples for label in sample.labels if label != "le"}
    labels = declared or tuple(sampled)
    told = ", ".join(f"`{label}`" for label in labels)
    return f"| `{name}` | {family.type} | {told} | {family.documentation.replace('|', ' or ')} |"
