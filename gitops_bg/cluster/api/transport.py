"""How one identity sends bytes to one API server, and the way to do it without the Kubernetes client library, where a
kubeconfig simply holds a token or a certificate.

A command that asks one question would spend twice as long on importing the library as on its question (decision 48).
Whatever is not plain is left to the library: plugins, providers, passwords, proxies, several files, and every error.
"""

import base64
import os
import socket
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.request import getproxies

import urllib3
import yaml
from urllib3.connection import HTTPConnection
from urllib3.util import create_urllib3_context

from gitops_bg.cluster.api.access import IN_CLUSTER, Access
from gitops_bg.core.dataclass import dataclass

Timeouts = tuple[float, float]
"""Seconds to connect, and seconds of silence until the response has begun."""


class Transport(Protocol):
    """One identity at one API server. Thread-safe. Errors are those of the library behind it, for `errors.border`."""

    @property
    def host(self) -> str:
        """The address of the API server, with scheme and port."""

    def credentials(self) -> dict[str, str]:
        """Return the headers with the identity; empty where a certificate says who it is."""

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeouts: Timeouts
    ) -> urllib3.HTTPResponse:
        """Send one request, once; the response is not read yet."""

    def close(self) -> None:
        """Close every idle connection."""


_IDLE, _BETWEEN, _PROBES = 10, 5, 3
"""Seconds of silence until the first probe, seconds between two, and how many may be lost: 25 s in all."""
_UNANSWERED = 25_000
"""Milliseconds that what was sent may stay unacknowledged; the kernel sends no probes meanwhile."""


def keepalive_options() -> list[tuple[int, int, int]]:
    """Return the options, those of urllib3 included, as far as this platform has them.

    The library's `keep_alive` has other times: those of client-go, which notice it after 165 s.
    """
    wanted = {"TCP_KEEPIDLE": _IDLE, "TCP_KEEPINTVL": _BETWEEN, "TCP_KEEPCNT": _PROBES, "TCP_USER_TIMEOUT": _UNANSWERED}
    found = [(getattr(socket, name), value) for name, value in wanted.items() if hasattr(socket, name)]
    kept = [(socket.IPPROTO_TCP, option, value) for option, value in found]
    return [*HTTPConnection.default_socket_options, (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *kept]


_CLUSTER = frozenset(("server", "certificate-authority", "certificate-authority-data", "extensions"))
_USER = frozenset(("token", "client-certificate", "client-certificate-data", "client-key", "client-key-data"))


@dataclass(frozen=True, slots=True)
class Plain:
    """What a plain kubeconfig says of one context; the contents of certificates are in PEM."""

    host: str
    token: str = ""
    authority: str = ""
    certificate: bytes = b""
    key: bytes = b""


class PlainTransport:
    """A `transport.Transport` over one pool of connections."""

    def __init__(self, plain: Plain, pool_size: int) -> None:
        self._plain = plain
        context = create_urllib3_context() if plain.certificate else None
        if context is not None:
            _identify(context, plain)
        self._pool = urllib3.PoolManager(
            retries=False,
            maxsize=pool_size,
            socket_options=keepalive_options(),
            cert_reqs="CERT_REQUIRED",
            ca_cert_data=plain.authority or None,
            ssl_context=context,
        )

    @property
    def host(self) -> str:
        """The address of the API server."""
        return self._plain.host

    def credentials(self) -> dict[str, str]:
        """Return the header with the token, if there is one."""
        return {"authorization": f"Bearer {self._plain.token}"} if self._plain.token else {}

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeouts: Timeouts
    ) -> urllib3.HTTPResponse:
        """Send one request."""
        patience = urllib3.Timeout(connect=timeouts[0], read=timeouts[1])
        answer = self._pool.request(
            method, url, body=body, headers=dict(headers), timeout=patience, preload_content=False
        )
        assert isinstance(answer, urllib3.HTTPResponse)
        return answer

    def close(self) -> None:
        """Close every idle connection."""
        self._pool.clear()


def plain_transport(access: Access) -> PlainTransport | None:
    """Return a transport, if a kubeconfig is plain and its certificate can be used; else None, as `plain_of`."""
    plain = plain_of(access)
    try:
        return PlainTransport(plain, access.pool_size) if plain is not None else None
    except ssl.SSLError:  # No certificate, or one that its key does not fit.
        return None


def plain_of(access: Access) -> Plain | None:
    """Return what a kubeconfig says, if it is plain; None for all that the client library must read, or refuse."""
    if (access.kubeconfig is None and os.environ.get(IN_CLUSTER)) or getproxies():
        return None
    try:
        return _plain(Path(access.kubeconfig_files).expanduser(), access.context)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration, yaml.YAMLError):
        return None


def _plain(file: Path, context: str | None) -> Plain | None:
    content = yaml.load(file.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    chosen = _named(content, "contexts", context or content["current-context"])["context"]
    cluster = _named(content, "clusters", chosen["cluster"])["cluster"]
    user = _named(content, "users", chosen["user"])["user"] or {}
    host = str(cluster["server"]).rstrip("/")
    authority = _pem(cluster, "certificate-authority", file.parent)
    if not (cluster.keys() <= _CLUSTER and user.keys() <= _USER) or (host.startswith("https") and not authority):
        return None
    certificate, key = (_pem(user, each, file.parent) for each in ("client-certificate", "client-key"))
    return Plain(host, str(user.get("token") or ""), authority.decode("ascii"), certificate, key)


def _named(content: Any, kind: str, name: str) -> Any:
    """Return the one entry of a name. Raises where there is none, or more than one."""
    (found,) = (each for each in content[kind] if each["name"] == name)
    return found


def _pem(of: Mapping[str, str], key: str, folder: Path) -> bytes:
    """Return a certificate or key, written in the kubeconfig or in a file beside it; empty where there is none."""
    if of.get(f"{key}-data"):
        return base64.b64decode(of[f"{key}-data"], validate=True)
    return (folder / of[key]).read_bytes() if of.get(key) else b""


def _identify(context: Any, plain: Plain) -> None:
    """Load the client certificate; OpenSSL reads it from a file alone, which is gone when this returns."""
    with tempfile.TemporaryDirectory(prefix="gitops-bg-") as folder:
        both = Path(folder) / "identity.pem"
        both.touch(mode=0o600)
        both.write_bytes(plain.certificate + b"\n" + plain.key)
        context.load_cert_chain(both)
