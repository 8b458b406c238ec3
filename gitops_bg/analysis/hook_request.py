"""From a call that is due to what goes over the wire: Flagger's payload, headers, secrets filled in. Sends nothing.

https://docs.flagger.app/usage/webhooks; flagger.md §3.4.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_bg.core.hooks import Call
from gitops_bg.core.model import AppKey

SecretOf = Callable[[str, str, str], str]
"""The text of one key of a Secret, by namespace, name and key. Raises an error of ``core.errors``."""

HIDDEN = "***"
_SECRET = re.compile(r"\{\{\s*secret:(?P<name>[^/}\s]+)/(?P<key>[^}\s]+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class HookRequest:
    """One POST. ``secrets`` are the texts that nobody may ever read."""

    url: str
    body: bytes = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    timeout: float
    verify: bool = True
    authorities: str = ""
    """PEM certificates to trust in place of the system's."""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def redacted(self, text: str) -> str:
        """``text`` without any of the secrets."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text


def request_for(app: AppKey, call: Call, secret_of: SecretOf) -> HookRequest:
    """What to send for a call. Reads the Secrets it names, those of the app's namespace only; raises what that raises.

    ``Idempotency-Key`` is the same for every try of one call: a backend may be asked twice, at least once.
    """
    asked = json.loads(call.hook.request)
    secrets: dict[str, str] = {place: secret_of(app.namespace, *place.split("/", 1)) for place in set(_places(asked))}
    asked = _filled(asked, secrets)
    headers = {"Content-Type": "application/json", "User-Agent": "gitops-bg"} | asked.get("headers", {})
    return HookRequest(
        url=asked["url"],
        body=json.dumps(_payload(app, call, asked.get("metadata", {}))).encode(),
        headers=(*headers.items(), ("Idempotency-Key", call.key), ("Accept-Encoding", "identity")),
        timeout=asked.get("timeout", 10.0),
        verify=not asked.get("disableTLS", False),
        authorities=asked.get("caCert", ""),
        secrets=tuple(secret for secret in secrets.values() if secret),
    )


def _payload(app: AppKey, call: Call, metadata: Mapping[str, str]) -> dict[str, Any]:
    """Exactly Flagger's fields."""
    return {
        "name": app.name,
        "namespace": app.namespace,
        "phase": call.phase,
        "checksum": call.checksum,
        "metadata": {**metadata, **dict(call.metadata)},
    }


def _places(value: Any) -> Iterator[str]:
    """Each ``name/key`` of a Secret in the texts of a JSON value."""
    if isinstance(value, str):
        yield from (f"{found['name']}/{found['key']}" for found in _SECRET.finditer(value))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _places(item)


def _filled(value: Any, secrets: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _SECRET.sub(lambda found: secrets[f"{found['name']}/{found['key']}"], value)
    return {key: _filled(item, secrets) for key, item in value.items()} if isinstance(value, Mapping) else value
