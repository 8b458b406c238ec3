"""`gitops-bg agent` as a process of its own: it starts, serves HTTP, stops by signals, and runs once."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli
from tests.support.cluster.clusters import SandboxCluster
from tests.support.growing_files import GrowingFile
from tests.support.scenario import Scenario
from tests.support.waiting import HANGS, PATIENCE, eventually, stretched

SCRIPT = Path(sys.executable).with_name("gitops-bg")


def command(world: Scenario, folder: Path, *more: str) -> list[str]:
    where = ["--repo", world.remote.url, "--kubeconfig", str(world.cluster.kubeconfig), "--cluster", "test"]
    return [str(SCRIPT), "agent", *where, "--namespace", world.namespace, "--state-dir", str(folder / "state"), *more]


@contextmanager
def process(arguments: list[str], folder: Path, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    log = (folder / "agent.log").open("wb")
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), **env}
    started = subprocess.Popen(arguments, stderr=log, stdout=log, env=own)
    try:
        yield started
    finally:
        if started.poll() is None:
            started.kill()
        started.wait()
        log.close()


def log_of(folder: Path) -> list[dict[str, object]]:
    lines = GrowingFile(folder / "agent.log").lines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def is_listening(folder: Path) -> str:
    found = [str(line["msg"]) for line in log_of(folder) if str(line["msg"]).startswith("listening on ")]
    return found[0].removeprefix("listening on ") if found else ""


def test_an_agent_deploys_serves_http_and_stops_within_five_seconds(world: Scenario, tmp_path: Path) -> None:
    app = world.app()
    app.add("v1")
    arguments = command(world, tmp_path, "--http", "127.0.0.1:0", "--log-format", "json", "--poll", "1s")
    with process(arguments, tmp_path) as agent:
        app.wait_live("v1")
        app.wait_primary("v1")
        url = eventually(lambda: is_listening(tmp_path), what="it listens")
        assert json.load(urllib.request.urlopen(f"{url}/readyz", timeout=5))["ok"] is True
        assert b"gitops_bg_" in urllib.request.urlopen(f"{url}/metrics", timeout=5).read()
        began = time.monotonic()
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(PATIENCE) == 0
        assert time.monotonic() - began < stretched(5)
    assert not [line for line in log_of(tmp_path) if line["level"] in ("error", "critical")]


def test_an_agent_stops_within_five_seconds_while_it_still_starts(world: Scenario, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never answers
        text = world.cluster.kubeconfig.read_text()
        port = json.loads(text)["clusters"][0]["cluster"]["server"].rpartition(":")[2]
        kubeconfig = tmp_path / "silent"
        kubeconfig.write_text(text.replace(f":{port}", f":{silent.getsockname()[1]}"))
        arguments = command(world, tmp_path, "--http", "127.0.0.1:0", "--kubeconfig", str(kubeconfig))
        with process(arguments, tmp_path, GITOPS_BG_LOG_FORMAT="json") as agent:
            eventually(lambda: is_listening(tmp_path), what="it listens")
            began = time.monotonic()
            agent.send_signal(signal.SIGINT)
            assert agent.wait(PATIENCE) == 0
            assert time.monotonic() - began < stretched(5)


def test_once_with_a_remote_that_is_away_is_something_passing(world: Scenario, tmp_path: Path) -> None:
    world.publish("first", {"a.txt": "x"})
    world.remote.go_down()
    done = subprocess.run(command(world, tmp_path, "--once"), capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 4, done.stderr
    assert "error: the repository cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


def test_once_fails_where_an_app_fails_and_names_it(
    world: Scenario, sandbox_cluster: SandboxCluster, tmp_path: Path
) -> None:
    app = world.app()
    app.add("v1")
    sandbox_cluster.sandbox.faults.refuse("patch", "replicasets", namespace=world.namespace)
    try:
        done = subprocess.run(command(world, tmp_path, "--once"), capture_output=True, text=True, timeout=HANGS)
    finally:
        sandbox_cluster.sandbox.faults.clear()
    assert done.returncode == 1, done.stderr
    assert f"error: not brought to Git: {app.key}" in done.stderr


def test_once_by_the_environment_brings_every_app_as_near_as_can_be_and_ends(world: Scenario, tmp_path: Path) -> None:
    """An object of somebody else is left alone, and whose it is is said."""
    app, conflict = world.app("api"), world.app("web")
    app.add("v1")
    conflict.add("v1")
    foreign = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": world.namespace}}
    world.cluster.apply({**foreign, "spec": {"ports": [{"port": 80}]}})
    env = {
        "GITOPS_BG_REPO": world.remote.url,
        "GITOPS_BG_KUBECONFIG": str(world.cluster.kubeconfig),
        "GITOPS_BG_CLUSTER": "test",
        "GITOPS_BG_NAMESPACE": f"{world.namespace} not-there",
        "GITOPS_BG_ONCE": "true",
        "GITOPS_BG_LOG_LEVEL": "debug",
    }
    with process([str(SCRIPT), "agent"], tmp_path, **env) as agent:
        assert agent.wait(60) == 0
    assert (tmp_path / ".cache/gitops-bg").is_dir()
    assert "v1" in app.versions()
    assert conflict.condition("Conflict")["status"] == "True"
    assert conflict.selected() == ""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--poll", "soon"], 2, "is not a duration"),
        (["--poll", "0s"], 2, "is no time at all"),
        (["--http", "nowhere"], 2, "is not an address"),
        (["--cluster", "a b"], 2, "cannot be the name of a cluster"),
        (["--webhook-secret-file", "/nowhere"], 2, "is no file"),
        (
            ["--allow-address", "10.0.0.1/8"],
            2,
            "10.0.0.1/8 has host bits set; write an address or a network, such as",
        ),
        (
            ["--deny-address", "prometheus"],
            2,
            "--deny-address: 'prometheus' does not appear to be",
        ),
        (["--git-token-file", "/nowhere"], 2, "cannot be read"),
        (["--log-format", "xml"], 2, "xml"),
    ],
)
def test_bad_options_end_with_one_message(cli: Cli, arguments: list[str], code: int, words: str) -> None:
    shown = cli("agent", "--cluster", "test", *arguments, code=code)
    assert words in shown
    assert "Traceback" not in shown


def test_a_port_that_is_taken_says_so(world: Scenario, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            command(world, tmp_path, "--http", address), capture_output=True, text=True, timeout=HANGS
        )
    assert done.returncode == 3
    assert "another process has this port" in done.stderr
