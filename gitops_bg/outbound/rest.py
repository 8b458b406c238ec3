"""One REST API: connections kept, responses cached by their ETag, every page of a list, and the limits that its headers
state. Knows no forge.

It never sends a write twice, and its errors contain no credentials.
"""

import json
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import hidden, printable
from gitops_bg.outbound.http import HttpAnswer, HttpRequest, MeasuringFailed, NoResponse, Trust, client_for, exchange

# --- rate limits; the time is an argument ---

LONGEST_WAIT = timedelta(hours=1)
"""The longest wait: no forge has a longer window, so a header with more is wrong."""
SHORTEST_WAIT = timedelta(seconds=1)
_EPOCH_FROM = 1_000_000_000
"""A larger number of seconds is a time since 1970, a smaller one a time from now."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The requests left until ``reset``, as far as the response says."""

    remaining: int | None = None
    reset: datetime | None = None
    retry_after: float | None = None
    """Seconds to wait before the next request."""

    def wait(self, now: datetime) -> timedelta | None:
        """Return how long to send no request; None where the response does not ask to wait."""
        if self.retry_after is not None:
            return _bounded(timedelta(seconds=self.retry_after))
        if self.remaining == 0 and self.reset is not None:
            return _bounded(self.reset - now)
        return None


def rate_of(headers: Mapping[str, str], now: datetime) -> Rate:
    """Return the limits of an answer: GitHub's ``x-ratelimit-*``, ``RateLimit-*`` of GitLab and the IETF,
    ``Retry-After``.

    >>> now = datetime(2026, 11, 22, 20, tzinfo=UTC)
    >>> rate_of({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1795377630"}, now).wait(now)
    datetime.timedelta(seconds=30)
    >>> rate_of({"ratelimit-remaining": "7", "ratelimit-reset": "60"}, now)
    Rate(remaining=7, reset=datetime.datetime(2026, 11, 22, 20, 1, tzinfo=datetime.timezone.utc), retry_after=None)
    >>> rate_of({"retry-after": "Sun, 22 Nov 2026 20:00:09 GMT"}, now).retry_after
    9.0
    """
    remaining = _number(headers.get("x-ratelimit-remaining") or headers.get("ratelimit-remaining"))
    reset = _number(headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset"))
    return Rate(
        None if remaining is None else int(remaining),
        None if reset is None else _time(reset, now),
        _retry_after(headers.get("retry-after"), now),
    )


def _bounded(wait: timedelta) -> timedelta:
    return max(SHORTEST_WAIT, min(wait, LONGEST_WAIT))


def _time(seconds: float, now: datetime) -> datetime:
    """Return the time of a reset, limited to a plausible one."""
    at = datetime.fromtimestamp(seconds, UTC) if _EPOCH_FROM < seconds < 10 * _EPOCH_FROM else None
    return at if at is not None else now + min(timedelta(seconds=min(seconds, 1e6)), LONGEST_WAIT)


def _retry_after(text: str | None, now: datetime) -> float | None:
    seconds = _number(text)
    if seconds is not None or not text:
        return None if seconds is None else min(seconds, LONGEST_WAIT.total_seconds())
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds())


def _number(text: str | None) -> float | None:
    """Return a non-negative number; None for anything else."""
    try:
        value = float((text or "").strip())
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


# --- requests ---

MAX_PAGES = 200
_READS = ("GET", "HEAD")
_NOT_MODIFIED = 304
_SYSTEM = Trust()

Authorize = Callable[[], Mapping[str, str]]
"""The headers with the credentials; called for each request, so that a credential can change."""


@dataclass(frozen=True, slots=True)
class RestSettings:
    """``base`` is the URL before every path; ``timeout`` is in seconds, for a whole request."""

    base: str
    headers: tuple[tuple[str, str], ...] = ()
    trust: Trust = _SYSTEM
    timeout: float = 20.0
    most: int = 32 * 1024 * 1024
    """The most bytes of one response: a hundred pull requests, with the longest texts that a forge accepts."""


class Remembered:
    """The last responses with an ETag, up to a number and a size in bytes."""

    def __init__(self, most: int = 1024, most_bytes: int = 64 * 1024 * 1024) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._answers: OrderedDict[str, HttpAnswer] = OrderedDict()
        self._bytes = 0

    def get(self, url: str) -> HttpAnswer | None:
        """Return the cached response of a URL, or None."""
        if url in self._answers:
            self._answers.move_to_end(url)
        return self._answers.get(url)

    def keep(self, url: str, answer: HttpAnswer) -> None:
        """Cache a response instead of the former one; the least recently used ones are dropped."""
        self._drop(url)
        if "etag" not in answer.headers:
            return
        self._answers[url] = answer
        self._bytes += len(answer.body)
        while len(self._answers) > self._most or self._bytes > self._most_bytes:
            self._drop(next(iter(self._answers)))

    def _drop(self, url: str) -> None:
        gone = self._answers.pop(url, None)
        self._bytes -= len(gone.body) if gone else 0


class RestClient:
    """Sends requests from one thread. `close` it at the end."""

    def __init__(self, settings: RestSettings, authorize: Authorize) -> None:
        self._settings = settings
        self._authorize = authorize
        self._client = client_for(settings.trust, settings.timeout)
        self._remembered = Remembered()

    @property
    def place(self) -> str:
        """The name of the API in errors."""
        return self._settings.base

    def ask(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None) -> HttpAnswer:
        """Send one request; ``path`` begins with a slash, ``body`` is sent as JSON. Any status is a response.

        Raises ``NoResponse`` where none arrives within the limits of time and size, and what ``authorize`` raises.
        """
        url = self._settings.base + path + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        return self._read(url) if method in _READS else self._send(method, url, body, {})

    def pages(self, path: str, query: Mapping[str, str]) -> Iterator[HttpAnswer]:
        """Yield every page of a list, by `Link` or `X-Next-Page`, up to the first without success."""
        asked: set[tuple[tuple[str, str], ...]] = set()
        following: Mapping[str, str] | None = query
        while following is not None:
            key = tuple(sorted(following.items()))
            if key in asked or len(asked) >= MAX_PAGES:
                raise NoResponse(f"{self.place}{path}: its list of pages does not end")
            asked.add(key)
            answer = self.ask("GET", path, following)
            yield answer
            following = next_page(answer.headers, following) if 200 <= answer.status < 300 else None

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    def _read(self, url: str) -> HttpAnswer:
        known = self._remembered.get(url)
        answer = self._send("GET", url, None, {"If-None-Match": known.headers["etag"]} if known else {})
        if known and answer.status == _NOT_MODIFIED:
            return replace(known, headers={**known.headers, **answer.headers})
        if 200 <= answer.status < 300:
            self._remembered.keep(url, answer)
        return answer

    def _send(self, method: str, url: str, body: Any, headers: Mapping[str, str]) -> HttpAnswer:
        authorization = self._authorize()
        content = None if body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/json"} if content is not None else {}
        request = HttpRequest(
            url,
            method,
            {**dict(self._settings.headers), **kind, **headers, **authorization},
            content,
            self._settings.timeout,
            most=self._settings.most,
            writes=method not in _READS,
        )
        try:
            return exchange(self._client, request)
        except MeasuringFailed as error:
            raise NoResponse(printable(_clean(str(error), authorization))) from None


def next_page(headers: Mapping[str, str], query: Mapping[str, str]) -> dict[str, str] | None:
    """Return the query of the next page, or None at the end.

    Only the query of a link is used: behind a proxy a forge calls itself by another address.

    >>> next_page({"link": '<https://a/b?page=3&x=1>; rel="next", <https://a/b?page=9>; rel="last"'}, {"page": "2"})
    {'page': '3', 'x': '1'}
    >>> next_page({"x-next-page": "4", "link": '<https://a/b?page=1>; rel="first"'}, {"state": "open"})
    {'state': 'open', 'page': '4'}
    >>> next_page({"x-next-page": "", "link": '<https://a/b?page=1>; rel="prev"'}, {})
    """
    for link in headers.get("link", "").split(","):
        address, _, parameters = link.strip().partition(">")
        if address.startswith("<") and 'rel="next"' in parameters.replace("'", '"'):
            return {**query, **dict(parse_qsl(urlsplit(address[1:]).query))}
    number = headers.get("x-next-page", "").strip()
    return {**query, "page": number} if number.isdecimal() else None


def _clean(text: str, authorization: Mapping[str, str]) -> str:
    """Hide the values that authenticate, and their parts (`Bearer …`)."""
    return hidden(text, [part for value in authorization.values() for part in (value, value.split(" ")[-1])])
