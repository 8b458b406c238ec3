"""Whose analyses, alerts and hooks these are: an app, or a release group."""

from enum import StrEnum
from typing import Protocol


class SubjectKind(StrEnum):
    """What a subject is."""

    APP = "app"
    GROUP = "group"


class Subject(Protocol):
    """It is hashable, and never equal to one of the other kind."""

    @property
    def namespace(self) -> str:
        """The namespace that it, and the Secrets that are read for it, are in."""
        ...

    @property
    def kind(self) -> SubjectKind:
        """What it is."""
        ...

    @property
    def name(self) -> str:
        """Its name there."""
        ...
