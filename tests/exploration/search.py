"""Breadth first through every state, each once: the first way to a broken promise is the shortest."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest import mock

from gitops_bg.core import engine
from gitops_bg.core import group_engine as groups
from tests.exploration.apps.passes import FOR_PEOPLE, light
from tests.exploration.groups.passes import without_conditions
from tests.exploration.seed import Event, Life, Memory, Seed, begin
from tests.exploration.world import Violation

SAMPLE = 16
"""Of the states that are reached last, one in so many is led to its end; of all others, each."""


class Story(NamedTuple):
    """How a promise was broken: from a seed, by these events."""

    seed: str
    events: tuple[Event, ...]
    promise: str


class Explored(NamedTuple):
    """What became of one seed."""

    seed: str
    depth: int
    states: int
    steps: int
    decisions: int
    seconds: float
    """Of CPU."""
    stories: tuple[Story, ...]


def explore(
    seed: Seed,
    depth: int | None = None,
    *,
    most: int = 10_000_000,
    stop_at_first: bool = False,
    unmoved_by: frozenset[str] = frozenset(),
    unguarded: bool = False,
    memory: Memory | None = None,
) -> Explored:
    """Every state within ``depth`` events of a seed; of equal promises that were broken, the shortest story.

    ``unmoved_by``: kinds of promises that do not stop it; ``unguarded``: the engine does not check its own answers;
    ``memory``: of the seeds that were explored before, by the same engine.
    """
    started = time.process_time()
    with _engine(unguarded=unguarded):
        try:
            life, first = begin(seed, memory)
        except Violation as violation:
            return Explored(seed.name, 0, 0, 0, 0, 0.0, (Story(seed.name, (), str(violation)),))
        return _explore(seed, life, first, depth, most, stop_at_first, unmoved_by, started)


@contextmanager
def _engine(*, unguarded: bool) -> Iterator[None]:
    """Without what is only for people; ``unguarded``: and without its own look at its answers."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(engine, "_answer", light))
        steps = tuple(step for step in engine.STEPS if step not in FOR_PEOPLE)
        stack.enter_context(mock.patch.object(engine, "STEPS", steps))
        stack.enter_context(mock.patch.object(groups, "conditions_of", without_conditions))
        if unguarded:
            stack.enter_context(mock.patch.object(engine, "check", return_value=None))
        yield


def _explore(
    seed: Seed,
    life: Life,
    first: Any,
    depth: int | None,
    most: int,
    stop_at_first: bool,
    unmoved_by: frozenset[str],
    started: float,
) -> Explored:
    came: dict[Any, tuple[Any, Event] | None] = {first: None}
    stories: dict[str, Story] = {}
    steps, frontier, reached = 0, [first], 0
    last = seed.depth if depth is None else depth
    for reached in range(1, last + 1):
        following: list[Any] = []
        for state in frontier:
            for event, happen in life.following(state):
                steps += 1
                try:
                    after = happen()
                    if after is None or after in came:
                        continue
                    came[after] = (state, event)
                    life.hear(after)
                    if reached < last or len(came) % SAMPLE == 0:
                        life.calm(after)
                except Violation as violation:
                    kind = kind_of(str(violation))
                    if kind not in stories and kind not in unmoved_by:
                        stories[kind] = Story(seed.name, (*_way(came, state), event), str(violation))
                        if stop_at_first:
                            frontier, following = [], []
                            break
                    continue
                following.append(after)
            if len(came) >= most or (stop_at_first and stories):
                break
        frontier = following
        if len(came) >= most or not frontier:
            break
    spent = time.process_time() - started
    return Explored(seed.name, reached, len(came), steps, life.asked, spent, tuple(stories.values()))


def kind_of(promise: str) -> str:
    """Equal for the same promise broken by other versions."""
    return "".join(one for one in promise.split("(", maxsplit=1)[0] if not one.isdigit())[:60]


def _way(came: dict[Any, tuple[Any, Event] | None], state: Any) -> Iterator[Event]:
    way: list[Event] = []
    while (step := came[state]) is not None:
        state, event = step
        way.append(event)
    return reversed(way)


def replay(seed: Seed, events: tuple[Event, ...]) -> tuple[Life, Any]:
    """A story told again. Raises ``Violation`` where its promise is still broken."""
    life, state = begin(seed)
    for event in events:
        following = life.happen(state, event)
        assert following is not None, f"{event} cannot happen any more: the story tells of another world"
        state = following
        life.hear(state)
        life.calm(state)
    return life, state


def broken_by(seed: Seed, events: tuple[Event, ...]) -> str:
    """The promise that a story breaks in an engine that does not look at its own answers; empty: none."""
    try:
        with _engine(unguarded=True):
            replay(seed, events)
    except Violation as violation:
        return str(violation)
    except AssertionError:
        return ""  # It goes another way.
    return ""
