"""L6 and G7: the agent is killed after every single write, to the API server or to Git.

bgd-controller wrote its status first; a crash after that deleted the serving ReplicaSet, or left the Service on an
empty color. Here a switch is decided in the record, carried out by one write, and told once, whatever dies between.
"""

import pytest

from tests.support.agent.mortal_story import SWITCHES, assert_end, tell
from tests.support.agent.mortality import Mortals
from tests.support.scenario import Scenario
from tests.support.sightings import Sightings


@pytest.mark.slow
def test_L6_G7_crash_after_every_write_ends_in_the_same_state_and_tells_every_switch_once(world: Scenario) -> None:
    """Every agent lives for exactly one write: no two writes of the whole story are by the same process."""
    web = world.app()
    with Sightings(world.cluster, world.namespace) as seen:
        agents = Mortals(world, writes=1)
        tell(web, agents, first="v1", second="v2")
        agents.until(web.is_told, "told")
    world.stop()
    world.start()

    assert_end(web, "v1", "v2")
    assert [event for event in web.ledger_events() if event in SWITCHES] == SWITCHES
    seen.assert_traffic_was_safe("web")
    assert [(move.available_at_origin, move.available_there) for move in seen.moves("web")] == [(2, 2), (2, 2)]
    assert agents.deaths > 15
