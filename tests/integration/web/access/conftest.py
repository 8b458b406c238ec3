"""What the tests of access share: a client that asks an application without a socket, and so under any address."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from starlette.types import ASGIApp


class Browser:
    """Keeps cookies as a browser does, and follows nothing by itself."""

    def __init__(self, app: ASGIApp, address: str) -> None:
        self._client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=address)
        self.cookies = self._client.cookies

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        return asyncio.run(self._client.request(method, path, **given))

    def many(self, path: str, times: int) -> list[httpx.Response]:
        """So many requests at once."""

        async def ask() -> list[httpx.Response]:
            return await asyncio.gather(*(self._client.get(path) for _ in range(times)))

        return asyncio.run(ask())

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.request("GET", path, **given)

    def post(self, path: str, **given: Any) -> httpx.Response:
        return self.request("POST", path, **given)
