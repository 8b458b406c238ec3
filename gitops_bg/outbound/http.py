"""The one way to call backends over HTTP: bounded in time and size, verified, safe from redirects. Knows no provider
and no hook.
"""

import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from functools import lru_cache
from typing import Any

import httpx

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import NotJson, read_json
from gitops_bg.outbound.addresses import EVERYWHERE, AddressRules
from gitops_bg.outbound.connections import guarded
from gitops_bg.outbound.secrets import media_type, quoted, status_line, words_in_json


class MeasuringFailed(Exception):
    """The backend could not be reached, or its response is invalid: an error, neither good nor bad."""

    def __init__(self, sentence: str, words: str = "") -> None:
        """``words`` are the backend's own, whole: `told` hides secrets in them before it cuts them."""
        super().__init__(sentence)
        self.words = words

    def __str__(self) -> str:
        return self.shown(str)

    def shown(self, clean: Callable[[str], str]) -> str:
        """Return the error as it is shown, after ``clean`` has hidden the secrets in it."""
        sentence, words = clean(str(self.args[0])), quoted(self.words, clean)
        return f"{sentence}: {words}" if words else sentence


class NoResponse(Exception):
    """A REST API could not be reached, or its response was incomplete. Whether a write succeeded is unknown."""


MAX_BODY = 1024 * 1024
"""The most bytes of a response; a metric is smaller."""
MAX_REDIRECTS = 3
_AGENT = "gitops-bg"
_KEPT_SECONDS = 50.0
"""How long an idle connection is kept: longer than a poll interval, and shorter than most servers keep it."""


@dataclass(frozen=True, slots=True)
class Trust:
    """The trusted certificates: the system's, or those signed by ``authorities`` (PEM), or any."""

    authorities: str = ""
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. ``timeout`` is in seconds, for the whole of it; ``most`` is the limit of the response in bytes."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout: float = 10.0
    trust: Trust = Trust()
    most: int = MAX_BODY
    writes: bool = False
    """Whether it writes: a redirect that would change the request (a POST to a GET) is an error."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A response, whatever its status."""

    place: str
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    """By names in lower case."""
    redirected: bool = False
    """Whether somebody else than the author named the address: then nothing of the body is quoted."""

    def json(self) -> Any:
        """Return the body as JSON. Raises ``MeasuringFailed`` where it is not JSON, or the status is not 2xx."""
        self.require_success()
        try:
            return read_json(self.body)
        except NotJson as error:
            kind = media_type(self.headers)
            raise MeasuringFailed(f"{self.place} answered what is no JSON{kind and f' but {kind}'}") from error

    def require_success(self) -> None:
        """Raise ``MeasuringFailed`` unless the status is 2xx."""
        if not 200 <= self.status < 300:
            raise MeasuringFailed(f"{self.place} answered {status_line(self.status)}", self.words)

    @property
    def words(self) -> str:
        """What it says about an error in JSON, as far as that may be shown; whole, for `MeasuringFailed`."""
        return words_in_json(self.kind, self.body)

    @property
    def kind(self) -> str:
        """The media type by which the body may be quoted; empty where nothing of it may."""
        return "" if self.redirected else media_type(self.headers)


def ask(request: HttpRequest, rules: AddressRules = EVERYWHERE) -> HttpAnswer:
    """Send a request to where ``rules`` permit. Raises ``MeasuringFailed`` where they do not, or no response arrives
    within the limits of time and size.

    All errors of httpx become ``MeasuringFailed``.
    """
    with _border(_place(request.url)), guarded(client_for(request.trust, request.timeout), rules) as client:
        refused = rules.refusal_of_literal(httpx.URL(request.url).host)  # also where a proxy would be asked for it
        if refused:
            raise MeasuringFailed(f"{_place(request.url)} cannot be asked: {refused}")
        return _follow(client, request, time.monotonic() + request.timeout)


def exchange(client: httpx.Client, request: HttpRequest) -> HttpAnswer:
    """Do as `ask`, over the kept connections of a client; the client's trust applies, not the request's."""
    with _border(_place(request.url)):
        return _follow(client, request, time.monotonic() + request.timeout)


def reason_of(error: Exception) -> str:
    """Return why there was no answer: in words of ours where the library's have in them what a server sent."""
    if isinstance(error, httpx.RemoteProtocolError):
        return "it ended the connection" if "disconnected" in str(error) else "it answered what is no HTTP"
    if isinstance(error, httpx.ProxyError):
        found = re.match(r"[1-5]\d\d\b", str(error))
        return f"the proxy answered {status_line(int(found[0]))}" if found else "the proxy does not connect"
    return str(error) or type(error).__name__


def client_for(trust: Trust, timeout: float) -> httpx.Client:
    """Return a client that keeps its connections until it is closed. ``timeout`` in seconds applies to each step of a
    request.
    """
    limits = httpx.Limits(keepalive_expiry=_KEPT_SECONDS)
    return httpx.Client(verify=tls_context(trust), timeout=timeout, limits=limits)


def _follow(client: httpx.Client, request: HttpRequest, until: float) -> HttpAnswer:
    """Follow redirects on the same host only: credentials and requests must not go anywhere else."""
    headers = {"User-Agent": _AGENT, **request.headers, "Accept-Encoding": "identity"}
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    sent = client.build_request(request.method, request.url, headers=encoded, content=request.body)
    for redirects in range(MAX_REDIRECTS + 1):
        response = client.send(sent, stream=True, follow_redirects=False)
        try:
            if response.next_request is None:
                body = _body(response, until, request.most)
                return HttpAnswer(_place(str(sent.url)), response.status_code, body, _headers(response), redirects > 0)
            following = response.next_request
        finally:
            response.close()
        if _origin(following.url) != _origin(sent.url):
            target = f"{following.url.scheme}://{following.url.netloc.decode()}"
            raise MeasuringFailed(
                f"{_place(str(sent.url))} redirects to {target}, which is not followed: name it itself"
            )
        if request.writes and following.method != sent.method:
            raise MeasuringFailed(
                f"{_place(str(sent.url))} has moved to {_place(str(following.url))}: name that itself"
            )
        sent = following
    raise MeasuringFailed(f"{_place(request.url)} redirects more than {MAX_REDIRECTS} times")


def _headers(response: httpx.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _body(response: httpx.Response, until: float, most: int) -> bytes:
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise MeasuringFailed(f"{_place(str(response.url))} compresses its answer though it was not asked to")
    body = bytearray()
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > most:
            raise MeasuringFailed(f"{_place(str(response.url))} answered with more than {most:,} bytes")
        if time.monotonic() > until:
            raise MeasuringFailed(f"{_place(str(response.url))} did not end its answer in time")
    return bytes(body)


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _place(url: str) -> str:
    """Return the address without the query, which may contain secrets."""
    return url.partition("?")[0].partition("#")[0]


@contextmanager
def _border(place: str) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        raise MeasuringFailed(f"{place} did not answer in time") from error
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, UnicodeError, ValueError) as error:
        raise MeasuringFailed(f"{place} cannot be asked: {reason_of(error)}") from error


@lru_cache(maxsize=32)
def tls_context(trust: Trust) -> ssl.SSLContext:
    """Return the TLS context for this trust; cached, because creating one takes longer than a request."""
    context = ssl.create_default_context(cadata=trust.authorities or None)
    if trust.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class PostFailed(Exception):
    """There was no response; the text says why, and may contain parts of the URL."""


class Poster:
    """Sends posts in one event loop, without a waiting thread, to where ``rules`` permit: one client for each
    destination, connections kept. `close` it at the end.

    It has no deadline of its own: the caller has one for the whole post, because httpx would time each read separately.
    """

    def __init__(self, rules: AddressRules = EVERYWHERE) -> None:
        self._rules = rules
        self._clients: dict[Trust, httpx.AsyncClient] = {}

    async def post(
        self, url: str, headers: list[tuple[str, str]], content: bytes, *, trust: Trust, most: int
    ) -> HttpAnswer:
        """Return the response, with at most ``most`` bytes of its body. Raises PostFailed."""
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
                return HttpAnswer(url, response.status_code, body[:most], said)
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
