"""Runs git in the mirror through GitPython: static argument lists, a locked-down environment, a deadline.

Nothing of the machine's git configuration applies, no prompt ever waits, and data goes through stdin, never through
options (pitfalls.md §2.1). Not thread-safe: the façade holds one lock.
"""

import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from subprocess import PIPE, Popen
from typing import BinaryIO, cast

from gitops_bg.repo.git.environment import LOCKED_DOWN, no_git_variables, without_the_machine
from gitops_bg.repo.git.output import parts_of, text
from gitops_bg.repo.git.transport import Transport

with no_git_variables():
    from git.cmd import Git as GitCommand

_LONGEST_SUMMARY = 600
_CHUNK = 65536
LONGEST_PART = 1024 * 1024
"""Bytes of one path, or of the modes and ids of one merge."""
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

    @property
    def summary(self) -> str:
        """Git's words, on one line of bounded length."""
        said = " ".join(self.complaint.split()) or f"exit {self.status}"
        return said if len(said) <= _LONGEST_SUMMARY else said[:_LONGEST_SUMMARY] + " …"

    @property
    def timed_out(self) -> bool:
        """Whether the command was killed at the deadline."""
        return self.status == -signal.SIGKILL


class GitFailed(Exception):
    """A local git command ended with an error; translated at the border of this package."""

    def __init__(self, command: str, finished: Finished) -> None:
        super().__init__(f"git {command}: exit {finished.status}: {finished.summary}")
        self.finished = finished


class Git:
    """Git in one bare repository, without state between two commands.

    Not GitPython's ``Repo``, which reads ``GIT_OBJECT_DIRECTORY`` and others from the process's environment.
    """

    def __init__(self, directory: Path, transport: Transport, timeout_seconds: float) -> None:
        self._transport = transport
        self._timeout = timeout_seconds
        self._environment = {**LOCKED_DOWN, "GIT_DIR": str(directory), **transport.environment}
        self._git = GitCommand(str(directory))

    def run(self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
        """Run a command and return its output. Raises ``GitFailed``."""
        finished = self.attempt(*arguments, stdin=stdin, environment=environment)
        if finished.status != 0:
            raise GitFailed(arguments[0], finished)
        return finished.output

    def ask(self, *arguments: str) -> Finished:
        """Run a command that only queries the remote, with the short deadline."""
        return self._execute(arguments, b"", {}, self._timeout)

    def attempt(self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> Finished:
        """Run a command to its end, failed or not."""
        return self._execute(arguments, stdin, environment or {}, self.patience_seconds)

    def _execute(
        self, arguments: tuple[str, ...], stdin: bytes, environment: Mapping[str, str], seconds: float
    ) -> Finished:
        ours = {**self._environment, **environment}
        with tempfile.TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            status, output, complaint = self._git.execute(
                _command(arguments, ours),
                istream=cast(BinaryIO, source),
                env=ours,
                with_extended_output=True,
                with_exceptions=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
                kill_after_timeout=seconds,
            )
        said = complaint if isinstance(complaint, str) else text(bytes(complaint or b""))
        return Finished(int(status), output or b"", self._transport.mask(said), seconds)

    @property
    def patience_seconds(self) -> float:
        """How long a local command may take."""
        return _PATIENCE * self._timeout

    def start(self, *arguments: str) -> Popen[bytes]:
        """Start a local command that answers as long as it is asked; the caller ends it."""
        command = _command(arguments, self._environment)
        # GitPython kills the process when its wrapper is collected: so only the process itself is returned.
        running = self._git.execute(command, istream=PIPE, env=self._environment, as_process=True)
        process, running.proc = running.proc, None
        assert process is not None
        return cast("Popen[bytes]", process)

    @contextmanager
    def parts(self, *arguments: str, stdin: bytes = b"", longest: int = LONGEST_PART) -> Iterator[Iterator[bytes]]:
        """The output of a local command with ``-z``, part by part, for a caller that may stop reading early.

        No part is longer than ``longest`` bytes, and only what is read is kept in memory.
        """
        with tempfile.TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            running = self._git.execute(
                _command(arguments, self._environment),
                istream=cast(BinaryIO, source),
                env=self._environment,
                as_process=True,
            )
        process = running.proc
        assert process is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            yield parts_of(iter(partial(cast(BufferedReader, process.stdout).read1, _CHUNK), b""), longest)
        finally:
            process.stdout.close()
            complaint = process.stderr.read()
            process.stderr.close()
            status = process.wait()
        if status not in (0, -signal.SIGPIPE):
            raise GitFailed(arguments[0], Finished(status, b"", text(complaint)))


def initialise(directory: Path, timeout_seconds: float) -> None:
    """Create an empty bare repository, without a template. Raises ``GitFailed``."""
    directory.mkdir(parents=True, exist_ok=True)
    environment = {**LOCKED_DOWN, "GIT_DIR": str(directory)}
    status, _, complaint = GitCommand(str(directory)).execute(
        _command(("init", "--quiet", "--bare", "--template=", "."), environment),
        env=environment,
        with_extended_output=True,
        with_exceptions=False,
        kill_after_timeout=timeout_seconds,
    )
    if status != 0:
        raise GitFailed("init", Finished(int(status), b"", str(complaint)))


def _command(arguments: tuple[str, ...], ours: Mapping[str, str]) -> list[str]:
    return [*without_the_machine(ours), "git", *arguments]
