"""What servers answer, as bytes: lines and refusals of an API server, JSON of a forge, values of a metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from gitops_bg.analysis.provider import Context, Value
from gitops_bg.analysis.registry import Registry
from gitops_bg.cluster.api.client import Client, items_of, next_of
from gitops_bg.cluster.api.errors import is_absent, is_failed_test, refusal
from gitops_bg.cluster.api.kinds import SERVICES, Object, name_of
from gitops_bg.cluster.api.watch import Pace, Watch, WentBack
from gitops_bg.core.errors import GitopsBgError, Transient
from gitops_bg.core.foreign_json import NotJson, read_objects
from gitops_bg.forge.adapters.api import Api
from gitops_bg.forge.adapters.gitea import Gitea
from gitops_bg.forge.adapters.github import GitHub
from gitops_bg.forge.adapters.gitlab import GitLab
from gitops_bg.outbound.http import HttpAnswer, MeasuringFailed
from gitops_bg.outbound.secrets import Secrets
from tests.forge.test_shapes import CALLS, NOW, PLACE
from tests.integration.analysis.measured import WEB
from tests.integration.analysis.speakers import SPEAKERS

_REGISTRY = Registry()
_LONGEST_ERROR = 1000
_LONGEST_PAUSE = 24 * 3600


class _Sink:
    """Takes what an informer takes of an object before it reads the object itself."""

    def put(self, body: Object) -> None:
        hash(name_of(body))

    def remove(self, body: Object) -> None:
        hash((name_of(body), body["metadata"]["uid"]))


def watched(data: bytes) -> None:
    """Follow the lines of a watch. Raises the error at which it ends."""
    watch = Watch(cast(Client, None), lambda: SERVICES, "shop", "", cast(Any, _Sink()))
    with suppress(WentBack):
        for line in data.splitlines():
            watch._on_line(line)


def listed(data: bytes) -> None:
    """Read a page of a list. Raises ``GitopsBgError``."""
    try:
        page = read_objects(data)
    except NotJson as error:
        raise Transient(str(error)) from error
    if isinstance(page, dict):
        for each in items_of(page):
            hash(name_of(each))
        next_of(page).encode()


def refused(data: bytes) -> None:
    """Read a refusal: its status, `Retry-After` and path in the first line."""
    first, _, body = data.partition(b"\n")
    status, after, path = [*first.decode("latin-1").split(" ", 2), "", "", ""][:3]
    code = int(status) if status.isascii() and status.isdecimal() and len(status) == 3 else 404
    error = refusal("list services", code, {"Retry-After": after}, body, path)
    assert isinstance(error, GitopsBgError)
    str(error).encode(errors="surrogatepass")
    assert Pace(random=lambda: 1.0).pause(3, error) <= _LONGEST_PAUSE, "nobody is waited for without an end"
    is_absent(code, body, path)
    is_failed_test(code, body)


class _Saying:
    """A client that gives one answer, with a status and headers, to every question."""

    place = PLACE

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self._status, self._headers, self._body = status, headers, body

    def ask(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None) -> HttpAnswer:
        return HttpAnswer(PLACE + path, self._status, self._body, self._headers)

    def pages(self, path: str, query: Mapping[str, str]) -> Iterator[HttpAnswer]:
        yield self.ask("GET", path)

    def close(self) -> None: ...


_KINDS: tuple[Callable[[Api, str, str], Any], ...] = (GitHub, GitLab, Gitea)


def answered_by_a_forge(data: bytes) -> None:
    """Have all adapters read an answer: status and headers (`name:value`, by blanks) in the first line.

    An error of ``core.errors`` is what each call may raise.
    """
    first, _, body = data.partition(b"\n")
    status, *given = first.decode("latin-1").split(" ")
    code = int(status) if status.isascii() and status.isdecimal() and len(status) == 3 else 200
    headers = dict(each.lower().partition(":")[::2] for each in given if ":" in each)
    for kind in _KINDS:
        for call in CALLS.values():
            forge = kind(Api(cast(Any, _Saying(code, headers, body)), lambda: NOW), "shop", "config")
            try:
                call(forge)
            except GitopsBgError as error:
                str(error).encode()


def answered_by_a_backend(data: bytes) -> None:
    """Have every provider of metrics read an answer: status and media type in the first line.

    What it may raise says little of the answer, and can be saved.
    """
    first, _, body = data.partition(b"\n")
    status, _, kind = first.decode("latin-1").partition(" ")
    code = int(status) if status.isascii() and status.isdecimal() and len(status) == 3 else 200
    for provider, speaker in SPEAKERS.values():
        given = speaker.secrets
        secrets = Secrets("shop", lambda _, name, held=given: {k: v.encode() for k, v in held[name].items()})
        reply = HttpAnswer("https://metrics.test/", code, body, {"content-type": kind})
        context = Context(WEB, NOW, secrets, lambda _, told=reply: told)
        try:
            reading = _REGISTRY.provider(provider).measure(speaker.block("https://metrics.test"), context)
        except MeasuringFailed as error:
            shown = str(error)
        else:
            shown = "" if isinstance(reading, Value) else reading.why
        assert len(shown.encode()) < _LONGEST_ERROR, "more of an answer is shown than is needed"
