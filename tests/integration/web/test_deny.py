"""The Service that denies: 404 to everything, as a process of its own, as `deploy/deny-service.yaml` starts it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
import yaml

from tests.support.waiting import HANGS

MANIFEST = Path(__file__).parents[3] / "deploy" / "deny-service.yaml"


@pytest.fixture
def denying() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its address."""
    command = [sys.executable, "-m", "gitops_bg.web.deny", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_every_request_is_answered_404_and_the_process_ends_when_told(
    denying: tuple[subprocess.Popen[str], str],
) -> None:
    process, url = denying
    with urllib3.PoolManager(retries=False) as pool:
        for method, path in (("GET", "/"), ("POST", "/cart?x=1"), ("DELETE", "/healthz"), ("HEAD", "/metrics")):
            assert pool.request(method, url + path).status == 404
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=HANGS) == 0


def test_the_manifest_starts_it_by_the_name_that_groups_use() -> None:
    service, deployment = yaml.safe_load_all(MANIFEST.read_text())
    assert (service["metadata"]["name"], service["spec"]["ports"][0]["port"]) == ("gitops-bg-deny", 80)
    pod = deployment["spec"]["template"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert "gitops_bg.web.deny" in pod["spec"]["containers"][0]["command"]
