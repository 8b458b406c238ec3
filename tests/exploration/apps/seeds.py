"""The apps with ``spec.adopt`` that exploration begins with."""

from dataclasses import replace

from gitops_bg.core.model.spec import Adoption as Consent
from gitops_bg.core.model.spec import AppSpec, ScaleDown
from tests.core.simulation import manual
from tests.exploration.apps.adoption import Adoption
from tests.exploration.apps.life import Rules
from tests.exploration.apps.passes import FORMER
from tests.exploration.seed import Event, Seed

S: Event = ("settle",)
A: Event = ("act", "a")
LOOK: tuple[Event, ...] = (("fetch", "a"), A)
PUSHED: tuple[Event, ...] = (("push", "1"), *LOOK, A)
"""Its first version is coming up; the Deployment serves."""
ADOPTED: tuple[Event, ...] = (("push", "1"), S)
V2 = (*ADOPTED, ("push", "2"), S, ("merge",), S)
ASKED = (*V2, ("release",), *LOOK)
"""Its release is asked for, and the Deployment is scaled up."""
RELEASED = (*V2, ("release",), S)
AGAIN = (*RELEASED, ("release",), *LOOK)


def _adopting(scale_down: ScaleDown) -> AppSpec:
    return replace(manual(), adopt=Consent(FORMER, scale_down=scale_down))


def _seed(
    name: str, events: tuple[Event, ...], kinds: str, states: int, scale_down: ScaleDown = ScaleDown.PROGRESSIVELY
) -> Seed:
    rules = Rules(_adopting(scale_down), ("1", "2"), frozenset(kinds.split()))
    return Seed(f"adopted: {name}", lambda memory: Adoption(rules, memory), events, 3, states, family=rules.spec)


ADOPTION_SEEDS = (
    _seed("its first version comes up", PUSHED, "former crash pods suspend time", 850),
    _seed("taken over", ADOPTED, "former crash pods git time", 165),
    _seed("the old pods go with success", ADOPTED, "former crash pods time", 209, ScaleDown.ON_SUCCESS),
    _seed("v2 live", V2, "former crash ask time", 801),
    _seed("v2 live, and a cache that lags", V2, "former stale pods crash", 538),
    _seed("on its way back", ASKED, "former crash pods suspend", 1010),
    _seed("on its way back, and the record lost", ASKED, "former crash lost edited", 1112),
    _seed("released", RELEASED, "former crash ask lost edited", 1066),
    _seed("adopted again", AGAIN, "former crash pods time stale", 907),
)
