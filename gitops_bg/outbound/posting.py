"""Posts over HTTP without a waiting thread: one client for each destination, connections kept. Knows no hook.

It has no deadline of its own: the caller has one for the whole post, because httpx would time each read separately.
"""

import httpx

from gitops_bg.outbound.addresses import EVERYWHERE, AddressRules
from gitops_bg.outbound.guarded import guarded
from gitops_bg.outbound.http import Answer, Trust, reason_of, tls_context


class PostFailed(Exception):
    """There was no response; the text says why, and may contain parts of the URL."""


class Poster:
    """Sends posts in one event loop, to where ``rules`` permit. `close` it at the end."""

    def __init__(self, rules: AddressRules = EVERYWHERE) -> None:
        self._rules = rules
        self._clients: dict[Trust, httpx.AsyncClient] = {}

    async def post(
        self, url: str, headers: list[tuple[str, str]], content: bytes, *, trust: Trust, most: int
    ) -> Answer:
        """The response, with at most ``most`` bytes of its body. Raises PostFailed."""
        try:
            refused = self._rules.refusal_of_literal(httpx.URL(url).host)  # also where a proxy would be asked for it
            if refused:
                raise PostFailed(refused)
            sent = self._client(trust).stream("POST", url, content=content, headers=headers)
            async with sent as response:
                body = b""
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) >= most:
                        break
                said = {name.lower(): value for name, value in response.headers.items()}
                return Answer(url, response.status_code, body[:most], said)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise PostFailed(f"{type(error).__name__}: {reason_of(error)}") from error

    async def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    def _client(self, trust: Trust) -> httpx.AsyncClient:
        if trust not in self._clients:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
            client = httpx.AsyncClient(verify=tls_context(trust), timeout=httpx.Timeout(None), limits=limits)
            self._clients[trust] = guarded(client, self._rules)
        return self._clients[trust]
