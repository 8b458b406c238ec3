"""Stands between the agent and a forge in a test: counts the requests, and answers otherwise when told to."""

from __future__ import annotations

import http.client
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.support.servers.backend import Asked, Reply

Forge = Callable[[Asked], Reply]
WRITES = ("POST", "PUT", "PATCH", "DELETE")
_NOT_PASSED_ON = {"connection", "transfer-encoding", "content-length", "date", "server", "keep-alive"}


@dataclass
class _Fault:
    method: str
    path: re.Pattern[str]
    reply: Reply
    times: int
    through: bool


class Gate:
    """Set as the answer of a `Backend`."""

    def __init__(self, forge: Forge) -> None:
        self._forge = forge
        self._faults: list[_Fault] = []
        self.asked: list[Asked] = []
        self.replies: list[Reply] = []

    def instead(
        self, method: str, path: str, data: Any = b"", status: int = 200, times: int = 1, **headers: str
    ) -> None:
        """Answer such requests so; the forge never sees them. ``path`` is a pattern that is searched for."""
        self._add(method, path, data, status, times, headers, through=False)

    def after(self, method: str, path: str, data: Any = b"", status: int = 200, times: int = 1, **headers: str) -> None:
        """The forge does what it is asked, and then the answer is lost: this one comes."""
        self._add(method, path, data, status, times, headers, through=True)

    def writes(self) -> list[str]:
        """What was asked to be changed, in its order."""
        return [f"{asked.method} {asked.path}" for asked in self.asked if asked.method in WRITES]

    def __call__(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        reply = self._answer(asked)
        self.replies.append(reply)
        return reply

    def _answer(self, asked: Asked) -> Reply:
        for fault in self._faults:
            if fault.times and asked.method == fault.method and fault.path.search(asked.path):
                fault.times -= 1
                if fault.through:
                    self._forge(asked)
                return fault.reply
        return self._forge(asked)

    def _add(
        self, method: str, path: str, data: Any, status: int, times: int, headers: dict[str, str], *, through: bool
    ) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._faults.append(_Fault(method, re.compile(path), Reply(data, status, named), times, through))


def forwarded_to(url: str) -> Forge:
    """A forge that is a real server elsewhere."""
    host = urlsplit(url).netloc

    def answer(asked: Asked) -> Reply:
        connection = http.client.HTTPConnection(host, timeout=60)
        try:
            headers = {name: value for name, value in asked.headers.items() if name not in ("host", "connection")}
            connection.request(asked.method, asked.target, asked.body, headers)
            reply = connection.getresponse()
            kept = {name: value for name, value in reply.getheaders() if name.lower() not in _NOT_PASSED_ON}
            return Reply(reply.read(), reply.status, kept)
        finally:
            connection.close()

    return answer
