"""How long the list of the dashboard takes with many apps: found, cut to a page, and drawn. No cluster, no browser."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

from gitops_bg.web.dashboard.listing import Query, page_of
from gitops_bg.web.dashboard.rendering import render
from tests.bench.rows import Row, percentile, spread
from tests.web.dashboard.objects import common, many

_ASKED = (Query(), Query(search="app-09"), Query(waiting=True), Query(namespace="team-7", page=2), Query(page=150))


def measure_dashboard(apps: int, times: int = 200) -> Iterator[Row]:
    """Pages of the list, as browsers ask for them."""
    snapshot, spent = many(apps), list[float]()
    for query in itertools.islice(itertools.cycle(_ASKED), times):
        begun = time.process_time()
        page = page_of(snapshot, query)
        render("list.html", {**common(), "page": page, "waiting": [], "mine": ()})
        spent.append((time.process_time() - begun) * 1e3)
    work = "a page of the dashboard's list, p99 of CPU"
    yield Row("dashboard", work, percentile(spent, 99), "ms", 50, apps=apps, detail=spread(spent))
