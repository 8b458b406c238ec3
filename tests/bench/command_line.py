"""What one call of the command line costs: the CPU of a process of its own and of those it starts, the interpreter and
all imports with it.
"""

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
from tests.support.scenario import scenario

_APPS = 20
_BUDGET_MS = 300
_BUDGET_IN_A_CLONE_MS = 600
_CALLS = (("--version",), ("--help",), ("get",))
_ABOUT_AN_APP = ("explain", "plan", "history", "diff")


def measure_command_line(times: int) -> Iterator[Row]:
    """Each call so many times, against a cluster with a few apps, and in clones."""
    with tempfile.TemporaryDirectory() as folder, SandboxCluster.run(Path(folder)) as cluster:
        _fill(cluster)
        environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "GITOPS_BG_KUBECONFIG": ""}
        environment["XDG_CACHE_HOME"] = f"{folder}/cache"  # What the calls read of Git goes with the repository.
        for arguments in _CALLS:
            spent = [_cpu_ms(arguments, environment) for _ in range(times)]
            yield _row(" ".join(arguments), spent, _BUDGET_MS)
        yield from _in_clones(times, Path(folder), cluster, environment)


def _in_clones(times: int, folder: Path, cluster: SandboxCluster, environment: dict[str, str]) -> Iterator[Row]:
    """`check` in what `init` makes; the others in a clone of a repository with an app whose second version waits."""
    template = folder / "template"
    _cpu_ms(("init", str(template)), environment)
    spent = [_cpu_ms(("check",), environment, template) for _ in range(times)]
    yield _row("check, in what init makes", spent, _BUDGET_IN_A_CLONE_MS)
    with scenario(cluster, folder) as world:
        world.start()
        web = world.app().deploy("v1")
        web.push_image("v2")
        web.wait_offered("v2")
        clone = folder / "clone"
        subprocess.run(["git", "clone", "--quiet", world.remote.url, str(clone)], check=True)
        for verb in _ABOUT_AN_APP:
            spent = [_cpu_ms((verb, str(web.key)), environment, clone) for _ in range(times)]
            yield _row(f"{verb} APP, in a clone", spent, _BUDGET_IN_A_CLONE_MS)


def _row(call: str, spent: Sequence[float], budget: float) -> Row:
    work = f"gitops-bg {call}: CPU"
    return Row("command-line", work, statistics.median(spent), "ms", budget, "", _APPS, spread(spent))


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


def _cpu_ms(arguments: Sequence[str], environment: dict[str, str], folder: Path = Path()) -> float:
    """User and system time of one call, which must succeed; `diff` ends with 1 where there is a difference."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", "from gitops_bg.cli.main import main; main()", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, cwd=folder)
    assert done.returncode in (0, 1), done.stderr.decode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3
