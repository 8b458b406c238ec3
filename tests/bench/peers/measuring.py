"""Takes a contender through its cycles, and has its crowd change at once."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.peers.contender import Contender, Moments
from tests.bench.peers.process import wait_for_quiet
from tests.bench.peers.users import Pods, Users
from tests.bench.resources import cpu_seconds, memory
from tests.support.cluster.clusters import ControlPlaneCluster

_MS = 1000.0
_CROWD_TAG = "2.0.0"


@dataclass(frozen=True)
class Figure:
    """What was measured of one contender for one row."""

    value: float
    times: int
    """How often; the value is the median."""
    note: str = ""


def measure(contender: Contender, cluster: ControlPlaneCluster, pods: Pods) -> dict[str, Figure]:
    """All figures, by the key of their row."""
    contender.deploy()
    moments: dict[str, list[Moments]] = defaultdict(list)
    costs: dict[str, list[float]] = defaultdict(list)
    for number in range(contender.cycles):
        app = contender.app(number)
        wait_for_quiet(cluster, contender.user, app.namespace)
        asked, used = cluster.requests(contender.user, app.namespace), cpu_seconds(contender.pid)
        for action, taken in _cycle(contender, number):
            moments[action].append(taken)
        wait_for_quiet(cluster, contender.user, app.namespace)
        costs["requests"].append(cluster.requests(contender.user, app.namespace) - asked)
        costs["cpu"].append((cpu_seconds(contender.pid) - used) * _MS)
    figures = {action: _figure(taken) for action, taken in moments.items()}
    figures |= {cost: Figure(statistics.median(each), len(each)) for cost, each in costs.items()}
    contender.deploy_crowd()
    wait_for_quiet(cluster, contender.user, contender.crowd[0].namespace)
    return figures | _releases(contender, cluster, pods) | {"crowd": _crowd(contender)}


def _cycle(contender: Contender, number: int) -> Iterator[tuple[str, Moments]]:
    """Each action begins in another part of the time between two looks of whoever looks now and then, evenly."""
    app, tag, part = contender.app(number), f"1.{number + 1}.0", (number + 0.5) / contender.cycles
    contender.pause("change", part)
    yield "change", contender.change(app, tag)
    contender.await_offer(app, tag)
    contender.pause("promotion", part)
    yield "promotion", contender.promote(app, tag)
    contender.rest(app)
    contender.pause("rollback", part)
    yield "rollback", contender.roll_back(app)
    contender.rest(app)


def _releases(contender: Contender, cluster: ControlPlaneCluster, pods: Pods) -> dict[str, Figure]:
    """Every release is taken back, by the way back of a cycle; the memory is that of a contender at rest."""
    app, times = contender.crowd[0], contender.releases
    moments, used = [], [memory(contender.pid)]
    with Users(cluster, app, pods) as users:
        for number in range(times):
            contender.pause("release", (number + 0.5) / times)
            moments.append(contender.release(app, f"1.{number + 1}.1"))
            contender.rest(app)
            contender.roll_back(app)
            contender.rest(app)
            used.append(memory(contender.pid))
        lost, asked = users.lost()
    grown = f"{used[-1] - used[1]:+.1f} since the first release"
    return {
        "release": _figure(moments),
        "lost": Figure(lost, times, f"of {asked:,}, {times} releases and ways back"),
        "memory": Figure(used[-1], times, grown),
    }


def _crowd(contender: Contender) -> Figure:
    contender.pause("crowd", 0.5)
    moments, note = contender.change_crowd(_CROWD_TAG)
    seconds = moments.there - moments.asked
    return Figure(seconds, 1, note or _woken([moments], 1.0, "s"))


def _figure(moments: list[Moments]) -> Figure:
    value = statistics.median(each.there - each.asked for each in moments) * _MS
    return Figure(value, len(moments), _woken(moments, _MS, "ms"))


def _woken(moments: list[Moments], scale: float, unit: str) -> str:
    found = [(each.there - each.woken) * scale for each in moments if each.woken is not None]
    return f"{statistics.median(found):.3g} {unit} from the webhook" if found else ""
