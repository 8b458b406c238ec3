"""The release groups that exploration begins with."""

from dataclasses import replace

from gitops_bg.core.groups.inputs import GroupSpec
from gitops_bg.core.model.analysis import MeasurementPlan, Metric
from gitops_bg.core.model.hooks import Hook, HookType
from tests.core.groups.simulation import GATEWAY
from tests.exploration.groups.life import Life, Rules
from tests.exploration.seed import Event, Seed

S: Event = ("settle",)
A: Event = ("act", "a")
GOOD: Event = ("act", "a", "Successful")
YES: Event = ("act", "a", "", "Successful")
V1: tuple[Event, ...] = (S,)
V2_READY = (*V1, ("add", "v2"), S)
NAMED = (*V2_READY, ("name", "v2"), ("fetch", "a"), A)
"""Main names version 2, and the agent has looked at that once."""
V2 = (*V2_READY, ("name", "v2"), S)
REFUSED = (*NAMED, ("gateway", "refuses"), A, ("later",), A)
"""The Gateway does not take the routes that are to lead to version 2."""
BACK = (*V2, ("name", "v1"), S)
V3_READY = (*V2, ("add", "v3"), S)
V3_NAMED = (*V3_READY, ("name", "v3"), ("fetch", "a"), A)
MEASURED = (*NAMED, GOOD, A, A, A)
"""Version 2 serves, and is measured."""
ASKED_ABOUT = (*NAMED, YES)
"""One hook of version 2 has accepted, and the next is asked."""
JUDGED = (*NAMED, YES, YES, A, A, A)
"""Version 2 serves, and both its metrics and its rollback hook may lead back."""
OF_AN_APP: tuple[Event, ...] = (("app",), *V2_READY)
"""The HTTPRoute of an app is older than the group's, and has its requests."""
TAKEN_OVER = (*OF_AN_APP, ("app",), S)
"""The app left main, and the group has them."""
BUILT_ANEW = (*TAKEN_OVER, ("name", "v2"), S, ("app",), ("lose_cluster",), ("fetch", "a"), A)

HELD = (*NAMED, ("act", "a", "Failed"), S)
"""Version 2 was measured, and is on hold; the ledger knows it."""

PLAIN = GroupSpec("v1", gateway=GATEWAY)
ONCE = MeasurementPlan((Metric("errors", "web", count=1),))
ANALYSED = replace(PLAIN, pre_promotion_analysis=ONCE, post_promotion_analysis=ONCE)
ASKED = replace(
    PLAIN,
    post_promotion_analysis=ONCE,
    hooks=(
        Hook("smoke", HookType.PRE_ROLLOUT),
        Hook("may-i", HookType.CONFIRM_PROMOTION),
        Hook("alarm", HookType.ROLLBACK),
    ),
)
INSIDE = replace(PLAIN, gateway=None)
BY_HAND = replace(PLAIN, hooks=(Hook("release", HookType.CONFIRM_PROMOTION, manual=True),))


def _seed(
    name: str,
    events: tuple[Event, ...],
    kinds: str,
    states: int,
    depth: int = 3,
    spec: GroupSpec = PLAIN,
    versions: tuple[str, ...] = ("v1", "v2"),
    second: bool = False,
) -> Seed:
    rules = Rules(spec, versions, frozenset(kinds.split()), second)
    family = (rules.spec, rules.second)
    return Seed(f"group: {name}", lambda memory: Life(rules, memory), events, depth, states, deeper=2, family=family)


EVERY = "pods gateway crash time fix remove suspend"
THREE = ("v1", "v2", "v3")

GROUP_SEEDS = (
    _seed("v1 live", V1, "pods gateway crash time", 90),
    _seed("v2 candidate ready", V2_READY, EVERY, 510),
    _seed("v2 on its way", NAMED, "pods gateway crash time fix", 830),
    _seed("refused by the Gateway", REFUSED, "gateway crash time pods fix", 540),
    _seed("v2 live", V2, EVERY, 510),
    _seed("rolled back", BACK, EVERY, 510),
    _seed("v3 inherits", V3_READY, "gateway crash time remove pods", 550, versions=THREE),
    _seed("v3 on its way", V3_NAMED, EVERY, 3140, versions=THREE),
    _seed("suspended and broken", NAMED, "suspend broken crash time gateway", 400),
    _seed("analysed", NAMED, "analysis crash time suspend fix protect", 360, spec=ANALYSED),
    _seed("measured live", MEASURED, "analysis crash time protect gateway fix pods", 1060, spec=ANALYSED),
    _seed("hooks", ASKED_ABOUT, "hooks crash time suspend fix", 310, spec=ASKED),
    _seed("judged live", JUDGED, "hooks analysis crash time protect pods", 440, spec=ASKED),
    _seed("operators", NAMED, "operators crash time fix gateway", 600),
    _seed("operators, v2 measured", MEASURED, "operators analysis crash protect pods suspend", 600, spec=ANALYSED),
    _seed("a manual gate", NAMED, "gate operators crash time gateway", 400, spec=BY_HAND),
    _seed("lost records", V2, "lost crash foreign gateway", 100),
    _seed("a record lost on the way", NAMED, "lost crash gateway pods", 590),
    _seed("three versions, and a record lost", V3_NAMED, "lost crash gateway remove", 680, versions=THREE),
    _seed("on hold, and a record lost", HELD, "lost crash fix analysis", 130, spec=ANALYSED),
    _seed("two agents", V2_READY, "crash fix", 80, second=True),
    _seed("two agents, v2 live", V2, "crash suspend", 50, second=True),
    _seed("a cache that lags", NAMED, "stale pods crash gateway", 790),
    _seed("others have routes", V2_READY, "strangers crash gateway pods suspend", 370),
    _seed("it takes the requests of an app", OF_AN_APP, "app strangers crash pods suspend", 290),
    _seed("an app comes back", TAKEN_OVER, "app crash pods gateway", 180),
    _seed("an app comes back, and all is built anew", BUILT_ANEW, "app crash pods gateway", 620),
    _seed("no Gateway API for a while", V2_READY, "api crash time pods gateway suspend", 220),
    _seed("without a gateway", V3_NAMED, "pods crash time suspend remove fix", 1800, spec=INSIDE, versions=THREE),
    _seed("a policy", V3_NAMED, "policies crash time gateway pods suspend", 1540, versions=THREE),
)
