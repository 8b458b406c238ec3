"""The queries that an import writes for Flagger's builtin metrics, on samples, by real promtool."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.spec.importing.texts import CANARY, DEPLOYMENT, imported, value_of
from tests.support.prometheus.program import prometheus_program

METRICS = "threshold: 2, metrics: [{name: request-success-rate}, {name: request-duration}]}"
OURS = 'kubernetes_namespace="shop",kubernetes_pod_name="web-v7-3f9c012345-x7k2p"'
LIVE = 'kubernetes_namespace="shop",kubernetes_pod_name="web-v6-aaaaaaaaaa-x7k2p"'
COUNT, BUCKET = "http_request_duration_seconds_count", "http_request_duration_seconds_bucket"
SERIES = {
    f'{COUNT}{{{OURS},status="200"}}': "0+99x10",
    f'{COUNT}{{{OURS},status="503"}}': "0+1x10",
    f'{COUNT}{{{LIVE},status="503"}}': "0+1000x10",
    f'{BUCKET}{{{OURS},le="0.25"}}': "0+100x10",
    f'{BUCKET}{{{OURS},le="+Inf"}}': "0+100x10",
    f'{BUCKET}{{{LIVE},le="10"}}': "0+1000x10",
    f'{BUCKET}{{{LIVE},le="+Inf"}}': "0+1000x10",
}
"""Of a hundred requests one fails, and none takes longer than 250 ms; those of the live version are all bad."""
WANTED = {"request-success-rate": 99.0, "request-duration": 247.5}


def query_of(name: str) -> str:
    """The query as it is asked about the candidate."""
    found = imported(DEPLOYMENT, CANARY.replace("threshold: 2}", METRICS))
    spec = value_of(found, f"analysis/{name}.yaml")["spec"]
    text: str = spec["metrics"][0]["provider"]["prometheus"]["query"]
    for arg, value in {"namespace": "shop", "hash": "3f9c012345", "interval": "1m"}.items():
        text = text.replace(f"{{{{args.{arg}}}}}", value)
    assert "{{" not in text
    return text


@pytest.mark.parametrize("name", WANTED)
def test_a_builtin_metric_measures_the_pods_of_the_candidate_and_no_others(name: str, tmp_path: Path) -> None:
    program = prometheus_program("promtool")
    asked = {"expr": query_of(name), "eval_time": "5m", "exp_samples": [{"labels": "{}", "value": WANTED[name]}]}
    test: dict[str, Any] = {
        "interval": "30s",
        "input_series": [{"series": series, "values": values} for series, values in SERIES.items()],
        "promql_expr_test": [asked],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump({"evaluation_interval": "30s", "tests": [test]}))
    done = subprocess.run(
        [program, "test", "rules", tmp_path / "test.yaml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
