"""What a process uses, and its mirror of the remote."""

from __future__ import annotations

from pathlib import Path


def resources(mirror: Path) -> dict[str, float]:
    """What this process uses now: MiB of memory, descriptors, threads; and KiB and packs of its mirror."""
    status = Path("/proc/self/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    files = [file.stat().st_blocks / 2 for file in mirror.rglob("*") if file.is_file()]
    return {
        "memory": int(fields["VmRSS"].split()[0]) / 1024,
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": int(fields["Threads"]),
        "mirror": sum(files),
        "packs": len(list(mirror.rglob("*.pack"))),
    }
