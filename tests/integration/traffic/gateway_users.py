"""Users who send requests through a Gateway all the while."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread
from typing import NamedTuple

import urllib3

from gitops_bg.core import names
from tests.integration.traffic.conftest import GatewayCluster
from tests.support.waiting import eventually

_PAUSE_SECONDS = 0.05
"""Between two rounds of a user. Without it they take all the CPU that the agent and the Gateway could have."""


class Answer(NamedTuple):
    """One answered request: when it was sent, what for, and who answered with which status."""

    sent: float
    path: str
    version: str
    status: int
    by: str
    answered: float = 0.0
    """When the answer was there: of two requests that were under way at once nobody knows which was first."""


class Load:
    """Users who send the same requests (path, value of ``X-Version``) round after round, on kept connections.

    They ask the Gateway ``public`` of a namespace. ``label`` is the label of pods that says who answered.
    """

    def __init__(
        self, cluster: GatewayCluster, namespace: str, requests: Sequence[tuple[str, str]], label: str = names.APP
    ) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.url = cluster.gateway_url(namespace, "public")
        self.requests = list(requests)
        self.label = label
        self.answers: list[Answer] = []
        self._stop = Event()

    def anew(self, *requests: tuple[str, str]) -> Load:
        """Other users of the same Gateway, whom nobody has answered yet; by default they ask for the same."""
        return Load(self.cluster, self.namespace, requests or self.requests, self.label)

    def ask(self, pool: urllib3.PoolManager, path: str, version: str) -> Answer:
        sent = time.monotonic()
        headers = {"X-Version": version} if version else {}
        answer = pool.request("GET", self.url + path, headers=headers, timeout=20)
        labels = answer.json()["labels"] if answer.status == 200 else {}
        return Answer(sent, path, version, answer.status, labels.get(self.label, ""), time.monotonic())

    def _use(self) -> None:
        with urllib3.PoolManager(retries=False) as pool:
            while not self._stop.wait(_PAUSE_SECONDS):
                for path, version in self.requests:
                    self.answers.append(self.ask(pool, path, version))

    @contextmanager
    def running(self) -> Iterator[Load]:
        users = [Thread(target=self._use) for _ in range(2)]
        for user in users:
            user.start()
        try:
            yield self
        finally:
            self._stop.set()
            for user in users:
                user.join()

    def until_answered(self, *requests: tuple[str, str]) -> None:
        """Wait until these requests, by default all that users send, are answered."""
        with urllib3.PoolManager(retries=False) as pool:
            for path, version in requests or self.requests:
                what = f"{path} of {version or 'no version'}"
                eventually(partial(self._is_answered, pool, path, version), what=what)

    def until_answered_by(self, path: str, version: str, by: str) -> None:
        """Wait until this request, which users need not send, is answered by this one."""
        with urllib3.PoolManager(retries=False) as pool:
            what = f"{path} of {version or 'no version'} is answered by {by}"
            eventually(lambda: self.ask(pool, path, version).by == by, what=what)

    def _is_answered(self, pool: urllib3.PoolManager, path: str, version: str) -> bool:
        return self.ask(pool, path, version).status == 200

    def expect(self, wanted: Mapping[tuple[str, str], str]) -> None:
        """Wait until requests sent from now on are answered by these only; a Gateway that lags has moved them first."""
        if self.cluster.gateway_lags:
            self.until(wanted)
        moment = time.monotonic()
        eventually(lambda: self.after(moment).keys() >= wanted.keys(), what="users asked for everything")
        found = self.after(moment)
        assert {request: found[request] for request in wanted} == {request: {by} for request, by in wanted.items()}

    def until(self, wanted: Mapping[tuple[str, str], str]) -> None:
        """Wait until the last of each request is answered by these."""

        def answered() -> bool:
            last = {each[1:3]: each.by for each in list(self.answers)}
            return all(last.get(request) == by for request, by in wanted.items())

        eventually(answered, what=f"they answer: {wanted}")

    def after(self, moment: float) -> dict[tuple[str, str], set[str]]:
        """Who answered which requests that were sent later."""
        found: dict[tuple[str, str], set[str]] = {}
        for each in [one for one in self.answers if one.sent > moment]:
            found.setdefault((each.path, each.version), set()).add(each.by)
        return found
