"""What environments cost: a tick asks once, and a change costs the same, however many there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.repos.texts import policy
from tests.support.agent.fleet import chain, fleet_of, tick_of, travel_of
from tests.support.cluster.clusters import SandboxCluster

FEW, MANY = 3, 10


@pytest.mark.parametrize("length", [1, FEW, MANY])
def test_a_tick_asks_the_remote_once_whatever_the_number_of_environments(
    sandbox_cluster: SandboxCluster, tmp_path: Path, length: int
) -> None:
    with fleet_of(sandbox_cluster, tmp_path, *chain(length)) as fleet:
        fleet.wait_live(fleet.last, "v1")
        fleet.rest()
        assert [tick_of(fleet, cluster) for cluster in fleet.apps] == [["git ls-remote"]] * length


def test_one_change_costs_the_same_in_the_first_and_in_any_later_environment_of_three_and_of_ten(
    sandbox_cluster: SandboxCluster, tmp_path: Path
) -> None:
    """The first rolls out a push; each later one takes the release in, and rolls that out."""
    costs = {}
    for length in (FEW, MANY):
        folder = tmp_path / f"{length}"
        folder.mkdir()
        with fleet_of(sandbox_cluster, folder, *chain(length)) as fleet:
            fleet.wait_live(fleet.last, "v1")
            fleet.rest()
            costs[length] = list(travel_of(fleet, "v2").values())
    first, _, later = costs[FEW]
    assert (first["git push"], later["git push"]) == (3, 4), "candidate, promotion, ledger; and the release"
    assert costs[MANY][0] == first
    assert costs[MANY][2:] == [later] * (MANY - 2)


def test_an_agent_follows_the_ledgers_of_those_environments_only_that_releases_come_from(
    sandbox_cluster: SandboxCluster, tmp_path: Path
) -> None:
    with fleet_of(sandbox_cluster, tmp_path, *chain(4)) as fleet:
        fleet.wait_live(fleet.last, "v1")
        assert {name: fleet.followed(name) for name in fleet.apps} == {
            "c-1": set(),
            "c-2": {"c-1"},
            "c-3": {"c-2"},
            "c-4": {"c-3"},
        }
        folder, other = fleet.first.folder, f"{fleet.first.folder}-too"
        has = ("app.yaml", "target.yaml", "e-1/overlay.yaml", "e-4/overlay.yaml")
        copied = {name: fleet.remote.show("main", f"{folder}/{name}") or "" for name in has}
        renamed = {f"{other}/{name}": text.replace("name: web", "name: web-too") for name, text in copied.items()}
        fleet.first.scenario.publish("An app that lacks what is between", dict(renamed))
        fleet.until(lambda: fleet.followed("c-4") == {"c-1", "c-3"}, "c-4 follows where that app comes from")
        assert fleet.followed("c-3") == {"c-2"}
        calm = policy("calm", "- after: {from: [e-1], proven: 2h}", more="  match: {environments: [e-3]}\n")
        fleet.first.scenario.publish("A policy", {"policies/calm.yaml": calm})
        fleet.until(lambda: fleet.followed("c-3") == {"c-1", "c-2"}, "c-3 follows what a policy asks about")
