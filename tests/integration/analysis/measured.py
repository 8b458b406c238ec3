"""One measurement as the agent takes it, against a real backend."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from gitops_bg.analysis.measurements import MetricEvaluator
from gitops_bg.analysis.registry import Registry
from gitops_bg.cluster.api.errors import NotFound
from gitops_bg.core.model.analysis import AnalysisStage, MeasurementId, MeasurementRequest, MeasurementResult, Metric
from gitops_bg.core.model.version import AppKey

WEB = AppKey("shop", "web")
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def measured(
    provider: str,
    block: Mapping[str, Any],
    secrets: Mapping[str, Mapping[str, str]] | None = None,
    *,
    success: str = "",
    failure: str = "",
) -> MeasurementResult:
    """What a measurement comes to; ``secrets`` are those of the app's namespace."""

    def read_secret(namespace: str, name: str) -> Mapping[str, bytes]:
        assert namespace == WEB.namespace
        if name not in (secrets or {}):
            raise NotFound(f"read Secret {namespace}/{name}: 404")
        return {key: value.encode() for key, value in (secrets or {})[name].items()}

    metric = Metric("rate", provider, json.dumps(block), success, failure)
    measure = MeasurementRequest(MeasurementId("epoch", 1, AnalysisStage.PRE, 1, "rate", 0), metric)
    found = MetricEvaluator(Registry(), read_secret, lambda: NOW).measure(WEB, measure)
    assert (found.id, found.at) == (measure.id, NOW)
    return found
