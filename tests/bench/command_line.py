"""What one call of the command line costs: the CPU of a process of its own, the interpreter and all imports with it."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.rows import Row, spread
from tests.support.cluster.clusters import SandboxCluster, our_definitions
from tests.support.cluster.paths import path_of

_APPS = 20
_BUDGET_MS = 300
_CALLS = (("--version",), ("--help",), ("get",))


def measure_command_line(times: int) -> Iterator[Row]:
    """Each call so many times, against a cluster with a few apps."""
    with tempfile.TemporaryDirectory() as folder, SandboxCluster.run(Path(folder)) as cluster:
        _fill(cluster)
        environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "GITOPS_BG_KUBECONFIG": ""}
        for arguments in _CALLS:
            spent = [_cpu_ms(arguments, environment) for _ in range(times)]
            work = f"gitops-bg {' '.join(arguments)}: CPU"
            yield Row("command-line", work, statistics.median(spent), "ms", _BUDGET_MS, "", _APPS, spread(spent))


def _fill(cluster: SandboxCluster) -> None:
    for each in our_definitions():
        cluster.apply(each)
    cluster.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    for name in (f"web{number}" for number in range(_APPS)):
        blue_green = {"activeService": name, "previewService": f"{name}-preview"}
        body = {
            "apiVersion": "gitops-bg.dev/v1alpha1",
            "kind": "BlueGreenDeployment",
            "metadata": {"namespace": "shop", "name": name},
            "spec": {"target": "target.yaml", "strategy": {"blueGreen": blue_green}},
        }
        cluster.apply(body)
        active = {"version": 1, "digest": "v1:3f9c", "color": "blue", "image": f"registry.example/{name}:v1"}
        cluster.patch(f"{path_of(body)}/status", {"status": {"phase": "Healthy", "active": active}})


def _cpu_ms(arguments: Sequence[str], environment: dict[str, str]) -> float:
    """User and system time of one call, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", "from gitops_bg.cli.main import main; main()", *arguments]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3
