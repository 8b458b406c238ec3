"""One running step: the user types, the demo waits and checks, the screen reports. Knows no step by name."""

import time
from collections.abc import Callable

from gitops_bg.cli.demo.scene import APP, IMAGE, Scene
from gitops_bg.cli.demo.screen import Screen
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

    tag: str
    seconds: float


class Act:
    """What a step may do. One object for the whole story: it remembers the last push, and every arrival."""

    def __init__(self, scene: Scene, screen: Screen, deadline: float = DEADLINE) -> None:
        self.scene = scene
        self.screen = screen
        self.arrivals: list[Arrival] = []
        self._deadline = deadline
        self._pushed = time.monotonic()
        self._mark = 0

    # What the user does.

    def git(self, *arguments: str) -> str:
        """Type a git command; return what it printed."""
        self.screen.typed("git", *arguments)
        return self.scene.remote.run(*arguments)

    def push(self, *arguments: str) -> None:
        """Type `git push`; times and answers count from here."""
        self._mark = len(self.scene.traffic)
        self.git("push", *arguments)
        self._pushed = time.monotonic()

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
        self._mark = len(self.scene.traffic)
        self._pushed = time.monotonic()

    # What must happen then.

    def expect(self, said: str, check: Callable[[], object]) -> None:
        """Wait until a check is true. Raises ``NotAsExpected`` after the deadline."""
        until = time.monotonic() + self._deadline
        while not check():
            if time.monotonic() > until:
                raise self._missed(said, f"not within {self._deadline:g} s")
            self._check_agent(said)
            time.sleep(_LOOK_EVERY)
        self.screen.met(self._since_push(), said)

    def expect_only(self, tag: str, seconds: float = _SETTLE) -> None:
        """Check that live traffic stays with a tag: every answer since the push, and for some more seconds.
        May raise.
        """
        time.sleep(seconds)
        self._check_answers(tag, self._mark, self._pushed)
        self.screen.met(self._since_push(), f"live traffic stays with {tag}, every single request")

    def expect_arrival(self, tag: str) -> None:
        """Wait until live traffic moves to a tag; check every connection opened after its first answer. May raise."""
        first = self._first_answer(tag)
        arrival = Arrival(tag, max(0.0, first.at - self._pushed))
        self.arrivals.append(arrival)
        self.screen.met(arrival.seconds, f"live traffic reaches {tag}")
        time.sleep(_SETTLE)
        self._check_answers(tag, self._mark, first.at)

    def expect_first_arrival(self, tag: str) -> None:
        """Wait for the first version, before anybody uses the app: the clients start at its first answer. May raise."""
        self.expect(f"live traffic reaches {tag}", lambda: self.scene.seen.live() == tag)
        self.arrivals.append(Arrival(tag, self._since_push()))
        self.scene.traffic.start()

    def _first_answer(self, tag: str) -> Answer:
        until = time.monotonic() + self._deadline
        while True:
            for answer in self.scene.traffic.since(self._mark):
                if answer.version == tag:
                    return answer
            if time.monotonic() > until:
                raise self._missed(f"live traffic reaches {tag}", f"not within {self._deadline:g} s")
            self._check_agent(f"live traffic reaches {tag}")
            time.sleep(_LOOK_EVERY)

    def _check_answers(self, tag: str, mark: int, moment: float) -> None:
        """Check that every connection opened after a moment reached the tag."""
        for answer in self.scene.traffic.since(mark):
            if answer.failure or (answer.opened > moment and answer.version != tag):
                got = answer.failure or f"an answer of {answer.version}"
                raise self._missed(f"every request is answered by {tag}", f"one got {got}")

    def _check_agent(self, said: str) -> None:
        if dead := self.scene.agent.liveness_problems():
            raise self._missed(said, "; ".join(dead))

    def _since_push(self) -> float:
        return time.monotonic() - self._pushed

    def _missed(self, said: str, why: str) -> NotAsExpected:
        status = self.scene.seen.status
        seen = f"phase {status.get('phase', 'unknown')}: {status.get('message', 'no message')}"
        answers = dict(self.scene.traffic.lately())
        return NotAsExpected(f"{said}: {why}\n{seen}\nanswers of the last second: {answers}")
