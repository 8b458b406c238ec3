"""What a git process may use: a remote, or one commit, can make git ask for any amount of memory, CPU and disk.

The limits are the kernel's, set by the shell that becomes git, so that they hold for all processes that git starts:
`index-pack`, `ssh`, the helper for https.
"""

import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

MEBIBYTE = 1024 * 1024
_LEAST, _MOST = 128 * MEBIBYTE, 2048 * MEBIBYTE
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_OVER_MEMORY = re.compile(r"[Oo]ut of memory|Cannot allocate memory|unable to create thread", re.ASCII)
_OVER_DISK = re.compile(rf"File too large|died of signal {signal.SIGXFSZ.value}\b", re.ASCII)
_OVER_CPU = re.compile(rf"died of signal {signal.SIGXCPU.value}\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one command, for each of its processes."""

    memory: int
    """Bytes of its own data. Packs and indexes that git maps to read them do not count."""
    cpu_seconds: int | None = None
    file: int | None = None
    """Bytes of a file that it may write: of a pack that it fetches."""

    @property
    def script(self) -> str:
        """The commands of a shell that set them, for itself and what it becomes. A lower limit of the machine stays."""
        wanted = ["-c 0", f"-S -d {self.memory // 1024}"]
        wanted += [f"-S -t {self.cpu_seconds}"] if self.cpu_seconds is not None else []
        wanted += [f"-S -f {self.file // 512}"] if self.file is not None else []
        return "".join(f"ulimit {one} 2>/dev/null; " for one in wanted)

    def exceeded(self, status: int, complaint: str) -> str:
        """Which limit ended a command, in words; empty where none did. ``complaint`` is what it wrote to stderr."""
        if _OVER_CPU.search(complaint) or status == -signal.SIGXCPU:
            return f"more than {self.cpu_seconds} s of CPU time"
        if _OVER_DISK.search(complaint) or status == -signal.SIGXFSZ:
            return f"more than {(self.file or 0) // MEBIBYTE} MiB packed"
        if _OVER_MEMORY.search(complaint):
            return f"more than {self.memory // MEBIBYTE} MiB of memory"
        return ""


def memory_for_git() -> int:
    """Half of what this process's container may have, or the machine has, within bounds: the agent needs the rest."""
    limits = (_limit_in(Path(name)) for name in _CGROUPS)
    whole = min((limit for limit in limits if limit), default=0) or _of_the_machine()
    return max(_LEAST, min(_MOST, whole // 2))


def _limit_in(file: Path) -> int:
    """The limit of a container; 0 without one."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _of_the_machine() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
