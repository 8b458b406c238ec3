"""A seeded fault. Nothing here imports the engine: a process edits it first."""

from typing import NamedTuple


class Fault(NamedTuple):
    """One edit: in a module of the core, ``old`` (which is there once) becomes ``new``."""

    name: str
    module: str
    old: str
    new: str
    seed: str
    depth: int
    """The seed and the depth that catch it."""
