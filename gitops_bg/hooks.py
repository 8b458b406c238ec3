"""Calls hooks over HTTP, in the background: those that are due at once, so that a slow one delays no other.

An app or a release group has its share of the calls under way, so that its hooks delay those of no other. What blocks
runs in a thread of its own that nobody waits for at the end: a library that hangs cannot be ended, only left, so a
subject may have only a few such threads.

A request is Flagger's: payload, headers, secrets filled in (https://docs.flagger.app/usage/webhooks; flagger.md §3.4).
The result is a status and a text, and the core decides what they mean. A failed call is not repeated here: the core
lists it again after its backoff.
"""

import asyncio
import json
import logging
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, Transient
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.foreign_text import printable
from gitops_bg.core.model.hooks import HookCall, HookResponse, HookType
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.outbound.addresses import EVERYWHERE, AddressRules
from gitops_bg.outbound.http import Poster, PostFailed, Trust
from gitops_bg.outbound.secrets import NoSuchKey, ReadSecret, Secrets, media_type, quoted, words_in_text
from gitops_bg.outbound.turns import Slots

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HookRequest:
    """One POST, or a function that sends by itself; ``timeout`` is in seconds, for the whole of it."""

    url: str = field(repr=False)
    body: bytes = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    timeout: float
    trust: Trust
    send: Callable[[], tuple[int, str]] | None = field(default=None, repr=False)
    """Sends instead of the POST, in a thread of its own; returns a status and a text."""


Compose = Callable[[AppOrGroup, HookCall, Secrets], HookRequest]
"""Composes the request of a call. Reads the Secrets that the call names, and raises the errors of that."""


def request_for(subject: AppOrGroup, call: HookCall, secrets: Secrets) -> HookRequest:
    """Compose the request of a call. Reads the Secrets that the call names, and raises the errors of that.

    ``Idempotency-Key`` is the same for every try of one call: a backend is asked at least once, maybe twice.
    """
    asked = secrets.fill(reread_json(call.hook.request))
    headers = {"Content-Type": "application/json", "User-Agent": "gitops-bg"} | asked.get("headers", {})
    return HookRequest(
        url=asked["url"],
        body=json.dumps(_payload(subject, call, asked.get("metadata", {}))).encode(),
        headers=(*headers.items(), ("Idempotency-Key", call.key), ("Accept-Encoding", "identity")),
        timeout=asked.get("timeout", 10.0),
        trust=Trust(asked.get("caCert", ""), asked.get("disableTLS", False)),
    )


def _payload(subject: AppOrGroup, call: HookCall, metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the payload: exactly Flagger's fields."""
    return {
        "name": subject.name,
        "namespace": subject.namespace,
        "phase": call.phase,
        "checksum": call.checksum,
        "metadata": {**metadata, **dict(call.metadata)},
    }


MOST_OF_A_SUBJECT = 4
"""The most functions that run for an app or a group at once, those that nobody waits for any more included."""

Result = tuple[int, str]


class Senders:
    """The functions under way. Used in one event loop."""

    def __init__(self) -> None:
        self._running: Counter[AppOrGroup] = Counter()

    async def run(self, subject: AppOrGroup, send: Callable[[], Result]) -> Result:
        """Return what a function returns. Raises what it raises, and `Transient` where those before it hang."""
        if self._running[subject] >= MOST_OF_A_SUBJECT:
            raise Transient(f"{MOST_OF_A_SUBJECT} messages before it are still being sent")
        self._running[subject] += 1
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()

        def finish(result: Result | None, error: Exception | None) -> None:
            self._running[subject] -= 1
            if not self._running[subject]:
                del self._running[subject]
            if done.done():
                return  # The call was ended meanwhile.
            if error is not None:
                done.set_exception(error)
            elif result is not None:
                done.set_result(result)

        def work() -> None:
            result, failure = None, None
            try:
                result = send()
            except Exception as error:  # its caller says what becomes of it
                failure = error
            with suppress(RuntimeError):  # The loop has ended meanwhile.
                loop.call_soon_threadsafe(finish, result, failure)

        threading.Thread(target=work, name="sender", daemon=True).start()
        return await done


_MOST_READ = 16 * 1024
"""Bytes of a response that are read; `quoting` decides what of them is shown."""

MOST_AT_ONCE = 512
"""The most calls under way in one agent; each ends within its own timeout."""

MOST_MESSAGES_AT_ONCE = 64
"""The most calls of chats under way, which have their own limit: a chat that hangs delays no gate."""

SHARE = 16
"""The part of these that one app or release group may have: a sixteenth."""

Key = tuple[AppOrGroup, str]


class HookCaller:
    """Tracks the calls under way, and their responses until the core has taken them.

    ``on_result`` is called with every app or release group that has a response; ``clock`` gives UTC; ``composers`` make
    the requests of types that do not use Flagger's form; ``addresses`` are where calls may go. `stop` it at the end.
    """

    def __init__(
        self,
        read_secret: ReadSecret,
        on_result: Callable[[AppOrGroup], None],
        clock: Callable[[], datetime],
        composers: Mapping[HookType, Compose] = MappingProxyType({}),
        addresses: AddressRules = EVERYWHERE,
    ) -> None:
        self._read_secret = read_secret
        self._on_result = on_result
        self._clock = clock
        self._composers = composers
        self._lock = threading.Lock()
        self._running: dict[Key, asyncio.Task[None] | None] = {}
        """None: about to begin."""
        self._answers: dict[AppOrGroup, dict[str, HookResponse]] = {}
        self._places = Slots(MOST_AT_ONCE, MOST_AT_ONCE // SHARE)
        self._places_of_chats = Slots(MOST_MESSAGES_AT_ONCE, MOST_MESSAGES_AT_ONCE // SHARE)
        self._poster = Poster(addresses)
        self._senders = Senders()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    # --- for workers ------------------------------------------------------------------------------------------

    def update(self, subject: AppOrGroup, calls: Iterable[HookCall]) -> None:
        """Begin the calls that are neither under way nor answered; end and forget those no longer listed."""
        named = {call.id: call for call in calls}
        with self._lock:
            answers = {id_: called for id_, called in self._answers.pop(subject, {}).items() if id_ in named}
            if answers:
                self._answers[subject] = answers
            gone = [key for key in self._running if key[0] == subject and key[1] not in named]
            stale = [task for key in gone if (task := self._running.pop(key))]
            new = [call for id_, call in named.items() if id_ not in answers and (subject, id_) not in self._running]
            self._running.update({(subject, call.id): None for call in new})
            if stale or new:
                self._started().call_soon_threadsafe(self._change, subject, stale, new)

    def answers(self, subject: AppOrGroup) -> tuple[HookResponse, ...]:
        """Return the responses of its calls that the core has not taken yet."""
        with self._lock:
            return tuple(self._answers.get(subject, {}).values())

    def stop(self, timeout: float = 2.0) -> None:
        """End every call; their responses are lost, and the next agent asks again."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._close(), loop).add_done_callback(
            lambda _: loop.call_soon_threadsafe(loop.stop)
        )
        thread.join(timeout)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._run, args=(self._loop,), name="hooks", daemon=True)
            self._thread.start()
        return self._loop

    # --- in the loop ------------------------------------------------------------------------------------------

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    def _change(self, subject: AppOrGroup, stale: list[asyncio.Task[None]], new: list[HookCall]) -> None:
        for task in stale:
            task.cancel()
        with self._lock:
            for call in new:
                if (subject, call.id) in self._running:
                    self._running[subject, call.id] = asyncio.get_running_loop().create_task(self._call(subject, call))

    async def _close(self) -> None:
        with self._lock:
            tasks = [task for task in self._running.values() if task]
            self._running.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._poster.close()

    async def _call(self, subject: AppOrGroup, call: HookCall) -> None:
        places = self._places_of_chats if call.hook.type is HookType.ALERT else self._places
        async with places.place_for(subject):
            status, text = await self._answer(subject, call)
        with self._lock:
            if (subject, call.id) not in self._running:
                return  # The response is no longer needed.
            del self._running[subject, call.id]
            self._answers.setdefault(subject, {})[call.id] = HookResponse(call.id, status, self._clock(), text)
        self._on_result(subject)

    async def _answer(self, subject: AppOrGroup, call: HookCall) -> tuple[int, str]:
        """Return status and text; status 0 and the reason where there was no response."""
        secrets = Secrets(call.hook.namespace or subject.namespace, self._read_secret)
        compose = self._composers.get(call.hook.type, request_for)
        try:
            request = await asyncio.to_thread(compose, subject, call, secrets)
            status, words = await self._in_time(subject, request)
            return status, quoted(words, secrets.clean)
        except (TimeoutError, NoSuchKey, GitopsBgError) as error:
            return 0, str(error)
        except PostFailed as error:
            return 0, secrets.clean(str(error))
        except (OSError, ValueError) as error:
            return 0, secrets.clean(f"{type(error).__name__}: {error}")
        except MemoryError:
            raise
        except Exception as error:  # whatever a hook answers is its response, so that nothing waits for ever
            LOGGER.exception("%s", secrets.clean(traceback.format_exc()), exc_info=False)
            return 0, printable(secrets.clean(f"a bug of the agent: {type(error).__name__}: {error}"))

    async def _in_time(self, subject: AppOrGroup, request: HookRequest) -> tuple[int, str]:
        """Status, and what of the text may be shown."""
        try:
            async with asyncio.timeout(request.timeout):
                if request.send is not None:
                    return await self._senders.run(subject, request.send)
                answer = await self._poster.post(
                    request.url,
                    list(request.headers),
                    request.body,
                    trust=request.trust,
                    most=_MOST_READ,
                )
                words = words_in_text(media_type(answer.headers), answer.body)
                return answer.status, words
        except TimeoutError as error:
            raise TimeoutError(f"no answer within {request.timeout:g} s") from error
