"""Objects of the mirror by name, from one `git cat-file --batch-command` that lives as long as the mirror is open; and
commits read from it, and short paths between two of them, without a process of their own.
"""

import re
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from subprocess import Popen
from typing import IO, Self

from cachetools import LRUCache

from gitops_bg.core.dataclass import dataclass
from gitops_bg.repo.git.output import Commit, commit_in, text
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
class ObjectHeader:
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

    def headers(self, names: Iterable[str]) -> list[ObjectHeader | None]:
        """Return the header of each object, in order; None where there is no such object. Raises ``GitFailed``."""
        found: list[ObjectHeader | None] = []
        for asked in _portions(_HEADER_OF, names):
            with self._answering(asked) as answer:
                found += [ObjectHeader.of(_line(answer)) for _ in asked]
        return found

    def contents(self, names: Iterable[str]) -> Iterator[tuple[ObjectHeader | None, bytes]]:
        """Yield header and content of each object, whatever its size. Raises ``GitFailed``."""
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
        """Return the process if it runs; None where it has ended on its own, which says nothing about the mirror."""
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
    """Yield the questions, a line each, as many at once as fit into a pipe."""
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


def _object(answer: IO[bytes]) -> tuple[ObjectHeader | None, bytes]:
    header = ObjectHeader.of(_line(answer))
    if header is None:
        return None, b""
    content = answer.read(header.size + 1)
    if len(content) != header.size + 1:
        raise EOFError
    return header, content[:-1]


_SMALL_BYTES = 16 * 1024
"""The largest commit read here; a larger one is read by a short-lived git, which keeps nothing of it."""
_REMEMBERED_BYTES = 2 * 1024 * 1024
_NEAR = 16
"""How many commits are examined on the path from one to another."""


class CommitObjects:
    """The commits of one mirror. Every method raises ``GitFailed`` where git cannot be asked."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: LRUCache[str, tuple[Commit, int]] = LRUCache(_REMEMBERED_BYTES, getsizeof=lambda one: one[1])

    def read(self, ids: Iterable[str]) -> dict[str, Commit]:
        """Return the commits of these ids that the mirror has, small and in the usual form."""
        wanted = dict.fromkeys(ids)
        found = {one: self._known[one][0] for one in wanted if one in self._known}
        unknown = [one for one in wanted if one not in found]
        headers = zip(unknown, self._objects.headers(unknown), strict=True) if unknown else ()
        small = [one for one, header in headers if header and header.kind == "commit" and header.size <= _SMALL_BYTES]
        for one, (_, content) in zip(small, self._objects.contents(small), strict=True):
            commit = commit_in(content)
            if commit is not None:
                found[one] = commit
                self._known[one] = commit, len(content)
        return found

    def between(
        self, before: str, head: str, is_contained: Callable[[str], bool] = lambda _: False
    ) -> Mapping[str, tuple[str, ...]] | None:
        """Return the commits that ``head`` contains and ``before`` does not, with their parents; None where they are
        not near.

        It is exact: there is an answer only where every line of parents from ``head`` ends at ``before``, or at one
        that ``is_contained`` in it: a branch may begin long before the head that it joins. That must be true of an
        ancestor of ``before`` and all that ``before`` contains beyond it, and of no other commit.
        """
        family: dict[str, tuple[str, ...]] = {}
        tips = [head]
        while tips := [
            tip for tip in dict.fromkeys(tips) if tip != before and tip not in family and not is_contained(tip)
        ]:
            read = self.read(tips) if len(family) + len(tips) <= _NEAR else {}
            if not all(tip in read and read[tip].parents for tip in tips):
                return None
            family |= {tip: read[tip].parents for tip in tips}
            tips = [parent for tip in tips for parent in family[tip]]
        return family

    def first_parents(self, head: str, known: Container[str]) -> list[tuple[str, Commit]] | None:
        """Return ``head`` and its first parents, newest first, down to the first that is ``known``; None where that
        is far.
        """
        line: list[tuple[str, Commit]] = []
        at = head
        while at not in known:
            commit = self.read([at]).get(at)
            if commit is None or not commit.parents or len(line) == _NEAR:
                return None
            line.append((at, commit))
            at = commit.parents[0]
        return line
