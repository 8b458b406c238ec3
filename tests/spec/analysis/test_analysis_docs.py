"""The YAML of docs/features/analysis.md is valid: `check` has no problem with its templates and apps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.core.model.analysis import MeasurementPlan
from gitops_bg.spec.analysis.templates import Library, load_templates
from gitops_bg.spec.app.load import load_app
from gitops_bg.spec.yaml.reader import read_one
from tests.spec.texts import APP, TARGET, WEB, app_with, source_of

PAGE = (Path(__file__).parents[3] / "docs" / "features" / "analysis.md").read_text()
BLOCKS = [block.encode() for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.S)]
TEMPLATES = [block for block in BLOCKS if b"kind: AnalysisTemplate" in block]
APPS = [block for block in BLOCKS if b"PromotionAnalysis:" in block or b"\n  analysis:" in block]
RATE = b"""\
apiVersion: gitops-bg.dev/v1alpha1
kind: AnalysisTemplate
metadata: {name: success-rate}
spec: {metrics: [{name: rate, provider: {web: {url: http://metrics}}}]}
"""


def library() -> Library:
    return load_templates({f"analysis/{number}.yaml": text for number, text in enumerate([*TEMPLATES, RATE])})


def spec_of(block: bytes) -> dict[str, Any]:
    document, problems = read_one("docs/features/analysis.md", block)
    assert problems == ()
    assert document is not None
    spec: dict[str, Any] = document.value["spec"]
    return spec


def test_templates_are_right() -> None:
    assert library().all_problems() == ()
    assert {"smoke", "error-rate"} <= set(library().items)


@pytest.mark.parametrize("number", range(len(APPS)))
def test_apps_are_right(number: int) -> None:
    spec = spec_of(APPS[number])
    analysis = spec.get("analysis")
    text = app_with(f"analysis: {analysis}") if analysis else _with(spec["strategy"]["blueGreen"])
    config = load_app(WEB, {"app.yaml": text.encode(), "target.yaml": TARGET.encode()}, source_of, library())
    assert config.problems == ()
    assert config.spec is not None
    plans = config.spec.strategy.pre_promotion_analysis, config.spec.strategy.post_promotion_analysis
    expected = ["metrics" in analysis, False] if analysis else [True, True]
    assert [isinstance(plan, MeasurementPlan) for plan in plans] == expected


def _with(blue_green: dict[str, Any]) -> str:
    return APP + "".join(f"      {stage}: {analysis}\n" for stage, analysis in blue_green.items())
