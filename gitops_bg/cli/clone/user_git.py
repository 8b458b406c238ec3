"""The user's own git: the origin of the current directory, and the user's name and mail address. Never reads a secret.

It runs with the user's environment, except variables that name a repository other than the current directory (git sets
them for hooks) or change what git does there: the current directory is what is meant.
"""

import os
import re
import subprocess
from pathlib import Path

from gitops_bg.cli.errors import CommandFailed, UsageError

_THEIRS = {
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS"),
    *("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY", "GIT_SSL_NO_VERIFY"),
}
"""The variables that locate the user's settings and say how to reach the remote."""

_PERSON = re.compile(r"\s*([^<>]*[^<>\s])\s*<([^<>\s]+)>\s*")


def repository_url(given: str) -> str:
    """Return the URL to use: ``given``, a path made absolute, or the origin of the current directory."""
    url = given or asked("remote", "get-url", "origin")
    if not url:
        raise UsageError("which repository? Give --repo, set GITOPS_BG_REPO, or run it in a clone that has an origin")
    if "://" in url or (":" in url.partition("/")[0]):
        return url
    base = Path.cwd() if given else Path(asked("rev-parse", "--show-toplevel") or ".")
    return str((base / Path(url).expanduser()).resolve())


def author(given: str) -> tuple[str, str]:
    """Return the name and mail address of the author: of ``Name <mail>``, or those that git itself would use."""
    if given:
        match = _PERSON.fullmatch(given)
        if match is None:
            raise UsageError(f"--author: {given!r} is no author; write 'Ada Lovelace <ada@example.com>'")
        return match[1], match[2]
    name = os.environ.get("GIT_AUTHOR_NAME") or asked("config", "user.name")
    mail = os.environ.get("GIT_AUTHOR_EMAIL") or asked("config", "user.email")
    if not (name and mail):
        raise UsageError("who are you? Set user.name and user.email of git, or give --author 'Name <mail>'")
    return name, mail


def who(given: str = "") -> str:
    """Return the author as one text, for requests and suspensions; the name of the account if git has no author."""
    try:
        return "{} <{}>".format(*author(given))
    except UsageError:
        if given:
            raise
        import getpass

        return getpass.getuser()


def signing_key(given: Path | None) -> Path:
    """The SSH key to sign with: ``given``, or the one that git itself would sign with. Raises `UsageError`."""
    if given is not None:
        return given
    key = Path(asked("config", "--type=path", "user.signingkey"))
    if asked("config", "gpg.format") == "ssh" and key.is_file():
        return key
    raise UsageError(
        "which key? Give --signing-key FILE, an SSH key, or set gpg.format to ssh and user.signingkey of git"
    )


def asked(*arguments: str) -> str:
    """Return git's output in the current directory; empty where git fails."""
    done = _run(*arguments, seconds=10)
    return done.stdout.strip() if done and done.returncode == 0 else ""


def answered(*arguments: str, **environment: str) -> str:
    """Return git's output in the current directory. Raises `CommandFailed` with git's words where it fails."""
    done = _run(*arguments, seconds=120, **environment)
    if done is None:
        raise CommandFailed("git is not installed, or does not answer")
    if done.returncode:
        raise CommandFailed(" ".join((done.stderr or done.stdout).split()) or f"git {arguments[0]} failed")
    return done.stdout.strip()


def said_no(*arguments: str) -> bool:
    """Return whether git answers no (exit code 1) in the current directory. Raises `CommandFailed` for all else."""
    done = _run(*arguments, seconds=60)
    if done is None or done.returncode not in (0, 1):
        raise CommandFailed(" ".join(done.stderr.split()) if done else "git is not installed, or does not answer")
    return done.returncode == 1


def succeeds(*arguments: str) -> bool:
    """Return whether a git command succeeds in the current directory; it asks for no password."""
    done = _run(*arguments, seconds=60, GIT_TERMINAL_PROMPT="0")
    return done is not None and done.returncode == 0


def _run(*arguments: str, seconds: float, **environment: str) -> subprocess.CompletedProcess[str] | None:
    """Run git; None where it is not installed or does not answer in time."""
    env = users_environment() | environment
    try:
        return subprocess.run(
            ["git", *arguments], capture_output=True, text=True, timeout=seconds, check=False, env=env
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def users_environment() -> dict[str, str]:
    """Return the environment of the user's git: theirs, without what names another repository than the one here."""
    return {name: value for name, value in os.environ.items() if name in _THEIRS or not name.startswith("GIT_")}
