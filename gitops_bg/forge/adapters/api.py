"""The API of one forge: each answer becomes a `Shape` or an error of `forge.port`, which names the failed operation.

A `Shape` reads the forge's JSON value by value: an undocumented shape is an error that names its path, never a
``KeyError``.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from gitops_bg.core.backoff import delay
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.foreign_json import NotJson, read_json, read_objects
from gitops_bg.core.foreign_text import printable, read_moment
from gitops_bg.forge.port import ForgeDown, Nonsense, NoRight, NotAccepted, NotOnForge, RateLimited, TokenRefused
from gitops_bg.outbound.http import HttpAnswer, NoResponse
from gitops_bg.outbound.rest import LONGEST_WAIT, Rate, RestClient, rate_of


class Shape:
    """One value of an answer, and its path. False where it is null or missing."""

    __slots__ = ("_path", "_place", "_value")

    def __init__(self, value: Any, place: str, path: str = "") -> None:
        self._value, self._place, self._path = value, place, path

    def __bool__(self) -> bool:
        return self._value is not None

    def __getitem__(self, key: str) -> "Shape":
        """Return a field; a missing one reads like null."""
        if self._value is not None and not isinstance(self._value, dict):
            raise self.odd("an object")
        found = None if self._value is None else self._value.get(key)
        return Shape(found, self._place, f"{self._path}.{key}" if self._path else key)

    def items(self) -> Iterator["Shape"]:
        """Yield the items of a list."""
        if not isinstance(self._value, list):
            raise self.odd("a list")
        for index, item in enumerate(self._value):
            yield Shape(item, self._place, f"{self._path}[{index}]")

    def text(self, default: str | None = None) -> str:
        """Return a text; ``default`` for null."""
        if self._value is None and default is not None:
            return default
        if not isinstance(self._value, str):
            raise self.odd("a text")
        return self._value

    def number(self, default: int | None = None) -> int:
        """Return a whole number; ``default`` for null."""
        if self._value is None and default is not None:
            return default
        if not isinstance(self._value, int) or isinstance(self._value, bool):
            raise self.odd("a number")
        return self._value

    def flag(self, default: bool = False) -> bool:
        """Return a boolean; ``default`` for null."""
        if self._value is None:
            return default
        if not isinstance(self._value, bool):
            raise self.odd("true or false")
        return self._value

    def time(self) -> datetime:
        """Return a time with its zone, in UTC."""
        text = self.text()
        try:
            return read_moment(text)
        except ValueError:
            raise self.odd("a time with its zone") from None

    def words(self) -> str:
        """Return what a person wrote, in any shape: texts, lists of them, fields with them."""
        return _texts_in(self._value)

    def odd(self, wanted: str) -> Nonsense:
        """Return the error for a value of another shape than ``wanted``."""
        got = "missing" if self._value is None else f"of type {type(self._value).__name__}"
        return Nonsense(self._place, f"{self._path or 'the answer'} is {got}, where {wanted} belongs")


def _texts_in(value: Any) -> str:
    if isinstance(value, dict):
        known = [value[key] for key in ("message", "error", "errors", "error_description", "code") if value.get(key)]
        return "; ".join(filter(None, map(_texts_in, known or value.values())))
    if isinstance(value, list):
        return "; ".join(filter(None, map(_texts_in, value)))
    return value if isinstance(value, str) else ""


Now = Callable[[], datetime]
"""The time, with its zone."""

WAIT_WHEN_NOT_TOLD = timedelta(minutes=1)
"""How long to wait if a limit names no time, as GitHub asks; it doubles with each limit that follows (forges.md §2)."""
_LONGEST_WORDS = 300
_BEGINNING = 16 * 1024
_SIGNS_OF_A_LIMIT = ("rate limit", "rate-limit", "abuse detection")


class Credential(Protocol):
    """What authenticates each request."""

    def headers(self) -> Mapping[str, str]:
        """Return the headers of a request. Raises the errors of the forge, and of the credential's file."""

    def forget(self) -> None:
        """Drop what is cached: the forge refused it."""

    def close(self) -> None:
        """Close it: no further request uses it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A status that the adapter judges itself, and the forge's message."""

    status: int
    words: str


class Api:
    """Belongs to one thread, as its client does."""

    def __init__(self, client: RestClient, now: Now, credential: Credential | None = None) -> None:
        """``credential`` authenticates the client, if it must learn of refusals and of the end."""
        self.place = client.place
        self.rate = Rate()
        """The rate limit in the last answer."""
        self._client = client
        self._now = now
        self._credential = credential
        self._limited = 0
        """How many consecutive limits named no time."""

    def get(self, path: str, doing: str, **query: str) -> Shape:
        """Return one object or list."""
        return self._shape(self._good(self._ask("GET", path, query), doing))

    def find(self, path: str, doing: str, also: tuple[int, ...] = (), **query: str) -> Shape | None:
        """Return one object; None where the forge answers 404, 422 (GitHub, for an unknown commit), or a status of
        ``also``.
        """
        answer = self._ask("GET", path, query)
        return None if answer.status in (404, 422, *also) else self._shape(self._good(answer, doing))

    def each(self, path: str, doing: str, **query: str) -> Iterator[Shape]:
        """Yield every item of a list, page by page; a page is requested when its first item is needed."""
        with_pages = self._client.pages(path, query)
        while True:
            try:
                answer = next(with_pages, None)
            except NoResponse as error:
                raise ForgeDown(str(error)) from None
            if answer is None:
                return
            self._read_limits(answer)
            yield from self._shape(self._good(answer, doing)).items()

    def write(self, method: str, path: str, doing: str, body: Mapping[str, Any] | None = None) -> Shape:
        """Change something; return the forge's answer."""
        return self._shape(self._good(self._ask(method, path, body=body), doing))

    def attempt(
        self, method: str, path: str, doing: str, body: Mapping[str, Any], judged: tuple[int, ...]
    ) -> Refusal | None:
        """Change something; return None, or the refusal if it has one of the statuses that the caller judges."""
        answer = self._ask(method, path, body=body)
        if answer.status in judged and not _is_limit(answer, self.rate):
            return Refusal(answer.status, _words(answer))
        self._good(answer, doing)
        return None

    def _ask(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None
    ) -> HttpAnswer:
        try:
            answer = self._client.ask(method, path, query, body)
        except NoResponse as error:
            raise ForgeDown(str(error)) from None
        self._read_limits(answer)
        return answer

    def _read_limits(self, answer: HttpAnswer) -> None:
        self.rate = rate_of(answer.headers, self._now())
        if _is_limit(answer, self.rate):
            raise self._rate_limited()
        self._limited = 0
        if answer.status == 401 and self._credential:
            self._credential.forget()

    def close(self) -> None:
        """Close every connection."""
        self._client.close()
        if self._credential:
            self._credential.close()

    def _rate_limited(self) -> RateLimited:
        now = self._now()
        wait = self.rate.wait(now)
        if wait is None:
            self._limited += 1
            seconds = delay(self._limited, WAIT_WHEN_NOT_TOLD.total_seconds(), LONGEST_WAIT.total_seconds())
            wait = timedelta(seconds=seconds)
        return RateLimited(self.place, now + wait, wait.total_seconds())

    def _good(self, answer: HttpAnswer, doing: str) -> HttpAnswer:
        if 200 <= answer.status < 300:
            return answer
        raise trouble(answer, self.place, doing, self.rate)

    def _shape(self, answer: HttpAnswer) -> Shape:
        if not answer.body.strip():
            return Shape(None, self.place)
        try:
            return Shape(read_objects(answer.body), self.place)
        except NotJson:
            raise Nonsense(self.place, f"{answer.place} gave no JSON but {_short(_beginning(answer.body))}") from None


def trouble(answer: HttpAnswer, place: str, doing: str, rate: Rate) -> GitopsBgError:
    """Return the error for an answer that is neither a success nor a limit."""
    words = _words(answer)
    if answer.status == 401:
        return TokenRefused(place, words)
    if answer.status == 403:
        return NoRight(place, doing, words)
    if answer.status == 404:
        return NotOnForge(place, doing, words)
    if answer.status >= 500 or answer.status == 408:
        return ForgeDown(f"{place} answered {answer.status} when asked to {doing}: {words}", rate.retry_after)
    if 400 <= answer.status < 500:
        return NotAccepted(place, doing, words)
    return Nonsense(place, f"status {answer.status} when asked to {doing}")


def _is_limit(answer: HttpAnswer, rate: Rate) -> bool:
    """Return True for 429; for 403 if a header or the text says so: GitHub uses both for both limits (forges.md §2)."""
    if answer.status != 403:
        return answer.status == 429
    told = rate.retry_after is not None or rate.remaining == 0
    return told or any(sign in _words(answer).lower() for sign in _SIGNS_OF_A_LIMIT)


def _words(answer: HttpAnswer) -> str:
    """Return the forge's message, in JSON or not, on one line and shortened."""
    try:
        return _short(Shape(read_json(answer.body), answer.place).words())
    except NotJson:
        return _short(_beginning(answer.body))


def _beginning(body: bytes) -> str:
    return body[:_BEGINNING].decode("utf-8", "ignore").strip() or "(empty)"


def _short(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _LONGEST_WORDS else f"{line[: _LONGEST_WORDS - 1]}…"
