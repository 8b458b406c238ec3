"""Turns a due call into a request: Flagger's payload, headers, secrets filled in. Sends nothing.

https://docs.flagger.app/usage/webhooks; flagger.md §3.4.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.hooks import HookCall
from gitops_bg.core.model.version import Subject
from gitops_bg.outbound.http import Trust
from gitops_bg.outbound.secrets import Secrets


@dataclass(frozen=True, slots=True)
class HookRequest:
    """One POST, or a function that sends by itself; ``timeout`` is in seconds, for the whole of it."""

    url: str = field(repr=False)
    body: bytes = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    timeout: float
    trust: Trust
    send: Callable[[], tuple[int, str]] | None = field(default=None, repr=False)
    """Sends instead of the POST, in a thread of its own; returns a status and a text."""


Compose = Callable[[Subject, HookCall, Secrets], HookRequest]
"""Composes the request of a call. Reads the Secrets that the call names, and raises the errors of that."""


def request_for(subject: Subject, call: HookCall, secrets: Secrets) -> HookRequest:
    """Compose the request of a call. Reads the Secrets that the call names, and raises the errors of that.

    ``Idempotency-Key`` is the same for every try of one call: a backend is asked at least once, maybe twice.
    """
    asked = secrets.fill(reread_json(call.hook.request))
    headers = {"Content-Type": "application/json", "User-Agent": "gitops-bg"} | asked.get("headers", {})
    return HookRequest(
        url=asked["url"],
        body=json.dumps(_payload(subject, call, asked.get("metadata", {}))).encode(),
        headers=(*headers.items(), ("Idempotency-Key", call.key), ("Accept-Encoding", "identity")),
        timeout=asked.get("timeout", 10.0),
        trust=Trust(asked.get("caCert", ""), asked.get("disableTLS", False)),
    )


def _payload(subject: Subject, call: HookCall, metadata: Mapping[str, str]) -> dict[str, Any]:
    """The payload: exactly Flagger's fields."""
    return {
        "name": subject.name,
        "namespace": subject.namespace,
        "phase": call.phase,
        "checksum": call.checksum,
        "metadata": {**metadata, **dict(call.metadata)},
    }
