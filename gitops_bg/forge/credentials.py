"""Credentials for a forge: a token in a file, or a GitHub App, which gets hourly tokens with its private key.

Files are read when they are needed, so that a rotation needs no restart. No message contains their content.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from gitops_bg.core.errors import Refused
from gitops_bg.forge.adapters.api import Api, Now
from gitops_bg.outbound.rest import RestClient, RestSettings

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
    """Tokens of an App's installation on one repository, each used until shortly before it expires."""

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
