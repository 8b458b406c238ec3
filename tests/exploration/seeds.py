"""The worlds that exploration begins with: each is a story of events from the empty world, and what may happen then."""

from dataclasses import replace

from gitops_bg.core.model.analysis import MeasurementPlan, Metric
from gitops_bg.core.model.spec import AppSpec
from tests.core.simulation import automatic, manual
from tests.exploration.apps.life import Life, Rules
from tests.exploration.apps.seeds import ADOPTION_SEEDS
from tests.exploration.groups.seeds import GROUP_SEEDS
from tests.exploration.seed import Event, Seed

ANALYSIS = MeasurementPlan((Metric("errors", "web", count=1),))

S: Event = ("settle",)
V1: tuple[Event, ...] = (("push", "1"), S)
V2_READY = (*V1, ("push", "2"), S)
COMING = (*V2_READY, ("merge",), ("pods", "2", False), ("fetch", "a"), ("act", "a"))
"""Main names version 2, whose pods have just failed: traffic waits."""
V2 = (*V2_READY, ("merge",), S)
"""Version 2 live and on probation, version 1 warm."""
V2_PROVEN = (*V2, ("later",), S)
ROLLED_BACK = (*V2, ("revert_primary",), S)
V3 = (*V2_PROVEN, ("push", "3"), S, ("merge",), S)
GIT_AWAY = (*V2, ("reach",), ("fetch", "a"), ("ask", "rollback"), ("act", "a"), ("act", "a"))

LOOKS: tuple[Event, ...] = (("fetch", "a"), ("act", "a"), ("act", "a"))
TROUBLED = "pods time ask crash retry dates"
ANALYSED = automatic(pre_promotion_analysis=ANALYSIS, post_promotion_analysis=ANALYSIS)
EXPAND = MeasurementPlan((Metric("web-expand", "job", consecutive_error_limit=-1, retention=1),))
WITH_JOBS = replace(automatic(), before_pods=EXPAND)
CONTRACT = MeasurementPlan((Metric("web-contract", "job", consecutive_error_limit=-1, retention=1),))
WITH_CONTRACT = replace(manual(scale_down_delay_seconds=0), after_settled=CONTRACT)
NO_HISTORY = replace(manual(scale_down_delay_seconds=0), revision_history_limit=0)


def _seed(
    name: str,
    events: tuple[Event, ...],
    kinds: str,
    states: int,
    depth: int = 3,
    spec: AppSpec | None = None,
    tags: tuple[str, ...] = ("1", "2", "3"),
    second: bool = False,
) -> Seed:
    rules = Rules(spec or manual(), tags, frozenset(kinds.split()), second)
    return Seed(name, lambda memory: Life(rules, memory), events, depth, states, family=rules.spec)


IN_ANALYSIS = (*V1, ("push", "2"), *LOOKS, ("pods", "2", True), ("act", "a"), ("act", "a"))
PROMOTED: tuple[Event, ...] = (("act", "a", "Successful"), ("put", "a"), ("act", "a"), ("act", "a"))

APP_SEEDS = (
    _seed("empty", (), "crash pods git protect ask foreign", 180, tags=("1", "2")),
    _seed("v1 live", V1, "crash pods git ask time dates", 270),
    _seed("v2 candidate ready", V2_READY, "crash pods git ask dates broken", 1560),
    _seed("v2 on probation", V2, "crash pods ask time dates retry", 1260),
    _seed("v2 proven", V2_PROVEN, "crash foreign time git ask", 1280),
    _seed("rolled back with a hold", ROLLED_BACK, "git ask retry dates lost edited time", 1160),
    _seed("override pending with Git away", GIT_AWAY, "git ask crash retry time", 140),
    _seed("suspended", (*V2_READY, ("suspend",), S), "suspend pods foreign ask retry crash", 1910),
    _seed("a promotion on its way", COMING, "git ask crash pods retry", 930),
    _seed("suspended after a promotion", (*V2, ("suspend",), S), "suspend ask retry", 760),
    _seed("two warm versions", V3, "ask pods time foreign dates", 1860),
    _seed("broken target", (*V2, ("break_target",), S), "broken ask pods git foreign", 1680),
    _seed("automatic", (*V1, ("push", "2"), S), "git ask protect pods retry dates time", 1350, spec=automatic()),
    _seed("automatic with analyses", IN_ANALYSIS, "analysis crash ask retry time pods", 1700, spec=ANALYSED),
    _seed("in analysis after promotion", (*IN_ANALYSIS, *PROMOTED), "analysis crash ask pods", 1400, spec=ANALYSED),
    _seed("jobs before pods", (*V1, ("push", "2"), *LOOKS), "analysis crash ask retry time lost", 2000, spec=WITH_JOBS),
    _seed("jobs before the first pod", (), "analysis crash pods git ask lost", 180, spec=WITH_JOBS, tags=("1", "2")),
    _seed("before a contract", V2, "analysis crash ask time pods", 740, spec=WITH_CONTRACT),
    _seed("after a contract", (*V2_PROVEN, S), "analysis ask time crash retry", 300, spec=WITH_CONTRACT),
    _seed("a merge that nobody has seen", (*V2_PROVEN, ("push", "3"), S, ("merge",)), "ask crash retry git", 860),
    _seed("rebuilt cluster", (*ROLLED_BACK, ("rebuild", False)), "lost edited pods git ask crash", 550),
    _seed("no history kept", ROLLED_BACK, "ask retry git lost edited time", 790, spec=NO_HISTORY),
    _seed("no history kept, v2 live", V2, "ask retry git lost edited time", 920, spec=NO_HISTORY),
    _seed("a cache that lags", V2_READY, "stale pods foreign crash ask", 1630, tags=("1", "2")),
    _seed("main is rewound", V2, "rewind git ask", 700),
    _seed("two agents", V2_READY, "halt git ask", 590, second=True),
    _seed("a version that never comes up", (*V2, ("push", "x1"), S), TROUBLED, 1420, tags=("1", "2", "x1")),
)

SEEDS = (*APP_SEEDS, *ADOPTION_SEEDS, *GROUP_SEEDS)
