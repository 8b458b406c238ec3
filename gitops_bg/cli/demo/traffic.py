"""Clients that use the app all the time: HTTP requests on new and kept connections; every answer is recorded.

It must excuse nothing: whatever is not an answer with status 200 counts as a failed request.
"""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import read_json

REQUESTS_PER_CONNECTION = (1, 1, 25, 25)
"""One client each. A connection belongs to one pod until it ends, as with kube-proxy; so clients end connections."""

_PAUSE = 0.02
_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One request. Times are of ``time.monotonic``; ``version`` is the tag of the image that answered."""

    opened: float
    """When the connection was opened: this decides which version it reaches."""
    at: float
    version: str
    failure: str = ""


class Visit:
    """One connection to a Service, for some requests."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        address = urlsplit(url)
        self._path, self._headers = address.path or "/", dict(headers or {})
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_TIMEOUT)
        self._opened = 0.0

    def ask(self) -> Answer:
        """Send one request; never raise for errors of the network or the server."""
        if not self.is_open:
            self._opened = time.monotonic()
        try:
            self._connection.request("GET", self._path, headers=self._headers)
            response = self._connection.getresponse()
            body = response.read()
            if response.status != http.HTTPStatus.OK:
                return Answer(self._opened, time.monotonic(), "", f"status {response.status}")
            version = str(read_json(body)["image"]).rpartition(":")[2]
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            self.close()
            return Answer(self._opened, time.monotonic(), "", f"{type(error).__name__}: {error}")
        return Answer(self._opened, time.monotonic(), version)

    @property
    def is_open(self) -> bool:
        """Whether the next request uses the connection of the last one."""
        return self._connection.sock is not None

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def answer_of(url: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Send one request on a connection of its own, as `curl` does."""
    visit = Visit(url, headers)
    try:
        return visit.ask()
    finally:
        visit.close()


class Traffic:
    """Clients that send requests from `start` to `stop`."""

    def __init__(self, url: str, requests_per_connection: Sequence[int] = REQUESTS_PER_CONNECTION) -> None:
        """One client for each of ``requests_per_connection``; if the server closes a connection early, a client opens a
        new one.
        """
        self._url = url
        self._answers: list[Answer] = []
        self._stopped = threading.Event()
        self._clients = [
            threading.Thread(target=self._visit, args=(requests,), name=f"client-{number}", daemon=True)
            for number, requests in enumerate(requests_per_connection)
        ]

    def start(self) -> None:
        """Start the clients."""
        for client in self._clients:
            client.start()

    def stop(self) -> None:
        """Stop every client after its present request."""
        self._stopped.set()
        for client in self._clients:
            if client.is_alive():
                client.join()

    def __len__(self) -> int:
        return len(self._answers)

    def since(self, mark: int) -> Sequence[Answer]:
        """Return the answers from number ``mark`` on, in the order of arrival."""
        return self._answers[mark:]

    def failures(self) -> Sequence[Answer]:
        """Return the requests without an answer."""
        return [answer for answer in self.since(0) if answer.failure]

    def shares(self, mark: int) -> Counter[str]:
        """Return how many requests each version answered, from number ``mark`` on; failed ones under their failure."""
        return Counter(answer.version or answer.failure for answer in self.since(mark))

    def lately(self, seconds: float = 1.0) -> Counter[str]:
        """Return the shares of the last seconds."""
        begin, mark = time.monotonic() - seconds, len(self._answers)
        while mark and self._answers[mark - 1].at > begin:
            mark -= 1
        return self.shares(mark)

    def forget(self, kept: int) -> None:
        """Forget all answers but the latest; marks taken before mean nothing afterwards."""
        del self._answers[:-kept]

    def _visit(self, requests: int) -> None:
        while not self._stopped.is_set():
            visit = Visit(self._url)
            try:
                self._ask(visit, requests)
            finally:
                visit.close()

    def _ask(self, visit: Visit, requests: int) -> None:
        for _ in range(requests):
            self._answers.append(visit.ask())
            if self._stopped.wait(_PAUSE) or not visit.is_open:
                return
