"""The order in which ``primary.yaml`` named versions, and which of them main reverted (decision 18).

The line grows with each promotion. It is cut where main names again what it named or what served before: everything
after that was reverted. The line does not depend on who looked, or when.
"""

from dataclasses import replace

from gitops_bg.core.model.record import Record

MOST_NAMED = 11
"""How many digests a record keeps: the one named now, and ten before."""


def note_named(record: Record, names: tuple[str, ...]) -> tuple[Record, tuple[str, ...]]:
    """Return the record after ``primary.yaml`` named these digests, oldest first, and the digests reverted since.

    Digests that served and were left are not among the reverted: nothing promotes them by itself.
    """
    line = record.git.named
    settled = frozenset(record.routing.activations).intersection(line[:-1]).difference(names)
    gone: list[str] = []
    for name in names:
        kept = _kept(record, line, name)
        gone += (digest for digest in line if digest not in kept)
        line = (*kept, name)
    taken_back = tuple(digest for digest in dict.fromkeys(gone) if digest not in line and digest not in settled)
    return record.with_part(replace(record.git, named=line[-MOST_NAMED:])), taken_back


def _kept(record: Record, line: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return the digests still promoted once main names ``name``: those named, or first promoted, before ``name``."""
    if name in line:
        return line[: line.index(name)]
    if name == record.routing.traffic or name in record.routing.activations:
        return tuple(digest for digest in line if record.came_before(digest, name))
    return line
