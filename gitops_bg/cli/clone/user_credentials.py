"""What the user's own git knows of an https remote: the credentials (`git credential`), and whom it trusts.

The mirror's git is shut off from every setting of the machine, the agent's and ours. So the user's git is asked here,
for this one address, by the protocol that git has for that; what it answers is written to a file that only this user
can read, and is gone with the command. The agent never does this.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar
from urllib.parse import urlsplit

from gitops_bg.agent.observability.secrets import mask
from gitops_bg.cli.clone.user_git import asked, repository_url, users_environment
from gitops_bg.cli.options.options import GitOptions
from gitops_bg.repo.git.errors import AuthenticationFailed

Result = TypeVar("Result")
_PATIENCE = 120.0
"""Seconds that somebody may take to answer a question of git's."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the user's git has for an address. ``described`` is in the form of `git credential`, with the password."""

    username: str
    password: str
    described: str

    def worked(self) -> None:
        """Have git remember them, where a helper of the user does."""
        _credential("approve", self.described)

    def were_refused(self) -> None:
        """Have git forget them: the remote does not take them."""
        _credential("reject", self.described)

    def options(self, git: GitOptions, stack: ExitStack) -> GitOptions:
        """Return the options with these credentials, in a file that is deleted with ``stack``."""
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="gitops-bg-")))
        file = folder / "token"
        file.touch(mode=0o600)
        file.write_text(self.password, encoding="utf-8")
        return replace(git, git_username=self.username, git_token_file=file)


def with_users_git(git: GitOptions, act: Callable[[GitOptions], Result], stack: ExitStack, *, pushes: bool) -> Result:
    """Do something with a remote as the user's git would: with whom it trusts, and, where the remote asks for them,
    with the credentials that it has. Who ``pushes`` needs them even where everybody may read.

    Raises `AuthenticationFailed`.
    """
    git = with_users_authority(git)
    credentials = credentials_for(git) if pushes else None
    if credentials is None:
        try:
            return act(git)
        except AuthenticationFailed as error:
            credentials = None if pushes else credentials_for(git)
            if credentials is None:
                raise _without_credentials(error, git) from error
    try:
        result = act(credentials.options(git, stack))
    except AuthenticationFailed as error:
        credentials.were_refused()
        raise AuthenticationFailed(f"{error}; it does not take what your git has for it (git credential)") from error
    credentials.worked()
    return result


def _without_credentials(error: AuthenticationFailed, git: GitOptions) -> AuthenticationFailed:
    if git.git_token_file is not None or not repository_url(git.repo).startswith("https://"):
        return error
    return AuthenticationFailed(f"{error}; your git has none for it either (git credential fill)")


def credentials_for(git: GitOptions) -> Credentials | None:
    """Return what the user's git has for the remote; it may ask who is at the terminal. None: nothing, or the options
    say how to get in, or it is not by https.
    """
    url = repository_url(git.repo)
    parts = urlsplit(url)
    if git.git_token_file is not None or parts.scheme != "https":
        return None
    described = f"protocol=https\nhost={parts.netloc}\npath={parts.path.lstrip('/')}\n"
    said = _fields(_credential("fill", described))
    username, password = said.get("username", ""), said.get("password", "")
    if not password:
        return None
    mask(password)
    return Credentials(username, password, "".join(f"{key}={text}\n" for key, text in said.items()))


def with_users_authority(git: GitOptions) -> GitOptions:
    """Return the options with the certificates that the user's git trusts for the remote, where they say none."""
    url = repository_url(git.repo)
    if git.git_ca_file is not None or not url.startswith("https://"):
        return git
    file = os.environ.get("GIT_SSL_CAINFO") or asked("config", "--type=path", "--get-urlmatch", "http.sslCAInfo", url)
    return replace(git, git_ca_file=Path(file)) if file else git


def _fields(said: str) -> Mapping[str, str]:
    pairs = (line.partition("=") for line in said.splitlines())
    return {key: text for key, equals, text in pairs if equals}


def _credential(verb: str, described: str) -> str:
    """Run `git credential`; empty where it fails, or has nothing. Its words are for the terminal, not for us."""
    may_ask = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    environment = users_environment() | ({} if may_ask else {"GIT_TERMINAL_PROMPT": "0"})
    try:
        done = subprocess.run(
            ["git", "credential", verb],
            input=f"{described}\n",
            stdout=subprocess.PIPE,
            stderr=None if may_ask else subprocess.DEVNULL,
            text=True,
            timeout=_PATIENCE,
            check=False,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
