"""What a story is about: the objects that its cluster has at first, and what its users see."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from gitops_bg.cluster.api.kinds import Kind
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.sandbox import Sandbox

Object = Mapping[str, Any]


class Seen(Protocol):
    """What every step may ask of it; a story's own steps know what else they may."""

    @property
    def key(self) -> AppOrGroup:
        """The app or the group that the story is about."""

    @property
    def url(self) -> str:
        """The address that the clients use."""

    @property
    def status(self) -> Object:
        """The status of the object that the agent keeps; empty where there is none yet."""

    def live(self) -> str:
        """Return the tag that answers a new connection of a client; empty where none does."""

    def commands(self) -> list[tuple[str, str]]:
        """Return what to try where the demo is kept, and why."""


@dataclass(frozen=True, slots=True)
class Subject:
    """An app, or a release group. ``objects`` are created, with their kinds, before the agent starts."""

    see: Callable[[Sandbox], Seen]
    objects: tuple[tuple[Kind, dict[str, Any]], ...] = ()
