"""Many browsers that keep the same pages open: each is told of a change, nothing is made twice, and others answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx

from tests.integration.dashboard.shop import Shop

_BROWSERS = 100


async def _messages(http: httpx.AsyncClient, at: str) -> AsyncIterator[str]:
    """The messages of a stream, and of those that follow it when it ends, as a browser reads them."""
    while True:
        async with http.stream("GET", "/events", params={"at": at}) as answer:
            assert answer.status_code == 200
            lines: list[str] = []
            async for line in answer.aiter_lines():
                if line:
                    lines.append(line)
                elif lines:
                    yield "\n".join(lines)
                    lines = []


async def _until(http: httpx.AsyncClient, at: str, text: str, begun: asyncio.Semaphore) -> None:
    is_first = True
    async for message in _messages(http, at):
        if is_first:
            begun.release()
        is_first = False
        if text in message:
            return


async def _all(address: str, shop: Shop) -> None:
    begun = asyncio.Semaphore(0)
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=address, trust_env=False, timeout=120, limits=limits) as http:
        pages = ["/" if each % 2 else "/apps/shop/catalog" for each in range(_BROWSERS)]
        tasks = [asyncio.create_task(_until(http, page, "1.8.0", begun)) for page in pages]
        for _ in tasks:
            await begun.acquire()
        answers = await asyncio.gather(*(http.get(f"/?q={number}") for number in range(20)))
        assert {each.status_code for each in answers} == {200}
        await asyncio.to_thread(shop.well.push_image, "1.8.0", "Sell to everybody")
        await asyncio.wait_for(asyncio.gather(*tasks), 120)


def test_a_hundred_open_pages_are_told_of_a_change_and_others_answer_beside_them(address: str, shop: Shop) -> None:
    asyncio.run(_all(address, shop))
    shop.well.revert(shop.world.remote.tip)
    shop.well.wait_phase("Healthy")
