"""A network of one's own: nothing in it reaches the machine's, and every address and port of it is free.

Linux gives each *thread* its network namespace, and threads and processes inherit that of the thread that starts them.
So what the main thread starts in `private_network` finds all else that was started there, and nothing else; what was
started before stays where it is. `local` is a range of addresses that all lead to this machine: a server may
listen on any of them, as a pod on its own.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET of sched.h
_OURS = Path("/proc/thread-self/ns/net")


@functools.cache
def why_no_private_network() -> str:
    """Why nobody can have a network of their own here; empty where they can."""
    if sys.platform != "linux":
        return "networks of one's own are a matter of Linux"
    missing = [name for name in ("unshare", "ip") if shutil.which(name) is None]
    if missing:
        return f"this needs {' and '.join(missing)}, of util-linux and iproute2"
    tried = subprocess.run(["unshare", "-n", "ip", "link", "set", "lo", "up"], capture_output=True, text=True)
    return "" if tried.returncode == 0 else f"this needs root, or CAP_SYS_ADMIN: {tried.stderr.strip()}"


@contextmanager
def private_network(local: str) -> Iterator[None]:
    """Put this thread into a network that nobody else has, and back at the end."""
    before = os.open(_OURS, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("unshare", _NEW_NETWORK)
        try:
            _ip("link", "set", "lo", "up")
            _ip("route", "add", "local", local, "dev", "lo")
            yield
        finally:
            _call("setns", before, _NEW_NETWORK)
    finally:
        os.close(before)


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def _call(name: str, *arguments: int) -> None:
    """One system call of the C library; Python has these from 3.12 on."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
