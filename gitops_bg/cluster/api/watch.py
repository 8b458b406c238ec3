"""One endless watch: list, follow, resume, list again. Stores nothing and interprets no object.

The client library's own Watch and SharedInformer lose versions and hammer a failing server (pitfalls.md §1.3); this
follows kopf's ``continuous_watch`` and client-go's reflector.
"""

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from gitops_bg.cluster.api.client import BOOKMARK, DELETED, ERROR, Client, items_of, read_event, version_of
from gitops_bg.cluster.api.connection import Stream
from gitops_bg.cluster.api.errors import Forbidden, Gone, Silent
from gitops_bg.cluster.api.kinds import Kind, Object
from gitops_bg.core.backoff import delay
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InternalError, Refused, Transient

_LOG = logging.getLogger(__name__)
_PATIENCE = 2.0  # seconds for a watch to end
_STOPPING = 0.05  # seconds between two checks whether a stopped watch has ended


class WentBack(Exception):
    """The resource versions of the cluster are lower than those seen before."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The timing of a watch, in seconds. Tests pass ``random`` and ``clock``.

    The server ends each watch after ``shortest`` to ``longest``, and sends a bookmark each minute (not every server
    does): after ``silence``, the connection may be dead, and another one is opened. The kernel notices a dead peer
    earlier (`transport`).
    """

    shortest: int = 240
    longest: int = 300
    silence: float = 90.0
    first_pause: float = 0.5
    longest_pause: float = 30.0
    longest_refusal: float = 300.0
    """The longest pause where the right is missing, and the agent can do without."""
    page: int = 100
    """Objects in one answer to a list: decoded, each is many times as large as what a cache keeps of it."""
    random: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic

    def seconds(self) -> int:
        """Return how long to ask the server to keep the next watch open."""
        return self.shortest + int(self.random() * (self.longest - self.shortest))

    def after_refusal(self) -> "Pace":
        """Return the pace for a list that is retried only in case somebody grants the right."""
        return replace(self, longest_pause=self.longest_refusal)

    def pause(self, failures: int, error: GitopsBgError) -> float:
        """Return how long to wait after so many failures in a row: exponential, with jitter, never less than the server
        asks for.
        """
        asked = error.retry_after if isinstance(error, Transient) and error.retry_after else 0.0
        return max(asked, delay(failures, self.first_pause, self.longest_pause, self.random()))


class Sink(Protocol):
    """The receiver of a watch. All calls come from the thread of the watch."""

    def begin(self) -> None:
        """Begin a list: every existing object is put now."""

    def put(self, body: Object) -> None:
        """Take an object in its present state."""

    def end(self) -> None:
        """End the list: objects not put since `begin` are deleted."""

    def remove(self, body: Object) -> None:
        """Remove an object that was deleted, or lost the labels; ``body`` is its last state."""

    def trouble(self, error: GitopsBgError | None) -> None:
        """Note why the watch receives nothing at present; None: it works again."""

    def went_back(self) -> None:
        """Note that the cluster was restored to an earlier state: everything seen and written since may be undone."""


class Watch:
    """Follows one kind in one namespace (empty: all) on a thread of its own, into ``sink``.

    ``kind`` is called when needed, because the served version of a kind is itself a question to the server.
    """

    def __init__(
        self,
        client: Client,
        kind: Callable[[], Kind],
        namespace: str,
        labels: str,
        sink: Sink,
        pace: Pace | None = None,
        *,
        can_do_without: bool = False,
    ) -> None:
        self._can_do_without = can_do_without
        self._client = client
        self._kind = kind
        self.namespace = namespace
        self._labels = labels
        self._sink = sink
        self._pace = pace or Pace()
        self._version = ""
        self._heard_at = self._pace.clock()
        self._failures = 0
        self._stopping = threading.Event()
        self._stream: Stream | None = None
        self._thread = threading.Thread(target=self._run, name=f"watch-{namespace or 'all'}", daemon=True)

    def start(self) -> None:
        """Start the thread; returns at once."""
        self._thread.start()

    def begin_stop(self) -> None:
        """Ask the thread to end; returns at once."""
        self._stopping.set()

    def stop(self, patience: float = _PATIENCE) -> None:
        """End the watch: close the connection under the reader, and wait for the thread, at most ``patience`` seconds.

        A list that the server never answers cannot be interrupted; its thread ends with the call, or the process.
        """
        self.begin_stop()
        deadline = time.monotonic() + patience
        while self._thread.is_alive() and time.monotonic() < deadline:
            stream = self._stream
            if stream is not None:
                stream.stop()
            self._thread.join(_STOPPING)

    @property
    def alive(self) -> bool:
        """Whether the thread runs; it ends before `stop` only where memory is exhausted."""
        return self._thread.is_alive()

    @property
    def can_do_without(self) -> bool:
        """Whether the agent works without what this one follows."""
        return self._can_do_without

    @property
    def silent_seconds(self) -> float:
        """The seconds since the server last showed what is, or that nothing has changed."""
        return self._pace.clock() - self._heard_at

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._round()
            except WentBack as error:
                _LOG.warning("%s: %s", self._thread.name, error)
                self._version = ""
                self._sink.went_back()
            except Silent as error:
                _LOG.debug("%s: %s", self._thread.name, error)  # What is asked next tells whether the server answers.
            except Gone as error:
                self._version = ""
                self._failed(error, at_once=self._failures == 0)
            except GitopsBgError as error:
                self._failed(error)
            except MemoryError:
                raise
            except Exception as error:
                # A connection closed under the reader fails in odd ways; any other error is a bug, and the watch lists
                # anew.
                if not self._stopping.is_set():
                    _LOG.exception("the watch of %s met a bug; it lists anew", self.namespace or "all namespaces")
                self._version = ""
                self._failed(InternalError(f"watch: a bug of the agent: {type(error).__name__}: {error}"))

    def _round(self) -> None:
        """List if needed, then follow until the server ends the watch."""
        kind = self._kind()
        if self._version:
            self._demand_no_less(self._newest(kind))
        else:
            self._version = self._list(kind)
        self._heard_at = started = self._pace.clock()
        heard = self._follow(kind)
        if not heard and self._pace.clock() - started < 1 and not self._stopping.is_set():
            raise Transient("the server ended the watch at once")
        self._failures = 0

    def _list(self, kind: Kind) -> str:
        """Put every existing object; return the version from which to follow."""
        version = ""
        self._sink.begin()
        for page in self._client.pages(kind, self.namespace, self._labels, self._pace.page):
            version = version or version_of(page)
            self._put(page)
            del page  # before the next one is read: each is many times as large as what the sink keeps of it
            if self._stopping.is_set():
                return version
        self._sink.end()
        return version

    def _put(self, page: Object) -> None:
        for body in items_of(page):
            self._sink.put(body)

    def _newest(self, kind: Kind) -> str:
        """Return the present version of the cluster, from a list of one object."""
        page = next(iter(self._client.pages(kind, self.namespace, self._labels, 1)))
        return version_of(page)

    def _demand_no_less(self, version: str) -> None:
        """Raise ``WentBack`` for a version below one seen before: etcd was restored.

        A watch from a future version stays silent until that version is reached, and never reports what was undone.
        """
        if version.isdecimal() and self._version.isdecimal() and int(version) < int(self._version):
            seen = f"its resourceVersion is {version}, and {self._version} was seen"
            raise WentBack(f"the cluster went back, as after a restored backup: {seen}; everything is listed anew")

    def _follow(self, kind: Kind) -> bool:
        """Process events until the server ends the watch; return whether there was any."""
        pace, heard = self._pace, False
        stream = self._client.watch(kind, self.namespace, self._labels, self._version, pace.seconds(), pace.silence)
        self._stream = stream
        try:
            self._sink.trouble(None)
            for line in stream:
                if self._stopping.is_set():
                    break
                self._on_line(line)
                self._failures, heard = 0, True
        finally:
            self._stream = None
            stream.close()
        return heard

    def _on_line(self, line: bytes) -> None:
        kind, body = read_event(line)
        if kind == ERROR:
            raise _error(body)
        version = version_of(body)
        self._demand_no_less(version)
        if kind == DELETED:
            self._sink.remove(body)
        elif kind != BOOKMARK:
            self._sink.put(body)
        self._version = version
        self._heard_at = self._pace.clock()

    def _failed(self, error: GitopsBgError, at_once: bool = False) -> None:
        if self._stopping.is_set():
            return
        self._failures += 1
        if at_once:
            return
        self._sink.trouble(error)
        if isinstance(error, Forbidden):
            self._version = ""  # Once the right is back, a list says what is there now.
        spare = self._can_do_without and isinstance(error, Forbidden)
        pace = self._pace.after_refusal() if spare else self._pace
        self._stopping.wait(pace.pause(self._failures, error))


def _error(status: Object) -> GitopsBgError:
    """Return the error for an ERROR event: a Status object (usually a 410)."""
    code = status.get("code")
    sentence = f"watch: {code} {status.get('reason', '')}: {status.get('message', '')}"
    if code == 410:
        return Gone(sentence)
    return Refused(sentence) if isinstance(code, int) and code < 429 else Transient(sentence)
