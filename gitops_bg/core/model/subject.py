"""Whose analyses, alerts and hooks these are: an app, or a release group."""

from typing import Protocol


class Subject(Protocol):
    """It is hashable, and never equal to one of the other kind."""

    @property
    def namespace(self) -> str:
        """The namespace that it, and the Secrets that are read for it, are in."""
        ...

    @property
    def name(self) -> str:
        """Its name there."""
        ...
