"""What the agent's objects weigh, by what they are for: every object counts once, for the first part that reaches it.

Runs in the agent's process. It knows private names of the agent: nothing else could tell one part from another.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType

from gitops_bg.agent.agent import Agent
from gitops_bg.cluster.observation.informer import Informer
from gitops_bg.cluster.observation.informers import Informers

_PROGRAM = (type, ModuleType, FunctionType, BuiltinFunctionType, CodeType, FrameType)
"""What is there once, however many apps there are."""


@dataclass(frozen=True)
class Part:
    """A part of the memory of an app: the KiB that it may take, and why it is kept."""

    name: str
    budget: float
    why: str


PARTS = (
    Part(
        "status",
        3,
        "the record and the conditions, packed: each pass begins with them, and compares before a save",
    ),
    Part("live objects", 10, "the informers: a few fields of the app's object, ReplicaSets, Services, EndpointSlices"),
    Part("files", 5, "`app.yaml`, `target.yaml` and `primary.yaml` as types of the core: every pass decides with them"),
    Part("ledger", 1, "its position, to append and never to write twice"),
    Part("Git", 3, "folders, files and commits by their ids: the agent asks git only once"),
    Part("metrics", 2, "the app's series on `/metrics`"),
    Part("rest", 1, "queue, timers, what was applied last, which namespace owns what"),
)


def held(agent: Agent) -> dict[str, float]:
    """KiB of each of `PARTS`."""
    gc.collect()
    return {name: size / 1024 for name, size in weigh(_roots(agent), beyond=[agent]).items()}


def weigh(roots: Iterable[tuple[str, Iterable[object]]], beyond: Iterable[object] = ()) -> dict[str, int]:
    """Bytes of all that is reached from each root and from none before it, without the program's own objects.

    No way leads through what is ``beyond``.
    """
    seen: set[int] = {id(each) for each in beyond}
    found: dict[str, int] = {}
    for name, objects in roots:
        total, stack = 0, list(objects)
        while stack:
            each = stack.pop()
            if id(each) in seen or isinstance(each, _PROGRAM):
                continue
            seen.add(id(each))
            total += sys.getsizeof(each)
            stack.extend(gc.get_referents(each))
        found[name] = total
    return found


def _roots(agent: Agent) -> list[tuple[str, Iterable[object]]]:
    reader, repository, catalog = agent.cluster._reader, agent.repository, agent.catalog
    assert isinstance(reader, Informers)
    informers: list[Informer] = [*reader._all()]
    return [
        ("status", [state.status for state in reader.apps()]),
        ("live objects", [part for each in informers for part in (each._slots, each._by_app)]),
        ("files", [catalog._reader._entries, catalog.reading]),
        ("ledger", [catalog._positions, repository.ledger._files, repository.ledger._doubts]),
        ("metrics", [agent.metrics]),
        ("Git", [repository]),
        ("rest", [vars(agent)]),
    ]
