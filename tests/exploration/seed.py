"""Where an exploration begins: in a world, with a story of events from the empty one."""

from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple, Protocol

Event = tuple[object, ...]
"""A name and its arguments; `story.words` says it in plain English."""


class Life(Protocol):
    """A world that is explored, of an app or of a release group: its states are equal and hashable values.

    Each of these raises ``Violation`` where a promise is broken.
    """

    @property
    def asked(self) -> int:
        """How often the engine was asked."""
        ...

    def empty(self) -> Any:
        """The state before anything has happened."""
        ...

    def following(self, state: Any) -> Iterator[tuple[Event, Callable[[], Any]]]:
        """Every event that may happen now, each with what gives the state after it; None: it cannot be."""
        ...

    def happen(self, state: Any, event: Event) -> Any:
        """The state after one event; None: it cannot be."""
        ...

    def hear(self, state: Any) -> None:
        """Check what holds at every moment."""
        ...

    def calm(self, state: Any) -> Any:
        """Lead a state to its rest, and check what holds there."""
        ...


Memory = dict[Hashable, Any]
"""What the engine has answered about specs, by spec: worlds that are explored one after the other ask it once."""


class Seed(NamedTuple):
    """A named beginning."""

    name: str
    world: Callable[[Memory], Life]
    """Makes the world in which it begins (`apps.life.Life`, `groups.life.Life`)."""
    events: tuple[Event, ...]
    depth: int
    """How deep CI explores from it."""
    states: int
    """How many states that reaches at least: nine in ten of what it did."""
    deeper: int = 0
    """How many events more than others it is explored when a depth is asked for: its events are smaller."""
    family: Hashable = None
    """Equal for seeds whose worlds ask the engine the same questions."""

    @property
    def kind(self) -> str:
        """``app``, ``adopted`` or ``group``."""
        before, mark, _ = self.name.partition(": ")
        return before if mark else "app"


def begin(seed: Seed, memory: Memory | None = None) -> tuple[Life, Any]:
    """The world of a seed, and its first state; ``memory``: of the worlds before."""
    life = seed.world({} if memory is None else memory)
    state = life.empty()
    for event in seed.events:
        following = life.happen(state, event)
        assert following is not None, f"{seed.name}: {event} cannot happen"
        state = following
    return life, state
