"""One app through a whole cycle: what each of its four actions takes, and what it costs.

Every time is measured twice: from the wake, as by a webhook, and from the beginning of the user's `git push`. Beside it
stands what nobody can be faster than: the same processes and requests alone, measured in the same run.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import promotion_branch
from tests.bench.apps import FIRST, NEXT, BenchApp
from tests.bench.channel import Child
from tests.bench.remote import BenchClone
from tests.bench.rows import Row, spread
from tests.bench.stage import Stage
from tests.bench.watching import Watching, active_service_of, available, preview_service_of, replica_set_of
from tests.support.cluster.paths import services
from tests.support.cluster.rawapi import MERGE

_MS = 1000.0
_ALONE = 20
"""How often each thing is measured that nobody can be faster than."""
_PLAIN = "plain"
"""A Service that is nobody's."""


@dataclass
class _Costs:
    """What the agent spent on an action, until nothing was left to do."""

    cpu: list[float] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    commands: Counter[str] = field(default_factory=Counter)

    def add(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Note what one action took: ms of CPU of the agent and its git, requests, processes."""
        self.cpu.append((after["cpu"] - before["cpu"] + after["git"] - before["git"]) * _MS)
        self.requests.append(after["requests"])
        self.commands.update(after["commands"])

    def __str__(self) -> str:
        times = len(self.cpu)
        processes = sum(self.commands.values()) / times
        return (
            f"{processes:.1f} processes of git, {statistics.mean(self.requests):.1f} requests, "
            f"{statistics.median(self.cpu):.0f} ms of CPU with those of git"
        )


class Cycle:
    """The rows of a cycle, on one stage."""

    def __init__(self, stage: Stage, agent: Child, seen: Watching, clone: BenchClone) -> None:
        self._stage, self._agent, self._seen, self._clone = stage, agent, seen, clone
        self._costs = {action: _Costs() for action in ("change", "promotion", "rollback")}
        self._woken: dict[str, list[float]] = {action: [] for action in self._costs}
        self._pushed: dict[str, list[float]] = {action: [] for action in self._costs}
        self._previewed: list[float] = []

    def rows(self, apps: list[BenchApp]) -> Iterator[Row]:
        """Take each app through its cycle, then say what it took; the budgets are those of one app among few."""
        push, question, write = self._alone()
        for app in apps:
            self._one(app)
        fetches = f"alone: ls-remote and fetch {question:.1f} ms, a write {write:.1f} ms, a push {push:.1f} ms"
        change = f"{fetches}; a new file costs one fetch more"
        yield self._row("change", "push of a new image → its ReplicaSet", 60, change)
        yield self._simple("new pods available → preview Service written", self._previewed, 10)
        yield self._row("promotion", "merge of the promotion → active Service", 50, fetches)
        yield self._row("rollback", "push of the revert → active Service", 50, fetches)
        costs = self._costs.values()
        cpu = sum(statistics.median(each.cpu) for each in costs)
        yield self._figure("… CPU of a cycle, with git's", cpu, "ms", 350, f"{len(apps)} cycles, medians")
        requests = sum(statistics.mean(each.requests) for each in costs)
        detail = f"{len(apps)} cycles, means"
        yield self._figure("… requests of a cycle, with those for Events", requests, "", 40, detail)

    def _one(self, app: BenchApp) -> None:
        self._agent.ask("idle")
        self._clone.commit(f"{app.name} {NEXT}", app.target(NEXT))
        self._action("change", replica_set_of(app, NEXT))
        there = self._seen.first(available(app, NEXT))
        self._previewed.append((self._seen.first(preview_service_of(app, NEXT)) - there) * _MS)
        merge = self._merged(app)
        self._action("promotion", active_service_of(app, NEXT))
        message = f'Revert "{app.name} goes live"\n\nThis reverts commit {merge}, reversing\nchanges made to {merge}^.'
        self._clone.commit(message, app.primary(FIRST, 1, self._stage.remote.first))
        self._action("rollback", active_service_of(app, FIRST))

    def _merged(self, app: BenchApp) -> str:
        branch = promotion_branch(AppKey(app.namespace, app.name))
        deadline = time.monotonic() + 60
        while not self._stage.remote.head(branch):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{branch} is not offered")
            time.sleep(0.01)
        self._agent.ask("idle")
        return self._clone.merge(branch)

    def _action(self, action: str, is_there: Callable[[Any], bool]) -> None:
        """Push, wake the agent, and wait for what that brings; count what the agent needs until it rests."""
        before = self._agent.ask("usage")
        self._seen.forget()
        began = time.monotonic()
        self._clone.push()
        woken = self._agent.ask("wake")
        there = self._seen.first(is_there)
        self._woken[action].append((there - woken) * _MS)
        self._pushed[action].append((there - began) * _MS)
        self._agent.ask("idle")
        self._costs[action].add(before, self._agent.ask("usage"))

    def _alone(self) -> tuple[float, float, float]:
        """The median ms of a push, of a look at the remote with a fetch, and of a write to a Service."""
        pushes, questions, writes = [], [], []
        reader = self._stage.remote.clone(self._stage.folder / "reader")
        where = self._stage.apps[0].namespace
        spec = {"selector": {"app": _PLAIN}, "ports": [{"port": 80}]}
        self._stage.cluster.create(services(where), {"metadata": {"name": _PLAIN}, "spec": spec})
        for number in range(_ALONE):
            self._clone.commit(f"Tell more: {number}", {"README.md": f"{number}\n".encode()})
            pushes.append(self._clone.push() * _MS)
            questions.append(reader.question() * _MS)
            began = time.monotonic()
            self._stage.cluster.patch(f"{services(where)}/{_PLAIN}", {"spec": {"selector": {"n": f"{number}"}}}, MERGE)
            writes.append((time.monotonic() - began) * _MS)
        self._stage.cluster.delete(f"{services(where)}/{_PLAIN}")
        return statistics.median(pushes), statistics.median(questions), statistics.median(writes)

    def _row(self, action: str, work: str, budget: float, limit: str) -> Row:
        pushed = f"from the push {statistics.median(self._pushed[action]):.0f} ms"
        detail = f"{spread(self._woken[action])}; {pushed}; {self._costs[action]}; {limit}"
        return self._figure(work, statistics.median(self._woken[action]), "ms", budget, detail)

    def _simple(self, work: str, times: list[float], budget: float) -> Row:
        return self._figure(f"… {work}", statistics.median(times), "ms", budget, spread(times))

    def _figure(self, work: str, value: float, unit: str, budget: float, detail: str) -> Row:
        return Row("cycle", work, value, unit, budget, self._stage.cluster.name, len(self._stage.apps), detail)
