"""Signs requests for AWS: Signature Version 4, by its specification. Pure.

botocore would do it, but requires an older python-dateutil than the Kubernetes client.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, urlsplit

_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Credentials:
    """The identity of the caller. ``token`` is empty for a permanent key."""

    access_key_id: str
    secret_access_key: str
    token: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """The region, service and time of a signature."""

    region: str
    service: str
    now: datetime

    @property
    def moment(self) -> str:
        """The time in the form of ``X-Amz-Date``."""
        return self.now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")

    def __str__(self) -> str:
        return f"{self.moment[:8]}/{self.region}/{self.service}/aws4_request"


def signed(
    method: str, url: str, headers: Mapping[str, str], body: bytes, scope: Scope, credentials: Credentials
) -> dict[str, str]:
    """The headers of a request, including the signature."""
    all_headers = {"Host": urlsplit(url).netloc, **headers, "X-Amz-Date": scope.moment}
    if credentials.token:
        all_headers["X-Amz-Security-Token"] = credentials.token
    names, canonical = _canonical(method, url, all_headers, body)
    to_sign = "\n".join((_ALGORITHM, scope.moment, str(scope), _sha256(canonical.encode())))
    signature = hmac.digest(_key(credentials.secret_access_key, scope), to_sign.encode(), "sha256").hex()
    authorization = (
        f"{_ALGORITHM} Credential={credentials.access_key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return {**all_headers, "Authorization": authorization}


def _canonical(method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[str, str]:
    parts = urlsplit(url)
    query = sorted((_quoted(key), _quoted(value)) for key, value in parse_qsl(parts.query, keep_blank_values=True))
    lines = sorted((name.lower(), " ".join(value.split())) for name, value in headers.items())
    names = ";".join(name for name, _ in lines)
    request = (
        method,
        quote(parts.path or "/", safe="/-_.~"),
        "&".join(f"{key}={value}" for key, value in query),
        "".join(f"{name}:{value}\n" for name, value in lines),
        names,
        _sha256(body),
    )
    return names, "\n".join(request)


def _key(secret: str, scope: Scope) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in str(scope).split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
