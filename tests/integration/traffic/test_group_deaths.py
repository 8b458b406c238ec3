"""Agents die at any moment while a version arrives and is promoted by one push: once it has answered, who names it
meets its pods and nobody else; until then, the version that serves, or nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.traffic.gateway_users import Answer, Load
from tests.integration.traffic.test_groups import used
from tests.support.agent.mortality import Mortals
from tests.support.cluster.clusters import SandboxCluster
from tests.support.groups import Store
from tests.support.waiting import PATIENCE

NOBODY = "nobody"
"""Its pods are on their way: 500 where its Service is not there yet, 503 where that has no pods yet."""
STORIES = ((1, 1_000), (3, 6), (7, 4))
"""After how many writes an agent dies, and how many agents do before one lives on."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SandboxCluster]:
    with SandboxCluster.run(tmp_path, traffic=True) as running:
        yield running


@pytest.mark.slow
def test_who_names_a_version_meets_no_other_one_after_it_has_answered_whenever_agents_die(
    cluster: SandboxCluster, tmp_path: Path
) -> None:
    with used(cluster, tmp_path) as (store, load), load.running():
        load.requests.remove(("/cart", "v9"))  # nobody names a version before it is pushed
        store.activate("v2")
        store.wait("v1L v2A")
        for number, (writes, deaths) in enumerate(STORIES, start=3):
            died = _arrives_and_is_promoted(store, load, f"v{number}", writes, deaths)
            named = [each for each in load.answers if each.version == f"v{number}"]
            load.requests.remove(("/cart", f"v{number}"))
            allowed = [f"cart-v{number - 1}", NOBODY, f"cart-v{number}"]
            print(f"v{number}: {died} deaths after {writes} writes each")
            assert {_who(each) for each in named} <= set(allowed)
            assert _went_back(named, allowed) == []
            assert _who(max(named)) == f"cart-v{number}"
        unnamed = [each for each in load.answers if not each.version]
        assert {each.status for each in unnamed} == {200}


def _arrives_and_is_promoted(store: Store, load: Load, version: str, writes: int, deaths: int) -> int:
    store.world.stop()
    load.requests.append(("/cart", version))
    agents = Mortals(store.world, writes=writes, mortal=deaths)
    store.spec["active"] = version
    store.world.publish(version, {**store.group(), **store.version(version, cart="/cart")})
    former = f"v{int(version[1:]) - 1}"
    done = f"{former}L {version}A"
    agents.until(
        lambda: store.stages().endswith(done) and store.status().get("phase") == "Healthy", done, timeout=PATIENCE
    )
    load.expect({("/cart", version): f"cart-{version}"})
    store.world.restart()
    return agents.deaths


def _went_back(answers: list[Answer], allowed: list[str]) -> list[Answer]:
    """The answers by somebody who stands earlier in ``allowed`` than who had answered before they were asked for."""
    found, reached = list[Answer](), 0
    before = iter(sorted(answers, key=lambda each: each.answered))
    done = next(before)
    for each in sorted(answers):
        while done.answered < each.sent:
            reached, done = max(reached, allowed.index(_who(done))), next(before)
        if allowed.index(_who(each)) < reached:
            found.append(each)
    return found


def _who(answer: Answer) -> str:
    return answer.by if answer.status == 200 else NOBODY
