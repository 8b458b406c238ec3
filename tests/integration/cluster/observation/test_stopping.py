"""A watch that is stopped while it reads from TLS: what its reader gets from then on is no text any more."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import SERVICES
from gitops_bg.cluster.api.watch import Pace, Watch
from gitops_bg.core.errors import GitopsBgError, Transient
from tests.integration.cluster.stub import Asked, Stub, event, page, stub
from tests.support.cluster.pki import Authority

MANY = 3000
"""Events, far more than one read takes: what is not read yet waits in the kernel, as TLS has it."""


class Slow:
    """A sink that takes one event, and then waits."""

    def __init__(self) -> None:
        self.reached, self.go = threading.Event(), threading.Event()
        self.said: list[str] = []

    def begin(self) -> None:
        self.said.append("begin")

    def put(self, body: dict) -> None:  # type: ignore[type-arg]
        self.said.append(body["metadata"]["name"])
        if body["metadata"]["name"] == "e1":
            self.reached.set()
            assert self.go.wait(30)

    def end(self) -> None:
        self.said.append("end")

    def remove(self, body: object) -> None:
        self.said.append("remove")

    def trouble(self, error: GitopsBgError | None) -> None:
        self.said += [str(error)] if error is not None else []

    def went_back(self) -> None:
        self.said.append("went back")


@pytest.fixture(params=["plain", "library"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Stub, Client]]:
    """A server that never stops talking, and a client by either transport."""

    def serve(asked: Asked) -> None:
        if asked.is_watch:
            asked.stream(*(event("ADDED", f"e{number}", str(10 + number)) for number in range(MANY)))
            made.released.wait(30)
        else:
            asked.answer(page("a"))

    with stub(tmp_path, serve, Authority(tmp_path / "pki")) as made:
        client = Client(Access(made.kubeconfig, read_timeout=5, plain_first=request.param == "plain"))
        yield made, client
        client.close()


def test_nothing_of_it_comes_to_the_caches_or_to_the_log(
    server: tuple[Stub, Client], caplog: pytest.LogCaptureFixture
) -> None:
    (made, client), slow = server, Slow()
    caplog.set_level(logging.INFO)
    patient = Pace(shortest=600, longest=600, silence=600)
    watch = Watch(client, lambda: SERVICES, "shop", "", slow, patient)
    watch.start()
    assert slow.reached.wait(30)
    stopping = threading.Thread(target=watch.stop)
    stopping.start()
    while not watch._stopping.is_set():
        pass
    stopping.join(0.3)
    slow.go.set()
    stopping.join(30)
    assert not watch.alive
    assert slow.said == ["begin", "a", "end", "e0", "e1"]
    assert [record.getMessage() for record in caplog.records if record.name.startswith("gitops_bg")] == []
    assert [asked.is_watch for asked in made.asked] == [False, True], "nothing was asked again"


def test_its_connection_is_never_used_again(server: tuple[Stub, Client]) -> None:
    """Python's TLS would send the next request, with its token, as plain text."""
    made, client = server
    stream = client.watch(SERVICES, "shop", "", "1", 600, 600.0)
    lines = iter(stream)
    next(lines)
    stream.stop()
    try:
        rest = b"\n".join(lines)
    except Transient:
        rest = b""
    stream.close()
    assert len(rest) < MANY * len(str(event("ADDED", "e0", "10")))
    for _ in range(3):
        assert [each["metadata"]["name"] for each in client.list(SERVICES, "shop")] == ["a"]
    assert len(made.asked) == 4
