"""Logging in at an OpenID provider: the code flow with PKCE, and the session that follows. Authlib speaks to the
provider; which claims count is said here.

https://openid.net/specs/openid-connect-core-1_0.html, https://openid.net/specs/openid-connect-rpinitiated-1_0.html
"""

import asyncio
import html
import logging
import warnings
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from gitops_bg.agent.logs import fields, mask
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput, Refused
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.desired import Problem
from gitops_bg.web.access.login_file import Provider
from gitops_bg.web.access.person import Person, Via, posted_form
from gitops_bg.web.access.sessions import Remembered

if TYPE_CHECKING:
    from authlib.integrations.starlette_client import OAuth, StarletteOAuth2App

SESSION_COOKIE, ATTEMPT_COOKIE = "__Host-gitops-bg", "__Host-gitops-bg-login"
"""Sent over https only, to this site only, and set by this host only."""
LOGIN, CALLBACK, LOGOUT = "/login", "/login/callback", "/logout"
EVENTS, API_EVENTS = "/events", "/api/v1/events"
"""What open pages, and programs that wait, ask for by themselves."""
IDLE, LONGEST, ATTEMPT = timedelta(hours=1), timedelta(hours=10), timedelta(minutes=10)
"""How long a session lasts without a request, and at most; and how long a login may take."""
_FRESH = timedelta(hours=1)
"""How long the provider's keys are believed: those that it takes back count no longer than that."""
_ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
"""By key pairs only: neither unsigned, nor by a secret that others have, too."""
_SCOPES = ("openid", "profile", "email", "groups")
_MOST_GROUPS = 1000
_NEVER = datetime.max.replace(tzinfo=UTC)
_OF_ITS_TIME = 0.9
"""After which part of its time a token is renewed."""
_AGAIN = timedelta(minutes=1)
"""When that is tried again, where the provider did not answer."""
_log = logging.getLogger(__name__)


class LoginRefused(Refused):
    """The provider says who somebody is, and that is not enough."""

    reason = "LoginRefused"


@dataclass(frozen=True, slots=True)
class Session:
    """A person who is logged in."""

    person: Person
    id_token: str
    """What ends the session at the provider."""
    forge_token: str = field(default="", repr=False)
    """Their token at the forge, where they logged in with their account there. It leaves this process to the forge
    alone.
    """
    refresh_token: str = field(default="", repr=False)
    """What the forge gives another one for; empty where it gives none."""
    renew_at: datetime = _NEVER
    """When that is to be done."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A login that has begun: what Authlib keeps of it, and where it leads."""

    kept: MutableMapping[str, Any]
    goes_to: str


class OidcLogin:
    """The paths of logging in and out, and the sessions. ``clock`` gives UTC."""

    def __init__(self, provider: Provider, public_url: str, clock: Callable[[], datetime]) -> None:
        """Raise `InvalidInput` where the secret cannot be read."""
        self._provider = provider
        self._public_url = public_url
        self._clock = clock
        self._secret = _secret(provider)
        self._sessions: Remembered[Session] = Remembered(clock, IDLE, LONGEST)
        self._attempts: Remembered[_Attempt] = Remembered(clock, ATTEMPT, ATTEMPT)
        self._renewing = WeakValueDictionary[str, asyncio.Lock]()
        self._known: tuple[datetime, StarletteOAuth2App] | None = None

    def routes(self) -> list[Route]:
        """Return every path. Those of logging in are for everybody."""
        return [
            Route(LOGIN, self._begin, methods=["GET"]),
            Route(CALLBACK, self._end, methods=["GET"]),
            Route(LOGOUT, self._log_out, methods=["POST"]),
        ]

    @property
    def is_forge(self) -> bool:
        """Whether people log in with their account at the forge."""
        return self._provider.forge

    @property
    def issuer(self) -> str:
        """The provider at which people log in."""
        return self._provider.issuer

    def session(self, request: Request) -> tuple[str, Session] | None:
        """Return the session of a request, with its name; None for nobody's, and one that is over.

        A page that keeps itself up to date is no sign that somebody looks at it.
        """
        name = request.cookies.get(SESSION_COOKIE, "")
        found = self._sessions.get(name, uses=request.url.path not in (EVENTS, API_EVENTS)) if name else None
        return None if found is None else (name, found)

    async def renewed(self, name: str, session: Session) -> Session:
        """Return a session with a token that the forge takes, as far as it renews it: once, for all who ask meanwhile.
        Where it does not, the old token stays, of which the forge says that it is over.
        """
        if session.renew_at > self._clock():
            return session
        lock = self._renewing.setdefault(name, asyncio.Lock())
        async with lock:
            known = self._sessions.get(name, uses=False) or session
            if known.renew_at > self._clock():
                return known
            made = await self._renew(known)
            self._sessions.change(name, made)
            return made

    async def _renew(self, session: Session) -> Session:
        from authlib.integrations.base_client.errors import OAuthError

        asked = {"grant_type": "refresh_token", "refresh_token": session.refresh_token}
        said = fields(subject=session.person.subject)
        try:
            token = await (await self._client()).fetch_access_token(**asked)
            _log.info("a token at the forge was renewed", extra=said)
            return replace(session, **self._forge_tokens(token, session.refresh_token))
        except OAuthError as error:
            _log.warning("a token at the forge is not renewed: %s", one_line(str(error)), extra=said)
            return replace(session, refresh_token="", renew_at=_NEVER)
        except Exception as error:
            _log.warning("a token at the forge is not renewed yet: %s", one_line(str(error)), extra=said)
            return replace(session, renew_at=self._clock() + _AGAIN)

    def _forge_tokens(self, token: Mapping[str, Any], before: str = "") -> dict[str, Any]:
        """Return what a session has of a provider that is the forge; ``before`` renews again where it gives nothing
        newer.
        """
        if not self._provider.forge:
            return {}
        refresh, lasts = str(token.get("refresh_token") or before), token.get("expires_in")
        is_known = refresh and isinstance(lasts, int) and 0 < lasts <= LONGEST.total_seconds()
        renew_at = self._clock() + timedelta(seconds=lasts) * _OF_ITS_TIME if is_known and lasts else _NEVER
        own = str(token.get("access_token") or "")
        return {"forge_token": own, "refresh_token": refresh, "renew_at": renew_at}

    # --- logging in ---

    async def _begin(self, request: Request) -> Response:
        attempt = _Attempt({}, own_path(request.query_params.get("next", "")))
        request.scope["session"] = attempt.kept
        try:
            client = await self._client()
            answer: Response = await client.authorize_redirect(request, f"{self._public_url}{CALLBACK}")
        except Exception as error:
            return self._failed(error)
        _set_cookie(answer, ATTEMPT_COOKIE, self._attempts.add(attempt))
        return answer

    async def _end(self, request: Request) -> Response:
        """End a login; a state that this browser did not begin with is a login that somebody else began."""
        attempt = self._attempts.remove(request.cookies.get(ATTEMPT_COOKIE, ""))
        if attempt is None:
            return plain_page(400, "This login did not begin here, or took too long.", LOGIN, "Log in")
        request.scope["session"] = attempt.kept
        try:
            claims, id_token, tokens = await self._claims(request)
            person = person_from(claims, self._provider)
        except LoginRefused as error:
            return self._failed(error, str(error))
        except Exception as error:
            return self._failed(error)
        if before := self.session(request):
            self._sessions.remove(before[0])
        _log.info("logged in", extra=fields(subject=person.subject, by=str(person)))
        answer = RedirectResponse(attempt.goes_to, 303)
        _set_cookie(answer, SESSION_COOKIE, self._sessions.add(Session(person, id_token, **tokens)))
        _drop_cookie(answer, ATTEMPT_COOKIE)
        return answer

    async def _claims(self, request: Request) -> tuple[Mapping[str, Any], str, dict[str, Any]]:
        """Return what the provider says of a person, its id token, and their own tokens where it is the forge."""
        client, provider = await self._client(), self._provider
        wanted = {
            "iss": {"essential": True, "values": [provider.issuer]},
            "aud": {"essential": True, "value": provider.client_id},
        }
        token = await client.authorize_access_token(request, claims_options=wanted)
        if not token.get("userinfo") or not token.get("id_token"):
            raise LoginRefused(f"{provider.issuer} gave no id token: is openid one of the scopes?")
        claims = dict(token["userinfo"])
        metadata = await client.load_server_metadata()
        if metadata.get("userinfo_endpoint") and not {"email", provider.groups_claim} <= claims.keys():
            bearer = {"access_token": token["access_token"], "token_type": "Bearer"}
            more = await client.userinfo(token=bearer)
            if more.get("sub") != claims["sub"]:
                raise LoginRefused(f"{provider.issuer} says two things of who somebody is")
            claims = {**more, **claims}
        return claims, str(token["id_token"]), self._forge_tokens(token)

    async def _client(self) -> "StarletteOAuth2App":
        """Return Authlib's client, with what the provider says of itself. Raises `LoginRefused` for another issuer."""
        now = self._clock()
        if self._known is not None and now - self._known[0] < _FRESH:
            return self._known[1]
        provider = self._provider
        client: StarletteOAuth2App = _authlib().register(
            "provider",
            server_metadata_url=f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration",
            client_id=provider.client_id,
            client_secret=self._secret or None,
            client_kwargs={
                "scope": " ".join(provider.scopes or _SCOPES),
                "code_challenge_method": "S256",
                "token_endpoint_auth_method": "client_secret_basic" if self._secret else "none",
                "timeout": 10,
            },
        )
        metadata = await client.load_server_metadata()
        if metadata.get("issuer") != provider.issuer:
            called = one_line(str(metadata.get("issuer")))
            raise LoginRefused(f"the provider calls itself {called}, not {provider.issuer}: write its name so")
        signed = set(metadata.get("id_token_signing_alg_values_supported") or ["RS256"]) & _ALGORITHMS
        metadata["id_token_signing_alg_values_supported"] = sorted(signed) or ["RS256"]
        self._known = now, client
        return client

    def _failed(self, error: Exception, shown: str = "") -> Response:
        """Say that it did not succeed: to the log why, to the browser only what we say ourselves."""
        why = one_line(f"{type(error).__name__}: {error}")
        _log.warning("a login did not succeed: %s", why, extra=fields(issuer=self._provider.issuer))
        return plain_page(403, shown or "The login did not succeed; the agent's log says why.", LOGIN, "Try again")

    # --- logging out ---

    async def _log_out(self, request: Request) -> Response:
        """End the session here, and offer to end that at the provider: only a person should leave other sites, too."""
        if await posted_form(request) is None:
            return plain_page(403, "This form is of another session: load the page again.", "/", "Back")
        found = self.session(request)
        ended = self._sessions.remove(found[0]) if found else None
        answer = plain_page(
            200,
            "You are logged out here.",
            await self._end_of_session(ended),
            f"Log out at {self._provider.issuer}, too",
        )
        _drop_cookie(answer, SESSION_COOKIE)
        return answer

    async def _end_of_session(self, ended: Session | None) -> str:
        """Return where the provider ends its own session; the page of logging in where it cannot."""
        try:
            metadata = await (await self._client()).load_server_metadata()
        except Exception:
            return LOGIN
        endpoint = str(metadata.get("end_session_endpoint") or "")
        if ended is None or not endpoint.startswith(("https://", "http://")):
            return LOGIN
        asked = {"id_token_hint": ended.id_token, "post_logout_redirect_uri": f"{self._public_url}/"}
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"


def person_from(claims: Mapping[str, Any], provider: Provider) -> Person:
    """Return who somebody is. Raises `LoginRefused` without a mail address that the provider has verified: commits are
    under it, and policies count approvals by it.
    """
    subject, email = claims.get("sub"), claims.get("email")
    if not isinstance(subject, str) or not subject:
        raise LoginRefused(f"{provider.issuer} does not say who this is")
    if not isinstance(email, str) or not is_address(email) or claims.get("email_verified") is not True:
        raise LoginRefused(f"{provider.issuer} has no verified mail address of you, and commits need one")
    names = (claims.get(key) for key in (provider.name_claim, "preferred_username"))
    name = next((text for each in names if isinstance(each, str) and (text := one_line(each))), email)
    found = claims.get(provider.groups_claim) or ()
    groups = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    belongs = frozenset(each for each in groups[:_MOST_GROUPS] if isinstance(each, str))
    return Person(name, email, one_line(f"{provider.issuer}#{subject}"), belongs, Via.OIDC)


def is_address(email: str) -> bool:
    """Return whether a text can be the mail address of a commit.

    >>> is_address("ada@example.com"), is_address("ada"), is_address("a b@c"), is_address("a@b>")
    (True, False, False, False)
    """
    name, at, host = email.rpartition("@")
    return bool(name and at and host) and email.isprintable() and not set(email) & set(" <>")


def own_path(text: str) -> str:
    """Return ``text`` if it is a path of this site, else the first page: no login leads to somebody else's.

    >>> own_path("/apps/shop/web?x=1"), own_path("//evil.example"), own_path("/\\\\\\\\evil.example"), own_path("https://evil.example")
    ('/apps/shop/web?x=1', '/', '/', '/')
    """
    is_own = text.startswith("/") and not text.startswith("//") and "\\" not in text
    return text if is_own and text.isprintable() and text.isascii() and len(text) < 2000 else "/"


def _authlib() -> "OAuth":
    """Authlib, imported where people log in: it takes its time, and says that it wants a successor of httpx."""
    with warnings.catch_warnings():
        from authlib.deprecate import AuthlibDeprecationWarning

        warnings.simplefilter("ignore", AuthlibDeprecationWarning)
        from authlib.integrations.starlette_client import OAuth
    return OAuth()


def _secret(provider: Provider) -> str:
    if not provider.client_secret_file:
        return ""
    try:
        data = Path(provider.client_secret_file).read_bytes().strip()
    except OSError as error:
        problem = Problem(provider.client_secret_file, f"cannot be read: {error.strerror}", remedy="make it readable")
        raise InvalidInput(problem) from error
    mask(data)
    return data.decode(errors="replace")


def _set_cookie(answer: Response, name: str, value: str) -> None:
    answer.set_cookie(name, value, path="/", secure=True, httponly=True, samesite="lax")


def _drop_cookie(answer: Response, name: str) -> None:
    answer.delete_cookie(name, path="/", secure=True, httponly=True, samesite="lax")


def plain_page(status: int, says: str, link: str, words: str) -> HTMLResponse:
    """Return a page for who is not logged in: it says nothing of what the dashboard shows."""
    says, link, words = (html.escape(each) for each in (says, link, words))
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>gitops-bg</title>'
    style = '<link rel="stylesheet" href="/static/style.css">'
    text = f'{head}{style}<main><h1>gitops-bg</h1><p>{says}</p><p><a href="{link}">{words}</a></p></main></html>'
    return HTMLResponse(text, status)
