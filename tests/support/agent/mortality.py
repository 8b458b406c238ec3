"""Agents that die: right after their n-th write, to the API server or to Git, and without a word after that.

What an agent has done by then stays done; nothing that it had in mind happens any more, as with a killed process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from gitops_bg.agent.agent import Agent
from gitops_bg.cluster.api.kinds import EVENTS
from gitops_bg.core.errors import Transient
from tests.support.scenario import Scenario
from tests.support.waiting import eventually

TO_THE_CLUSTER = ("create", "apply", "json_patch", "merge_patch", "save_status", "scale", "delete")
TO_GIT = ("commit", "offer", "withdraw", "publish")
TO_ANYTHING = (*TO_THE_CLUSTER, *TO_GIT)


class Killed(BaseException):
    """The end of the process, as its threads meet it: nothing that catches errors catches this."""


class Life:
    """Counts the writes of one agent, and ends it. Kubernetes Events do not count: nothing depends on them."""

    def __init__(self, agent: Agent, writes: int, deadly: Sequence[str] = TO_ANYTHING) -> None:
        self.dead = threading.Event()
        self.done: list[str] = []
        self._left, self._deadly = writes, deadly
        self._lock = threading.Lock()
        git = agent.repository
        writers = (
            (agent.cluster.client, TO_THE_CLUSTER),
            (git.promotions, ("commit", "offer")),
            (git.branches, ("withdraw",)),
            (git.ledger, ("publish",)),
        )
        for owner, verbs in writers:
            for verb in verbs:
                setattr(owner, verb, self._mortal(verb, getattr(owner, verb)))

    def _mortal(self, verb: str, write: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            is_event = bool(arguments) and arguments[0] == EVENTS
            if self.dead.is_set():
                raise Transient("the process is dead") if is_event else Killed
            answer = write(*arguments, **named)
            if not is_event:
                self._count(f"{verb} {getattr(arguments[0], 'name', '')}".strip())
            return answer

        return wrapped

    def _count(self, what: str) -> None:
        with self._lock:
            self.done.append(what)
            self._left -= what.partition(" ")[0] in self._deadly
            if self._left > 0:
                return
            self.dead.set()
        raise Killed


class Mortals:
    """Agents of one scenario, one after the other: each of the first `mortal` ones dies after `writes` writes of
    the kinds `deadly`.
    """

    def __init__(
        self, scenario: Scenario, writes: int, mortal: int = 1_000_000, deadly: Sequence[str] = TO_ANYTHING
    ) -> None:
        self.lives: list[Life] = []
        self._scenario = scenario
        self._writes = writes
        self._mortal, self._deadly = mortal, deadly
        self._start()

    @property
    def deaths(self) -> int:
        """How many agents died so far."""
        return sum(life.dead.is_set() for life in self.lives)

    @property
    def done(self) -> list[str]:
        """Every write of the mortal agents, in order."""
        return [write for life in self.lives for write in life.done]

    def until(self, probe: Callable[[], Any], what: str, timeout: float = 60) -> None:
        """Wait until the probe is true; meanwhile a fresh agent takes the place of each dead one."""

        def look() -> Any:
            if self._running is not None and self._running.dead.is_set():
                self._scenario.stop()
                self._start()
            return probe()

        eventually(look, timeout, what=what)

    def _start(self) -> None:
        self._running: Life | None = None

        def prepare(agent: Agent) -> None:
            if len(self.lives) < self._mortal:
                self._running = Life(agent, self._writes, self._deadly)
                self.lives.append(self._running)

        self._scenario.start(prepare=prepare)
