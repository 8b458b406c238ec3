"""POST /webhook: somebody pushed, look now. A signed wake-up and nothing else: the payload is never read as data.

Signed by one secret in the way of GitHub, GitLab, Gitea, or any sender with
``X-Signature-256: sha256=<hex HMAC-SHA256 of the body>`` and, if it likes, an ``X-Delivery-Id``. Answers:
202 woken, 200 known delivery, 401 not signed or wrongly, 403 no secret configured, 408 too slow, 413 over 1 MB.
"""

import asyncio
import hashlib
import hmac
import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gitops_bg.agent.logs import fields
from gitops_bg.core.dataclass import dataclass
from gitops_bg.web.agent_port import AgentView, MessageAnswer

# --- signatures: who may wake the agent ---
# The first scheme in this table that a request has decides; a further header never makes up for a wrong one.

_PREFIX = b"sha256="


@dataclass(frozen=True, slots=True)
class Scheme:
    """One scheme: the header of the signature, the header with the id of the delivery, and the check."""

    sender: str
    signature_header: str
    delivery_header: str
    check: Callable[[bytes, bytes, bytes], bool]
    """Checks the header's value, given the secret and the hex HMAC-SHA256 of the body; constant time."""


def body_mac(secret: bytes) -> "hmac.HMAC":
    """Return an HMAC-SHA256 that is fed the body in pieces, so that the body is not kept."""
    return hmac.new(secret, digestmod=hashlib.sha256)


def _prefixed(value: bytes, _secret: bytes, mac: bytes) -> bool:
    return hmac.compare_digest(value, _PREFIX + mac)


def _bare(value: bytes, _secret: bytes, mac: bytes) -> bool:
    return hmac.compare_digest(value, mac)


def _token(value: bytes, secret: bytes, _mac: bytes) -> bool:
    """Compare hashes: comparing the values would reveal the length of the secret."""
    return hmac.compare_digest(hashlib.sha256(value).digest(), hashlib.sha256(secret).digest())


SCHEMES = (
    Scheme("gitea", "x-gitea-signature", "x-gitea-delivery", _bare),
    Scheme("github", "x-hub-signature-256", "x-github-delivery", _prefixed),
    Scheme("gitlab", "x-gitlab-token", "idempotency-key", _token),
    Scheme("generic", "x-signature-256", "x-delivery-id", _prefixed),
)
"""GitLab sends the secret itself, the others ``sha256=<hex>`` or (Gitea) ``<hex>`` of HMAC-SHA256 over the raw body.

Gitea also signs in GitHub's way: it comes first, so that logs name it rightly. GitLab's Idempotency-Key stays the same
when a delivery is retried. The delivery id of a generic sender is optional.
"""


def scheme_of(headers: Mapping[str, str]) -> Scheme | None:
    """Return the scheme of a request, or None where it is not signed."""
    return next((scheme for scheme in SCHEMES if scheme.signature_header in headers), None)


def is_genuine(scheme: Scheme, headers: Mapping[str, str], secret: bytes, mac: bytes) -> bool:
    """Return whether the request was signed with ``secret``; ``mac`` is the hex HMAC-SHA256 of its body."""
    return bool(secret) and scheme.check(headers[scheme.signature_header].encode("latin-1"), secret, mac)


# --- fewer calls: repeated deliveries are recognised, and what a storm asks for is done now and then ---
# Not thread-safe: both classes belong to the event loop of the web server.

Later = Callable[[float, Callable[[], None]], object]
"""Calls a function after some seconds, as ``asyncio``'s ``call_later``."""


class Deliveries:
    """The ids of the last ``size`` deliveries. Only genuine ones may be added, or anybody could block others."""

    def __init__(self, size: int = 1024) -> None:
        self._size = size
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def is_new(self, sender: str, delivery: str) -> bool:
        """Note a delivery; return whether it is new. One without an id is always new."""
        if not delivery:
            return True
        key = hashlib.sha256(f"{sender}\n{delivery}".encode()).digest()
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > self._size:
            self._seen.popitem(last=False)
        return True


class Coalescer:
    """Acts at once, then at most once per ``quiet_seconds``: a call in the quiet time acts at its end, none is lost.

    So a push during a look of the agent is looked at as well. ``act`` gets the latest reason.
    """

    def __init__(self, act: Callable[[str], None], later: Later, quiet_seconds: float) -> None:
        self._act = act
        self._later = later
        self._seconds = quiet_seconds
        self._quiet = False
        self._waiting = ""

    def call(self, reason: str) -> None:
        """Act now, or at the end of the quiet time."""
        if self._quiet:
            self._waiting = reason
            return
        self._quiet = True
        self._later(self._seconds, self._quiet_is_over)
        self._act(reason)

    def _quiet_is_over(self) -> None:
        self._quiet = False
        if self._waiting:
            reason, self._waiting = self._waiting, ""
            self.call(reason)


# --- the endpoint ---

LARGEST_BODY_BYTES = 1_000_000
_DISCARDED_BYTES = 16_000_000  # Bytes read beyond the limit: a sender that is still writing would not see the response.
_MOST_DIGITS = 20  # Of a length; Python refuses to read thousands.
_SECONDS_BETWEEN_LOOKS = 1.0  # At the forge, whose requests are limited; Git is looked at as often as it can be.
_SECONDS_BETWEEN_COMPLAINTS = 60.0  # A sender without the secret must not fill the log.
_HEADERS = {401: {"WWW-Authenticate": "Signature"}, 408: {"Connection": "close"}, 413: {"Connection": "close"}}
_log = logging.getLogger(__name__)


def routes(view: AgentView, later: Later | None = None, read_seconds: float = 10.0) -> list[Route]:
    """Return /webhook. ``later`` is the timer of looks at the forge (the event loop's), ``read_seconds`` the time
    limit of one body.
    """
    return [Route("/webhook", PushReceiver(view, later or _call_later, read_seconds).answer, methods=["POST"])]


class PushReceiver:
    """The endpoint and its state: the last deliveries, and when it had the agent look at the forge."""

    def __init__(self, view: AgentView, later: Later, read_seconds: float) -> None:
        self._view = view
        self._read_seconds = read_seconds
        self._deliveries = Deliveries()
        self._forge = Coalescer(view.poll_forge, later, _SECONDS_BETWEEN_LOOKS)
        self._complaints = Coalescer(_complain, later, _SECONDS_BETWEEN_COMPLAINTS)

    async def answer(self, request: Request) -> Response:
        """Read the body to its end, then judge the request by its headers and the body's HMAC."""
        secret = self._view.webhook_secret or b""
        mac = body_mac(secret)
        try:
            async with asyncio.timeout(self._read_seconds):
                size = await _read(request, mac.update)
        except TimeoutError:
            return _response(408, "the body took too long")
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is left to read it
        if size > LARGEST_BODY_BYTES:
            return _response(413, f"the body is larger than {LARGEST_BODY_BYTES:,} bytes")
        if not secret:
            return _response(403, "no webhook secret is configured for this agent, so it accepts no webhooks")
        return self._judge(request, secret, mac)

    def _judge(self, request: Request, secret: bytes, mac: hmac.HMAC) -> Response:
        scheme = scheme_of(request.headers)
        if scheme is None:
            known = ", ".join(scheme.signature_header for scheme in SCHEMES)
            return _response(401, f"the request is not signed; one of these headers is needed: {known}")
        if not is_genuine(scheme, request.headers, secret, mac.hexdigest().encode()):
            self._complaints.call(scheme.sender)
            return _response(401, f"the {scheme.signature_header} header does not fit the secret and the body")
        return self._accept(scheme, request.headers.get(scheme.delivery_header, ""))

    def _accept(self, scheme: Scheme, delivery: str) -> Response:
        if not self._deliveries.is_new(scheme.sender, delivery):
            return _response(200, "this delivery is known already")
        reason = f"webhook from {scheme.sender}"
        self._view.wake(reason)
        self._forge.call(reason)
        return _response(202, "the agent looks at Git now")


async def _read(request: Request, feed: Callable[[bytes], None]) -> int:
    """Feed the body in pieces, up to the limit; return the number of bytes, which exceeds the limit if the
    body does.
    """
    if _declared(request.headers.get("content-length", "")) > LARGEST_BODY_BYTES + _DISCARDED_BYTES:
        return LARGEST_BODY_BYTES + _DISCARDED_BYTES + 1
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size <= LARGEST_BODY_BYTES:
            feed(piece)
        elif size > LARGEST_BODY_BYTES + _DISCARDED_BYTES:
            break
    return size


def _declared(length: str) -> float:
    """Return the bytes that a header announces; 0 for what is no number: what comes is counted in any case."""
    if not (length.isascii() and length.isdecimal()):
        return 0
    return int(length) if len(length) <= _MOST_DIGITS else math.inf


def _complain(sender: str) -> None:
    _log.warning("refused a webhook: its signature is wrong", extra=fields(sender=sender))


def _response(status: int, sentence: str) -> JSONResponse:
    body: MessageAnswer = {"message": sentence}
    return JSONResponse(body, status, _HEADERS.get(status))


def _call_later(seconds: float, function: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_later(seconds, function)
