"""Runs git in the mirror through GitPython: static argument lists, a locked-down environment, limits, a deadline.

Nothing of the machine's git configuration applies, no prompt ever waits, and data goes through stdin, never through
options (pitfalls.md §2.1). Not thread-safe: the façade holds one lock.
"""

import os
import re
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from gitops_bg.core.dataclass import dataclass
from gitops_bg.repo.git.errors import MirrorClosed
from gitops_bg.repo.git.output import parts_of, text
from gitops_bg.repo.git.transport import LOCKED_DOWN, GitTransport, no_git_variables, without_the_machine
from gitops_bg.spec.libraries import import_alone

# --- what a process may use: a remote, or one commit, can make git ask for any amount of memory, CPU and disk ---
# The limits are the kernel's, set by the shell that becomes git, so that they hold for all processes that git starts:
# `index-pack`, `ssh`, the helper for https.

MEBIBYTE = 1024 * 1024
_LEAST, _MOST = 128 * MEBIBYTE, 2048 * MEBIBYTE
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_OVER_MEMORY = re.compile(r"[Oo]ut of memory|Cannot allocate memory|unable to create thread", re.ASCII)
_OVER_DISK = re.compile(rf"File too large|died of signal {signal.SIGXFSZ.value}\b", re.ASCII)
_OVER_CPU = re.compile(rf"died of signal {signal.SIGXCPU.value}\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class CommandLimits:
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
        """Return which limit ended a command, in words; empty where none did. ``complaint`` is what it wrote to
        stderr.
        """
        if _OVER_CPU.search(complaint) or status == -signal.SIGXCPU:
            return f"more than {self.cpu_seconds} s of CPU time"
        if _OVER_DISK.search(complaint) or status == -signal.SIGXFSZ:
            return f"more than {(self.file or 0) // MEBIBYTE} MiB packed"
        if _OVER_MEMORY.search(complaint):
            return f"more than {self.memory // MEBIBYTE} MiB of memory"
        return ""


def memory_for_git() -> int:
    """Return half of what this process's container may have, or the machine has, within bounds: the agent needs the
    rest.
    """
    limits = (_limit_in(Path(name)) for name in _CGROUPS)
    whole = min((limit for limit in limits if limit), default=0) or _of_the_machine()
    return max(_LEAST, min(_MOST, whole // 2))


def _limit_in(file: Path) -> int:
    """Return the limit of a container; 0 without one."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _of_the_machine() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


# --- one process until its end: neither its time nor its output is endless ---
# It is ended together with all processes that it started: git leaves its helpers behind where only git is killed.

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
        """Yield what it prints, as it comes, until it closes its output or the time is over."""
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
    """Run a process within a time; what is still running of it afterwards is killed."""
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


if TYPE_CHECKING:
    from git.cmd import Git as GitCommand
else:
    with no_git_variables():
        GitCommand = import_alone("git.cmd").Git


# --- commands ---

_LONGEST_SUMMARY = 600
LONGEST_PART = 1024 * 1024
"""Bytes of one path, or of the modes and ids of one merge."""
LARGEST_OUTPUT = 128 * MEBIBYTE
"""Bytes of output that are kept of one command: the ids of three million commits."""
_PATIENCE = 10
"""The deadline of commands that move data, as a multiple of that of a question: a first clone takes longer than
ls-remote.
"""


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a git command. ``complaint`` is its stderr, masked."""

    status: int
    output: bytes
    complaint: str
    deadline_seconds: float = 0.0
    exceeded: str = ""
    """The limit that ended it, in words; empty where none did."""

    @property
    def summary(self) -> str:
        """Git's words, on one line of bounded length: the first say why, the last what came of it. Without frames."""
        said = " ".join(word for word in self.complaint.split() if word.strip("@")) or f"exit {self.status}"
        cut = _LONGEST_SUMMARY // 3
        return said if len(said) <= _LONGEST_SUMMARY else f"{said[: 2 * cut]} … {said[-cut:]}"

    @property
    def why(self) -> str:
        """Why it failed, in few words."""
        return f"it needs {self.exceeded}" if self.exceeded else self.summary

    @property
    def timed_out(self) -> bool:
        """Whether the command was killed at the deadline."""
        return self.status == -signal.SIGKILL


class GitFailed(Exception):
    """A local git command ended with an error; translated at the border of this package."""

    def __init__(self, command: str, finished: Finished) -> None:
        super().__init__(f"git {command}: exit {finished.status}: {finished.summary}")
        self.command = f"git {command}"
        self.finished = finished


class Git:
    """Git in one bare repository, without state between two commands.

    Not GitPython's ``Repo``, which reads ``GIT_OBJECT_DIRECTORY`` and others from the process's environment.
    """

    def __init__(self, directory: Path, transport: GitTransport, timeout_seconds: float, limits: CommandLimits) -> None:
        self._transport = transport
        self._timeout = timeout_seconds
        self._limits = limits
        self._environment = {**LOCKED_DOWN, "GIT_DIR": str(directory), **transport.environment}
        self._git = GitCommand(str(directory))
        self._is_closed = False

    def close(self) -> None:
        """Start no command any more: `MirrorClosed` says so to a thread that comes late."""
        self._is_closed = True

    def run(self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
        """Run a command and return its output. Raises ``GitFailed``."""
        finished = self.attempt(*arguments, stdin=stdin, environment=environment)
        if finished.status != 0:
            raise GitFailed(arguments[0], finished)
        return finished.output

    def ask(self, *arguments: str, largest: int = LARGEST_OUTPUT) -> Finished:
        """Run a command that only queries the remote, with the short deadline."""
        return self._execute(arguments, b"", {}, self._timeout, self._limits, largest)

    def attempt(
        self,
        *arguments: str,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        limits: CommandLimits | None = None,
        seconds: float | None = None,
    ) -> Finished:
        """Run a command to its end, failed or not."""
        patience = self.patience_seconds if seconds is None else seconds
        return self._execute(arguments, stdin, environment or {}, patience, limits or self._limits)

    def _execute(
        self,
        arguments: tuple[str, ...],
        stdin: bytes,
        environment: Mapping[str, str],
        seconds: float,
        limits: CommandLimits,
        largest: int = LARGEST_OUTPUT,
    ) -> Finished:
        output, exceeded = bytearray(), ""
        with self._started(arguments, stdin, environment, limits) as process, running(process, seconds) as one:
            for chunk in one.chunks():
                output += chunk
                if len(output) > largest:
                    exceeded = f"more than {largest // MEBIBYTE} MiB of output"
                    break
            status = 1 if exceeded else one.end()
        said = self._transport.mask(text(one.complaint))
        return Finished(
            status, bytes(output), said, seconds, exceeded or (limits.exceeded(status, said) if status else "")
        )

    @contextmanager
    def _started(
        self, arguments: tuple[str, ...], stdin: bytes, environment: Mapping[str, str], limits: CommandLimits
    ) -> Iterator[Popen[bytes]]:
        with tempfile.TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            yield self._begun(arguments, environment, limits, source)

    def _begun(
        self, arguments: tuple[str, ...], environment: Mapping[str, str], limits: CommandLimits, stdin: IO[bytes] | int
    ) -> Popen[bytes]:
        if self._is_closed:
            raise MirrorClosed(f"git {arguments[0]} comes after the mirror was released")
        return _started(self._git, arguments, {**self._environment, **environment}, limits, stdin)

    @property
    def patience_seconds(self) -> float:
        """How long a local command may take."""
        return _PATIENCE * self._timeout

    @property
    def limits(self) -> CommandLimits:
        """The limits of a command that has none of its own."""
        return self._limits

    def start(self, *arguments: str) -> Popen[bytes]:
        """Start a local command that answers as long as it is asked; the caller ends it."""
        return self._begun(arguments, {}, self._limits, PIPE)

    @contextmanager
    def parts(
        self,
        *arguments: str,
        stdin: bytes = b"",
        longest: int = LONGEST_PART,
        environment: Mapping[str, str] | None = None,
        limits: CommandLimits | None = None,
        seconds: float | None = None,
    ) -> Iterator[Iterator[bytes]]:
        """Yield the output of a local command with ``-z``, part by part, for a caller that may stop reading early.

        No part is longer than ``longest`` bytes, and only what is read is kept in memory.
        """
        limits, patience = limits or self._limits, self.patience_seconds if seconds is None else seconds
        with (
            self._started(arguments, stdin, environment or {}, limits) as process,
            running(process, patience) as one,
        ):
            ended = False

            def chunks() -> Iterator[bytes]:
                nonlocal ended
                yield from one.chunks()
                ended = True

            yield parts_of(chunks(), longest)
            status = one.end() if ended else 0
        if status != 0:
            said = text(one.complaint)
            exceeded = limits.exceeded(status, said)
            raise GitFailed(arguments[0], Finished(status, b"", said, patience, exceeded))


def initialise(directory: Path, timeout_seconds: float, limits: CommandLimits) -> None:
    """Create an empty bare repository, without a template. Raises ``GitFailed``."""
    directory.mkdir(parents=True, exist_ok=True)
    environment = {**LOCKED_DOWN, "GIT_DIR": str(directory)}
    git = GitCommand(str(directory))
    process = _started(git, ("init", "--quiet", "--bare", "--template=", "."), environment, limits, None)
    with running(process, timeout_seconds) as one:
        for _ in one.chunks():
            pass
        status = one.end()
    if status != 0:
        raise GitFailed("init", Finished(status, b"", text(one.complaint)))


def _started(
    git: GitCommand,
    arguments: tuple[str, ...],
    ours: Mapping[str, str],
    limits: CommandLimits,
    stdin: IO[bytes] | int | None,
) -> Popen[bytes]:
    command = [*without_the_machine(ours, limits.script), "git", *arguments]
    started = git.execute(command, istream=cast(BinaryIO, stdin), env=dict(ours), as_process=True, **OWN_GROUP)
    # GitPython kills the process when its wrapper is collected: so only the process itself is returned.
    process, started.proc = started.proc, None
    assert process is not None
    return cast("Popen[bytes]", process)
