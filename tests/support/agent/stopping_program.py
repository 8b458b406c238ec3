"""A bare program of the agent's shape: its main thread waits without a time limit while two others run git.

``python -m tests.support.agent.stopping_program HOW``; each shape (`_SHAPES`) says what it does with a signal. It
prints a line once it can be stopped, and again each time it was.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

from gitops_bg.agent.runtime import signals


def _run_git() -> None:
    while True:
        subprocess.run(["git", "--version"], stdout=subprocess.DEVNULL, check=True)


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def again_and_again() -> None:
    """Wait without an end for the next stop, for ever."""
    signals.GRACE = 3600.0  # it counts from the first stop
    stopped = threading.Event()
    with signals.stopping_on_signals() as stopping:
        stopping.now_call(stopped.set)
        while True:
            _say("waits")
            stopped.wait()
            stopped.clear()


def while_it_starts() -> None:
    """Wait for a lock before there is anything to ask, as a library may."""
    with signals.stopping_on_signals():
        _say("waits")
        threading.Event().wait()


def deadlocked() -> None:
    """Be asked to finish, and never do."""
    signals.GRACE = 0.5
    with signals.stopping_on_signals() as stopping:
        stopping.now_call(lambda: None)
        _say("waits")
        threading.Event().wait()


_SHAPES: dict[str, Callable[[], None]] = {
    each.__name__: each for each in (again_and_again, while_it_starts, deadlocked)
}

if __name__ == "__main__":
    for _ in range(2):
        threading.Thread(target=_run_git, daemon=True).start()
    _SHAPES[sys.argv[1]]()
