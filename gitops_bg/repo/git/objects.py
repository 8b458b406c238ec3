"""Objects of the mirror by name, from one `git cat-file --batch-command` that lives as long as the mirror is open.

A poll asks dozens of times, and a process for each would cost more than the answer. Not thread-safe, as `Git` is not.
https://git-scm.com/docs/git-cat-file
"""

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from subprocess import Popen
from typing import IO, Self

from gitops_bg.repo.git.output import text
from gitops_bg.repo.git.runner import Finished, Git, GitFailed

_AT_ONCE, _BYTES_AT_ONCE = 256, 32 * 1024
"""So many questions, and bytes of them, fit into a pipe: all are asked before anybody reads an answer."""
_NOBODY = "0" * 40
"""An id that no object has."""
_HEADER_OF, _CONTENT_OF = "info", "contents"
_SMALL = ("-c", "core.deltaBaseCacheLimit=4m")
"""The memory limit of the long-lived process; git's own limit is meant for a short one."""
_HEADER = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) (blob|tree|commit|tag) (\d{1,18})")


@dataclass(frozen=True, slots=True)
class Header:
    """The header of an object: its id, its kind, and its size in bytes."""

    id: str
    kind: str
    size: int

    @classmethod
    def of(cls, line: bytes) -> Self | None:
        """Parse a header; None for every other answer, which no content follows: missing, ambiguous, submodule."""
        found = _HEADER.fullmatch(line)
        return cls(text(found[1]), text(found[2]), int(found[3])) if found else None


class Objects:
    """The objects of one mirror. ``close`` ends the process; the next question starts another.

    Any error in an answer ends it as well, because the rest of the stream is unknown.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self._process: Popen[bytes] | None = None

    def close(self) -> None:
        """End the process, if it runs."""
        if self._process is not None:
            self._ended()

    def headers(self, names: Iterable[str]) -> list[Header | None]:
        """The header of each object, in order; None where there is no such object. Raises ``GitFailed``."""
        found: list[Header | None] = []
        for asked in _portions(_HEADER_OF, names):
            with self._answering(asked) as answer:
                found += [Header.of(_line(answer)) for _ in asked]
        return found

    def contents(self, names: Iterable[str]) -> Iterator[tuple[Header | None, bytes]]:
        """Header and content of each object, whatever its size. Raises ``GitFailed``."""
        for asked in _portions(_CONTENT_OF, names):
            with self._answering(asked) as answer:
                found = [_object(answer) for _ in asked]
            yield from found

    @contextmanager
    def _answering(self, questions: list[bytes]) -> Iterator[IO[bytes]]:
        """Ask these lines, for a caller that reads the answers to their end. Raises ``GitFailed``."""
        process = self._process = self._running() or self._git.start(*_SMALL, "cat-file", "--batch-command")
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = threading.Timer(self._git.patience_seconds, process.kill)
        deadline.start()
        try:
            process.stdin.write(b"".join(questions))
            process.stdin.flush()
            yield process.stdout
        except (OSError, EOFError, ValueError) as error:
            finished = self._ended()
            raise GitFailed("cat-file", finished) from error
        except BaseException:
            self._ended()
            raise
        finally:
            deadline.cancel()

    def _running(self) -> Popen[bytes] | None:
        """The process if it runs; None where it has ended on its own, which says nothing about the mirror."""
        if self._process is not None and self._process.poll() is not None:
            self._ended()
        return self._process

    def _ended(self) -> Finished:
        process, self._process = self._process, None
        assert process is not None
        assert process.stderr is not None
        process.kill()
        complaint = process.stderr.read()
        status = process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            with _closing_quietly():
                if stream is not None:
                    stream.close()
        said = text(complaint)
        exceeded = self._git.limits.exceeded(status, said)
        return Finished(status, b"", said, self._git.patience_seconds, exceeded)


@contextmanager
def _closing_quietly() -> Iterator[None]:
    """Ignore an error on close: unwritten input is no longer needed."""
    try:
        yield
    except OSError:
        return


def _portions(command: str, names: Iterable[str]) -> Iterator[list[bytes]]:
    """The questions, a line each, as many at once as fit into a pipe."""
    portion, size = list[bytes](), 0
    for name in names:
        is_line = name and "\n" not in name  # to anything else git would answer twice, or end
        question = f"{command} {name if is_line else _NOBODY}\n".encode()
        if portion and (len(portion) == _AT_ONCE or size + len(question) > _BYTES_AT_ONCE):
            yield portion
            portion, size = [], 0
        portion.append(question)
        size += len(question)
    if portion:
        yield portion


def _line(answer: IO[bytes]) -> bytes:
    line = answer.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return line[:-1]


def _object(answer: IO[bytes]) -> tuple[Header | None, bytes]:
    header = Header.of(_line(answer))
    if header is None:
        return None, b""
    content = answer.read(header.size + 1)
    if len(content) != header.size + 1:
        raise EOFError
    return header, content[:-1]
