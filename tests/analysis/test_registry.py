"""Providers of other packages are found by their entry points: real ones, in the metadata of a package on the path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gitops_bg.analysis.registry import OURS, Registry
from gitops_bg.core.model.analysis import AnalysisPhase
from gitops_bg.outbound.http import MeasuringFailed
from gitops_bg.spec.analysis.providers import BLOCKS
from tests.integration.analysis.measured import measured

CODE = """
from gitops_bg.analysis.provider import Context, MeasuringFailed, NoData, Value

class Theirs:
    def measure(self, block, context):
        match block["do"]:
            case "value":
                return Value({"app": str(context.app), "at": context.now.isoformat(), "key": block["key"]})
            case "nothing":
                return NoData("nobody home")
            case "fail":
                raise MeasuringFailed("their backend is down")
            case "odd":
                return Value({1, 2})
            case "break":
                raise RuntimeError("a bug in theirs with " + block["key"])

class NoProvider:
    pass

def broken():
    raise ImportError("it needs a library")
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "their_metrics-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: their-metrics\nVersion: 1.0\n")
    points = ("theirs.example/metrics = their_metrics:Theirs", "none = their_metrics:NoProvider")
    more = ("broken = their_metrics:broken", "gone = their_metrics:Gone")
    lines = "\n".join(("[gitops_bg.metric_providers]", *points, *more))
    (metadata / "entry_points.txt").write_text(f"{lines}\n")
    (tmp_path / "their_metrics.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "their_metrics", raising=False)


NAME = "theirs.example/metrics"
SECRETS = {"own": {"key": "k3y-123"}}


def asked(what: str) -> dict[str, str]:
    return {"do": what, "key": "{{secret:own/key}}"}


@pytest.mark.usefixtures("package")
def test_a_provider_of_another_package_measures_like_ours() -> None:
    found = measured(NAME, asked("value"), SECRETS, success="result.app == 'shop/web' && result.key == 'k3y-123'")
    assert found.phase is AnalysisPhase.SUCCESSFUL
    assert found.value == '{"app": "shop/web", "at": "2026-11-21T12:00:00+00:00", "key": "***"}'
    assert measured(NAME, asked("nothing"), SECRETS).phase is AnalysisPhase.INCONCLUSIVE


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("fail", "their backend is down"),
        ("odd", "the provider gave a set, which is no JSON"),
        ("break", "the provider broke: RuntimeError: a bug in theirs with ***"),
    ],
)
def test_what_goes_wrong_in_it_is_an_error(what: str, message: str, caplog: pytest.LogCaptureFixture) -> None:
    found = measured(NAME, asked(what), SECRETS)
    assert (found.phase, found.message) == (AnalysisPhase.ERROR, message)
    assert ("Traceback" in caplog.text) is (what == "break")
    assert "k3y" not in caplog.text


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "has no measure()"),
        ("broken", "cannot be loaded: it needs a library"),
        ("gone", "cannot be loaded"),
        ("unknown", "the agent has no provider unknown; it has broken, cloudWatch, datadog"),
    ],
)
def test_a_provider_that_cannot_be_used_says_why(name: str, message: str) -> None:
    with pytest.raises(MeasuringFailed, match=message.replace("(", r"\(").replace(")", r"\)")):
        Registry().provider(name)


def test_every_block_of_a_template_has_its_provider() -> None:
    assert set(OURS) == set(BLOCKS) - {"job"}
    registry = Registry()
    assert all(registry.provider(name) is registry.provider(name) for name in OURS)
