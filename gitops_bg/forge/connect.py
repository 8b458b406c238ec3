"""Connects to a forge from settings: over which connections, and with which credential."""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import Refused
from gitops_bg.forge.adapters import gitea, github, gitlab
from gitops_bg.forge.adapters.api import Api, Credential, Now
from gitops_bg.forge.adapters.rest_forge import RestForge
from gitops_bg.forge.address import (
    ForgeKind,
    NoForge,
    Place,
    RepositoryAddress,
    at,
    known,
    place_from_settings,
    probed,
    remote_of,
)
from gitops_bg.outbound.http import HttpAnswer, HttpRequest, MeasuringFailed, Trust, ask
from gitops_bg.outbound.rest import RestClient, RestSettings

# --- credentials ---

_HTTPS, _HTTP = 443, 80
_CLOCKS_DIFFER = timedelta(seconds=60)
_LIFE_OF_A_JWT = timedelta(minutes=9)
"""GitHub allows ten, and its clock may differ."""
_BEFORE_THE_END = timedelta(minutes=5)
_LONGEST_FILE = 64 * 1024


class CredentialUnusable(Refused):
    """The file with the token or key is missing, empty, or invalid. The operator of the agent must act."""

    reason = "ForgeCredentialUnusable"


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A token. ``scheme`` is the word before it: ``Bearer``, or ``token`` for Gitea."""

    path: Path
    scheme: str = "Bearer"

    def headers(self) -> Mapping[str, str]:
        """See `Credential`."""
        token = _read(self.path, "forge token")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise CredentialUnusable(f"{self.path} should hold one token, and nothing else; write it anew")
        return {"Authorization": f"{self.scheme} {token}"}

    def forget(self) -> None:
        """See `Credential`; nothing is cached: the file is read each time."""

    def close(self) -> None:
        """See `Credential`."""


@dataclass(frozen=True, slots=True)
class HeldToken:
    """A person's token, in memory alone."""

    token: str = field(repr=False)

    def headers(self) -> Mapping[str, str]:
        """See `Credential`."""
        return {"Authorization": f"Bearer {self.token}"}

    def forget(self) -> None:
        """See `Credential`."""

    def close(self) -> None:
        """See `Credential`."""


@dataclass(frozen=True, slots=True)
class AppSettings:
    """A GitHub App, by its id or client id, and the file with its private key (PEM)."""

    app_id: str
    key_file: Path


class GitHubApp:
    """Hourly tokens of an App's installation on one repository, got with its private key, each used until shortly
    before it expires.
    """

    def __init__(self, app: AppSettings, rest: RestSettings, owner: str, name: str, now: Now) -> None:
        self._app, self._now = app, now
        self._owner, self._name = owner, name
        self._client = RestClient(rest, lambda: {"Authorization": f"Bearer {self._jwt()}"})
        self._api = Api(self._client, now)
        self._token, self._until = "", now()

    def headers(self) -> Mapping[str, str]:
        """See `Credential`."""
        if not self._token or self._now() >= self._until - _BEFORE_THE_END:
            self._renew()
        return {"Authorization": f"Bearer {self._token}"}

    def forget(self) -> None:
        """See `Credential`."""
        self._token = ""

    def close(self) -> None:
        """See `Credential`."""
        self._client.close()

    def _renew(self) -> None:
        doing = "find the installation of the GitHub App"
        installation = self._api.get(f"/repos/{self._owner}/{self._name}/installation", doing)["id"].number()
        path = f"/app/installations/{installation}/access_tokens"
        made = self._api.write("POST", path, "get a token of the GitHub App", {"repositories": [self._name]})
        self._token, self._until = made["token"].text(), made["expires_at"].time()

    def _jwt(self) -> str:
        import jwt  # Slow to import, and rarely needed.

        now = self._now()
        claims = {"iat": now - _CLOCKS_DIFFER, "exp": now + _LIFE_OF_A_JWT, "iss": self._app.app_id}
        key = _read(self._app.key_file, "private key of the GitHub App")
        try:
            return jwt.encode(claims, key, algorithm="RS256")
        except (jwt.PyJWTError, ValueError, TypeError):
            raise CredentialUnusable(f"{self._app.key_file} should hold an RSA private key in PEM") from None


def _read(path: Path, what: str) -> str:
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST_FILE).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise CredentialUnusable(f"the {what} in {path} cannot be read: {why}; check the mounted Secret") from None
    if not text:
        raise CredentialUnusable(f"{path} is empty: put the {what} into it")
    return text


# --- from settings ---

_ADAPTERS: dict[ForgeKind, type[RestForge]] = {
    ForgeKind.GITHUB: github.GitHub,
    ForgeKind.GITLAB: gitlab.GitLab,
    ForgeKind.GITEA: gitea.Gitea,
}
_HEADERS = {ForgeKind.GITHUB: github.HEADERS, ForgeKind.GITLAB: gitlab.HEADERS, ForgeKind.GITEA: gitea.HEADERS}
_SCHEMES = {ForgeKind.GITHUB: "Bearer", ForgeKind.GITLAB: "Bearer", ForgeKind.GITEA: "token"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeEndpoint:
    """The repository and the credential. ``kind`` and ``url`` may be empty: then the remote's URL decides."""

    remote: str
    """The URL of the Git remote."""
    kind: str = ""
    url: str = ""
    token_file: Path | None = None
    app: AppSettings | None = None
    token: str = field(default="", repr=False)
    """A person's own token, in place of the file."""
    issuer: str = ""
    """The provider that gave them that token: only the same server gets it."""
    ca_file: Path | None = None
    """Certificates to trust instead of the system's."""
    host: str = ""
    """A server besides the remote's that may get the credential, with its port if that is not 443. Only an option of
    the agent sets it, no file.
    """
    timeout_seconds: float = 20.0
    """For one request."""


def place_of(settings: ForgeEndpoint) -> Place:
    """Return the forge and repository; ask the server if nothing else names the forge.

    Raises ``NoForge``, and ``CredentialUnusable`` for a server that must not be asked.
    """
    remote = remote_of(settings.remote)
    if remote is None:
        raise NoForge("the repository's URL is no address of a forge: write its https or ssh URL into --repo")
    there = at(settings.url, remote)
    _require_may_be_asked(there, remote, settings.host)
    if settings.kind:
        return place_from_settings(settings.kind, settings.url, remote)
    return known(there) or probed(there, lambda url: _ask(url, settings))


def connect(settings: ForgeEndpoint, now: Now) -> RestForge:
    """Connect to a forge, for one thread; call `close` at the end. Raises ``NoForge`` and ``CredentialUnusable``."""
    place = place_of(settings)
    if settings.token:
        _require_is_of_the_issuer(place, settings.issuer)
    rest = RestSettings(place.api, _HEADERS[place.kind], trust_of(settings.ca_file), settings.timeout_seconds)
    credential = _credential(settings, place, rest, now)
    client = RestClient(rest, credential.headers)
    return _ADAPTERS[place.kind](Api(client, now, credential), place.owner, place.name)


def _require_may_be_asked(there: RepositoryAddress, remote: RepositoryAddress, host: str) -> None:
    """Refuse other servers: people who can change ``url`` in main must not be able to redirect the agent's token."""
    server = _server(there.root)
    named = there.host if server[1] == _HTTPS else f"{server[0]}:{server[1]}"
    allowed = {_server(remote.root), (remote.host, _HTTPS), *([_server(f"https://{host}")] if host else [])}
    is_known_host = there.host in {name for name, _ in allowed}
    if is_known_host and there.root.startswith("http://") and not remote.root.startswith("http://"):
        raise CredentialUnusable(
            f"{there.root} is not https: everybody on the way could read the token; correct forge.url"
        )
    if server not in allowed:
        raise CredentialUnusable(
            f"forge.url names {named}, which is not the server of the repository, so it gets no token: correct "
            f"it, or start the agent with --forge-host {named}"
        )


def _server(root: str) -> tuple[str, int]:
    """Return the host and the port of an address: on one host, another program may listen at each port.

    >>> _server("https://Git.example.com/code"), _server("http://git.example.com:3000")
    (('git.example.com', 443), ('git.example.com', 3000))
    """
    parts = urlsplit(root)
    return parts.hostname or "", parts.port or (_HTTPS if parts.scheme == "https" else _HTTP)


def _require_is_of_the_issuer(place: Place, issuer: str) -> None:
    """Refuse a person's token to any server but the one that gave it."""
    if urlsplit(place.api).scheme != urlsplit(issuer).scheme or _server(place.api) != _server(issuer):
        raise CredentialUnusable(
            f"people log in at {issuer}, which is not the forge of this repository ({place.api}), so that gets none of "
            "their tokens: leave `forge` out of the login file, or name the forge as its issuer"
        )


def trust_of(ca_file: Path | None) -> Trust:
    """Return the certificates of a file, or the system's. Raises ``CredentialUnusable``."""
    if ca_file is None:
        return Trust()
    try:
        return Trust(ca_file.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise CredentialUnusable(f"the certificates in {ca_file} cannot be read: {error}") from None


def _credential(settings: ForgeEndpoint, place: Place, rest: RestSettings, now: Now) -> Credential:
    if settings.token:
        return HeldToken(settings.token)
    if settings.app is not None:
        if place.kind is not ForgeKind.GITHUB:
            raise CredentialUnusable(f"{place.api} is no GitHub and takes no GitHub App: give it a token file")
        return GitHubApp(settings.app, rest, place.owner, place.name, now)
    if settings.token_file is None:
        raise CredentialUnusable("no token for the forge: name a file with --forge-token-file")
    return TokenFile(settings.token_file, _SCHEMES[place.kind])


def _ask(url: str, settings: ForgeEndpoint) -> HttpAnswer | None:
    request = HttpRequest(url, timeout=settings.timeout_seconds, trust=trust_of(settings.ca_file))
    try:
        return ask(replace(request, headers={"Accept": "application/json"}))
    except MeasuringFailed:
        return None
