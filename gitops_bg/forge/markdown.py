"""Escapes texts of others for Markdown of three forges: they cannot break a table, mention or link. And the parts that
several texts have.

A commit's subject and the reason of a gate are written by people who may push. They are shown in ``<code>``, where no
forge looks for mentions and references, and every sign that could mean something to a renderer is an entity.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gitops_bg.core.foreign_text import printable
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.forge.port import CheckState

LONGEST_TITLE = 200
GOES_BACK = "it goes back"
IS_THERE = "traffic is there"
_LONGEST = 200
_PLAIN = re.compile(r"[^\W_]|[ .,/=+]")
_TICKS = re.compile(r"`+")


def code(text: str, longest: int = _LONGEST) -> str:
    """Return ``text`` literally, on one line, cut to ``longest`` characters; fit for a cell of a table.

    >>> code("a|b @ada"), code("")
    ('<code>a&#124;b &#64;ada</code>', '–')
    """
    shown = cut(printable(text.strip()), longest)
    return f"<code>{''.join(map(_inert, shown))}</code>" if shown else "–"


def plain(text: str, longest: int = _LONGEST) -> str:
    """Return ``text`` for places without Markdown: a title, the description of a status."""
    return cut(printable(" ".join(text.split())), longest)


def cut(text: str, longest: int) -> str:
    """Return ``text`` cut to at most this many characters; an ellipsis marks a cut.

    >>> cut("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= longest else f"{text[: max(0, longest - 1)]}…"


def block(lines: list[str], language: str = "") -> str:
    """Return lines in a code block, literally: its fence is longer than any in them.

    >>> print(block(["a ```` b"]))
    `````
    a ```` b
    `````
    """
    shown = "\n".join(map(printable, lines))
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(shown)), default=0))
    return f"{fence}{language}\n{shown}\n{fence}"


def within(text: str, longest: int) -> str:
    """Cut the text at the end of a line.

    >>> within("one" + chr(10) + "two", 5)
    'one'
    """
    return text if len(text) <= longest else text[:longest].rpartition("\n")[0]


def gate_rows(gates: Iterable[GateResult]) -> Iterator[str]:
    """Yield the table of gates; nothing without any."""
    rows = [*map(_gate_row, gates)]
    yield from ("| Gate | | Why | Until |", "|---|---|---|---|", *rows) if rows else ()


def _gate_row(gate: GateResult) -> str:
    until = f"{gate.until:%Y-%m-%d %H:%M} UTC" if gate.until and not gate.open else ""
    return f"| {code(gate.kind)} | {'open' if gate.open else '**shut**'} | {code(gate.reason)} | {until} |"


def shut_gates(gates: Iterable[GateResult]) -> str:
    """Say which gates are shut, in one line; empty where none is."""
    return "; ".join(map(_shortly, (gate for gate in gates if not gate.open)))


def _shortly(gate: GateResult) -> str:
    until = f" until {gate.until:%Y-%m-%d %H:%M} UTC" if gate.until else ""
    return f"{gate.kind}: {gate.reason}{until}"


def _inert(sign: str) -> str:
    return sign if _PLAIN.match(sign) else f"&#{ord(sign)};"


@dataclass(frozen=True, slots=True)
class Texts:
    """What a pull request says, and the status of its head."""

    title: str
    body: str
    state: CheckState
    description: str


def pull_title(who: AppOrGroup, change: str, cluster: str, *, back: str = "") -> str:
    """Return app or group, change and cluster: ``shop/web: 1.4.0 → 1.5.0 [prod-eu]``; only the change is cut."""
    where = f" [{plain(cluster)}]"
    room = LONGEST_TITLE - len(where) - len(str(who)) - len(back) - 2
    return f"{who}: {back}{cut(plain(change), room)}{where}"


def verdict(refused: str, back: str, gates: Iterable[GateResult]) -> tuple[CheckState, str]:
    """Return the status for branch protection, and why: failure if it must not be merged, pending while a gate is shut.
    ``back`` says that nothing is waited for: `GOES_BACK` or `IS_THERE`; empty where it goes forward.
    """
    if refused:
        return CheckState.FAILURE, refused
    shut = "" if back else shut_gates(gates)
    return (CheckState.PENDING, shut) if shut else (CheckState.SUCCESS, f"{back or 'every gate is open'}: merge this")
