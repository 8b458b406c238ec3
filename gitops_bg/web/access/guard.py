"""What stands before every page of the dashboard: who asks, whether this site's own pages ask, and the headers of every
answer. Knows no page.

Without a login, whoever reaches a loopback address may do everything, so requests have to be for such an address by
name (a page elsewhere may let its own name lead here) and come through no proxy. On any other address nobody acts, nor
on a loopback address of a pod: whoever may forward a port to the pod reaches that.
"""

import hashlib
import hmac
import ipaddress
import logging
import secrets
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gitops_bg.agent.logs import fields
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.desired import Problem
from gitops_bg.web.access.login_file import read_login_file
from gitops_bg.web.access.oidc import API_EVENTS, EVENTS, LOGIN, LOGOUT, OidcLogin, plain_page
from gitops_bg.web.access.person import ANYBODY, Access, Person, Via, refuse, refused
from gitops_bg.web.access.tokens import Tokens

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""The headers of every answer that does not set them itself."""

_log = logging.getLogger(__name__)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITE = frozenset({"same-origin", "none"})
_OF_PROXIES = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """How people and scripts show who they are."""

    oidc: OidcLogin | None = None
    tokens: Tokens | None = None
    loopback: Person | None = None
    """Who asks where there is no login, and only by a name of this machine; None: more than this machine can ask."""
    public_url: str = ""
    """The address of the dashboard in browsers, where a proxy stands before it; empty: that which they ask for."""
    in_pod: bool = False
    """Whether people forward ports to this machine, so that a loopback address is not for its own users only."""

    @property
    def is_needed(self) -> bool:
        """Whether anybody can log in, and so has to."""
        return self.tokens is not None or self.oidc is not None

    @property
    def why_reading_only(self) -> str:
        """Why nobody acts, where nobody can log in and more than this machine reaches it; as a sentence."""
        by = "whoever may forward a port to its pod reaches it" if self.loopback is ANYBODY else "others reach it"
        return f"nobody can log in at this dashboard, and {by}, so it is for reading only"

    @property
    def open_paths(self) -> tuple[str, ...]:
        """The beginnings of what everybody may ask for: what it takes to log in."""
        return ("/static/", LOGIN) if self.oidc is not None else ()


def login_from(file: Path | None, public_url: str, clock: Callable[[], datetime], *, in_pod: bool = False) -> Login:
    """Return how people and scripts show who they are, as a file says it; without one nobody can.

    Raises `InvalidInput`, also where people could not come back from their provider.
    """
    if file is None:
        return Login(public_url=public_url, in_pod=in_pod)
    provider = read_login_file(file).oidc
    if provider is None:
        return Login(tokens=Tokens(file, clock), public_url=public_url)
    is_kept = public_url.startswith("https://") or is_loopback(urlsplit(public_url).hostname or "")
    if not is_kept:
        message = f"{public_url!r} is no address to which people come back from {provider.issuer}"
        remedy = "give the dashboard's https address in browsers: they send a session to no other"
        raise InvalidInput(Problem("--public-url", message, remedy=remedy))
    oidc = OidcLogin(provider, public_url, clock)
    return Login(oidc=oidc, tokens=Tokens(file, clock), public_url=public_url)


class Guard:
    """ASGI middleware. Leaves ``person``, ``access`` and ``form_token`` in the state of each request, why nobody acts
    (``reading_only``), and the person's ``forge_token``.
    """

    def __init__(self, app: ASGIApp, login: Login, access: Callable[[], Access]) -> None:
        self._app = app
        self._login = login
        self._access = access
        self._secret = secrets.token_bytes(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer for the pages where somebody may not ask; else let them."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        person, session, own_token = await self._person(request)
        state = scope.setdefault("state", {})
        why = self._login.why_reading_only if person is not None and person.via is Via.ANONYMOUS else ""
        token = self._form_token(person, session)
        state |= {"person": person, "access": self._access(), "form_token": token, "reading_only": why}
        state["forge_token"] = own_token
        refusal = self._refusal(request, person)
        await (refusal or self._app)(scope, receive, _with_headers(send))
        if why := refused(request):
            _log_refused(request, person, why)

    async def _person(self, request: Request) -> tuple[Person | None, str, str]:
        """Return who asks, None for somebody who has to log in first; the name of the session, if there is one; and
        their token at the forge, if they logged in there.
        """
        login = self._login
        if not login.is_needed:
            return login.loopback or ANYBODY, "", ""
        if token := _bearer(request.headers):
            return (login.tokens.person(token) if login.tokens is not None else None), "", ""
        found = login.oidc.session(request) if login.oidc is not None else None
        if found is None or login.oidc is None:
            return None, "", ""
        name, session = found
        if request.url.path not in (EVENTS, API_EVENTS):  # these wait for nobody else
            session = await login.oidc.renewed(name, session)
        return session.person, name, session.forge_token

    def _form_token(self, person: Person | None, session: str) -> str:
        """Return what forms carry: another thing in each session. None for scripts: no browser sends their token on
        behalf of another site.
        """
        if person is None or person.via in (Via.TOKEN, Via.ANONYMOUS):
            return ""
        return hmac.new(self._secret, f"{person.subject} {session}".encode(), hashlib.sha256).hexdigest()

    def _refusal(self, request: Request, person: Person | None) -> Response | None:
        """Return the answer to who may not ask this; None for who may."""
        if self._login.loopback is not None and not self._login.is_needed and (why := _why_not_here(request.headers)):
            return _message(request, 421, why)
        if person is None:
            return self._log_in(request)
        if request.method in SAFE_METHODS:
            return None
        if person.via is Via.ANONYMOUS:
            return _message(request, 403, self._login.why_reading_only)
        return self._why_foreign(request, person)

    def _log_in(self, request: Request) -> Response | None:
        """Return the answer to who has to log in: people are led there, and come back; None for what is open to
        everybody.

        Of a form no answer may lead elsewhere (``form-action``): a page says where to log in, and that leads to what
        the form would have done.
        """
        if self._login.open_paths and request.url.path.startswith(self._login.open_paths):
            return None
        if self._login.oidc is not None and "text/html" in request.headers.get("accept", ""):
            asked = f"?{request.url.query}" if request.url.query else ""
            if request.method == "GET":
                return RedirectResponse(f"{LOGIN}?{urlencode({'next': request.url.path + asked})}", 303)
            if request.method == "POST":
                path = "/" if request.url.path == LOGOUT else request.url.path
                says = "Your session has ended, so nothing was done."
                refuse(request, says)
                return plain_page(401, says, f"{LOGIN}?{urlencode({'next': path})}", "Log in, and look at it again")
        said = "log in first; a script sends its token: Authorization: Bearer <token>"
        return _message(request, 401, said, {"WWW-Authenticate": "Bearer"})

    def _why_foreign(self, request: Request, person: Person) -> Response | None:
        """Return the answer to a request that changes something and that a page of another site has sent.

        https://www.w3.org/TR/fetch-metadata/: browsers of these years say from where, older ones send Origin.
        """
        site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
        if site is None and origin is None and person.via is Via.TOKEN:
            return None
        own = site in _OWN_SITE if site is not None else origin is not None and self._is_own(origin, request.headers)
        return None if own else _message(request, 403, "only a page of this dashboard may ask for a change")

    def _is_own(self, origin: str, headers: Headers) -> bool:
        if self._login.public_url:
            return origin == origin_of(self._login.public_url)
        return urlsplit(origin).netloc == headers.get("host", "")


def origin_of(url: str) -> str:
    """Return the origin of an address.

    >>> origin_of("https://bg.example.com/dashboard")
    'https://bg.example.com'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def is_loopback(host: str) -> bool:
    """Return whether a host can be reached from its own machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("")
    (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _why_not_here(headers: Headers) -> str:
    """Return why a request is not of somebody on this machine; empty where nothing speaks against it."""
    if any(name in headers for name in _OF_PROXIES):
        return "it came through a proxy, and without a login this dashboard is for its own machine only"
    return "" if _is_asked_as_loopback(headers) else "without a login this dashboard answers to localhost only"


def _is_asked_as_loopback(headers: Headers) -> bool:
    try:
        return is_loopback(urlsplit(f"//{headers.get('host', '')}").hostname or "")
    except ValueError:  # no host at all, such as an open bracket
        return False


def _bearer(headers: Headers) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _message(request: Request, status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    refuse(request, sentence)
    return JSONResponse({"message": sentence}, status, headers)


def _log_refused(request: Request, person: Person | None, why: str) -> None:
    """Write down who was refused what, where it would have changed something."""
    if request.method in SAFE_METHODS:
        return
    by, subject = (str(person), person.subject) if person is not None else ("", "")
    said = fields(path=one_line(request.url.path), by=by, subject=subject)
    _log.warning("refused on the dashboard: %s", one_line(why), extra=said)
