"""Who asked for a look at main (`reconcile`, `status`), and what the first look that began afterwards has read.

A request is the text of an annotation: when it was made, and, where it is about one, the commit that main should have.
Anybody may write anything there.
"""

import threading
from collections.abc import Callable

from gitops_bg.core.model.decision import HandledPoll
from gitops_bg.core.model.journal import PollCount
from gitops_bg.core.model.version import AppKey

LONGEST = 200
"""The most characters of a request that is answered: the answer repeats it, and an annotation may be enormous."""


class RequestedPolls:
    """The last request for each app, by the look that had begun when it was noticed. Thread-safe."""

    def __init__(self, looks: Callable[[], PollCount], contains: Callable[[str, str], bool]) -> None:
        self._looks = looks
        self._contains = contains
        self._lock = threading.Lock()
        self._asked: dict[AppKey, tuple[str, int]] = {}

    def add(self, app: AppKey, request: str) -> bool:
        """Note a request, if it is one; return whether it is new."""
        with self._lock:
            if not request or self._asked.get(app, ("", 0))[0] == request:
                return False
            self._asked[app] = (request, self._looks().begun)
            return True

    def waits(self, app: AppKey, looks: PollCount) -> bool:
        """Whether a request for an app waits for a look that begins after it."""
        with self._lock:
            request, begun = self._asked.get(app, ("", 0))
        return bool(request) and looks.seen <= begun

    def handled(self, app: AppKey, commit: str, looks: PollCount) -> HandledPoll | None:
        """The answer to the request for an app, decided from the main at ``commit`` that ``looks`` has read; None where
        there is no request, or no look yet that began after it.
        """
        with self._lock:
            request, begun = self._asked.get(app, ("", 0))
        if not request or not commit or looks.seen <= begun or len(request) > LONGEST:
            return None
        wanted = commit_in(request)
        return HandledPoll(request, commit, self._contains(wanted, commit) if wanted else None)


def commit_in(request: str) -> str:
    """Return the commit that a request is about; empty where it names none.

    >>> commit_in("2026-03-01T12:00:00+00:00 0123"), commit_in("2026-03-01T12:00:00+00:00")
    ('0123', '')
    """
    return "".join(request.split(" ")[1:2])
