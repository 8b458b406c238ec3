"""The exchanges with the remote: what it says of its branches, what it hands out, and what is wrong where it does not.

What is fetched together fails together in git: by one object that the remote cannot read, or that unpacks to gigabytes.
So a set of things is fetched in one exchange, and where that fails, in parts, until it is known which of them it is.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace

from gitops_bg.core.dataclass import dataclass
from gitops_bg.repo.git.directory import MirrorDirectory
from gitops_bg.repo.git.errors import AuthenticationFailed, MirrorBroken, RemoteTimedOut, RemoteUnreachable, TooLarge
from gitops_bg.repo.git.runner import LARGEST_OUTPUT, MEBIBYTE, CommandLimits, Finished, Git
from gitops_bg.repo.git.transport import PARTIAL, GitTransport

_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--filter=blob:none")
# git has one exit status for all of these; the words only choose which of two errors of a *read* is shown.
_DENIED = re.compile(
    r"Authentication failed|could not read (Username|Password)|Permission denied|Host key verification failed"
    r"|The requested URL returned error: 40[13]"
)
_CERTIFICATE = re.compile(r"certificate", re.IGNORECASE)
_OTHER_AUTHORITY = "name the file of the authority that signed it by --git-ca-file, or have it renewed for this host"
_PARTS = 8
"""Into how many parts is divided what cannot be fetched together."""
_MOST_FAILURES = 12
"""How many exchanges of a set may fail, each within its limits; the rest waits for the next look."""
_REMEMBERED = 10_000
Share = tuple[int, int]
_TOGETHER, _ALONE = (3, 64 * MEBIBYTE), (1, 16 * MEBIBYTE)
"""Seconds of CPU time and bytes of a pack: for many things in one exchange, and for a single one. What is within its
own share takes some milliseconds and kilobytes.
"""


@dataclass(slots=True)
class Apart:
    """What could not be fetched of a set."""

    failed: dict[str, Finished] = field(default_factory=dict)
    """What failed alone, and how."""
    left: tuple[str, ...] = ()
    """What was not tried any more: there were too many failures before, or one took too long."""
    timed_out: Finished | None = None


class Remote:
    """The remote of one mirror. Not thread-safe."""

    def __init__(self, git: Git, directory: MirrorDirectory, transport: GitTransport) -> None:
        self._git = git
        self._directory = directory
        self._transport = transport
        self._not_handed_out: set[str] = set()
        """What could not be fetched although the mirror was sound and the remote answered."""

    def ask(self, *arguments: str, largest: int = LARGEST_OUTPUT) -> Finished:
        """Ask for branches. Raises the remote's errors, but for an answer that is larger than ``largest``."""
        finished = self._git.ask(*arguments, largest=largest)
        if finished.status != 0 and len(finished.output) <= largest:
            raise self.error(arguments[0], finished)
        return finished

    def fetch(
        self, wanted: str, *options: str, limits: CommandLimits | None = None, seconds: float | None = None
    ) -> Finished:
        """Fetch refspecs or objects, one a line. What was written of a pack that did not arrive is removed."""
        command = (*PARTIAL, *options, *_FETCH, "origin", "--stdin")
        finished = self._git.attempt(*command, stdin=wanted.encode(), limits=limits, seconds=seconds)
        if finished.status != 0:
            self._directory.drop_partial_packs()
        return finished

    def demand(self, finished: Finished) -> None:
        """Raise the error of a fetch that failed."""
        if finished.status == 0:
            return
        if not (finished.timed_out or finished.exceeded) and not self._sound():
            raise self._directory.trouble() or MirrorBroken(f"the mirror is damaged: {finished.summary}")
        raise self.error("fetch", finished)

    def fetch_apart(
        self,
        wanted: Iterable[str],
        lines_of: Callable[[str], str],
        *options: str,
        seconds: float | None = None,
        share: Share | None = None,
    ) -> Apart:
        """Fetch a set within limits, and find out what of it cannot be had. ``lines_of`` says what to fetch for each;
        each exchange has a ``share`` of CPU time and memory, by default that of small things.

        Raises where the reason is another one than what was asked for: the remote does not answer, the mirror is
        damaged.
        """
        found, failures = Apart(), 0
        parts = deque([first] if (first := list(wanted)) else [])  # asked for nothing, git fetches all that it knows
        while parts and failures < _MOST_FAILURES and found.timed_out is None:
            part = parts.popleft()
            asked = "".join(map(lines_of, part))
            finished = self.fetch(asked, *options, limits=self._limits(len(part), share), seconds=seconds)
            if finished.status == 0:
                continue
            failures += 1
            if finished.timed_out:
                found.timed_out = finished
                parts.appendleft(part)
                continue
            if not finished.exceeded:
                self._demand_well(set(map(lines_of, part)), finished)
            if len(part) == 1:
                found.failed[part[0]] = finished
            else:
                parts.extendleft(reversed(_divided(part)))
        found.left = tuple(one for part in parts for one in part)
        return found

    def _limits(self, count: int, share: Share | None) -> CommandLimits:
        seconds, size = share or (_TOGETHER if count > 1 else _ALONE)
        return replace(self._git.limits, cpu_seconds=seconds, file=size)

    def _demand_well(self, asked: set[str], finished: Finished) -> None:
        """Raise unless the mirror is sound and the remote answers: then it is about what was asked for.

        What is a part of something of which that was found out before is not examined again.
        """
        if asked <= self._not_handed_out:
            return
        if not self._sound():
            raise self._directory.trouble() or MirrorBroken(f"the mirror is damaged: {finished.summary}")
        if (trouble := self._directory.trouble()) is not None:
            raise trouble
        if self._git.ask("ls-remote", "origin", "HEAD").status != 0:
            raise self.error("fetch", finished)
        self._not_handed_out = asked if len(self._not_handed_out) > _REMEMBERED else self._not_handed_out | asked

    def _sound(self) -> bool:
        """Return whether git finds nothing wrong with the mirror; one too large to be looked at is not known to be
        wrong.
        """
        finished = self._git.attempt(*PARTIAL, "fsck", "--connectivity-only", "--no-dangling")
        return finished.status == 0 or bool(finished.exceeded)

    def error(self, command: str, finished: Finished) -> Exception:
        """Return the error for a failed exchange, with the command or the option that mends it."""
        said, look = finished.summary, f"is it there? git ls-remote {self._transport.url}"
        if finished.timed_out:
            return RemoteTimedOut(f"git {command}: no answer within {finished.deadline_seconds:g} s ({look})")
        if finished.exceeded:
            remedy = "take what is so large out of it, or give the agent more memory"
            return TooLarge(f"git {command}: the repository needs {finished.exceeded} ({remedy})")
        if _DENIED.search(finished.complaint):
            return AuthenticationFailed(f"git {command}: {said} ({self._transport.credentials})")
        if _CERTIFICATE.search(finished.complaint):
            return RemoteUnreachable(f"git {command}: {said} ({_OTHER_AUTHORITY})")
        if self._git.attempt("for-each-ref", "--count=1").status != 0:
            return self._directory.trouble() or MirrorBroken(f"the mirror is damaged: {said}")
        return self._directory.trouble() or RemoteUnreachable(f"git {command}: {said} ({look})")


def _divided(part: Sequence[str]) -> list[list[str]]:
    size = -(-len(part) // _PARTS)
    return [list(part[start : start + size]) for start in range(0, len(part), size)]
