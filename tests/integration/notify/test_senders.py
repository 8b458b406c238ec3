"""A library that hangs while it sends delays the messages of its own app, and nobody else's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from gitops_bg.core.errors import Transient
from gitops_bg.core.model.version import AppKey
from gitops_bg.hooks import MOST_OF_A_SUBJECT, Senders

WEB, API = AppKey("shop", "web"), AppKey("shop", "api")
OK = (200, "")


def playing(story: Callable[[Senders, Callable[[], tuple[int, str]], threading.Event], Awaitable[None]]) -> None:
    """Tell a story with a function that hangs until the event; it is set at the end, whatever happens."""
    ended = threading.Event()

    def hanging() -> tuple[int, str]:
        ended.wait()
        return OK

    try:
        asyncio.run(story(Senders(), hanging, ended))  # type: ignore[arg-type]
    finally:
        ended.set()


async def given_up(senders: Senders, app: AppKey, send: Callable[[], tuple[int, str]]) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await senders.run(app, send)


def test_those_that_hang_are_few_and_of_one_app() -> None:
    async def story(senders: Senders, hanging: Callable[[], tuple[int, str]], ended: threading.Event) -> None:
        before = threading.active_count()
        for _ in range(MOST_OF_A_SUBJECT):
            await given_up(senders, WEB, hanging)
        for _ in range(3):
            with pytest.raises(Transient, match="4 messages before it are still being sent"):
                await senders.run(WEB, hanging)
        assert threading.active_count() - before == MOST_OF_A_SUBJECT
        assert await senders.run(API, lambda: OK) == OK
        ended.set()
        while senders._running:
            await asyncio.sleep(0)
        assert await senders.run(WEB, lambda: OK) == OK

    playing(story)


def test_what_a_function_raises_its_caller_gets_and_its_place_is_free_again() -> None:
    async def story(senders: Senders, *_: object) -> None:
        def failing() -> tuple[int, str]:
            raise ValueError("no such chat")

        for _ in range(MOST_OF_A_SUBJECT + 1):
            with pytest.raises(ValueError, match="no such chat"):
                await senders.run(WEB, failing)

    playing(story)
