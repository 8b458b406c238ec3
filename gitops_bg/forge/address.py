"""Which forge a repository is on, and where its API and its pages are: the remote's URL says it, the settings do, or
one probe finds it out. Asks it nothing else.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import Refused
from gitops_bg.core.foreign_json import NotJson, read_json
from gitops_bg.core.foreign_text import scp_address

if TYPE_CHECKING:  # the address of a commit needs no library for requests
    from gitops_bg.outbound.http import HttpAnswer

Ask = Callable[[str], "HttpAnswer | None"]
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
    if scp := scp_address(url):
        host, path = scp
        return _remote("https", _OTHER_NAMES.get(host, host), None, path)
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
    """Return the page of a commit of the repository with this remote URL; empty where nothing says which forge that is
    on.

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
    """Return the forge, and the repository on it. Raises ``NoForge``."""
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


def _object(answer: "HttpAnswer") -> dict[str, Any]:
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
