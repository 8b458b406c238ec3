"""The watch loop against a server that does everything wrong that API servers do (pitfalls.md §1.3)."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import SERVICES
from gitops_bg.cluster.api.watch import Pace, Watch
from gitops_bg.core.errors import GitopsBgError
from tests.integration.cluster.stub import Asked, Stub, bookmark, error, event, page, stub
from tests.support.waiting import eventually

QUICK = Pace(shortest=1, longest=1, silence=1.3, first_pause=0.01, longest_pause=0.05, random=lambda: 0.5)


class Heard:
    """A sink that says what it heard, in order."""

    def __init__(self) -> None:
        self._words: queue.Queue[str] = queue.Queue()
        self.watch: Watch | None = None
        """Who tells it."""

    def begin(self) -> None:
        self._words.put("begin")

    def put(self, body: dict[str, Any]) -> None:
        self._words.put(f"put {body['metadata']['name']}")

    def end(self) -> None:
        self._words.put("end")

    def remove(self, body: dict[str, Any]) -> None:
        self._words.put(f"remove {body['metadata']['name']}")

    def trouble(self, error: GitopsBgError | None) -> None:
        if error is not None:
            self._words.put(f"trouble {error}")

    def went_back(self) -> None:
        self._words.put("went back")

    def next(self) -> str:
        return self._words.get(timeout=10)

    def until(self, word: str) -> list[str]:
        heard = [self.next()]
        while heard[-1] != word:
            heard.append(self.next())
        return heard


Script = Callable[[Stub, Asked, int], None]
"""Called with the number of the watch (0 for a list)."""


@contextmanager
def following(
    folder: Path, script: Script, pace: Pace = QUICK, newest: Callable[[], str] = lambda: "1000", **options: bool
) -> Iterator[tuple[Heard, Stub]]:
    watches = 0

    def serve(asked: Asked) -> None:
        nonlocal watches
        if is_look(asked):
            asked.answer(page(version=newest()))
            return
        watches += asked.is_watch
        script(server, asked, watches if asked.is_watch else 0)

    with stub(folder, serve) as server:
        client, heard = Client(Access(server.kubeconfig, read_timeout=2)), Heard()
        watch = Watch(client, lambda: SERVICES, "shop", "a=b", heard, pace, **options)
        heard.watch = watch
        watch.start()
        try:
            yield heard, server
        finally:
            watch.stop()
            client.close()
            assert not watch.alive


def hang(server: Stub, asked: Asked, *events: dict[str, Any]) -> None:
    asked.stream(*events)
    server.released.wait(30)


def versions(server: Stub) -> list[str]:
    return [asked.query["resourceVersion"] for asked in server.asked if asked.is_watch]


def is_look(asked: Asked) -> bool:
    """Whether it only asks for the version of the cluster, before a watch is resumed."""
    return not asked.is_watch and asked.query.get("limit") == "1"


def lists(server: Stub) -> int:
    return sum(not asked.is_watch and not is_look(asked) for asked in server.asked)


def test_a_cluster_whose_versions_went_back_is_listed_anew(tmp_path: Path) -> None:
    """Before a watch is resumed: one from a version that is yet to come would hear nothing until it has come."""

    def script(server: Stub, asked: Asked, watch: int) -> None:
        if watch == 1:
            asked.stream(event("ADDED", "b", "50"))
            asked.end()
        elif watch:
            hang(server, asked, event("ADDED", "c", "31"))
        else:
            asked.answer(page("a", version="10" if lists(server) == 1 else "30"))

    with following(tmp_path, script, newest=lambda: "30") as (heard, server):
        heard.until("went back")
        assert heard.until("put c") == ["begin", "put a", "end", "put c"]
        assert versions(server) == ["10", "30"]


@pytest.mark.parametrize("late", [event("MODIFIED", "b", "31"), bookmark("31")], ids=["event", "bookmark"])
def test_an_event_of_a_lower_version_than_was_seen_is_a_cluster_that_went_back(
    tmp_path: Path, late: dict[str, Any]
) -> None:
    def script(server: Stub, asked: Asked, watch: int) -> None:
        if watch == 1:
            hang(server, asked, event("ADDED", "b", "50"), late)
        elif watch:
            hang(server, asked)
        else:
            asked.answer(page("a"))

    with following(tmp_path, script) as (heard, _):
        assert heard.until("went back") == ["begin", "put a", "end", "put b", "went back"]
        assert heard.until("end") == ["begin", "put a", "end"]


def test_it_lists_then_follows_from_there(tmp_path: Path) -> None:
    def script(server: Stub, asked: Asked, watch: int) -> None:
        if watch:
            hang(server, asked, event("ADDED", "b", "11"), event("MODIFIED", "a", "12"), event("DELETED", "a", "13"))
        else:
            asked.answer(page("a", version="10"))

    with following(tmp_path, script) as (heard, server):
        assert heard.until("remove a") == ["begin", "put a", "end", "put b", "put a", "remove a"]
        query = server.asked[-1].query
        assert (query["resourceVersion"], query["allowWatchBookmarks"], query["labelSelector"]) == ("10", "true", "a=b")
        assert int(query["timeoutSeconds"]) == QUICK.longest


def test_a_stream_that_ends_is_resumed_from_the_last_bookmark_without_a_list(tmp_path: Path) -> None:
    def script(server: Stub, asked: Asked, watch: int) -> None:
        if watch == 1:
            asked.stream(event("ADDED", "b", "11"), bookmark("50"))
            asked.end()
        elif watch:
            hang(server, asked, event("ADDED", "c", "51"))
        else:
            asked.answer(page("a"))

    with following(tmp_path, script) as (heard, server):
        heard.until("put c")
        assert versions(server)[:2] == ["10", "50"]
        assert lists(server) == 1


def test_gone_as_an_event_or_as_an_answer_lists_again_at_once(tmp_path: Path) -> None:
    def script(server: Stub, asked: Asked, watch: int) -> None:
        if watch == 1:
            asked.stream(event("ADDED", "b", "11"), error(410, "Expired"))
            asked.end()
        elif watch == 2:
            asked.refuse(410, "Expired", "too old")
        elif watch:
            hang(server, asked, event("ADDED", "c", "31"))
        else:
            asked.answer(page("a", version=f"{10 * lists(server)}"))

    with following(tmp_path, script) as (heard, server):
        heard.until("put c")
        assert versions(server)[:3] == ["10", "20", "30"]


def test_a_failing_server_is_left_alone_for_longer_each_time(tmp_path: Path) -> None:
    pauses: list[float] = []
    done = threading.Event()

    class Noting(Pace):
        def pause(self, failures: int, error: GitopsBgError) -> float:
            pauses.append(Pace(first_pause=0.5, random=lambda: 0.5).pause(failures, error))
            if len(pauses) == 8:
                done.set()
            return 0.0 if not done.is_set() else 30.0

    def script(_: Stub, asked: Asked, watch: int) -> None:
        if watch:
            asked.refuse(500, "InternalError", "told to")
        else:
            asked.answer(page("a"))

    with following(tmp_path, script, Noting()) as (_, server):
        assert done.wait(10)
        assert pauses == [0.375, 0.75, 1.5, 3.0, 6.0, 12.0, 22.5, 22.5]
        assert lists(server) == 1, "the version is still good"


LONGEST = {"what the agent needs": (False, 30.0), "what it can do without": (True, 300.0)}


@pytest.mark.parametrize(("can_do_without", "longest"), LONGEST.values(), ids=LONGEST)
def test_what_may_not_be_listed_is_asked_for_more_rarely_where_nobody_waits(
    tmp_path: Path, can_do_without: bool, longest: float
) -> None:
    limits: list[float] = []
    done = threading.Event()

    class Noting(Pace):
        def pause(self, _failures: int, _error: GitopsBgError) -> float:
            limits.append(self.longest_pause)
            done.set()
            return 30.0

    with following(
        tmp_path, lambda _, asked, __: asked.refuse(403, "Forbidden", "no"), Noting(), can_do_without=can_do_without
    ):
        assert done.wait(10)
    assert limits == [longest]


def test_a_server_that_ends_every_watch_at_once_is_not_hammered(tmp_path: Path) -> None:
    def script(_: Stub, asked: Asked, watch: int) -> None:
        if watch:
            asked.stream()
            asked.end()
        else:
            asked.answer(page("a"))

    with following(tmp_path, script) as (heard, _):
        heard.until("trouble the server ended the watch at once")


def test_an_expired_continue_token_starts_the_list_again(tmp_path: Path) -> None:
    def script(server: Stub, asked: Asked, watch: int) -> None:
        if watch:
            hang(server, asked)
        elif "continue" in asked.query and lists(server) == 2:
            asked.refuse(410, "Expired", "the continue parameter is too old")
        elif "continue" in asked.query:
            asked.answer(page("b", version="20"))
        else:
            asked.answer(page("a", version="20", token="more"))

    with following(tmp_path, script) as (heard, _):
        assert heard.until("end") == ["begin", "put a", "begin", "put a", "put b", "end"]


def test_a_broken_line_is_not_the_end(tmp_path: Path) -> None:
    def script(server: Stub, asked: Asked, watch: int) -> None:
        if watch == 1:
            asked.stream()
            asked._handler.wfile.write(b"7\r\n{broken\r\n2\r\n{\n\r\n")
            server.released.wait(30)
        elif watch:
            hang(server, asked, event("ADDED", "c", "12"))
        else:
            asked.answer(page("a"))

    with following(tmp_path, script) as (heard, _):
        assert any("not JSON" in word for word in heard.until("put c"))


@pytest.mark.parametrize("odd", [["a list"], {"type": [], "object": 7}, {"type": "ERROR", "object": {"code": "x"}}])
def test_a_line_of_another_shape_is_a_trouble_and_not_a_bug(
    tmp_path: Path, odd: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def script(server: Stub, asked: Asked, watch: int) -> None:
        if watch == 1:
            asked.stream(odd)
            server.released.wait(30)
        elif watch:
            hang(server, asked, event("ADDED", "c", "12"))
        else:
            asked.answer(page("a"))

    with following(tmp_path, script) as (heard, server):
        assert any("trouble" in word for word in heard.until("put c"))
        assert lists(server) == 1, "it goes on where it was"
    assert "bug" not in caplog.text


def test_a_silent_stream_is_left_for_another_one_without_a_list_or_a_word(tmp_path: Path) -> None:
    """As behind a proxy that has lost the server: nobody closes the connection, and its peer is alive."""

    def script(server: Stub, asked: Asked, watch: int) -> None:
        if watch == 1:
            hang(server, asked, event("ADDED", "b", "11"))
        elif watch:
            hang(server, asked, event("ADDED", "c", "12"))
        else:
            asked.answer(page("a"))

    patient = Pace(shortest=600, longest=600, silence=0.3)
    with following(tmp_path, script, patient) as (heard, server):
        assert heard.until("put c") == ["begin", "put a", "end", "put b", "put c"]
        assert versions(server)[:2] == ["10", "11"]


def test_what_is_known_grows_old_until_the_server_is_heard_again(tmp_path: Path) -> None:
    now = [100.0]
    silent = threading.Event()

    def script(server: Stub, asked: Asked, watch: int) -> None:
        if watch == 1:
            asked.stream(event("ADDED", "b", "11"))
            silent.wait(30)
            asked.end()
        elif watch:
            hang(server, asked, event("ADDED", "c", "12"))
        else:
            asked.answer(page("a"))

    patient = Pace(shortest=600, longest=600, silence=600, clock=lambda: now[0])
    with following(tmp_path, script, patient) as (heard, _):
        watch = heard.watch
        assert watch is not None
        heard.until("put b")
        eventually(lambda: watch.silent_seconds == 0, what="it was heard now")
        now[0] += 130
        assert watch.silent_seconds == 130
        silent.set()
        heard.until("put c")
        eventually(lambda: watch.silent_seconds == 0, what="it was heard again")


@pytest.mark.parametrize("plain", [True, False])
def test_the_kernel_notices_a_dead_peer_within_30_seconds(tmp_path: Path, plain: bool) -> None:
    def script(server: Stub, asked: Asked, watch: int) -> None:
        hang(server, asked)

    with stub(tmp_path, lambda asked: script(server, asked, 1)) as server:
        client = Client(Access(server.kubeconfig, read_timeout=2, plain_first=plain))
        stream = client.watch(SERVICES, "shop", "", "1", 600, 600.0)
        connection = stream._response._connection
        assert connection is not None
        of = connection.sock.getsockopt
        assert of(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        idle, between, probes = (
            of(socket.IPPROTO_TCP, option) for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        )
        assert idle + between * probes < 30
        assert of(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) < 30_000
        assert of(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        stream.stop()
        stream.close()
        client.close()


def test_stopping_does_not_wait_for_the_server(tmp_path: Path) -> None:
    def script(server: Stub, asked: Asked, watch: int) -> None:
        if watch:
            hang(server, asked, event("ADDED", "b", "11"))
        else:
            asked.answer(page("a"))

    patient = Pace(shortest=600, longest=600, silence=600)
    with following(tmp_path, script, patient) as (heard, _):
        heard.until("put b")
        # `following` stops the watch here, and would hang
