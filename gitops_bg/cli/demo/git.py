"""Plain `git`, as a user types it, isolated from the machine's configuration. It must know nothing of the demo."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

_CONFIG = """\
[user]
	name = Ada Lovelace
	email = ada@example.com
[init]
	defaultBranch = main
[core]
	editor = true
[pull]
	ff = only
[gc]
	auto = 0
[uploadpack]
	allowFilter = true
	allowAnySHA1InWant = true
[credential]
	helper = store
[advice]
	detachedHead = false
"""
_TIMEOUT = 30.0


class GitFailed(Exception):
    """A git command failed; the message has the command and git's output."""


class Git:
    """Runs git in one folder, which is also its HOME."""

    def __init__(self, home: Path) -> None:
        """``home`` exists; the settings are written there."""
        self.home = home
        settings = home / "gitconfig"
        settings.write_text(_CONFIG, encoding="utf-8")
        self._environment = _environment(home, settings)

    def remember(self, url: str, user: str, password: str) -> None:
        """Store the credentials of a user for the server of ``url``."""
        server = urlsplit(url)
        line = f"{server.scheme}://{user}:{password}@{server.netloc}\n"
        (self.home / ".git-credentials").write_text(line, encoding="utf-8")

    def __call__(self, *arguments: str, at: Path | None = None) -> str:
        """Run a git command in a folder (default: home) and return what it printed. Raises ``GitFailed``."""
        return self._run(arguments, at or self.home)

    def _run(self, arguments: Sequence[str], folder: Path) -> str:
        typed = " ".join(["git", *arguments])
        try:
            done = subprocess.run(
                ["git", *arguments],
                cwd=folder,
                env=dict(self._environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT,
            )
        except subprocess.TimeoutExpired as error:
            raise GitFailed(f"{typed}: no answer within {_TIMEOUT:g} s") from error
        if done.returncode != 0:
            raise GitFailed(f"{typed}: exit {done.returncode}\n{done.stderr.strip()}")
        return done.stdout.rstrip("\n")


def _environment(home: Path, settings: Path) -> Mapping[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(settings),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
    }
