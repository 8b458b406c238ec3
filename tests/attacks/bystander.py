"""How long another app took while one was attacked: remembered for the table of `python -m tests.attacks`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from statistics import median

CALM = ""
"""Stands for the attack that there was none."""


@dataclass(frozen=True, slots=True)
class Took:
    """One push to the other app, until its candidate was there."""

    attack: str
    """The file with the attack; `CALM` without one."""
    seconds: float


TOOK: list[Took] = []
"""In the order in which they were measured, in this process."""


def remember(seconds: float, *, calm: bool = False) -> None:
    """Note what a push to the other app took."""
    file = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0].rpartition("/")[2]
    TOOK.append(Took(CALM if calm else file.removeprefix("test_").removesuffix(".py"), seconds))


@dataclass(frozen=True, slots=True)
class Row:
    """The attacks of one file, and seconds."""

    attacks: str
    number: int
    usual: float
    """The median."""
    worst: float


def rows(took: list[Took]) -> list[Row]:
    """First without an attack, then file by file, then all attacks.

    >>> [each.attacks for each in rows([Took("sizes", 1.0), Took("", 0.5), Took("sizes", 3.0)])]
    ['none', 'sizes', 'all']
    """
    calm = [each.seconds for each in took if each.attack == CALM]
    files = sorted({each.attack for each in took} - {CALM})
    by_file = {file: [each.seconds for each in took if each.attack == file] for file in files}
    every = [each.seconds for each in took if each.attack != CALM]
    named = {"none": calm, **{file.replace("_", " "): seconds for file, seconds in by_file.items()}, "all": every}
    return [Row(name, len(found), median(found), max(found)) for name, found in named.items() if found]
