"""Runs functions that block, each in a thread of its own that nobody waits for at the end.

A library that hangs cannot be ended, only left. So an app or a group may have only a few such threads: it delays its
own next message, and nobody else's.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from gitops_bg.core.errors import Transient
from gitops_bg.core.model.version import Subject

MOST_OF_A_SUBJECT = 4
"""The most functions that run for an app or a group at once, those that nobody waits for any more included."""

Result = tuple[int, str]


class Senders:
    """The functions under way. Used in one event loop."""

    def __init__(self) -> None:
        self._running: Counter[Subject] = Counter()

    async def run(self, subject: Subject, send: Callable[[], Result]) -> Result:
        """Return what a function returns. Raises what it raises, and `Transient` where those before it hang."""
        if self._running[subject] >= MOST_OF_A_SUBJECT:
            raise Transient(f"{MOST_OF_A_SUBJECT} messages before it are still being sent")
        self._running[subject] += 1
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()

        def finish(result: Result | None, error: Exception | None) -> None:
            self._running[subject] -= 1
            if not self._running[subject]:
                del self._running[subject]
            if done.done():
                return  # The call was ended meanwhile.
            if error is not None:
                done.set_exception(error)
            elif result is not None:
                done.set_result(result)

        def work() -> None:
            result, failure = None, None
            try:
                result = send()
            except Exception as error:  # its caller says what becomes of it
                failure = error
            with suppress(RuntimeError):  # The loop has ended meanwhile.
                loop.call_soon_threadsafe(finish, result, failure)

        threading.Thread(target=work, name="sender", daemon=True).start()
        return await done
