"""How git may talk to the remote: one allowed protocol, credentials that never reach a URL, argument or log.

Everything but file, https and ssh is refused: `ext::` and friends run commands (pitfalls.md §2.1).
"""

import re
import shlex
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.text.masking import MASK, hidden
from gitops_bg.repo.settings import RepositorySettings

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
class Transport:
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


def transport_for(settings: RepositorySettings, askpass: Path) -> Transport:
    """The transport for ``settings.url``. ``askpass`` is the path of ``ASKPASS``, now or later.

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
    return Transport(url, protocol, environment, settings.token_file)


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
