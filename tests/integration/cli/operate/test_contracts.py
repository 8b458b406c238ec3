"""A contract, and what it closes: every lane of the command line refuses what is older, and a force leaves a trace."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.core.model.version import short
from tests.integration.cli.conftest import Cli
from tests.support.analysis import made
from tests.support.cluster.paths import jobs
from tests.support.scenario import App

JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "web-contract"},
    "spec": {
        "backoffLimit": 0,
        "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "web", "command": ["sh", "-c", "sleep 1"]}]}
        },
    },
}


def names_of_jobs(web: App) -> list[str]:
    return [each["metadata"]["name"] for each in web.scenario.cluster.list(jobs(web.key.namespace))]


@pytest.fixture
def contracted(web: App) -> App:
    """v1 served; v2 serves, and its contract has run."""
    web.strategy["scaleDownDelaySeconds"] = 1
    web.spec["progressDeadlineSeconds"] = 2
    web.configure()
    web.promote("v2")
    web.spec["jobs"] = {"afterSettled": ["contract.yaml"]}
    web.configure()
    web.push_object("contract.yaml", JOB)
    web.wait_told("contracted", times=2)
    return web


def test_a_contract_runs_when_nothing_older_is_warm_and_every_lane_back_is_closed(cli: Cli, contracted: App) -> None:
    web, key = contracted, str(contracted.key)
    assert names_of_jobs(web) == [f"web-contract-{short(web.digest('v2'))}"]
    assert web.versions()["v1"].replicas == 0
    head, why = web.scenario.remote.head(), "v1 (v1) is older than the contract of v2 (v2)"

    assert why in cli("rollback", key, "--to", "1", code=1)
    through_git = cli("rollback", key, "--to", "1", "--force", code=1)
    assert why in through_git
    assert f"gitops-bg rollback {key} --to 1 --offline --force" in through_git
    assert "no good version" in cli("rollback", key, code=1)
    assert why in cli("rollback", key, "--to", "1", "--offline", code=1)
    assert (web.live_tag(), web.scenario.remote.head()) == ("v2", head)

    cli("rollback", key, "--to", "1", "--offline", "--force", "-r", "the lesser evil")
    web.wait_live("v1")
    web.wait_primary("v1")
    web.wait_told("rolled-back")
    (told,) = (each for each in web.ledger() if each["Event"] == "rolled-back")
    assert "the lesser evil" in str(told)
    assert made(web) == 1


def test_a_revert_of_the_promotion_says_why_traffic_stays(cli: Cli, contracted: App) -> None:
    web = contracted
    web.revert(web.scenario.remote.run("log", "-1", "--format=%H", "main", "--", f"{web.folder}/primary.yaml"))
    web.wait(lambda: "is older than the contract of v2 (v2)" in cli("explain", str(web.key)), "explain says why")
    assert (web.live_tag(), web.versions()["v1"].replicas) == ("v2", 0)


def test_the_ledger_in_a_clone_says_it_without_a_cluster(cli: Cli, contracted: App) -> None:
    web = contracted
    web.scenario.stop()
    web.delete_object()
    assert "is older than the contract of v2 (v2)" in cli("rollback", str(web.key), "--to", "1", code=1)
