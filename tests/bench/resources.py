"""What processes use, and the mirror of the remote."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def resources(mirror: Path) -> dict[str, float]:
    """What this process uses now: MiB of memory, descriptors, threads; and KiB and packs of its mirror."""
    fields = _status("self")
    files = [file.stat().st_blocks / 2 for file in mirror.rglob("*") if file.is_file()]
    return {
        "memory": _mebibytes(fields),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": int(fields["Threads"]),
        "mirror": sum(files),
        "packs": len(list(mirror.rglob("*.pack"))),
    }


def memory(pid: int) -> float:
    """MiB that a process has resident now."""
    return _mebibytes(_status(pid))


def _status(process: int | str) -> dict[str, str]:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return dict(line.split(":", 1) for line in lines)


def _mebibytes(status: dict[str, str]) -> float:
    return int(status["VmRSS"].split()[0]) / 1024


def cpu_seconds(pid: int) -> float:
    """What a process has used so far, with all that it has started, whether that still runs or not."""
    parents: dict[int, int] = {}
    used: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        number = int(file.parent.name)
        parents[number] = int(fields[1])
        used[number] = sum(map(int, fields[11:15]))  # utime, stime, and those of children that were waited for
    return sum(ticks for number, ticks in used.items() if _is_within(number, pid, parents)) / _TICKS


def _is_within(number: int, ancestor: int, parents: dict[int, int]) -> bool:
    while number and number != ancestor:
        number = parents.get(number, 0)
    return number == ancestor
