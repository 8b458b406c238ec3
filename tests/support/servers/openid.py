"""A small OpenID provider that says whatever a test wants, also what no provider may say."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey
from joserfc.jws import JWSRegistry

CLIENT, SECRET = "gitops-bg", "the-client-secret"


class OpenIdProvider:
    """Logs in whoever comes, as `person`; `changes` is what it says otherwise in the next id tokens."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        self.signs_with = self.key
        self.alg = "RS256"
        self.person: dict[str, Any] = {
            "sub": "17", "name": "Ada Lovelace", "email": "ada@example.com", "email_verified": True, "groups": ["devs"]
        }  # fmt: skip
        self.userinfo: dict[str, Any] = {}
        self.changes: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.asked: list[dict[str, str]] = []
        """The queries of its page of logging in."""
        self.renews = False
        """Whether it gives tokens that renew others, each once."""
        self.renewed: list[str] = []
        """With which ones somebody came."""
        self._codes: dict[str, dict[str, str]] = {}
        self.address = ""

    def discovery(self) -> dict[str, Any]:
        paths = {"authorization": "authorize", "token": "token", "userinfo": "me", "end_session": "logout"}
        endpoints = {f"{name}_endpoint": f"{self.address}/{path}" for name, path in paths.items()}
        return {
            "issuer": self.address,
            "jwks_uri": f"{self.address}/keys",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
            **endpoints,
            **self.metadata,
        }

    def log_in(self, query: dict[str, str]) -> str:
        """Where its page of logging in leads."""
        self.asked.append(query)
        code = hashlib.sha256(json.dumps(query).encode()).hexdigest()
        self._codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str]) -> dict[str, Any] | None:
        """The answer to a code, once, and only to who began with it; or to a token that renews."""
        if form["grant_type"] == "refresh_token":
            return self._renew(form["refresh_token"])
        query = self._codes.pop(form.get("code", ""), None)
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        if query is None or query.get("code_challenge_method") != "S256" or query["code_challenge"] != challenge:
            return None
        now = int(time.time())
        claims = {"iss": self.address, "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": query["nonce"]}
        claims = {name: value for name, value in {**claims, **self.person, **self.changes}.items() if value is not None}
        answer = {"access_token": "an-access-token", "token_type": "Bearer", "expires_in": 60}
        more = {"refresh_token": "renewal-0"} if self.renews else {}
        return answer | {"id_token": self.signed(claims)} | more

    def _renew(self, by: str) -> dict[str, Any] | None:
        self.renewed.append(by)
        if not self.renews or by != f"renewal-{len(self.renewed) - 1}":
            return None
        number = len(self.renewed)
        answer = {"access_token": f"token-{number}", "token_type": "Bearer", "expires_in": 60}
        return answer | {"refresh_token": f"renewal-{number}"}

    def signed(self, claims: dict[str, Any]) -> str:
        if self.alg == "none":
            head, body = (base64.urlsafe_b64encode(json.dumps(each).encode()) for each in ({"alg": "none"}, claims))
            return f"{head.rstrip(b'=').decode()}.{body.rstrip(b'=').decode()}."
        header = {"alg": self.alg, "kid": self.signs_with.kid}
        return jwt.encode(header, claims, self.signs_with, registry=JWSRegistry(algorithms=[self.alg]))


@contextmanager
def openid_provider() -> Iterator[OpenIdProvider]:
    """A provider that listens."""
    provider = OpenIdProvider()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            answers: dict[str, Callable[[], Any]] = {
                "/.well-known/openid-configuration": provider.discovery,
                "/keys": lambda: {"keys": [provider.key.as_dict(private=False)]},
                "/me": lambda: provider.userinfo,
            }
            if parts.path == "/authorize":
                self._answer(302, {}, {"Location": provider.log_in(query)})
            else:
                self._answer(200, answers[parts.path]())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            answer = provider.token({name: values[0] for name, values in parse_qs(body).items()})
            known = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
            is_client = self.headers["Authorization"] == f"Basic {known}"
            self._answer(200, answer) if answer and is_client else self._answer(400, {"error": "invalid_grant"})

        def _answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.address = f"http://127.0.0.1:{server.server_address[1]}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
