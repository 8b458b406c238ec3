"""An agent as a process of its own, which may be killed and started again. Knows nothing of what it does."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gitops_bg.cli.demo.git import without_settings
from gitops_bg.cli.itself import itself


class AgentProcess:
    """`gitops-bg agent` with some options; ``log`` is where it writes what it says."""

    def __init__(self, options: Sequence[str], log: Path) -> None:
        self.log = log
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, for the first time or again; returns at once."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                itself("agent", *self._options),
                env=without_settings(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the demo, which stops it
            )

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self, timeout: float) -> None:
        """Let it finish its work, within ``timeout`` seconds."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()

    def liveness_problems(self) -> list[str]:
        """Return why it has to be started again; empty while it runs, and where it was killed on purpose."""
        ended = None if self._process is None else self._process.poll()
        return [] if ended is None else [f"the agent ended with exit status {ended}"]
