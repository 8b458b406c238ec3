"""What a scenario of a reference is, and a section of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scenario:
    """One scenario of a reference: its id in the names of tests, and what it is called there."""

    id: str
    title: str
    reason: str = ""
    """Why there is no test: it does not apply here."""
    later: str = ""
    """What its test waits for; of no account once there is one."""
    test: str = ""
    """The name of a test that proves it, and that has another scenario's name, or none."""
    differs: str = ""
    """What we do otherwise, and why."""


@dataclass(frozen=True)
class Section:
    """The scenarios of one source."""

    title: str
    source: str
    scenarios: tuple[Scenario, ...]
