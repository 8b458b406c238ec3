"""Keeps pages that are open up to date: sends the inside of a page again, as HTML, whenever it would look otherwise;
and to programs the list, as JSON.

A stream is about one address. It begins with the page as it is now, so that a browser that was away has missed nothing;
and it ends by itself before the server's deadline for an answer does (`web.server`): the browser connects again. Who
reads slowly gets fewer messages, and no queue grows. What is sent is made once for all who look at the same page; no
stream waits in a thread, and few make messages, so that pages find one.
"""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import field
from functools import partial
from urllib.parse import parse_qsl, unquote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Route

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.web.access.oidc import API_EVENTS
from gitops_bg.web.access.person import forge_token, form_token, person_of
from gitops_bg.web.dashboard.listing import Query, json_of_page
from gitops_bg.web.dashboard.pages import NotHere, Pages, Shown, subject_of
from gitops_bg.web.dashboard.source import Recent, Source

SECONDS = 25.0
"""How long a stream lasts."""
HEARTBEAT = 10.0
"""Seconds between two signs of life, so that no proxy takes the connection for dead."""
PAUSE = 1.0
"""Seconds between two messages at least: many passes follow each other."""
SETTLES = 0.5
"""Seconds between a change and what is drawn of it: pages do not take the processor from the passes that a change
brings.
"""
_THREADS = 2
"""How many messages are made at once."""
_MOST_KEPT = 16 * 1024 * 1024
"""Bytes of messages that are kept for who looks at the same a moment later."""
_LONGEST = 2_000
_HEADERS = {"X-Accel-Buffering": "no"}  # nginx would keep messages until it has many


@dataclass(frozen=True, slots=True)
class _Message:
    """What is sent. Two are equal where people see no difference but the time."""

    shown: object
    data: bytes = field(compare=False)


@dataclass(frozen=True, slots=True)
class _Drawing:
    """A message to be made: once for all who have the same ``key``, and anew after a change."""

    key: Hashable
    draw: Callable[[], _Message]
    version: int


Plan = Callable[[], _Drawing]


@dataclass(eq=False, slots=True)
class _Waiter:
    """A stream that waits for a change of what it is about; None: of anything."""

    about: AppOrGroup | None
    version: int = 0
    """How often that had changed when the stream looked last."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Events:
    """All streams of one dashboard."""

    def __init__(self, source: Source, pages: Pages, shown: Mapping[str, Callable[[Request], Shown]]) -> None:
        self._source = source
        self._pages = pages
        self._board = source.board
        self._routes = [(Route(path, lambda _: Response()), show) for path, show in shown.items()]
        self._drawn = Recent(seconds=2 * PAUSE, most=_MOST_KEPT, weigh=lambda made: len(made.data))
        self._token = secrets.token_hex().encode()
        """Stands in what is drawn for all, where each session has its own."""
        self._waiters: set[_Waiter] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wakes = False
        """Whether streams will be woken in a moment."""
        self._drawing = asyncio.Semaphore(_THREADS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._board.listen(self._changed)

    def _changed(self) -> None:
        """Have streams woken, from any thread: all of them at once, however many changes come."""
        if self._loop is not None and self._waiters and not self._wakes:
            self._wakes = True
            with suppress(RuntimeError):  # the server stopped
                self._loop.call_soon_threadsafe(self._loop.call_later, SETTLES, self._wake)

    def _wake(self) -> None:
        self._wakes = False
        for each in self._waiters:
            if self._board.changes_of(each.about) != each.version:
                each.changed.set()

    async def stream(self, request: Request) -> Response:
        """Return the changes of the page that the query names as ``at``."""
        asked, show = self._page(request)
        return self._streamed(partial(self._draw, asked, show), subject_of(asked), form_token(request))

    async def stream_json(self, request: Request) -> Response:
        """Return what `/api/v1/apps` answers to the same query, whenever that is something else, as JSON."""
        return self._streamed(partial(self._encode, request), None, "")

    def _streamed(self, plan: "Plan", about: AppOrGroup | None, token: str) -> Response:
        self._loop = asyncio.get_running_loop()
        messages = self._messages(plan, _Waiter(about), token.encode())
        return StreamingResponse(messages, media_type="text/event-stream", headers=_HEADERS)

    def _page(self, request: Request) -> tuple[Request, Callable[[Request], Shown]]:
        """Return the request for the page itself, by the same person, and what shows it."""
        try:
            parts = urlsplit(request.query_params.get("at", "")[:_LONGEST])
        except ValueError as error:
            raise HTTPException(404) from error
        if parts.netloc:
            raise HTTPException(404)
        scope = {**request.scope, "path": unquote(parts.path), "raw_path": parts.path.encode(errors="replace")}
        query = Query.read(dict(parse_qsl(parts.query)))  # what no page asks for makes no page of its own
        scope["query_string"] = query.address(page=query.page).removeprefix("?").encode()
        for route, show in self._routes:
            match, child = route.matches(scope)
            if match is Match.FULL:
                return Request({**scope, **child}), show
        raise HTTPException(404)

    async def _messages(self, plan: "Plan", waiter: _Waiter, token: bytes) -> AsyncIterator[bytes]:
        end, last = time.monotonic() + SECONDS, None
        self._waiters.add(waiter)
        try:
            while time.monotonic() < end:
                waiter.changed.clear()
                drawing = plan()
                waiter.version = drawing.version
                made = await self._made(drawing)
                if made != last:
                    yield made.data.replace(self._token, token)
                    last = made
                await asyncio.sleep(PAUSE)
                while not waiter.changed.is_set() and time.monotonic() < end:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(waiter.changed.wait(), HEARTBEAT)
                        break
                    yield b":\n\n"
        finally:
            self._waiters.discard(waiter)

    def _encode(self, request: Request) -> "_Drawing":
        """Return the list as it is after the last change, by the rights of now; of which one may see nothing, why."""
        person, access = person_of(request), self._source.access()
        query = Query.read(request.query_params)
        address = query.address(page=query.page).removeprefix("?")
        state = {**request.scope["state"], "access": access}
        asked = Request({**request.scope, "query_string": address.encode(), "state": state})

        def encode() -> _Message:
            try:
                text = json.dumps(json_of_page(self._pages.listed(asked)))
            except GitopsBgError as error:
                text = json.dumps({"message": str(error)})
            return _Message(text, message(text))

        rights = (person.via, person.groups) if person else None
        return _Drawing((rights, access, API_EVENTS, address), encode, self._board.changes_of(None))

    def _draw(self, request: Request, show: Callable[[Request], Shown]) -> "_Drawing":
        """Return the page and its inside as it is after the last change, by the rights of now: made once for all who
        have the same ones. The token of the session is put into the forms afterwards.
        """
        person, access = person_of(request), self._source.access()
        of_all = {**request.scope["state"], "access": access, "form_token": self._token.decode()}
        asked = Request({**request.scope, "state": of_all})

        def draw() -> _Message:
            try:
                shown = show(asked)
            except (NotHere, GitopsBgError) as error:
                shown = self._pages.failed(asked, error)
            return _Message(shown, message(self._pages.draw(shown, asked, fragment=True)))

        rights = (person.via, person.groups, bool(forge_token(request))) if person else None
        key = person if asked.url.path == "/me" else rights, access, asked.url.path, asked.url.query
        return _Drawing(key, draw, self._board.changes_of(subject_of(asked)))

    async def _made(self, drawing: "_Drawing") -> _Message:
        """Return a message that was made for anybody, or is being made: that goes on also when who asked first has
        gone.
        """
        result, make = self._drawn.begin(drawing.key, drawing.draw, drawing.version)
        if make is not None:
            task = asyncio.create_task(self._in_thread(make))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(asyncio.wrap_future(result))

    async def _in_thread(self, make: Callable[[], None]) -> None:
        async with self._drawing:
            await run_in_threadpool(make)


def message(text: str) -> bytes:
    """Return a message without a name: htmx swaps no other.

    >>> message("a\\nb")
    b'data: a\\ndata: b\\n\\n'
    """
    return "".join(f"data: {line}\n" for line in text.split("\n")).encode() + b"\n"
