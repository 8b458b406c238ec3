"""In which order ``primary.yaml`` came to name versions, and what main took back of that (decision 18).

A line that grows with each promotion, and is cut where main names again what it named before, or what served before:
what comes after that was taken back. Whoever looked, and when, the line is the same.
"""

from dataclasses import replace

from gitops_bg.core.model.record import Record

MOST_NAMED = 10
"""How many digests a record keeps beside the one that is named now."""


def note_named(record: Record, names: tuple[str, ...]) -> tuple[Record, tuple[str, ...]]:
    """The record after ``primary.yaml`` named these digests, oldest first, and those that are taken back since.

    What served in its time and was left is none of these: nothing promotes it by itself.
    """
    line = before = (*record.git.named_before, record.git.primary) if record.git.primary else ()
    settled = frozenset(record.routing.activations).intersection(record.git.named_before).difference(names)
    gone: list[str] = []
    for name in names:
        kept = _kept(record, line, name)
        gone += (digest for digest in line if digest not in kept)
        line = (*kept, name)
    taken_back = tuple(digest for digest in dict.fromkeys(gone) if digest not in line and digest not in settled)
    if line == before:
        return record, taken_back
    return record.with_part(replace(record.git, primary=line[-1], named_before=line[:-1][-MOST_NAMED:])), taken_back


def _kept(record: Record, line: tuple[str, ...], name: str) -> tuple[str, ...]:
    """What is still promoted once main names ``name``: what was so when it was named first, or came forward."""
    if name in line:
        return line[: line.index(name)]
    if name == record.routing.traffic or name in record.routing.activations:
        return tuple(digest for digest in line if record.came_before(digest, name))
    return line
