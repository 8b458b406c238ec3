"""The signature schemes of webhooks, which decide who may wake the agent. Payloads are not parsed here.

The first scheme in this table that a request has decides; a further header never makes up for a wrong one.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass

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
    """An HMAC-SHA256 that is fed the body in pieces, so that the body is not kept."""
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
    """The scheme of a request, or None where it is not signed."""
    return next((scheme for scheme in SCHEMES if scheme.signature_header in headers), None)


def is_genuine(scheme: Scheme, headers: Mapping[str, str], secret: bytes, mac: bytes) -> bool:
    """Whether the request was signed with ``secret``; ``mac`` is the hex HMAC-SHA256 of its body."""
    return bool(secret) and scheme.check(headers[scheme.signature_header].encode("latin-1"), secret, mac)
