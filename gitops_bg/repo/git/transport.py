"""How git may talk to the remote: one allowed protocol, credentials that never reach a URL, argument or log, and the
name of a repository, however it is reached.
"""

import os
import re
import shlex
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from urllib.parse import urlsplit

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_text import MASK, hidden, scp_address
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.names import ENTRY_PREFIX, PROMOTION_PREFIXES
from gitops_bg.repo.settings import TRACKING_PREFIX, RepositorySettings

# --- the environment: a short list of names, each with its reason ---
# GitPython passes its own process's environment on and reads variables of its own, so every other variable is removed
# by name before each command: a value may be a secret, and arguments are visible to everybody.

_PROXIES = {f"{scheme}_PROXY": "how to get out" for scheme in ("HTTP", "HTTPS", "ALL", "NO")}
LET_THROUGH: Mapping[str, str] = {
    "PATH": "where git and ssh are",
    "LD_LIBRARY_PATH": "where their libraries are",
    "TMPDIR": "where temporary files may be",
    "HOME": "ssh's helpers (ProxyCommand) and curl's .netrc; git's own files in it are shut off one by one",
    "SSH_AUTH_SOCK": "the keys of a user's ssh agent",
    "KRB5CCNAME": "single sign-on of ssh and https",
    "KRB5_CONFIG": "single sign-on of ssh and https",
    "SSL_CERT_FILE": "the certificates this machine trusts",
    "SSL_CERT_DIR": "the certificates this machine trusts",
    "NIX_SSL_CERT_FILE": "the certificates this machine trusts",
    **_PROXIES,
    **{name.lower(): why for name, why in _PROXIES.items()},
}
"""No ``GIT_…`` and no ``XDG_…``: only the agent's own settings control its git."""

LOCKED_DOWN: Mapping[str, str] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ASKPASS": "true",
    "LC_ALL": "C",
    "LANGUAGE": "C",
}
"""The environment of every git command: no configuration of the machine, no prompt, one language."""


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_READ_ONLY = frozenset(("PPID", "UID", "EUID", "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO"))
"""What some shells refuse to unset, and end for."""


def without_the_machine(ours: Mapping[str, str], first: str) -> list[str]:
    """Return the words before a command that remove variables that are neither ours nor let through (pitfalls.md §2.1).

    A shell does so, after ``first``, and then becomes the command: a process of ``env`` in between costs as much as a
    third of git. It is left what a shell cannot remove.
    """
    foreign = [name for name in os.environ if name not in ours and name not in LET_THROUGH]
    plain = [name for name in foreign if _PLAIN.fullmatch(name) and name not in _READ_ONLY]
    odd = [f"-u{name}" for name in foreign if name not in plain]
    unset = f"unset {' '.join(plain)}; " if plain else ""
    return ["sh", "-c", f'{first}{unset}exec "$@"', "sh", *(["env", *odd] if odd else [])]


@contextmanager
def no_git_variables() -> Iterator[None]:
    """Hide git's variables while GitPython is imported: it then reads ``GIT_PYTHON_…``."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("GIT_")}
    for name in kept:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(kept)


# --- the mirror's configuration: written whole at every start, so that no other setting survives in it ---

PARTIAL = ("-c", "remote.origin.promisor=true", "-c", "remote.origin.partialclonefilter=blob:none")
"""For commands that may deal with a partial clone: fetch, fsck.

The file leaves it out, so that every other command reports a missing blob instead of fetching blobs from the remote one
by one (gitops.md §1.1).
"""


def configuration(settings: RepositorySettings, url: str) -> str:
    """Return the text of the mirror's ``config``."""
    sections = {
        "core": {
            "repositoryformatversion": "0",
            "bare": "true",
            "hooksPath": "/dev/null",
            "fsmonitor": "false",
            "attributesFile": "/dev/null",
            "quotePath": "false",
            "logAllRefUpdates": "false",
            # Larger files are never read here: git is to pass them through instead of holding them.
            "bigFileThreshold": "1m",
            "deltaBaseCacheLimit": "16m",
        },
        "gc": {"auto": "0"},
        # What the remote has is marked by folder, not by path: there may be any number of paths (`trees`).
        "pack": {"useSparse": "false", "threads": "2", "windowMemory": "32m", "deltaCacheSize": "16m"},
        "maintenance": {"auto": "false"},
        # Walks over the history read parents and folders from the graph: a commit's message may have any length.
        "fetch": {"writeCommitGraph": "true", "recurseSubmodules": "false"},
        "push": {"default": "nothing", "recurseSubmodules": "no", "followTags": "false", "gpgSign": "false"},
        "protocol": {"version": "2"},
        "credential": {"helper": ""},
        "http": _http(settings),
        'remote "origin"': {"url": url, "tagOpt": "--no-tags"},
    }
    if settings.signing_key is not None:
        sections["gpg"] = {"format": "ssh"}
        sections["user"] = {"signingKey": str(settings.signing_key)}
    return "".join(_section(name, values) for name, values in sections.items()) + _refspecs(settings)


def _http(settings: RepositorySettings) -> dict[str, str]:
    # A redirect to another host would send the token there.
    options = {"sslVerify": "true", "followRedirects": "false", "lowSpeedLimit": "1000", "lowSpeedTime": "30"}
    if settings.ca_file is not None:
        options["sslCAInfo"] = str(settings.ca_file)
    return options


def _refspecs(settings: RepositorySettings) -> str:
    """Return the refspecs of the tracked branches; a push of the agent moves these refs as well."""
    shared = (f"{prefix}*" for prefix in (*PROMOTION_PREFIXES, ENTRY_PREFIX))
    branches = (settings.branch, settings.state_branch, *shared)
    lines = (f"\tfetch = +refs/heads/{name}:{TRACKING_PREFIX}{name}\n" for name in branches)
    return '[remote "origin"]\n' + "".join(lines)


def _section(name: str, values: dict[str, str]) -> str:
    lines = (f'\t{key} = "{_quoted(value)}"\n' for key, value in values.items())
    return f"[{name}]\n" + "".join(lines)


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


# --- the remote: everything but file, https and ssh is refused ---
# `ext::` and friends run commands (pitfalls.md §2.1).

_HOST = r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]"
_USER = r"[A-Za-z0-9_][\w.-]*"
_WEB = re.compile(rf"(?:https|http)://(?:{_HOST})(?::\d+)?/[!-~]+", re.ASCII)
_SSH = re.compile(rf"ssh://(?:{_USER}@)?(?:{_HOST})(?::\d+)?/[!-~]+", re.ASCII)
_SCP_LIKE = re.compile(rf"(?:{_USER}@)?(?:{_HOST}):(?![:-])[!-~]+", re.ASCII)
_URL_PASSWORD = re.compile(r"(?<=://)[^/@\s]+@", re.ASCII)

_USERNAME = "GITOPS_BG_GIT_USERNAME"
ASKPASS = """#!/bin/sh
# Answers git's question for credentials: the user name from the environment, the token from its file.
case "$1" in
  Username*) printf '%s\\n' "$GITOPS_BG_GIT_USERNAME" ;;
  *) cat -- "$GITOPS_BG_GIT_TOKEN_FILE" ;;
esac
"""


@dataclass(frozen=True, slots=True)
class GitTransport:
    """A checked URL, and the environment that git gets for it."""

    url: str
    protocol: str
    environment: Mapping[str, str] = field(default_factory=dict)
    token_file: Path | None = None

    @property
    def credentials(self) -> str:
        """The options that give the credentials."""
        if self.protocol == "ssh":
            return "give the key by --ssh-key-file, and the host's key by --known-hosts-file: ssh-keyscan HOST"
        return "give a token that may read it by --git-token-file"

    def mask(self, text: str) -> str:
        """Return ``text`` without the token and without credentials of any URL."""
        token = self._token()
        basic = str(b64encode(f"{self.environment.get(_USERNAME, '')}:{token}".encode()), "ascii") if token else ""
        return _URL_PASSWORD.sub(f"{MASK}@", hidden(text, [token, basic]))

    def _token(self) -> str:
        if self.token_file is None:
            return ""
        try:
            return self.token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return ""


def transport_for(settings: RepositorySettings, askpass: Path) -> GitTransport:
    """Return the transport for ``settings.url``. ``askpass`` is the path of ``ASKPASS``, now or later.

    Raises ``InvalidInput`` for any other protocol, an option in place of a URL, or credentials in it.
    """
    url, protocol = _checked(settings.url, settings.allow_http)
    environment = {"GIT_ALLOW_PROTOCOL": protocol}
    if protocol == "ssh":
        environment |= {"GIT_SSH_COMMAND": _ssh_command(settings), "GIT_SSH_VARIANT": "ssh"}
    if protocol in ("https", "http") and settings.token_file is not None:
        environment |= {
            "GIT_ASKPASS": str(askpass),
            _USERNAME: settings.username,
            "GITOPS_BG_GIT_TOKEN_FILE": str(settings.token_file),
        }
    return GitTransport(url, protocol, environment, settings.token_file)


def _checked(url: str, allow_http: bool) -> tuple[str, str]:
    if url.startswith("/") and url.isprintable():
        return f"file://{url}", "file"
    if url.startswith("file:///") and url.isprintable():
        return url, "file"
    if "://" in url and _has_credentials(url):
        raise _refused(url, "it contains credentials", "give the token by --git-token-file, or use ssh with a key file")
    if _WEB.fullmatch(url):
        return _web(url, allow_http)
    if _SSH.fullmatch(url) or ("://" not in url and _SCP_LIKE.fullmatch(url)):
        return url, "ssh"
    raise _refused(url, "only file, https and ssh are allowed", "write https://HOST/PATH, git@HOST:PATH or /PATH")


def _web(url: str, allow_http: bool) -> tuple[str, str]:
    protocol = url.partition(":")[0]
    if protocol == "http" and not allow_http:
        raise _refused(url, "http can be read and changed on the way", "use https or ssh")
    return url, protocol


def _has_credentials(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return "@" in parts.netloc and (parts.scheme != "ssh" or ":" in parts.netloc.rpartition("@")[0])


def _refused(url: str, why: str, remedy: str) -> InvalidInput:
    shown = _URL_PASSWORD.sub("***@", url)
    return InvalidInput(Problem("--repo", f"{shown!r} is refused: {why}", remedy=remedy))


def _ssh_command(settings: RepositorySettings) -> str:
    options = ["-oBatchMode=yes", "-oStrictHostKeyChecking=yes", "-oClearAllForwardings=yes"]
    options += ["-oServerAliveInterval=10", "-oServerAliveCountMax=3"]
    options.append(f"-oConnectTimeout={max(1, int(settings.timeout_seconds))}")
    if settings.known_hosts_file is not None:
        options.append(f"-oUserKnownHostsFile={settings.known_hosts_file}")
    if settings.ssh_key_file is not None:
        options += ["-oIdentitiesOnly=yes", "-i", str(settings.ssh_key_file)]
    return shlex.join([settings.ssh_program, *options])


def repository_name(url: str) -> str:
    """Return a URL without credentials, protocol, port and ending: https and ssh lead to the same repository.

    >>> repository_name("https://bot:secret@Git.example.com/shop/config.git/")
    'git.example.com/shop/config'
    >>> repository_name("git@git.example.com:shop/config.git")
    'git.example.com/shop/config'
    >>> repository_name("ssh://git@git.example.com:2222/shop/config")
    'git.example.com/shop/config'
    >>> repository_name("/srv/git/config.git"), repository_name("file:///srv/git/config.git")
    ('/srv/git/config', '/srv/git/config')
    """
    if "://" in url:
        parts = urlsplit(url)
        host, path = (parts.hostname or "").lower(), parts.path
    elif scp := scp_address(url):
        host, path = scp[0], f"/{scp[1].lstrip('/')}"
    else:
        host, path = "", url
    return host + path.rstrip("/").removesuffix(".git")
