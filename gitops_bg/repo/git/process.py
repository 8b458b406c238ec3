"""One process of git until its end: what it prints is read as it comes, and neither its time nor its output is endless.

It is ended together with all processes that it started: git leaves its helpers behind where only git is killed.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK = 65536
LONGEST_COMPLAINT = 64 * 1024
"""Bytes of stderr that are kept, the first ones: a remote may send as many as it likes."""
OWN_GROUP = {"start_new_session": True}
"""The options of `Popen` that `Running` needs. Without a terminal, no helper can ask anybody anything either."""


class Running:
    """A process whose stdout and stderr are pipes, started with `OWN_GROUP`."""

    def __init__(self, process: "subprocess.Popen[bytes]", seconds: float) -> None:
        self._process = process
        self._until = time.monotonic() + seconds
        self.complaint = b""
        self.timed_out = False

    def chunks(self) -> Iterator[bytes]:
        """What it prints, as it comes, until it closes its output or the time is over."""
        out, err = self._process.stdout, self._process.stderr
        assert out is not None
        assert err is not None
        with selectors.DefaultSelector() as selector:
            for stream in (out, err):
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(left) if (left := self._until - time.monotonic()) > 0 else []
                if not ready:
                    self.timed_out = True
                    return
                for key, _ in ready:
                    data = os.read(key.fd, _CHUNK)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is err:
                        self.complaint += data[: LONGEST_COMPLAINT - len(self.complaint)]
                    else:
                        yield data

    def end(self) -> int:
        """Wait for its end, or end it once the time is over; return its status."""
        try:
            status = self._process.wait(max(0.0, self._until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.timed_out = True
            self.kill()
            status = self._process.wait()
        return -signal.SIGKILL if self.timed_out else status

    def kill(self) -> None:
        """Kill it and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


@contextmanager
def running(process: "subprocess.Popen[bytes]", seconds: float) -> Iterator[Running]:
    """A process within a time; what is still running of it afterwards is killed."""
    made = Running(process, seconds)
    try:
        yield made
    finally:
        if process.returncode is None:
            made.kill()
            process.wait()
        for stream in (process.stdout, process.stderr, process.stdin):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
