"""POST /webhook: somebody pushed, look now. A signed wake-up and nothing else: the payload is never read as data.

Signed by one secret in the way of GitHub, GitLab, Gitea, or any sender with
``X-Signature-256: sha256=<hex HMAC-SHA256 of the body>`` and, if it likes, an ``X-Delivery-Id``. Answers:
202 woken, 200 known delivery, 401 not signed or wrongly, 403 no secret configured, 408 too slow, 413 over 1 MB.
"""

import asyncio
import hmac
import logging
import math
from collections.abc import Callable

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gitops_bg.agent.observability.logs import fields
from gitops_bg.web.agent_port import AgentView
from gitops_bg.web.answers import MessageAnswer
from gitops_bg.web.deliveries import Coalescer, Deliveries, Later
from gitops_bg.web.signatures import SCHEMES, Scheme, body_mac, is_genuine, scheme_of

LARGEST_BODY_BYTES = 1_000_000
_DISCARDED_BYTES = 16_000_000  # Bytes read beyond the limit: a sender that is still writing would not see the response.
_MOST_DIGITS = 20  # Of a length; Python refuses to read thousands.
_SECONDS_BETWEEN_LOOKS = 1.0  # At the forge, whose requests are limited; Git is looked at as often as it can be.
_SECONDS_BETWEEN_COMPLAINTS = 60.0  # A sender without the secret must not fill the log.
_HEADERS = {401: {"WWW-Authenticate": "Signature"}, 408: {"Connection": "close"}, 413: {"Connection": "close"}}
_log = logging.getLogger(__name__)


def routes(view: AgentView, later: Later | None = None, read_seconds: float = 10.0) -> list[Route]:
    """/webhook. ``later`` is the timer of looks at the forge (the event loop's), ``read_seconds`` the time limit of one
    body.
    """
    return [Route("/webhook", PushReceiver(view, later or _call_later, read_seconds).answer, methods=["POST"])]


class PushReceiver:
    """The endpoint and its state: the last deliveries, and when it had the agent look at the forge."""

    def __init__(self, view: AgentView, later: Later, read_seconds: float) -> None:
        self._view = view
        self._read_seconds = read_seconds
        self._deliveries = Deliveries()
        self._forge = Coalescer(view.look_at_forge, later, _SECONDS_BETWEEN_LOOKS)
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
    """The bytes that a header announces; 0 for what is no number: what comes is counted in any case."""
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
