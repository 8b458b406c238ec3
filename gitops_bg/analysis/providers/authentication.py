"""Authenticates requests: turns the ``authentication`` of a block into headers. Fetches a token where needed."""

import base64
from dataclasses import replace
from urllib.parse import urlencode

from gitops_bg.analysis.provider import Context
from gitops_bg.analysis.providers.blocks import at
from gitops_bg.analysis.providers.cloudwatch import SigningScope, of_the_agent, signed
from gitops_bg.outbound.http import HttpRequest
from gitops_bg.spec.analysis.providers import Authentication, OAuth2

PROMETHEUS_ON_AWS = "aps"
"""The service name of Amazon Managed Service for Prometheus in signatures."""


def authenticated(request: HttpRequest, how: Authentication | None, context: Context) -> HttpRequest:
    """Return the request with credentials. Raises ``MeasuringFailed`` where a token is unavailable."""
    if how is None:
        return request
    if basic := how.by_password:
        return _with(request, f"Basic {_base64(basic.username, basic.password, context)}")
    if how.bearer:
        return _with(request, f"Bearer {how.bearer.token}")
    if how.oauth2:
        return _with(request, f"Bearer {_fetched(how.oauth2, request, context)}")
    if how.sigv4:
        scope = SigningScope(how.sigv4.region, PROMETHEUS_ON_AWS, context.now)
        credentials = of_the_agent(how.sigv4.region, context)
        headers = signed(request.method, request.url, request.headers, request.body or b"", scope, credentials)
        return replace(request, headers=headers)
    return request


def _with(request: HttpRequest, authorization: str) -> HttpRequest:
    return replace(request, headers={**request.headers, "Authorization": authorization})


def _base64(user: str, password: str, context: Context) -> str:
    pair = base64.b64encode(f"{user}:{password}".encode()).decode()
    context.secrets.hide(pair)
    return pair


def _fetched(client: OAuth2, request: HttpRequest, context: Context) -> str:
    """Return a token by the client's credentials, in the form of RFC 6749 §4.4.2."""
    form = {"grant_type": "client_credentials"} | ({"scope": " ".join(client.scopes)} if client.scopes else {})
    headers = {
        "Authorization": f"Basic {_base64(client.client_id, client.client_secret, context)}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    question = HttpRequest(client.token_url, "POST", headers, urlencode(form).encode(), request.timeout, request.trust)
    token = str(at(context.ask(question).json(), "access_token"))
    context.secrets.hide(token)
    return token
