"""Reduces webhook calls: repeated deliveries are recognised, and what a storm of calls asks for is done now and then.

Not thread-safe: both classes belong to the event loop of the web server.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable

Later = Callable[[float, Callable[[], None]], object]
"""Calls a function after some seconds, as ``asyncio``'s ``call_later``."""


class Deliveries:
    """The ids of the last ``size`` deliveries. Only genuine ones may be added, or anybody could block others."""

    def __init__(self, size: int = 1024) -> None:
        self._size = size
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def is_new(self, sender: str, delivery: str) -> bool:
        """Note a delivery; return whether it is new. One without an id is always new."""
        if not delivery:
            return True
        key = hashlib.sha256(f"{sender}\n{delivery}".encode()).digest()
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > self._size:
            self._seen.popitem(last=False)
        return True


class Coalescer:
    """Acts at once, then at most once per ``quiet_seconds``: a call in the quiet time acts at its end, none is lost.

    So a push during a look of the agent is looked at as well. ``act`` gets the latest reason.
    """

    def __init__(self, act: Callable[[str], None], later: Later, quiet_seconds: float) -> None:
        self._act = act
        self._later = later
        self._seconds = quiet_seconds
        self._quiet = False
        self._waiting = ""

    def call(self, reason: str) -> None:
        """Act now, or at the end of the quiet time."""
        if self._quiet:
            self._waiting = reason
            return
        self._quiet = True
        self._later(self._seconds, self._quiet_is_over)
        self._act(reason)

    def _quiet_is_over(self) -> None:
        self._quiet = False
        if self._waiting:
            reason, self._waiting = self._waiting, ""
            self.call(reason)
