"""What the forge and the agent pay for many apps that change in one commit: a counting forge and a set clock."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from gitops_bg.forge.offer import DesiredPull, PullSettings
from gitops_bg.forge.plan import CREATING_PER_HOUR, PER_MINUTE
from tests.bench.rows import Row
from tests.forge.fake import Scene
from tests.forge.offers import NOW, offer

_CREATING = ("open", "report")
_MOST = timedelta(hours=12)


def measure_pull_requests(apps: int) -> Iterator[Row]:
    """All of them get their pull request and its status, however long that takes by the forge's limits."""
    scene = Scene(settings=PullSettings(max_open=apps))
    for place in range(apps):
        made = offer(5, f"web{place}", since=NOW + timedelta(seconds=place), head=f"{place:040x}")
        scene.worker.set_desired(made.app, DesiredPull(made))
    begun = time.process_time()
    while len(scene.forge.writes()) < 2 * apps and scene.forge.now - NOW < _MOST:
        scene.run(600)
    spent = time.process_time() - begun
    writes = [moment for moment, call in scene.forge.calls if call in _CREATING]
    took = f"all done after {writes[-1] - NOW}; {len(scene.forge.calls) - len(writes)} reads"
    minute, hour = timedelta(minutes=1), timedelta(hours=1)
    busiest = _busiest(writes, minute), _busiest(writes, hour)
    yield Row("forge", "pull requests of one commit: writes a minute", busiest[0], "", PER_MINUTE, "", apps, took)
    yield Row("forge", "… creating requests an hour", busiest[1], "", CREATING_PER_HOUR, "", apps)
    each = spent / len(writes) * 1e3
    yield Row("forge", "… CPU for each write, the stand-in's own with it", each, "ms", 20, "", apps)


def _busiest(moments: Sequence[datetime], window: timedelta) -> int:
    return max(bisect_left(moments, begin + window) - place for place, begin in enumerate(moments))
