"""Turns a due alert into a request: reads the provider's Secret, applies its format."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from gitops_bg.core.model.hooks import HookCall
from gitops_bg.core.model.subject import Subject
from gitops_bg.core.text.foreign_json import reread_json
from gitops_bg.hooks.request import Compose, HookRequest
from gitops_bg.notify.formats import FORMATS
from gitops_bg.notify.message import Destination
from gitops_bg.outbound.http import Trust
from gitops_bg.outbound.secrets import Secrets

TIMEOUT = 10.0
"""Seconds for one attempt."""


def alert_composer(cluster: str) -> Compose:
    """Return the function that composes requests of alerts, which name ``cluster`` as their origin."""

    def compose(subject: Subject, call: HookCall, secrets: Secrets) -> HookRequest:
        provider, alert = reread_json(call.hook.request), call.alert
        if alert is None:
            raise ValueError(f"{call.hook.title} has nothing to say")
        more = (("Target", provider.get("target", "")), ("Cluster", cluster))
        facts = (*alert.facts, *((title, value) for title, value in more if value))
        message = FORMATS[provider["type"]](subject, replace(alert, facts=facts), _destination(provider, secrets))
        return HookRequest(
            url=message.url,
            body=json.dumps(message.body).encode(),
            headers=(*_headers(call), *message.headers.items()),
            timeout=TIMEOUT,
            trust=Trust(),
            proxy=provider.get("proxy", ""),
            status=message.status,
        )

    return compose


def _headers(call: HookCall) -> tuple[tuple[str, str], ...]:
    return (
        ("Content-Type", "application/json"),
        ("User-Agent", "gitops-bg"),
        ("Idempotency-Key", call.key),
        ("Accept-Encoding", "identity"),
    )


def _destination(provider: Mapping[str, Any], secrets: Secrets) -> Destination:
    """The destination with the address of the Secret, else that of the file.

    Raises ``NoSuchKey`` where neither has one.
    """
    name, address, token = provider.get("secret"), provider.get("address", ""), ""
    if name:
        token = (secrets.setting(name, "token") or "") if provider["type"] == "slack" else ""
        written = secrets.setting(name, "address")
        address = written or address or ("" if token else secrets.value(name, "address"))
    for secret in filter(None, (address, urlsplit(address).path.lstrip("/"), token)):
        secrets.hide(secret)
    return Destination(address, provider["channel"], provider["username"], token)
