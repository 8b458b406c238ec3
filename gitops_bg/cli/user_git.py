"""What the user's own git knows: the origin of the current directory, and who they are. Reads only, never a secret."""

import os
import re
import subprocess
from pathlib import Path

from gitops_bg.cli.errors import Unclear

_PERSON = re.compile(r"\s*([^<>]*[^<>\s])\s*<([^<>\s]+)>\s*")


def repository_url(given: str) -> str:
    """The URL to use: ``given``, a path made absolute, or the origin of the current directory."""
    url = given or _asked("remote", "get-url", "origin")
    if not url:
        raise Unclear("which repository? Give --repo, set GITOPS_BG_REPO, or run it in a clone that has an origin")
    if "://" in url or (":" in url.partition("/")[0]):
        return url
    base = Path.cwd() if given else Path(_asked("rev-parse", "--show-toplevel") or ".")
    return str((base / Path(url).expanduser()).resolve())


def author(given: str) -> tuple[str, str]:
    """The name and mail address of who a commit is by: ``Name <mail>``, or who git itself would name."""
    if given:
        match = _PERSON.fullmatch(given)
        if match is None:
            raise Unclear(f"--author: {given!r} is no author; write 'Ada Lovelace <ada@example.com>'")
        return match[1], match[2]
    name = os.environ.get("GIT_AUTHOR_NAME") or _asked("config", "user.name")
    mail = os.environ.get("GIT_AUTHOR_EMAIL") or _asked("config", "user.email")
    if not (name and mail):
        raise Unclear("who are you? Set user.name and user.email of git, or give --author 'Name <mail>'")
    return name, mail


def who(given: str = "") -> str:
    """The same as one text, for requests and suspensions; the name of the account where git knows nobody."""
    try:
        return "{} <{}>".format(*author(given))
    except Unclear:
        if given:
            raise
        import getpass

        return getpass.getuser()


def _asked(*arguments: str) -> str:
    """What git answers in the current directory; empty where it answers nothing."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
