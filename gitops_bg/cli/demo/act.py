"""One running step: the user types, the demo waits and checks, the screen reports. Knows no step by name."""

import time
from collections.abc import Callable
from copy import copy

from gitops_bg.cli.demo.scene import APP, IMAGE, FurtherCluster, Scene
from gitops_bg.cli.demo.screen import Screen
from gitops_bg.cli.demo.sight import Sight
from gitops_bg.cli.demo.traffic import Answer
from gitops_bg.core.dataclass import dataclass

DEADLINE = 60.0
"""Seconds within which every expectation must be met; an idle machine needs less than one, a busy one many."""

_SETTLE = 0.6
_LOOK_EVERY = 0.02


class NotAsExpected(Exception):
    """The demo promises something that did not happen; the message says what, and what it saw instead."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Live traffic reached a version: seconds from the end of the push to its first answer."""

    cluster: str
    tag: str
    seconds: float


class Act:
    """What a step may do, seen in one cluster. It remembers the last push, and every arrival in any of them."""

    def __init__(self, scene: Scene, screen: Screen, deadline: float = DEADLINE) -> None:
        self.scene = scene
        self.screen = screen
        self.cluster: Scene | FurtherCluster = scene
        self.arrivals: list[Arrival] = []
        self._deadline = deadline
        self._pushed = time.monotonic()
        self._marks: dict[str, int] = {}

    def at(self, cluster: str) -> "Act":
        """Return the same act in another cluster of the scene, since the same push. Raises ``StopIteration`` for a
        cluster that is not there.
        """
        there = copy(self)
        there.cluster = next(each for each in self.scene.clusters if each.name == cluster)
        return there

    @property
    def sight(self) -> Sight:
        """The app of the story, in this cluster."""
        return self.cluster.sight

    # What the user does.

    def git(self, *arguments: str) -> str:
        """Type a git command; return what it printed."""
        self.screen.typed("git", *arguments)
        return self.scene.remote.run(*arguments)

    def gitops_bg(self, *arguments: str) -> str:
        """Type a verb of ours; return what it printed."""
        self.screen.typed("gitops-bg", *arguments)
        return self.scene.remote.gitops_bg(*arguments, kubeconfig=self.scene.kubeconfig)

    def push(self, *arguments: str) -> None:
        """Type `git push`; times and answers count from here."""
        self._count_from_here()
        self.git("push", *arguments)
        self._pushed = time.monotonic()

    def commit_with_verb(self, *arguments: str) -> str:
        """Type a verb of ours that pushes a commit; times and answers count from here. Return what it printed."""
        self._count_from_here()
        printed = self.gitops_bg(*arguments)
        self._pushed = time.monotonic()
        return printed

    def set_image(self, tag: str) -> None:
        """Edit the target: a new image."""
        file = self.scene.remote.write_image(APP, f"{IMAGE}:{tag}")
        self.screen.edited(file, f"image: {IMAGE}:{tag}")

    def write(self, path: str, text: str) -> None:
        """Add lines to a file of the clone."""
        self.scene.remote.append(path, text)
        self.screen.edited(path, "")
        self.screen.output(text)

    def at_forge(self, deed: str) -> None:
        """Say what somebody does on the forge's pages; times count from here."""
        self.screen.print_note(deed)
        self._count_from_here()
        self._pushed = time.monotonic()

    def _count_from_here(self) -> None:
        self._marks |= {each.name: len(each.traffic) for each in self.scene.clusters}

    # What must happen then.

    def expect(self, said: str, check: Callable[[], object]) -> None:
        """Wait until a check is true. Raises ``NotAsExpected`` after the deadline."""
        until = time.monotonic() + self._deadline
        while not check():
            if time.monotonic() > until:
                raise self._missed(said, f"not within {self._deadline:g} s")
            self._check_agent(said)
            time.sleep(_LOOK_EVERY)
        self._met(self._since_push(), said)

    def expect_only(self, tag: str, seconds: float = _SETTLE) -> None:
        """Check that live traffic stays with a tag: every answer since the push, and for some more seconds.
        May raise.
        """
        time.sleep(seconds)
        self._check_answers(tag, self._mark, self._pushed)
        self._met(self._since_push(), f"live traffic stays with {tag}, every single request")

    def expect_arrival(self, tag: str, stays: float = _SETTLE) -> None:
        """Wait until live traffic moves to a tag; check every connection opened in the seconds after its first answer.
        May raise.
        """
        first = self._first_answer(tag)
        arrival = Arrival(self.cluster.name, tag, max(0.0, first.at - self._pushed))
        self.arrivals.append(arrival)
        self._met(arrival.seconds, f"live traffic reaches {tag}")
        time.sleep(stays)
        self._check_answers(tag, self._mark, first.at)

    def expect_first_arrival(self, tag: str) -> None:
        """Wait for the first version, before anybody uses the app: the clients start at its first answer. May raise."""
        self.expect(f"live traffic reaches {tag}", lambda: self.cluster.seen.live() == tag)
        self.arrivals.append(Arrival(self.cluster.name, tag, self._since_push()))
        self.cluster.traffic.start()

    def _first_answer(self, tag: str) -> Answer:
        until = time.monotonic() + self._deadline
        while True:
            for answer in self.cluster.traffic.since(self._mark):
                if answer.version == tag:
                    return answer
            if time.monotonic() > until:
                raise self._missed(f"live traffic reaches {tag}", f"not within {self._deadline:g} s")
            self._check_agent(f"live traffic reaches {tag}")
            time.sleep(_LOOK_EVERY)

    def _check_answers(self, tag: str, mark: int, moment: float) -> None:
        """Check that every connection opened after a moment reached the tag."""
        for answer in self.cluster.traffic.since(mark):
            if answer.failure or (answer.opened > moment and answer.version != tag):
                got = answer.failure or f"an answer of {answer.version}"
                raise self._missed(f"every request is answered by {tag}", f"one got {got}")

    def _check_agent(self, said: str) -> None:
        if dead := self.cluster.agent.liveness_problems():
            raise self._missed(said, "; ".join(dead))

    @property
    def _mark(self) -> int:
        return self._marks.get(self.cluster.name, 0)

    @property
    def _where(self) -> str:
        return f"{self.cluster.name}: " if self.scene.further else ""

    def _met(self, seconds: float, said: str) -> None:
        self.screen.met(seconds, f"{self._where}{said}")

    def _since_push(self) -> float:
        return time.monotonic() - self._pushed

    def _missed(self, said: str, why: str) -> NotAsExpected:
        status = self.cluster.seen.status
        seen = f"phase {status.get('phase', 'unknown')}: {status.get('message', 'no message')}"
        answers = dict(self.cluster.traffic.lately())
        return NotAsExpected(f"{self._where}{said}: {why}\n{seen}\nanswers of the last second: {answers}")
