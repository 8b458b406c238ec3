"""Connects to a forge from settings: which one, where its API and its pages are, over which connections, and with which
credential.

Which one it is the remote's URL says, the settings do, or one probe finds it out; nothing here asks it anything else.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import Refused
from gitops_bg.core.foreign_json import NotJson, read_json
from gitops_bg.forge.adapters import gitea, github, gitlab
from gitops_bg.forge.adapters.api import Api, Credential, Now
from gitops_bg.forge.adapters.rest_forge import RestForge
from gitops_bg.outbound.http import HttpAnswer, HttpRequest, MeasuringFailed, Trust, ask
from gitops_bg.outbound.rest import RestClient, RestSettings

Ask = Callable[[str], HttpAnswer | None]
"""Sends a GET of this URL without credentials; None where no server answers."""


class ForgeKind(StrEnum):
    """The API of a forge."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"


@dataclass(frozen=True, slots=True)
class RepositoryAddress:
    """A repository on a server: the parts of its URL. ``path`` has no slashes around it and no ending."""

    root: str
    """Scheme, host and port of the server's web pages; https for a remote over ssh."""
    host: str
    path: str


@dataclass(frozen=True, slots=True)
class Place:
    """One repository on one forge. ``owner`` of a GitLab project may be nested: ``group/subgroup``."""

    kind: ForgeKind
    api: str
    owner: str
    name: str


class NoForge(Refused):
    """It is unknown which forge the repository is on."""

    reason = "ForgeUnknown"


_SCP_LIKE = re.compile(r"(?:[^@/:]+@)?([^/:@]+|\[[^\]]+\]):(?!//)(.+)")
_KNOWN = {
    "github.com": ForgeKind.GITHUB,
    "gitlab.com": ForgeKind.GITLAB,
    "codeberg.org": ForgeKind.GITEA,
    "gitea.com": ForgeKind.GITEA,
}
_OTHER_NAMES = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "www.github.com": "github.com"}
_API_PATHS = {ForgeKind.GITHUB: "/api/v3", ForgeKind.GITLAB: "/api/v4", ForgeKind.GITEA: "/api/v1"}
_COMMIT_PAGES = {ForgeKind.GITHUB: "commit", ForgeKind.GITEA: "commit", ForgeKind.GITLAB: "-/commit"}
_DATA_RESIDENCY = ".ghe.com"


def remote_of(url: str) -> RepositoryAddress | None:
    """Return the parts of a remote's URL: https, http, ssh, or like scp; None for a local path.

    >>> remote_of("https://bot:secret@Git.example.com:8443/code/shop/config.git/")
    RepositoryAddress(root='https://git.example.com:8443', host='git.example.com', path='code/shop/config')
    >>> remote_of("git@git.example.com:shop/config.git")
    RepositoryAddress(root='https://git.example.com', host='git.example.com', path='shop/config')
    >>> remote_of("ssh://git@git.example.com:2222/shop/config").root
    'https://git.example.com'
    >>> remote_of("file:///srv/git/config.git"), remote_of("/srv/git/config.git")
    (None, None)
    """
    scp = None if "://" in url or url.startswith(("/", ".")) else _SCP_LIKE.fullmatch(url)
    if scp:
        host = scp[1].lower()
        return _remote("https", _OTHER_NAMES.get(host, host), None, scp[2])
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http", "ssh", "git+ssh", "ssh+git") or not parts.hostname:
        return None
    host = _OTHER_NAMES.get(parts.hostname, parts.hostname)
    host = f"[{host}]" if ":" in host else host
    over_http = parts.scheme in ("https", "http")
    return _remote(parts.scheme if over_http else "https", host, parts.port if over_http else None, parts.path)


def _remote(scheme: str, host: str, port: int | None, path: str) -> RepositoryAddress:
    root = f"{scheme}://{host}" + (f":{port}" if port else "")
    return RepositoryAddress(root, host, unquote(path).strip("/").removesuffix(".git").strip("/"))


def known(remote: RepositoryAddress) -> Place | None:
    """Return the place of a repository on a well-known forge; None on any other.

    >>> known(remote_of("git@github.com:shop/config.git"))
    Place(kind=<ForgeKind.GITHUB: 'github'>, api='https://api.github.com', owner='shop', name='config')
    >>> known(remote_of("https://gitlab.com/group/sub/config")).owner
    'group/sub'
    """
    if remote.host.endswith(_DATA_RESIDENCY):
        return _place(ForgeKind.GITHUB, remote.root, remote.path)
    kind = _KNOWN.get(remote.host)
    return None if kind is None else _place(kind, f"https://{remote.host}", remote.path)


def place_from_settings(kind: str, url: str, remote: RepositoryAddress) -> Place:
    """Return the place if settings name the forge.

    ``url`` is the address of its pages, or of its API. Raises ``NoForge``.

    >>> place_from_settings("gitea", "https://git.example.com/code", remote_of("https://git.example.com/code/shop/config.git"))
    Place(kind=<ForgeKind.GITEA: 'gitea'>, api='https://git.example.com/code/api/v1', owner='shop', name='config')
    >>> place_from_settings("forgejo", "", remote_of("git@git.example.com:shop/config.git")).api
    'https://git.example.com/api/v1'
    """
    names = {**{str(each): each for each in ForgeKind}, "forgejo": ForgeKind.GITEA}
    if kind not in names:
        raise NoForge(f"forge.type {kind!r} is not known; it is one of {', '.join(names)}")
    there = at(url, remote)
    return _place(names[kind], there.root, there.path)


def at(url: str, remote: RepositoryAddress) -> RepositoryAddress:
    """Return the repository on the server of this URL, which names the server, its API, or the repository there.

    A path of two parts and more is a repository's. An empty URL changes nothing. Raises ``NoForge``.

    >>> at("https://git.example.com/code/api/v1", remote_of("https://git.example.com/code/shop/config.git"))
    RepositoryAddress(root='https://git.example.com/code', host='git.example.com', path='shop/config')
    >>> at("https://github.com/shop/config", remote_of("git@mirror:mirrors/shop.git"))
    RepositoryAddress(root='https://github.com', host='github.com', path='shop/config')
    """
    if not url:
        return remote
    parts = urlsplit(url.rstrip("/"))
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username or parts.query:
        raise NoForge(f"forge.url {url!r} is no address of a forge: it should look like https://git.example.com")
    folder, server = _without_api(parts.path.strip("/")), f"{parts.scheme}://{parts.netloc}"
    if folder == parts.path.strip("/") and "/" in folder:
        found = remote_of(url)
        return found or remote
    host = parts.hostname
    if server == "https://api.github.com":
        server, host = "https://github.com", "github.com"
    root = f"{server}/{folder}".rstrip("/")
    return RepositoryAddress(root, host, remote.path.removeprefix(f"{folder}/") if folder else remote.path)


def _without_api(path: str) -> str:
    for ending in _API_PATHS.values():
        path = path.removesuffix(ending.strip("/"))
    return path.strip("/")


def commit_url(url: str, commit: str, *, kind: str = "", address: str = "") -> str:
    """The page of a commit of the repository with this remote URL; empty where nothing says which forge that is on.

    ``kind`` and ``address`` are `forge.type` and `forge.url` of the settings.

    >>> commit_url("https://bot:s3cret@github.com/shop/config.git", "645138c7f9")
    'https://github.com/shop/config/commit/645138c7f9'
    >>> commit_url("git@git.example.com:a/b/config.git", "645138c7f9", kind="gitlab")
    'https://git.example.com/a/b/config/-/commit/645138c7f9'
    >>> commit_url("https://git.example.com/shop/config.git", "645138c7f9")
    ''
    """
    try:
        found = _on_its_forge(url, kind, address)
    except NoForge:
        return ""
    if found is None:
        return ""
    forge, there = found
    return f"{there.root}/{quote(there.path)}/{_COMMIT_PAGES[forge]}/{quote(commit)}"


def _on_its_forge(url: str, kind: str, address: str) -> tuple[ForgeKind, RepositoryAddress] | None:
    """The forge, and the repository on it. Raises ``NoForge``."""
    remote = remote_of(url)
    if remote is None:
        return None
    there = at(address, remote)
    place = place_from_settings(kind, address, remote) if kind else known(there)
    return None if place is None else (place.kind, there)


def probed(remote: RepositoryAddress, ask: Ask) -> Place:
    """Return the place on a server that answers a probe. Raises ``NoForge`` where it answers none.

    Gitea may be in a folder of its server, GitLab hardly ever is: then `forge.url` must name the folder.
    """
    folder = "/".join(remote.path.split("/")[:-2])
    for root, path in dict.fromkeys([(remote.root, remote.path), (f"{remote.root}/{folder}".rstrip("/"), "")]):
        inner = path or "/".join(remote.path.split("/")[-2:])
        for kind, question, recognized in _PROBES:
            answer = ask(f"{root}{_API_PATHS[kind]}{question}")
            if answer is not None and recognized(answer.status, _object(answer)):
                return _place(kind, root, inner)
    raise NoForge(
        f"{remote.root} does not say which forge it is: write forge: {{type: github, gitlab or gitea, url: …}} "
        "into gitops-bg.yaml, or leave forge: out"
    )


def _object(answer: HttpAnswer) -> dict[str, Any]:
    try:
        found = read_json(answer.body)
    except NotJson:
        return {}
    return found if isinstance(found, dict) else {}


_PROBES: tuple[tuple[ForgeKind, str, Callable[[int, dict[str, Any]], bool]], ...] = (
    (ForgeKind.GITEA, "/version", lambda status, found: status == 200 and "version" in found),
    (
        ForgeKind.GITLAB,
        "/version",
        lambda status, found: status in (200, 401) and bool({"version", "message"} & found.keys()),
    ),
    (ForgeKind.GITHUB, "/meta", lambda status, found: status == 200 and "installed_version" in found),
)


def _place(kind: ForgeKind, root: str, path: str) -> Place:
    owner, _, name = path.rpartition("/")
    nested = kind is ForgeKind.GITLAB
    if not owner or not name or (not nested and "/" in owner):
        raise NoForge(
            f"{path!r} is no repository of {root}: it should be OWNER/NAME. Where the forge lives in a folder of its "
            "server, write that into forge.url"
        )
    return Place(kind, _api(kind, root), owner, name)


def _api(kind: ForgeKind, root: str) -> str:
    scheme, _, host = root.partition("://")
    if kind is ForgeKind.GITHUB and (host == "github.com" or host.endswith(_DATA_RESIDENCY)):
        return f"{scheme}://api.{host}"
    return root + _API_PATHS[kind]


# --- credentials ---

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
    ca_file: Path | None = None
    """Certificates to trust instead of the system's."""
    host: str = ""
    """A server besides the remote's that may get the credential. Only an option of the agent sets it, no file."""
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
    rest = RestSettings(place.api, _HEADERS[place.kind], trust_of(settings.ca_file), settings.timeout_seconds)
    credential = _credential(settings, place, rest, now)
    client = RestClient(rest, credential.headers)
    return _ADAPTERS[place.kind](Api(client, now, credential), place.owner, place.name)


def _require_may_be_asked(there: RepositoryAddress, remote: RepositoryAddress, host: str) -> None:
    """Refuse other servers: people who can change ``url`` in main must not be able to redirect the agent's token."""
    if there.host not in (remote.host, host.lower()):
        raise CredentialUnusable(
            f"forge.url names {there.host}, which is not the server of the repository, so it gets no token: correct "
            f"it, or start the agent with --forge-host {there.host}"
        )
    if there.root.startswith("http://") and not remote.root.startswith("http://"):
        raise CredentialUnusable(
            f"{there.root} is not https: everybody on the way could read the token; correct forge.url"
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
