"""The comparison with the peers runs, with a figure in every row; how fast is no business of a test."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench.apps import FIRST, BenchApp
from tests.bench.peers import table
from tests.bench.peers.given import ARGO_ROLLOUTS, FLAGGER, Peer, definitions
from tests.bench.peers.limits import Limits
from tests.bench.peers.measuring import Figure
from tests.bench.peers.process import controller
from tests.bench.peers.users import Pods, Users
from tests.bench.resources import cpu_seconds
from tests.fixtures.repos import texts
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.control_plane import HOW_TO_GET_THEM, assets
from tests.support.cluster.paths import replica_sets, services
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
ROWS = ["change", "promotion", "rollback", "release", "crowd", "requests", "lost", "memory", "cpu"]
PEERS = (ARGO_ROLLOUTS, FLAGGER)


def _run(*given: Peer) -> dict[str, Any]:
    """A quick run in which the peers that are not named are not given."""
    environment = {name: value for name, value in os.environ.items() if name not in {each.variable for each in PEERS}}
    environment |= {each.variable: os.environ[each.variable] for each in given}
    command = [sys.executable, "-m", "tests.bench.peers", "--quick", "-o", "json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert [row["key"] for row in told["rows"]] == ROWS
    return told


def _figures(told: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    return {row["key"]: figure for row in told["rows"] for of, figure in row["figures"].items() if of.startswith(name)}


@pytest.mark.slow
@pytest.mark.control_plane
def test_without_peers_the_agent_stands_alone_beside_the_limits_and_the_others_are_said() -> None:
    told = _run()
    figures = _figures(told, "gitops-bg")
    assert sorted(figures) == sorted(ROWS)
    assert _figures(told, "Argo Rollouts") == _figures(told, "Flagger") == {}
    assert figures["change"]["note"].endswith("ms from the webhook")
    assert figures["lost"]["value"] == 0
    assert 10 < figures["requests"]["value"] < 100
    assert all(value > 0 for value in told["limits"].values())
    assert [each.partition(" is not given")[0] for each in told["missing"]] == ["Argo Rollouts", "Flagger"]


@pytest.mark.slow
@pytest.mark.control_plane
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_a_peer_that_is_given_has_a_figure_in_every_row(peer: Peer) -> None:
    if peer.folder() is None:
        pytest.skip(peer.how_to_get_it)
    figures = _figures(_run(peer), peer.name)
    assert sorted(figures) == sorted(ROWS)
    assert all(figure["value"] > 0 for row, figure in figures.items() if row != "lost")


@pytest.mark.slow
@pytest.mark.control_plane
def test_users_lose_what_no_ready_pod_answers_and_nothing_while_one_does(tmp_path: Path) -> None:
    binaries, app, labels = assets(), BenchApp("shop", "app-0"), {"app": "app-0"}
    if binaries is None:
        pytest.skip(HOW_TO_GET_THEM)
    servers = Pods()
    with ControlPlaneCluster.run(binaries, tmp_path, servers) as cluster:
        cluster.create("/api/v1/namespaces", {"metadata": {"name": app.namespace}})
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": texts.template(app.name, FIRST)}
        cluster.create(replica_sets(app.namespace), {"metadata": {"name": app.name, "labels": labels}, "spec": spec})
        service = {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]}
        cluster.create(services(app.namespace), {"metadata": {"name": app.name}, "spec": service})
        with Users(cluster, app, servers) as users:
            eventually(lambda: users.lost()[1] > 50, what="they ask")
            assert users.lost()[0] == 0
            cluster.set_ready(app.namespace, labels, False)
            eventually(lambda: users.lost()[0] > 50, what="they get no answer")


@pytest.mark.parametrize(
    ("files", "is_given"),
    [
        ([], False),
        (["bin/flagger"], False),
        (["crds/crd.yaml"], False),
        (["bin/flagger", "crds/crd.yaml"], True),
    ],
)
def test_a_peer_is_given_where_its_folder_is_whole(
    files: list[str], is_given: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FLAGGER.variable, str(tmp_path))
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch(mode=0o755)
    assert (FLAGGER.folder() is not None) == is_given


def test_only_definitions_are_installed_of_what_is_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "crds").mkdir()
    text = "kind: CustomResourceDefinition\nmetadata: {name: a}\n---\n---\nkind: Service\n"
    (tmp_path / "crds" / "crd.yaml").write_text(text)
    assert [each["metadata"]["name"] for each in definitions(tmp_path)] == ["a"]


@pytest.mark.parametrize(
    ("printed", "file", "expected"),
    [
        ("Flagger version 1.44.0 revision unknown", None, "Flagger 1.44.0"),
        ("v99.99.99+unknown", None, "Flagger"),
        ("v99.99.99+unknown", "1.9.1\n", "Flagger 1.9.1"),
    ],
)
def test_the_version_is_that_of_the_binary_or_of_the_file_beside_it(
    printed: str, file: str | None, expected: str, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "flagger").write_text(f"#!/bin/sh\necho {printed}\n")
    (tmp_path / "bin" / "flagger").chmod(0o755)
    if file is not None:
        (tmp_path / "version").write_text(file)
    assert FLAGGER.with_version(tmp_path) == expected


def test_the_cpu_of_a_process_includes_that_of_what_it_started_whether_it_lives_or_not(tmp_path: Path) -> None:
    burn = "import time; end = time.process_time() + 0.2\nwhile time.process_time() < end: pass\n"
    wait = "import sys, time; print('burnt', flush=True); time.sleep(600)"
    script = (
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])\n"
        f"subprocess.run([sys.executable, '-c', {burn + wait!r}])"
    )
    log = tmp_path / "log"
    with controller([sys.executable, "-c", script], log) as pid:
        eventually(lambda: "burnt" in log.read_text(), what="both have used their time")
        assert cpu_seconds(pid) >= 0.38


def test_the_page_has_a_column_for_each_and_says_what_is_missing(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text("before\n<!-- peers -->\nold\n<!-- /peers -->\nafter\n")
    limits = Limits(2.0, 3.0, 4.0, 18.0, 10.0, 0.5, 0.4, 6.0, 12.0)
    ours = {"change": Figure(60.0, 20, "40 ms from the webhook"), "requests": Figure(40.0, 20)}
    table.write_page(
        table.Comparison({"Flagger": {}, "gitops-bg 1": ours}, limits, 100, ["Flagger is not given"]), page
    )
    text = page.read_text()
    head, _, change, promotion, *_ = [line for line in text.splitlines() if line.startswith("|")]
    assert head == "| Median | Flagger | gitops-bg 1 | Limit | Limit with Git | The limit is |"
    begin = "| change → candidate's ReplicaSet asked for pods | not given | 60 ms (40 ms from the webhook) |"
    assert change == f"{begin} 6 ms | 32 ms | a new ReplicaSet |"
    assert promotion.endswith("| not given | not given | 5 ms | 31 ms | a write to a Service |")
    assert "\nFlagger is not given\n<!-- /peers -->\nafter\n" in text
    assert "old" not in text
