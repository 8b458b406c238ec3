"""Runs a command that cannot outlive the process that started it, also when that one is killed.

`leashed(command)` goes to Popen: this file, run by its path, asks the kernel for SIGKILL at the parent's death
and becomes the command. (A preexec_fn could do the same, but is not safe beside threads.) The kernel means the
*thread* that started it: start such processes from the main thread.
"""

from __future__ import annotations

import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def leashed(command: list[str]) -> list[str]:
    """The argument list to give to Popen instead of `command`."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def _main(parent: int, command: list[str]) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the parent is gone already")
    os.execv(command[0], command)


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2:])
