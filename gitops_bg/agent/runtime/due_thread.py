"""A background thread that works on keys, one at a time, each once it is due."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable
from datetime import datetime
from typing import Generic, TypeVar

from gitops_bg.agent.runtime.background_thread import BackgroundThread

K = TypeVar("K", bound=Hashable)


class DueThread(BackgroundThread, Generic[K]):
    """``clock`` gives UTC. A key that becomes due while it is worked on is worked on again."""

    def __init__(self, name: str, crashed: Callable[[BaseException], None], clock: Callable[[], datetime]) -> None:
        super().__init__(name, crashed)
        self._clock = clock
        self._due: dict[K, datetime] = {}
        self._busy = False

    @property
    def idle(self) -> bool:
        """Whether nothing is under way or due."""
        with self._changed:
            now = self._clock()
            return not self._busy and not any(moment <= now for moment in self._due.values())

    @abstractmethod
    def _work(self, key: K) -> None:
        """Work on a key that is due."""

    def _work_at(self, keys: Iterable[K], moment: datetime) -> None:
        """Work on these keys at a moment; where one is due before that, then."""
        with self._changed:
            for key in keys:
                self._due[key] = min(moment, self._due.get(key, moment))
            self._changed.notify_all()

    def _run(self) -> None:
        while (key := self._next()) is not None:
            self._work(key)

    def _next(self) -> K | None:
        """Wait for a key that is due; None once the thread shall end."""
        with self._changed:
            self._busy = False
            while not self._stopping:
                key = min(self._due, key=lambda each: self._due[each], default=None)
                if key is not None and self._due[key] <= self._clock():
                    del self._due[key]
                    self._busy = True
                    return key
                left = (self._due[key] - self._clock()).total_seconds() if key is not None else None
                self._changed.wait(left)
            return None
