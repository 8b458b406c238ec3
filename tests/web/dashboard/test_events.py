"""Open pages: what is drawn once for many, and what is not."""

from __future__ import annotations

import asyncio
import threading
import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import StreamingResponse

from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.access import AccessRule
from gitops_bg.web.access.person import Access, Person, Role, Via, form_token, person_of
from gitops_bg.web.dashboard.events import Events, _Waiter
from gitops_bg.web.dashboard.pages import Pages, Shown, subject_of
from gitops_bg.web.dashboard.snapshot import Board
from gitops_bg.web.dashboard.source import Source

WEB, CART = AppKey("shop", "web"), AppKey("shop", "cart")
SCOPE: dict[str, Any] = {"type": "http", "method": "GET", "path": "/events", "headers": [], "state": {}}
ADA = Person("Ada", "", "Ada", frozenset({"devs"}), Via.OIDC)
DEVS = AccessRule(Role.VIEWER, ("devs",), ("shop",))


class Dashboard:
    """Streams of pages that say how often they were drawn, by whom, and with which token."""

    def __init__(self) -> None:
        self.drawn = 0
        self.go_on = threading.Event()
        """While it is not set nothing is drawn."""
        self.go_on.set()
        self.rules: tuple[AccessRule, ...] = (DEVS,)
        self.board = Board(cast(Cluster, SimpleNamespace()))
        source = SimpleNamespace(board=self.board, access=lambda: Access(self.rules))
        paths = dict.fromkeys(("/", "/apps/{namespace}/{app}", "/me"), self._show)
        self.events = Events(cast(Source, source), cast(Pages, self), paths)

    def _show(self, request: Request) -> Shown:
        assert self.go_on.wait(30)
        self.drawn += 1
        return Shown("", {"number": self.drawn, "query": request.url.query})

    def draw(self, shown: Shown, request: Request, *, fragment: bool) -> str:
        """The text of a page."""
        assert fragment
        person = person_of(request)
        assert person is not None
        return f"{shown.given['number']} {person.name} {form_token(request)} {shown.given['query']}"

    def open(self, at: str, name: str = "Ada", group: str = "devs") -> str:
        """The first message of a stream."""
        return asyncio.run(self.first(at, Person(name, "", name, frozenset({group}), Via.OIDC)))

    def woken(self, at: str, change: Callable[[], None]) -> bool:
        """Whether an open page is drawn again after a change."""
        request, _ = self.events._page(Request({**SCOPE, "query_string": f"at={at}".encode()}))
        about = subject_of(request)
        waiter = _Waiter(about, self.board.changes_of(about))
        self.events._waiters.add(waiter)
        change()
        self.events._wake()
        return waiter.changed.is_set()

    async def first(self, at: str, person: Person = ADA) -> str:
        """The first message of a stream."""
        state = {"person": person, "access": Access(), "form_token": f"token-of-{person.name}", "forge_token": ""}
        scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/events", "headers": [], "state": state}
        answer = await self.events.stream(Request({**scope, "query_string": f"at={at}".encode()}))
        assert isinstance(answer, StreamingResponse)
        messages = cast(Any, answer.body_iterator)
        text: bytes = await anext(messages)
        await messages.aclose()
        return text.decode().strip().removeprefix("data: ")


def test_who_may_the_same_shares_a_page_and_each_has_the_token_of_its_own_session() -> None:
    dashboard = Dashboard()
    assert dashboard.open("/apps/shop/web", "Ada").split() == ["1", "Ada", "token-of-Ada"]
    assert dashboard.open("/apps/shop/web", "Bob").split() == ["1", "Ada", "token-of-Bob"]
    assert dashboard.open("/apps/shop/web", "Eve", "ops").split() == ["2", "Eve", "token-of-Eve"]


def test_the_page_about_somebody_is_shared_with_nobody() -> None:
    dashboard = Dashboard()
    assert [dashboard.open("/me", name).split()[1] for name in ("Ada", "Bob")] == ["Ada", "Bob"]


def test_a_page_is_drawn_anew_when_main_gives_other_rights_and_when_what_it_is_about_changes() -> None:
    dashboard = Dashboard()
    dashboard.open("/apps/shop/web")
    dashboard.rules = ()
    assert dashboard.open("/apps/shop/web").startswith("2 ")
    dashboard.board.changed(WEB)
    assert dashboard.open("/apps/shop/web").startswith("3 ")
    dashboard.board.changed(CART)
    assert dashboard.open("/apps/shop/web").startswith("3 ")


def test_what_was_fetched_wakes_pages_about_everything_alone() -> None:
    dashboard = Dashboard()
    assert dashboard.woken("/", dashboard.board.fetched)
    assert not dashboard.woken("/apps/shop/web", dashboard.board.fetched)
    assert dashboard.woken("/apps/shop/web", lambda: dashboard.board.changed(WEB))


def test_what_no_page_asks_for_makes_no_page_of_its_own() -> None:
    dashboard = Dashboard()
    assert dashboard.open("/?q=web%26page=2%26x=1") == dashboard.open("/?x=2%26page=2%26q=web")
    assert dashboard.open("/?q=web%26page=2").endswith(" q=web&page=2")


def test_a_hundred_streams_that_wait_for_what_is_slow_leave_pages_their_threads() -> None:
    dashboard = Dashboard()
    dashboard.go_on.clear()

    async def beside() -> list[str]:
        streams = [asyncio.create_task(dashboard.first(f"/?q={number % 50}")) for number in range(100)]
        await asyncio.sleep(0)
        pages = (run_in_threadpool(str, number) for number in range(30))
        answered = await asyncio.wait_for(asyncio.gather(*pages), 10)
        dashboard.go_on.set()
        assert len(await asyncio.gather(*streams)) == 100
        return answered

    assert len(asyncio.run(beside())) == 30
    assert dashboard.drawn == 50


def test_a_stream_that_is_closed_while_its_page_is_drawn_keeps_no_other_one_waiting() -> None:
    dashboard = Dashboard()
    dashboard.go_on.clear()

    async def second() -> str:
        gone = asyncio.create_task(dashboard.first("/"))
        await asyncio.sleep(0)
        stays = asyncio.create_task(dashboard.first("/"))
        await asyncio.sleep(0)
        gone.cancel()
        dashboard.go_on.set()
        return await asyncio.wait_for(stays, 10)

    assert asyncio.run(second()).startswith("1 Ada")


def test_many_different_searches_leave_few_of_their_pages_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    dashboard = Dashboard()
    monkeypatch.setattr(dashboard, "draw", lambda *_, **__: "x" * 1_000_000)

    async def search() -> None:
        for number in range(200):
            await dashboard.first(f"/?q={number}")

    tracemalloc.start()
    try:
        asyncio.run(search())
        assert tracemalloc.get_traced_memory()[0] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("at", ["//[", "//elsewhere.example/", "/nowhere"])
def test_there_is_no_stream_of_what_is_no_address_of_a_page(at: str) -> None:
    with pytest.raises(HTTPException, match="404"):
        Dashboard().open(at)
